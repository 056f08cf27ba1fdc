"""Integrals over time of functions known by their values alone: Gauss' rule on panels that are halved.

The integral over a panel is that of both halves, by Gauss points in each; its estimated error is four times
the difference to the same points over the whole panel. Panels are halved until the errors are small together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np

from trajopt.base.arrays import Array
from trajopt.splines.gauss_rules import gauss

GAUSS_POINTS = 12  # per half of a panel, or per span of a spline
LEAST_PANELS = 128  # of the whole motion, at least: points are at most 1 / 2000 of it apart
MOST_TIMES = 300_000  # at which values are computed
TIMES_AT_ONCE = 8192  # times for which values are asked
ROUNDS_WITH_NEIGHBOURS = 3  # the first: panels beside rough ones are halved, too, as peaks reach into them
SAFETY_FACTOR = 4.0  # the estimated error in differences of the two rules, of which a corner may leave little
INHERITED_SHARE = 0.01  # of a panel's error: the least that either half has, as two rules may agree by chance
SHARE = 0.5  # of the error that is left: parts whose errors sum up to less are not divided

Values = Callable[[Array], Array]  # of times (K,): (K, width)


@dataclass(frozen=True, eq=False)
class EstimatedIntegral:
    """Integrals (width,) of components and of their absolute values, by values at single times.

    error, size_error : estimates by the difference of two rules; not bounds
    resolution : seconds, the largest distance of neighbouring times; events on a shorter interval may
        be missed
    first_bad : seconds, the first times (width,) at which values are not finite; NaN where all are
    """

    value: Array
    error: Array
    size: Array
    size_error: Array
    resolution: float
    first_bad: Array


def adaptive_integral(
    values: Values, edges: Array, sharpness: tuple[float, float], least: Array
) -> EstimatedIntegral:
    """The integral over [edges[0], edges[-1]] of a function with jumps and corners at the edges.

    sharpness : estimated errors of the integral and of that of the absolute value that are sought, of the
        larger one of that size and `least` (width,); errors are larger where the times run out
    """
    start, end = _panels(edges)
    whole, first_bad, _ = _integrals(values, start, end)
    width, times, resolution = whole.shape[0] // 2, start.size * GAUSS_POINTS, 0.0
    found, error, inherited = np.zeros(2 * width), np.zeros(2 * width), np.zeros(whole.shape)
    for number in count(1):  # until no panel has a number inside, at the latest
        middle = 0.5 * (start + end)
        halves, bad, gap = _integrals(values, _in_turn(start, middle), _in_turn(middle, end))
        first_bad, times = np.fmin(first_bad, bad), times + 2 * start.size * GAUSS_POINTS
        both = halves[:, ::2] + halves[:, 1::2]
        away = np.maximum(SAFETY_FACTOR * np.abs(both - whole), inherited)
        scale = np.maximum(least, found[width:] + both[width:].sum(axis=1))
        rough = largest_errors(away, np.outer(sharpness, scale).ravel() - error)
        if number <= ROUNDS_WITH_NEIGHBOURS:
            rough = _with_neighbours(rough, start, end)
        rough &= (middle > start) & (middle < end)
        last = times + 4 * rough.sum() * GAUSS_POINTS > MOST_TIMES
        if last or not np.all(np.isnan(first_bad)):
            rough[:] = False
        found, error = found + both[:, ~rough].sum(axis=1), error + away[:, ~rough].sum(axis=1)
        resolution = max(resolution, float(gap[np.repeat(~rough, 2)].max(initial=0.0)))
        if not rough.any():
            break
        chosen = np.repeat(rough, 2)
        whole, inherited = halves[:, chosen], INHERITED_SHARE * np.repeat(away[:, rough], 2, axis=1)
        start, end = _in_turn(start, middle)[chosen], _in_turn(middle, end)[chosen]
    return EstimatedIntegral(
        found[:width], error[:width], found[width:], error[width:], resolution, first_bad
    )


def _panels(edges: Array) -> tuple[Array, Array]:
    """Starts and ends of panels between edges, none longer than a part of the whole."""
    lengths = np.diff(edges)
    parts = LEAST_PANELS * lengths / max(float(lengths.sum()), np.finfo(float).tiny)
    counts = np.maximum(np.ceil(parts), 1).astype(int)
    cuts = [np.linspace(a, b, n + 1) for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)]
    return np.concatenate([cut[:-1] for cut in cuts]), np.concatenate([cut[1:] for cut in cuts])


def _integrals(values: Values, start: Array, end: Array) -> tuple[Array, Array, Array]:
    """Integrals of values and absolute values over panels (2 width, P), first bad times, gaps (P,)."""
    points, weights = gauss(GAUSS_POINTS)
    seconds = end - start
    times = start[:, None] + seconds[:, None] * points
    flat = times.ravel()
    found = np.concatenate([values(flat[i : i + TIMES_AT_ONCE]) for i in range(0, flat.size, TIMES_AT_ONCE)])
    finite = np.isfinite(found)
    found = np.where(finite, found, np.nan)
    first_bad = np.where(finite, np.inf, flat[:, None]).min(axis=0, initial=np.inf)
    found = np.concatenate([found, np.abs(found)], axis=1).reshape(*times.shape, -1)
    gap = seconds * np.diff(points).max()
    return (weights @ found).T * seconds, np.where(np.isfinite(first_bad), first_bad, np.nan), gap


def largest_errors(errors: Array, allowed: Array) -> Array:
    """The parts of an interval (P,) to be divided, by their errors (width, P).

    None where all errors of every component are `allowed` (width,) together; else those that are not, for
    every component, among the smallest errors that add up to SHARE of the allowed error.
    """
    rough = np.zeros(errors.shape[1], dtype=bool)
    for of_component, most in zip(errors, allowed, strict=True):
        if not of_component.sum() <= most:
            order = np.argsort(of_component)
            rough[order[~(np.cumsum(of_component[order]) <= SHARE * most)]] = True
    return rough


def _with_neighbours(rough: Array, start: Array, end: Array) -> Array:
    """Panels (P,) that are rough or share an end with one that is."""
    together = end[:-1] == start[1:]
    found = rough.copy()
    found[1:] |= rough[:-1] & together
    found[:-1] |= rough[1:] & together
    return found


def _in_turn(one: Array, other: Array) -> Array:
    """Elements of both (P,) in turn, (2 P,)."""
    return np.stack([one, other], axis=1).ravel()
