"""Matrices between powers of s and Bernstein polynomials on [-1, 1]."""

from __future__ import annotations

from functools import lru_cache
from math import comb

import numpy as np

from trajopt.base.arrays import Array


@lru_cache
def to_powers(degree: int) -> Array:
    """Matrix (degree + 1, degree + 1) from Bernstein coefficients on [-1, 1] to those of powers of s."""
    matrix = np.zeros((degree + 1, degree + 1))
    for k in range(degree + 1):
        column = np.ones(1)
        for i in range(degree):  # ((1 + s) / 2)^k ((1 - s) / 2)^(degree - k), all numbers exact
            column = np.convolve(column, [0.5, 0.5] if i < k else [0.5, -0.5])
        matrix[:, k] = column * _binomial(degree, k)
    matrix.flags.writeable = False
    return matrix


@lru_cache
def from_powers(count: int) -> Array:
    """Matrix (count, count) from coefficients of powers of s to Bernstein coefficients on [-1, 1].

    The Bernstein coefficients of s^j are the elementary symmetric means of j of `count - 1` numbers -1 and 1:
    none is larger than one.
    """
    degree = count - 1
    matrix = np.zeros((count, count))
    for k in range(count):
        column = np.ones(1)
        for i in range(degree):  # prod (1 + x_i z) with k numbers x_i = 1 and the others -1
            column = np.convolve(column, [1.0, 1.0 if i < k else -1.0])
        matrix[k] = [column[j] / _binomial(degree, j) for j in range(count)]
    matrix.flags.writeable = False
    return matrix


def _binomial(n: int, k: int) -> float:
    return float(comb(n, k))
