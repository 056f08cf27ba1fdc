"""Quadrature: Gauss, Gauss-Radau and Gauss-Lobatto rules on [0, 1], collocation meshes, adaptive integrals.

A rule is integral of f = sum_k weights_k f(points_k). Collocation meshes are piecewise polynomials with as
many equations per interval as they have coefficients.

A system of equations of order m, x' = f (m = 1) or M q'' = ... (m = 2), is held at `order` points of every
interval. Its curves are polynomials of degree order + m - 1 with continuity m - 1 there, so that every
interval brings `order` coefficients for `order` equations (de Boor and Swartz, SIAM J. Numer. Anal. 10,
1973). At the ends of intervals errors fall with h to the power 2 order for Gauss points, 2 order - 1 for
Radau and 2 order - 2 for Lobatto points (Hairer, Norsett and Wanner, Solving ODEs I, II.7).

Lagrange polynomials go through values at some nodes.

Integrals over time of functions known by their values alone are found by Gauss' rule on halved panels.

The integral over a panel is that of both halves, by Gauss points in each; its estimated error is four times
the difference to the same points over the whole panel. Panels are halved until the errors are small together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.polynomial.legendre import Legendre, leggauss
from numpy.typing import NDArray

from trajopt.base.arguments import check_choice, check_count
from trajopt.base.arrays import Array, read_only
from trajopt.splines.basis import SplineBasis

Rule = tuple[NDArray[np.float64], NDArray[np.float64]]
RuleName = Literal["lobatto", "gauss", "radau"]


@lru_cache
def gauss(count: int) -> Rule:
    """Points and weights (count,): exact for polynomials up to degree 2 count - 1; no end is a point.

    Points are the roots of the Legendre polynomial P_count, mapped from [-1, 1] to [0, 1].
    """
    points, weights = leggauss(count)
    return read_only((0.5 * (points + 1.0), 0.5 * weights))


def gauss_lobatto(count: int) -> Rule:
    """Points and weights (count,), both ends among them: exact for polynomials up to degree 2 count - 3.

    Points are the ends and the roots of P'_(count-1); weights 2 / (count (count - 1) P_(count-1)^2), halved
    for the unit interval (Abramowitz and Stegun 25.4.32).
    """
    polynomial = Legendre.basis(count - 1)
    points = np.concatenate([[-1.0], np.sort(polynomial.deriv().roots().real), [1.0]])
    weights = 2.0 / (count * (count - 1) * polynomial(points) ** 2)
    return (points + 1.0) / 2.0, weights / 2.0


def gauss_radau(count: int) -> Rule:
    """The Radau rule and, without weight, the left end, (count + 1,): exact up to degree 2 count - 2.

    On [-1, 1] the points are the roots of P_(count-1) - P_count, which has the root 1; the weights are
    (1 + x) / (count P_(count-1))^2 (Abramowitz and Stegun 25.4.31 for the left end, mirrored).
    """
    lower = Legendre.basis(count - 1)
    roots = np.sort((lower - Legendre.basis(count)).roots().real)
    points = np.concatenate([roots[:-1], [1.0]])
    weights = (1.0 + points) / (count * lower(points)) ** 2
    return np.concatenate([[0.0], (points + 1.0) / 2.0]), np.concatenate([[0.0], weights / 2.0])


def gauss_between_ends(count: int) -> Rule:
    """The Gauss rule and, without weight, the two ends: (count + 2,)."""
    points, weights = gauss(count)
    return np.concatenate([[0.0], points, [1.0]]), np.concatenate([[0.0], weights, [0.0]])


# How the nodes of a span lie: rules with both ends among their points, which neighbouring spans share.
SPAN_RULES: Mapping[RuleName, Callable[[int], Rule]] = MappingProxyType(
    {"lobatto": gauss_lobatto, "gauss": gauss_between_ends, "radau": gauss_radau}
)


@lru_cache
def span_rule(rule: RuleName, count: int) -> Rule:
    """Points and weights of one of `SPAN_RULES`, read-only and computed once: roots take 70 microseconds."""
    return read_only(SPAN_RULES[rule](count))


MOST_POINTS = 12  # of an interval: beyond, more intervals are as accurate and better conditioned


@dataclass(frozen=True)
class Collocation:
    """A collocation scheme: equations hold at `order` points of a quadrature rule in every interval."""

    order: int
    points: RuleName

    def __post_init__(self) -> None:
        check_choice("points", self.points, get_args(RuleName))
        fewest = 2 if self.points == "lobatto" else 1
        check_count(
            f"order, the number of {self.points} points per interval,", self.order, fewest, MOST_POINTS
        )

    def basis(self, breakpoints: np.ndarray, equation_order: int) -> SplineBasis:
        """The basis of curves whose derivative of that order the equations give."""
        continuity = equation_order - 1
        return SplineBasis.with_continuity(breakpoints, self.order + continuity, continuity)


def lagrange_polynomials(nodes: Array, points: Array) -> Array:
    """l_i(x_k) = prod over j != i of (x_k - s_j) / (s_i - s_j), nodes s (m,), points x (k,), as (k, m)."""
    own = np.eye(nodes.size, dtype=bool)
    apart = np.where(own, 1.0, nodes[:, None] - nodes)
    factors = (points[:, None, None] - nodes) / apart
    return np.where(own, 1.0, factors).prod(axis=2)


GAUSS_POINTS = MOST_POINTS  # per half of a panel, or per span of a spline
MOST_TIMES = 300_000  # at which values are computed
TIMES_AT_ONCE = 8192  # times for which values are asked
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
        # Four times the difference of the two rules, of which a corner may leave little
        away = np.maximum(4.0 * np.abs(both - whole), inherited)
        scale = np.maximum(least, found[width:] + both[width:].sum(axis=1))
        rough = largest_errors(away, np.outer(sharpness, scale).ravel() - error)
        if number <= 3:  # panels beside rough ones are halved, too, as peaks reach into them
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
        # Either half has at least a hundredth of its panel's error, as two rules may agree by chance
        whole, inherited = halves[:, chosen], 0.01 * np.repeat(away[:, rough], 2, axis=1)
        start, end = _in_turn(start, middle)[chosen], _in_turn(middle, end)[chosen]
    return EstimatedIntegral(
        found[:width], error[:width], found[width:], error[width:], resolution, first_bad
    )


def _panels(edges: Array) -> tuple[Array, Array]:
    """Starts and ends of panels between edges, none longer than a part of the whole."""
    lengths = np.diff(edges)
    # 128 panels of the whole motion, at least: points are at most 1 / 2000 of it apart
    parts = 128 * lengths / max(float(lengths.sum()), np.finfo(float).tiny)
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
