"""The status of a run that a solver gave up or that met its iteration limit, from the point it returned.

Why a solver gave up may depend on rounding; the KKT conditions at its last point do not. The first line that
applies gives the status:

    it gave up or converged, and the objective falls on with unknowns that grew    DIVERGING
    the solver converged, or an evaluation, the callback or a limit of time stopped it    as it says
    largest |y| > 1e12, no further step found                      DIVERGING
    KKT error <= kkt_tol                                           CONVERGED
    KKT error <= acceptable_tol                                    ACCEPTABLE
    violation > feasibility, no further step found, and
        more equality rows than unknowns                           NOT_ENOUGH_FREEDOM
        linearised constraints and bounds contradict each other    INCOMPATIBLE
    violation > feasibility, iteration limit met, and no
        linearised step takes away 1 % of the violation            INCOMPATIBLE
    otherwise                                                      ITERATION_LIMIT or STEP_TOO_SMALL

Constraints linearised at a point: with g, J the rows and their Jacobian at y, and w_i = max(1, max_j |J_ij|),
the linear program

    minimise s   with   row_lower <= g + J d + e <= row_upper,   lower <= y + d <= upper,   |e_i| <= w_i s

over steps d (n,) and s >= 0 gives the least linearised violation s that any step reaches. Where s exceeds the
tolerance of feasibility, no step of a method that linearises (SQP, Newton) meets the constraints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.solvers.matrices import sparse_jacobian
from trajopt.solvers.optimality.kkt import kkt_residuals, largest_violation
from trajopt.solvers.solver import Program, Result, Status, WarmStart
from trajopt.solvers.solver_constants import FEASIBILITY, LITTLE, ROUNDING


def status_of_point(
    result: Result, nlp: Program, answer: WarmStart, feasibility: float, kkt_tol: float, acceptable_tol: float
) -> Status:
    """The status by the table at the top.

    result : of the solver, STEP_TOO_SMALL where it gave up
    answer : the returned point with its multipliers
    """
    gave_up = result.status is Status.STEP_TOO_SMALL
    if not gave_up and result.status is not Status.ITERATION_LIMIT:
        return result.status
    # Scaled unknowns are of order one: so large, they only grow.
    if gave_up and ROUNDING * np.abs(answer.y).max(initial=0.0) > 1.0:
        return Status.DIVERGING
    error = kkt_residuals(nlp, answer).error
    if error <= acceptable_tol:
        return Status.CONVERGED if error <= kkt_tol else Status.ACCEPTABLE
    if result.infeasibility <= feasibility:
        return result.status
    if gave_up and np.count_nonzero(nlp.row_lower == nlp.row_upper) > nlp.variable_count:
        return Status.NOT_ENOUGH_FREEDOM
    found = linearised_violation(nlp, answer.y, feasibility)
    # Half-way, a contradiction may vanish at a later iterate; where the violation is least, it stays.
    threshold = feasibility if gave_up else max(feasibility, (1.0 - LITTLE) * found.here)
    return Status.INCOMPATIBLE if found.least > threshold else result.status


def falls_for_ever(nlp: Program, start: WarmStart, y: np.ndarray) -> bool:
    """True if unknowns of y that grew a millionfold since the start may grow as much again, and f falls on.

    With d = y - start in these unknowns and zero in all others: y + d violates bounds and rows by no more
    than y and the start do together, and f(y) - f(y + d) is at least half of f(y - d / 2) - f(y) > 0. No
    minimum is like that, however small the gradient is beside the multipliers.
    """
    apart = y - start.y
    grown = FEASIBILITY * np.abs(apart) > 1.0 + np.abs(start.y)
    if not grown.any():
        return False
    step = np.where(grown, apart, 0.0)
    ahead, behind = y + step, y - 0.5 * step
    violations = [largest_violation(nlp, at, nlp.rows(at)) for at in (start.y, y, ahead)]
    if not violations[2] <= max(violations[0] + violations[1], FEASIBILITY):
        return False
    before, here, after = (float(nlp.objective(at)) for at in (behind, y, ahead))
    return here - after >= 0.5 * (before - here) > 0.0


@dataclass(frozen=True)
class LinearisedViolation:
    """max_i |e_i| / w_i at the point itself and the least that a step reaches, as above; NaN: not known."""

    here: float
    least: float


def linearised_violation(nlp: Program, y: np.ndarray, tolerance: float) -> LinearisedViolation:
    """The violation of the linearised rows at y, which must be within its bounds, to 0.1 `tolerance`."""
    from scipy.optimize import linprog
    from scipy.sparse import hstack, vstack

    rows, values = np.asarray(nlp.rows(y), dtype=float), np.asarray(nlp.jacobian(y), dtype=float)
    if not (np.isfinite(rows).all() and np.isfinite(values).all()):
        return LinearisedViolation(np.nan, np.nan)
    jacobian = sparse_jacobian(nlp, values)
    # Divided by w, every row yields to the same s.
    scale = np.maximum(1.0, abs(jacobian).max(axis=1).toarray().ravel()) if rows.size else np.ones(0)
    jacobian = jacobian.multiply(1.0 / scale[:, None]).tocsr()
    below, above = (nlp.row_lower - rows) / scale, (nlp.row_upper - rows) / scale
    at_least, at_most = np.flatnonzero(np.isfinite(below)), np.flatnonzero(np.isfinite(above))
    if not at_least.size + at_most.size:
        return LinearisedViolation(0.0, 0.0)
    yielding = np.full((at_least.size + at_most.size, 1), -1.0)
    found = linprog(
        np.append(np.zeros(y.size), 1.0),
        A_ub=hstack([vstack([-jacobian[at_least], jacobian[at_most]]), yielding]).tocsr(),
        b_ub=np.concatenate([-below[at_least], above[at_most]]),
        bounds=np.column_stack([np.append(nlp.lower - y, 0.0), np.append(nlp.upper - y, np.inf)]),
        method="highs",
        options={"primal_feasibility_tolerance": float(np.clip(0.1 * tolerance, 1e-10, 1e-7))},
    )
    here = max(float(below.max()), float(-above.min()), 0.0)
    return LinearisedViolation(here, float(found.x[-1]) if found.status == 0 else np.nan)
