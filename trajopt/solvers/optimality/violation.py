"""Violation of bounds: by how much values leave an interval, elementwise, and the largest one of an NLP."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.solvers.solver import Program

__all__ = ["bound_violation", "largest_violation", "side_violations"]


def bound_violation(values: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> NDArray[np.float64]:
    """max(lower - values, values - upper), elementwise, in the unit of the values.

    Positive outside of the bounds; inside, minus the distance to the nearer one. NaN where a value is NaN.
    """
    return np.maximum(*side_violations(values, lower, upper))


def side_violations(values: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> tuple[NDArray, NDArray]:
    """lower - values and values - upper: the signed violation of each side on its own."""
    return np.subtract(lower, values), np.subtract(values, upper)


def largest_violation(nlp: Program, y: NDArray, rows: NDArray) -> float:
    """The largest amount by which `rows` = g(y) or the variables y leave their bounds, scaled as the NLP.

    0 at a feasible point, infinity where a row or variable is NaN.
    """
    of_rows = bound_violation(rows, nlp.row_lower, nlp.row_upper).max(initial=0.0)
    of_variables = bound_violation(y, nlp.lower, nlp.upper).max(initial=0.0)
    worst = float(np.maximum(of_rows, of_variables))
    return np.inf if np.isnan(worst) else worst
