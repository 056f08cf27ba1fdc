"""The status of a run that a solver gave up or that met its iteration limit, from the point it returned.

Why a solver gave up may depend on rounding; the KKT conditions at its last point do not. The first line that
applies gives the status:

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
"""

from __future__ import annotations

import numpy as np

from trajopt.solvers.optimality.kkt import kkt_residuals
from trajopt.solvers.optimality.linearised_constraints import linearised_violation
from trajopt.solvers.solver import Program, Result, Status, WarmStart

__all__ = ["status_of_point"]

_RUNAWAY = 1e12  # scaled unknowns are of order one; so large, they only grow
_STATIONARY = 0.99  # of the violation remains at the end of every linearised step: it is as small as it gets


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
    if gave_up and np.abs(answer.y).max(initial=0.0) > _RUNAWAY:
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
    threshold = feasibility if gave_up else max(feasibility, _STATIONARY * found.here)
    return Status.INCOMPATIBLE if found.least > threshold else result.status
