"""A path of joints over a coordinate w that goes about as time does, at both ends above all.

    P(w) = p(S(w)),   S(w) = s_0 + (s_1 - s_0) w^3 (10 - 15 w + 6 w^2)  from rest to rest,   0 <= w <= 1

A motion from rest with a bounded jerk begins with s - s_0 in proportion to t^3, so that s'^2 is no polynomial
of s there; w goes with t, and w'^2 has a limit above zero. Where the motion begins or ends with rates r = s'
and r' = s'', S is the polynomial of degree five with S' = r T and S'' = r' T^2 there: with w' = 1 / T and
w'' = 0 at its ends, a motion has these rates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from problems.moves.spline_path import SplinePath
from trajopt.base.arrays import Array

STEP = np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])  # of S, lowest power first
ENDS = np.array(  # what S' and S'' at the start, then at the end, add to it
    [
        [0.0, 1.0, 0.0, -6.0, 8.0, -3.0],
        [0.0, 0.0, 0.5, -1.5, 1.5, -0.5],
        [0.0, 0.0, 0.0, -4.0, 7.0, -3.0],
        [0.0, 0.0, 0.0, 0.5, -1.0, 0.5],
    ]
)
FINE, NEWTON_STEPS = 4096, 6  # from a table, the inverse of S to rounding
LEAST_SLOPE = 0.25  # of S', relative to that from rest to rest


@dataclass(frozen=True, eq=False)
class SmoothPath:
    """P(w) and its derivatives up to the third.

    rates : s' and s'' at both ends, (2, 2); period : T, s, of which w' = 1 / T where one of them is not zero
    """

    path: SplinePath
    rates: Array = field(default_factory=lambda: np.zeros((2, 2)))
    period: float = 1.0

    @cached_property
    def coefficients(self) -> Array:
        """Coefficients of (S - s_0) / (s_1 - s_0), lowest power first."""
        first, last = self.ends
        slopes = self.rates * np.array([self.period, self.period**2]) / (last - first)
        return STEP + slopes.ravel() @ ENDS

    @property
    def held(self) -> tuple[int, int]:
        """Coefficients of w'^2, the first and the last, that have the value 1 / T^2: two fix w' and w''."""
        first, last = np.where(self.rates[:, 0] > 0.0, 2, np.where(self.rates[:, 1] != 0.0, 1, 0)).tolist()
        return first, last

    @property
    def is_increasing(self) -> bool:
        """True if S' stays above zero, as far as a table tells."""
        w = np.linspace(0.0, 1.0, FINE)[1:-1]
        slope, at_rest = (
            np.polynomial.polynomial.polyval(w, np.polynomial.polynomial.polyder(each))
            for each in (self.coefficients, STEP)
        )
        return bool(np.all(slope >= LEAST_SLOPE * at_rest))

    @property
    def ends(self) -> tuple[float, float]:
        """s at both ends."""
        first, last = self.path.breakpoints[[0, -1]].tolist()
        return first, last

    def s(self, w: Any, order: int = 0) -> Array:
        """S(w) or a derivative of it."""
        first, last = self.ends
        found = (last - first) * np.polynomial.polynomial.polyval(w, self.derivative(order))
        return np.clip(first + found, first, last) if order == 0 else found

    def w(self, s: Array) -> Array:
        """The inverse of S."""
        first, last = self.ends
        table, part = np.linspace(0.0, 1.0, FINE), (s - first) / (last - first)
        value, slope = np.polynomial.polynomial.polyval, self.derivative(1)
        found = np.interp(part, value(table, self.coefficients), table)
        for _ in range(NEWTON_STEPS):
            rate = np.maximum(value(found, slope), np.finfo(float).tiny)
            found = np.clip(found - (value(found, self.coefficients) - part) / rate, 0.0, 1.0)
        return np.where(part <= 0.0, 0.0, np.where(part >= 1.0, 1.0, found))

    def derivative(self, order: int) -> Array:
        """Coefficients of a derivative of S / (s_1 - s_0) by w, lowest power first."""
        return np.polynomial.polynomial.polyder(self.coefficients, order)

    def knots(self, even: Array, count: int) -> Array:
        """About `count` spans from 0 to 1 that lie on one piece of the path each.

        even : increasing w; within a piece, as many spans lie between two of them everywhere
        """
        borders, place = self.w(self.path.breakpoints), np.linspace(0.0, 1.0, len(even))
        ends = np.interp(borders, even, place)
        shares = np.ceil(count * np.diff(ends)).astype(int)
        inner = [
            np.interp(np.linspace(low, high, share, endpoint=False)[1:], place, even)
            for low, high, share in zip(ends[:-1], ends[1:], shares.tolist(), strict=True)
        ]
        pairs = zip(borders[:-1, None], inner, strict=True)
        return np.concatenate([*(each for pair in pairs for each in pair), borders[-1:]])

    def derivatives(self, w: Array) -> tuple[Array, Array, Array, Array]:
        """P, P', P'' and P''', (..., n) each."""
        first, second, third = (self.s(w, order)[..., None] for order in (1, 2, 3))
        p = [self.path(self.s(w), order) for order in range(4)]
        return chained(p, first, second, third)


def chained(p: Any, first: Any, second: Any, third: Any) -> tuple[Any, Any, Any, Any]:
    """Derivatives of p(S(w)) by w from those of p by s and of S by w, numbers of any arithmetic."""
    slope, bend = p[1] * first, p[2] * (first * first) + p[1] * second
    return p[0], slope, bend, p[3] * (first * first * first) + p[2] * (3.0 * first * second) + p[1] * third
