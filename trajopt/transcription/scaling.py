"""Constant factors of the rows and the objective, so that solvers meet numbers near one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import EvaluationError
from trajopt.transcription.bounds import Bounds

STEEPEST = 1e8  # rows are never divided by more
FLAT = 1e-8  # an objective whose value vanishes beside its gradient is never divided by less
VANISHING = 1e-8  # of the gradient: a value below is that of a cost which is zero but for rounding
LOPSIDED = 10.0  # times the smaller of two limits: rows are not divided by more, whatever the larger one is
SHARE = 1e-2  # of value or gradient of the objective: as far as one may be overruled by the other


@dataclass(frozen=True, eq=False)
class Scaling:
    """What every row (m,) and the objective are multiplied by."""

    rows: Array
    objective: float


def scaling_of(
    row_bounds: Bounds, jacobian_rows: Array, jacobian: Array, objective: float, gradient: Array
) -> Scaling:
    """The factors of a program from its functions, not scaled, at the start.

    jacobian_rows, jacobian : row and value of every nonzero of the Jacobian
    objective, gradient : value of the objective and its gradient (variables,)
    """
    return Scaling(
        _row_factors(row_bounds, jacobian_rows, jacobian), _objective_factor(float(objective), gradient)
    )


def _row_factors(bounds: Bounds, jacobian_rows: Array, jacobian: Array) -> Array:
    """Rows by the size of their limits or, where that is small, their gradient at the start."""
    sides = np.abs(np.stack([bounds.lower, bounds.upper]))
    sides[~np.isfinite(sides)] = 0.0
    # A side of -1e12 that stands for "no limit" must not loosen the tolerance of the other one, of 10.
    smaller = np.where(np.all(sides > 0.0, axis=0), sides.min(axis=0), np.inf)
    size = np.minimum(sides.max(axis=0), LOPSIDED * smaller)
    steepest = np.zeros(size.size)
    np.maximum.at(steepest, jacobian_rows, np.abs(jacobian))
    # Limits far narrower than a row's gradient, a band of millimetres say, would make it a wall.
    narrow = np.maximum(size, np.minimum(steepest, 1.0))
    return 1.0 / np.where(size > 0.0, narrow, np.clip(steepest, 1.0, STEEPEST))


def _objective_factor(value: float, gradient: Array) -> float:
    """The objective by its gradient or its value at the start, whichever is smaller."""
    value, steepest = abs(value), float(np.abs(gradient).max(initial=0.0))
    # At a start that is optimal already the gradient is noise, and dividing by it would magnify rounding; a
    # gradient far above the value, where accelerations follow from millimetres, would make `tol` a loose one.
    # Squares that are zero but for rounding have a value as small as the square of their gradient.
    flat = FLAT if value <= VANISHING * steepest else 0.0
    size = np.clip(steepest, max(SHARE * value, flat), max(value, SHARE * steepest, flat))
    if np.isinf(size):
        raise EvaluationError(
            f"the objective is {value:.3g} and its steepest slope {steepest:.3g} at the start, beyond what "
            "floats hold: divide its weights"
        )
    return 1.0 / float(size) if steepest > 0.0 else 1.0
