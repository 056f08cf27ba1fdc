"""Piecewise polynomials of one variable in any arithmetic, for enclosures of motions along a path.

With breakpoints s_0 < ... < s_k and a polynomial p_i on each piece,

    p(s) = p_0(s_0) + sum_i (p_i(u_i) - p_i(s_i)) + sum_{i > 0} jump_i (s > s_i),

u_i being s clamped to [s_i, s_(i+1)], and not at all beyond both ends. Wherever s is known to lie on one side
of a breakpoint the clamped numbers are exact, and near it the error falls with the width of what is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.solvers.solver_constants import ROUNDING
from trajopt.terms.smooth_forms import MOST_PIECES


@dataclass(frozen=True, eq=False)
class PiecewisePath:
    """p(s), (n,), by its breakpoints (k + 1,) and coefficients (degree + 1, k, n), lowest power first.

    The powers are those of s - s_i.
    """

    breakpoints: Array
    coefficients: Array

    @staticmethod
    def of_spline(spline: Any) -> PiecewisePath | None:
        """A BSpline or PPoly of SciPy with n columns; None for another object, or one with too many pieces.

        None too where it does not go on with its last pieces beyond its ends, as a periodic one does not.
        """
        from scipy.interpolate import BSpline, PPoly

        if isinstance(spline, BSpline):
            breakpoints, degree = np.unique(spline.t[spline.k : -spline.k or None]), spline.k
        elif isinstance(spline, PPoly):
            breakpoints, degree = spline.x, len(spline.c) - 1
        else:
            return None
        goes_on = not isinstance(spline.extrapolate, str) and bool(spline.extrapolate)
        if breakpoints.size - 1 > MOST_PIECES or not goes_on:
            return None
        # values at the left ends are those of the pieces that begin there
        rows = [spline(breakpoints[:-1], order) / factorial(order) for order in range(degree + 1)]
        coefficients = np.array(rows)
        return PiecewisePath(breakpoints, coefficients) if coefficients.ndim == 3 else None

    def derivative(self, order: int) -> PiecewisePath:
        """d^order p / ds^order."""
        found = self.coefficients
        for _ in range(order):
            found = found[1:] * np.arange(1, len(found))[:, None, None] if len(found) > 1 else 0.0 * found
        return PiecewisePath(self.breakpoints, found)

    def __call__(self, s: Any, number: Callable[[float], Any]) -> list[Any]:
        """p(s) as n numbers; s : a number with + - * and the methods maximum and positive."""
        count = self.coefficients.shape[1]
        total = [number(value) for value in self.coefficients[0, 0]]
        for i in range(count):
            above = self._increase(i, self._clamped(s, i, number), number)
            total = [one + other for one, other in zip(total, above, strict=True)]
            if i:
                total = self._with_jump(total, s, i, number)
        return total

    def _clamped(self, s: Any, i: int, number: Callable[[float], Any]) -> Any:
        """u_i - s_i."""
        x, width = s - number(self.breakpoints[i]), np.diff(self.breakpoints)[i]
        if i:
            x = x.maximum(0.0)
        if i + 1 < self.coefficients.shape[1]:
            x = -((-x).maximum(number(-width)))
        return x

    def _increase(self, i: int, x: Any, number: Callable[[float], Any]) -> list[Any]:
        """p_i(s_i + x) - p_i(s_i), by Horner's rule."""
        found: list[Any] = [0.0] * self.coefficients.shape[2]
        for row in self.coefficients[:0:-1, i]:
            found = [x * (one + number(value)) for one, value in zip(found, row, strict=True)]
        return found

    def _with_jump(self, total: list[Any], s: Any, i: int, number: Callable[[float], Any]) -> list[Any]:
        width = self.breakpoints[i] - self.breakpoints[i - 1]
        terms = self.coefficients[:, i - 1] * width ** np.arange(len(self.coefficients))[:, None]
        jump = self.coefficients[0, i] - terms.sum(axis=0)
        if not np.any(np.abs(jump) > ROUNDING * np.abs(terms).max()):
            return total
        beyond = (s - number(self.breakpoints[i])).positive()
        return [one + number(size) * beyond for one, size in zip(total, jump, strict=True)]
