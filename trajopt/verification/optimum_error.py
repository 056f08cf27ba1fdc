"""Estimate of the error of the optimum: by how much the objective changes where all intervals are halved.

    error ~ 2 |J - J(halved)|

The program is solved once more from its answer, in about ten iterations. Errors of optima fall at least in
proportion to the length of intervals: then the change is at least a half of the error, and at most all of
it. Blind to other local optima.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trajopt.base.arguments import pluralize
from trajopt.base.blas_threads import one_blas_thread
from trajopt.base.errors import TrajoptError
from trajopt.base.tolerances import AGREEMENT
from trajopt.solution.journal import Attempt, Journal
from trajopt.solution.solution import Answer
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.run import SolvesStopped
from trajopt.solvers.solver import Run, StartKind
from trajopt.verification.minimality import FURTHER, LARGEST


class OptimumError(NamedTuple):
    """The estimate in units of the objective, or None and the reason why there is none."""

    value: float | None
    reason: str = ""


def error_of_optimum(answer: Answer, least: float = 0.0) -> OptimumError:
    """The estimate above, at least what solves leave: 1e-9 of the costs.

    least : in units of the objective, where costs are zero but for what solves leave
    """
    if answer.n_variables > LARGEST:
        return OptimumError(None, f"there are more than {LARGEST} unknowns")
    journal = Journal.after(answer, Ipopt(), Run(max_iterations=FURTHER, start_kind=StartKind.NEAR_START))
    try:
        with one_blas_thread():
            entry = journal.attempt(Attempt(answer.on_halved_spans(), answer))
    except (TrajoptError, SolvesStopped) as error:
        return OptimumError(None, f"the solve on halved intervals ended: {error}")
    if not entry.converged:
        iterations = pluralize(entry.answer.iterations, "iteration")
        return OptimumError(None, f"on halved intervals the solve did not converge in {iterations}")
    change = abs(answer.objective - entry.answer.objective)
    return OptimumError(float(np.max([2.0 * change, AGREEMENT * answer.size_of_costs, least])))
