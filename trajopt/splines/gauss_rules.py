"""Gauss, Gauss-Radau and Gauss-Lobatto quadrature on [0, 1]: integral of f = sum_k weights_k f(points_k).

Also here: collocation meshes: piecewise polynomials with as many equations per interval as they have
coefficients.

A system of equations of order m, x' = f (m = 1) or M q'' = ... (m = 2), is held at `order` points of every
interval. Its curves are polynomials of degree order + m - 1 with continuity m - 1 there, so that every
interval brings `order` coefficients for `order` equations (de Boor and Swartz, SIAM J. Numer. Anal. 10,
1973). At the ends of intervals errors fall with h to the power 2 order for Gauss points, 2 order - 1 for
Radau and 2 order - 2 for Lobatto points (Hairer, Norsett and Wanner, Solving ODEs I, II.7).

Also here: Lagrange polynomials: the polynomial through values at some nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.polynomial.legendre import Legendre, leggauss
from numpy.typing import NDArray

from trajopt.base.arguments import check_choice, check_count
from trajopt.base.arrays import Array
from trajopt.base.content_cache import read_only
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
