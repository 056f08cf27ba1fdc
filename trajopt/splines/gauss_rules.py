"""Gauss, Gauss-Radau and Gauss-Lobatto quadrature on [0, 1]: integral of f = sum_k weights_k f(points_k)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.polynomial.legendre import Legendre, leggauss
from numpy.typing import NDArray

from trajopt.base.content_cache import read_only

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
