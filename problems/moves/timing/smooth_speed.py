"""The squared rate x = w'^2 of a path's coordinate w, a quadratic spline of w, and w as a function of time.

On every span w'' = x' / 2 is linear in w, and w''' = x'' w' / 2 is bounded; with k = x'' / 2 and the values
of w', x' at the start of the span, t seconds after it

    w = w_i + w'_i sinh(sqrt(k) t) / sqrt(k) + x'_i / 2 (cosh(sqrt(k) t) - 1) / k,

circular functions for k < 0. A span of width h takes 2 artanh(sqrt(k) h / (w'_i + w'_(i+1))) / sqrt(k).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from trajopt.base.arguments import numbers
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.base.tolerances import AGREEMENT

SMALL = 1e-2  # below it a few terms of a series are exact to rounding


@dataclass(frozen=True, eq=False)
class SmoothSpeed:
    """x(w) > 0 on [0, 1], with a continuous derivative.

    knots : (spans + 1,) of w; points : (spans + 2,), the coefficients of quadratic B-splines
    """

    knots: Array
    points: Array

    @cached_property
    def starts(self) -> tuple[Array, Array, Array]:
        """x, x' and x'' at the start of every span, (spans,) each; x'' is constant on it."""
        found = local_values(self.knots, self.points, np.zeros(1))[0]
        return found[:, 0], found[:, 1], found[:, 2]

    def __call__(self, w: Array) -> Array:
        """x(w)."""
        i = np.clip(np.searchsorted(self.knots, w, side="right") - 1, 0, len(self.knots) - 2)
        x, slope, bend = (start[i] for start in self.starts)
        d = w - self.knots[i]
        return x + (slope + 0.5 * bend * d) * d

    @cached_property
    def times(self) -> Array:
        """Seconds at which w is at the knots."""
        x, _, bend = self.starts
        of_spans = _time(np.diff(self.knots), x, np.append(x[1:], self.points[-1]), bend)
        return np.concatenate([[0.0], np.cumsum(of_spans)])

    def time_at(self, w: Any) -> Array:
        """Seconds at which w is reached."""
        i = np.clip(np.searchsorted(self.knots, w, side="right") - 1, 0, len(self.knots) - 2)
        x, _, bend = (start[i] for start in self.starts)
        return self.times[i] + _time(w - self.knots[i], x, self(w), bend)

    def w(self, t: Any, order: int = 0) -> Array:
        """w, or a rate of it up to the third, at times in [0, duration]; the third is the right limit."""
        at, duration = numbers(t, "t"), float(self.times[-1])
        if not np.all((at >= 0.0) & (at <= duration * (1.0 + AGREEMENT))):
            raise OptionError(f"t = {t} is not within the motion: give times from 0 to {duration:.6g} s")
        i = np.clip(np.searchsorted(self.times, at, side="right") - 1, 0, len(self.times) - 2)
        x, slope, bend = (start[i] for start in self.starts)
        k, since, rate = 0.5 * bend, at - self.times[i], np.sqrt(x)
        cosine, sine, rest = _waves(k, since)
        moved = rate * sine + 0.5 * slope * rest
        if order == 0:
            return np.clip(self.knots[i] + moved, self.knots[i], self.knots[i + 1])
        if order == 2:
            return 0.5 * slope + k * moved
        now = rate * cosine + 0.5 * slope * sine
        return now if order == 1 else k * now

    def slower(self, factor: float) -> SmoothSpeed:
        """The same with all times multiplied by a factor."""
        return replace(self, points=self.points / factor**2)


def quadratics(knots: Array, parts: Array) -> Array:
    """The three B-splines of every span and their derivatives, (parts, spans, 3 orders, 3).

    parts : fractions of each span
    """
    start, end = knots[:-1], knots[1:]
    h, left, right = end - start, end - np.append(knots[0], start[:-1]), np.append(end[1:], knots[-1]) - start
    u = parts[:, None] * h
    found = np.empty((len(parts), len(start), 3, 3))
    for column, distance, width, sign in ((0, h - u, h * left, -2.0), (2, u, h * right, 2.0)):
        found[..., 0, column] = distance**2 / width
        found[..., 1, column] = sign * distance / width
        found[..., 2, column] = 2.0 / width
    found[..., 1] = np.array([1.0, 0.0, 0.0]) - found[..., 0] - found[..., 2]
    return found


def local_values(knots: Array, points: Array, parts: Array) -> Array:
    """x, x' and x'' at fractions of every span, (parts, spans, 3)."""
    return np.einsum("ksdj,sj->ksd", quadratics(knots, parts), points[spans(len(knots) - 1)])


def spans(count: int) -> Array:
    """The coefficients that act on every span, (spans, 3)."""
    return np.arange(count)[:, None] + np.arange(3)


def _time(distance: Array, first: Array, last: Array, bend: Array) -> Array:
    """Seconds between two points of a span, with x at both and its x''."""
    part = distance / (np.sqrt(first) + np.sqrt(last))
    return 2.0 * part * _inverse_tangent(0.5 * bend * part**2)


def _waves(k: Array, t: Array) -> tuple[Array, Array, Array]:
    """cosh(z), sinh(z) / sqrt(k) and (cosh(z) - 1) / k with z = sqrt(k) t, circular for k < 0."""
    half = 0.5 * t
    z = k * half**2
    root = np.sqrt(np.abs(z))
    far = np.where(root < SMALL, 1.0, root)
    series = 1.0 + z / 6.0 * (1.0 + z / 20.0 * (1.0 + z / 42.0 * (1.0 + z / 72.0)))
    sine = half * np.where(root < SMALL, series, np.where(z > 0.0, np.sinh(far), np.sin(far)) / far)
    cosine = np.where(z > 0.0, np.cosh(root), np.cos(root))
    return 1.0 + 2.0 * k * sine**2, 2.0 * sine * cosine, 2.0 * sine**2


def _inverse_tangent(z: Array) -> Array:
    """artanh(sqrt(z)) / sqrt(z), the arc tangent for z < 0."""
    root = np.sqrt(np.abs(z))
    far = np.where(root < SMALL, 0.5, root)
    series = 1.0 + z * (1.0 / 3.0 + z * (0.2 + z * (1.0 / 7.0 + z / 9.0)))
    outer = np.where(z > 0.0, np.arctanh(np.minimum(far, 1.0 - 1e-16)), np.arctan(far)) / far
    return np.where(root < SMALL, series, outer)
