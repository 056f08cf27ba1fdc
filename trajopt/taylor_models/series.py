"""Taylor series of elementary functions about a centre, with a bound of what is left out.

Each function takes the centre c (P,), a radius u >= |x - c| (P,) and the number of terms N, and returns
(terms, sizes, rest): f(x) = sum_m terms[m] (x - c)^m + e with |e| <= rest (P,), m < N. Terms are computed to
2 N eps of `sizes` (N, P). The rest is infinite where the function or its derivatives are not bounded; that of
Lagrange, sup |f^(N)| u^N / N!, it needs to be right to one part in 1e12.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from trajopt.base.arrays import Array

Series = tuple[Array, Array, Array]
SeriesFunction = Callable[[Array, Array, int], Series]

FOUR_EPS = 4.0 * np.finfo(float).eps
DISC = 1.4  # radius r below pi / 2 at which tan(r) / r^N is nearly least for N = 10 terms


def sine(centre: Array, radius: Array, count: int) -> Series:
    return _waves(np.sin(centre), np.cos(centre), radius, count)


def cosine(centre: Array, radius: Array, count: int) -> Series:
    return _waves(np.cos(centre), -np.sin(centre), radius, count)


def exponential(centre: Array, radius: Array, count: int) -> Series:
    terms = np.exp(centre) * _inverse_factorials(count)[:, None]
    return terms, terms, np.exp(centre + radius) * radius**count / math.factorial(count)


def logarithm(centre: Array, radius: Array, count: int) -> Series:
    least = _least(centre, radius)
    centre = np.where(least > 0.0, centre, 1.0)
    m = np.arange(1, count)[:, None]
    terms = np.concatenate([np.log(centre)[None], -((-1.0) ** m) / (m * centre**m)])
    rest = (radius / np.where(least > 0.0, least, 1.0)) ** count / count
    return terms, np.abs(terms), np.where(least > 0.0, rest, np.inf)


def reciprocal(centre: Array, radius: Array, count: int) -> Series:
    least = _least(np.abs(centre), radius)
    centre = np.where(least > 0.0, centre, 1.0)
    terms = (-1.0 / centre) ** np.arange(count)[:, None] / centre
    safe = np.where(least > 0.0, least, 1.0)
    return terms, np.abs(terms), np.where(least > 0.0, (radius / safe) ** count / safe, np.inf)


def real_power(exponent: float) -> SeriesFunction:
    """x^p for positive x and any p."""

    def series(centre: Array, radius: Array, count: int) -> Series:
        least = _least(centre, radius)
        inside = least > 0.0
        centre, least = np.where(inside, centre, 1.0), np.where(inside, least, 1.0)
        binomial = np.cumprod(np.append(1.0, (exponent - np.arange(count)) / np.arange(1, count + 1)))
        m = np.arange(count)[:, None]
        terms = binomial[:count, None] * centre**exponent / centre**m
        largest = np.maximum(least ** (exponent - count), (centre + radius) ** (exponent - count))
        rest = abs(binomial[count]) * largest * radius**count
        return terms, np.abs(terms), np.where(inside, rest, np.inf)

    return series


def arctangent(centre: Array, radius: Array, count: int) -> Series:
    """The m-th derivative over m! is cos(w)^m sin(m (w + pi / 2)) / m with w = atan(x)."""
    angle, m = np.arctan(centre), np.arange(1, count)[:, None]
    sizes = (1.0 / np.sqrt(1.0 + centre * centre)) ** m / m
    terms = sizes * np.sin(m * (angle + 0.5 * np.pi))
    nearest = np.maximum(_least(np.abs(centre), radius), 0.0)
    rest = (radius / np.sqrt(1.0 + nearest * nearest)) ** count / count
    first = angle[None]
    # Phases up to 3 count are off by as many roundings.
    return np.concatenate([first, terms]), np.concatenate([np.abs(first), 8.0 * sizes]), rest


def hyperbolic_tangent(centre: Array, radius: Array, count: int) -> Series:
    """tanh, whose terms follow one from the other by f' = 1 - f^2.

    In a disc of radius r from pi / 4 to pi / 2 about a real x, |f| <= tan r, so that by Cauchy's inequality
    no m-th derivative is above m! tan(r) / r^m.
    """
    terms, errors = np.zeros((count, centre.size)), np.zeros((count, centre.size))
    terms[0] = np.tanh(centre)
    errors[0] = FOUR_EPS * np.abs(terms[0])
    for k in range(count - 1):
        square = (terms[: k + 1] * terms[k::-1]).sum(axis=0)
        size = np.abs(terms[: k + 1] * terms[k::-1]).sum(axis=0) + (k == 0)
        carried = 2.0 * (np.abs(terms[: k + 1]) * errors[k::-1]).sum(axis=0)
        terms[k + 1] = ((k == 0) - square) / (k + 1)
        errors[k + 1] = (1.01 * carried + (k + 4) * FOUR_EPS * size) / (k + 1)
    sizes = np.maximum(errors / (count * 0.5 * FOUR_EPS), np.abs(terms))
    return terms, sizes, math.tan(DISC) * (radius / DISC) ** count


def _waves(value: Array, slope: Array, radius: Array, count: int) -> Series:
    """f'' = -f: a sine or a cosine, whose derivatives are all at most one."""
    inverse = _inverse_factorials(count)[:, None]
    m = np.arange(count)[:, None]
    terms = np.where(m % 2 == 0, value, slope) * np.where(m % 4 < 2, 1.0, -1.0) * inverse
    sizes = np.broadcast_to(inverse, terms.shape)
    return terms, sizes, radius**count / math.factorial(count)


def _least(centre: Array, radius: Array) -> Array:
    """A number that no |x| with |x - c| <= u falls below, for c > 0, rounding included."""
    return centre * (1.0 - FOUR_EPS) - radius * (1.0 + FOUR_EPS)


def _inverse_factorials(count: int) -> Array:
    return 1.0 / np.cumprod(np.maximum(np.arange(count), 1.0))
