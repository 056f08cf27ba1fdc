"""The point that violates the rows of a program least, for reports on rows that cannot all hold.

    minimize  1/2 sum_r (w_r d_r(y))^2   with   lower <= y <= upper,

d_r the distance of row r from its bounds and w_r = 1 for limits, `equality_weight` for equations: equations
hold nearly, and the limits that would have to give way are seen. Levenberg and Marquardt's method (Nocedal
and Wright, Numerical Optimization, 2006, section 10.3), its steps cut off at the bounds of y. An iteration
takes values and first derivatives of the rows alone and a dense factorization, (n, n), of the size of y.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from trajopt.solvers.matrices import sparse_jacobian
from trajopt.solvers.newton.quadratic_program import POOR, Damping
from trajopt.solvers.optimality.kkt import side_violations
from trajopt.solvers.solver import LITTLE, MOST_STEPS, Program

EQUALITY_WEIGHT = 100.0
LOOK_BACK = 5  # iterations


def least_violation(
    nlp: Program, start: ArrayLike, equality_weight: float = EQUALITY_WEIGHT, seconds: float = np.inf
) -> NDArray[np.float64]:
    """A point (n,) near a local minimum of the weighted squared violation, from `start` (n,).

    It ends after 80 iterations or `seconds`, where five iterations decrease the sum by less than a
    hundredth, where all rows hold, or where a row or derivative is not finite.
    """
    began = time.perf_counter()
    weights = np.where(np.asarray(nlp.row_lower) == np.asarray(nlp.row_upper), equality_weight, 1.0)

    def distances(y: NDArray) -> NDArray:
        with np.errstate(invalid="ignore"):  # an infinite row beside an infinite bound
            below, above = side_violations(nlp.rows(y), nlp.row_lower, nlp.row_upper)
        return weights * (np.maximum(above, 0.0) - np.maximum(below, 0.0))

    y = np.clip(np.asarray(start, dtype=float), nlp.lower, nlp.upper)
    r, damping, found = distances(y), Damping(), []
    for _ in range(MOST_STEPS):
        found.append(0.5 * float(r @ r))
        slow = len(found) > LOOK_BACK and found[-LOOK_BACK - 1] - found[-1] < LITTLE * found[-1]
        if slow or not 0.0 < found[-1] < np.inf or time.perf_counter() - began > seconds:
            break
        J = sparse_jacobian(nlp, weights[nlp.jacobian_rows] * nlp.jacobian(y))
        A, violated = J[r != 0.0], r[r != 0.0]
        gradient, normal = A.T @ violated, (A.T @ A).toarray()
        if not np.all(np.isfinite(normal)):
            break
        blocked = ((y <= nlp.lower) & (gradient > 0.0)) | ((y >= nlp.upper) & (gradient < 0.0))
        while True:
            step = _step(normal, gradient, ~blocked, damping.amount)
            if step is not None:
                tried = np.clip(y + step, nlp.lower, nlp.upper)
                moved, at_tried = tried - y, distances(tried)
                decrease = found[-1] - 0.5 * float(at_tried @ at_tried)
                foreseen = -float(gradient @ moved + 0.5 * moved @ normal @ moved)
                if decrease > POOR * foreseen > 0.0:  # False where a row is NaN
                    break
            damping.increase()
            if damping.is_hopeless:
                return y
        y, r = tried, at_tried
        damping.follow(decrease, foreseen)
    return y


def _step(normal: NDArray, gradient: NDArray, free: NDArray, damping: float) -> NDArray | None:
    """-(J'J + damping I)^-1 gradient over the free unknowns, else zero; None where that is singular."""
    step = np.zeros(gradient.size)
    matrix = normal[np.ix_(free, free)] + damping * np.eye(int(free.sum()))
    try:
        step[free] = -cho_solve(cho_factor(matrix), gradient[free])
    except LinAlgError:
        return None
    return step
