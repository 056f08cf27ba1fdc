"""Estimate of the error of the optimum: by how much the objective changes where all intervals are halved.

    error ~ 2 |J - J(halved)|

The program is solved once more from its answer. Errors of optima fall at least in proportion to the length of
intervals: then the change is at least a half of the error, and at most all of it. Blind to other local
optima.

The solve ends as soon as J(halved) is known to a tenth of the change. With the multipliers lambda >= 0 of all
limits, and the violation of each by the iterate y, negative where it holds with a distance,

    f(y),   f(y) + sum of lambda * violation   and   f(y) + sum of lambda * max(violation, 0)

are about the optimum: the second is the Lagrangian, whose error is a product of those of y and lambda, and a
bound from below where the problem is convex and the gradient of the Lagrangian zero. All must agree, of two
iterates in turn, with at least a half of Newton's step between them: a solve that creeps changes little. The
last one must meet the limits as an answer does: where they contradict each other, multipliers grow without
end, and the last two values agree on a number that is nothing but their size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trajopt.base.arguments import pluralize
from trajopt.base.arrays import Array, one_blas_thread
from trajopt.base.errors import TrajoptError
from trajopt.base.tolerances import AGREEMENT
from trajopt.solution.answers import program_of
from trajopt.solution.journal import Attempt, Journal
from trajopt.solution.solution import Answer
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.kkt import largest_violation
from trajopt.solvers.run import SolvesStopped
from trajopt.solvers.solver import FEASIBILITY, Program, Run, StartKind, WarmStart
from trajopt.verification.minimality import FURTHER, LARGEST, products

KNOWN = 0.2  # of the change of the objective: the range of its optimum by two iterates that ends the solve
SHARE = 0.5  # of Newton's step, at least, between them


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
    least = max(least, AGREEMENT * answer.size_of_costs)
    try:
        with one_blas_thread():
            halved = answer.on_halved_spans()
            program = program_of(halved, check=True)
            known = UntilKnown(answer.objective, least)
            run = Run(max_iterations=FURTHER, start_kind=StartKind.NEAR_BOUNDS, watch=known)
            entry = Journal.after(answer, Ipopt(), run).attempt(Attempt(halved, answer, program=program))
    except Known as found:
        return OptimumError(max(2.0 * found.change, least))
    except (TrajoptError, SolvesStopped) as error:
        return OptimumError(None, f"the solve on halved intervals ended: {error}")
    if not entry.converged:
        iterations = pluralize(entry.answer.iterations, "iteration")
        return OptimumError(None, f"on halved intervals the solve did not converge in {iterations}")
    change = abs(answer.objective - entry.answer.objective)
    return OptimumError(float(np.max([2.0 * change, least])))


class Known(Exception):
    """The change of the objective is known well enough: the end of a solve."""

    def __init__(self, change: float) -> None:
        super().__init__()
        self.change = change


class UntilKnown:
    """Look at iterates that raises `Known` once two in turn give the change of the objective to a tenth.

    objective : of the answer
    least : change, in units of the objective, below which it is known to be no more than this
    """

    def __init__(self, objective: float, least: float) -> None:
        self.objective, self.least = objective, least
        self.before: tuple[Array, Array] | None = None

    def __call__(self, nlp: Program, at: WarmStart, rows: Array, objective: float, step: float) -> None:
        here = np.concatenate([at.y, rows])
        parts = -products(nlp, at, rows)
        lagrangian = objective + float(parts.sum())
        merit = objective + float(np.maximum(parts, 0.0).sum())
        # The least and the largest of the three estimates of the optimum
        ends = np.array([min(lagrangian, objective), merit]) / getattr(nlp, "objective_scale", 1.0)
        before, self.before = self.before, (here, ends)
        if before is None or not np.abs(here - before[0]).max() >= SHARE * step:
            return
        if not largest_violation(nlp, at.y, rows) <= FEASIBILITY:
            return
        low, high = min(ends[0], before[1][0]), max(ends[1], before[1][1])
        change = float(abs(self.objective - 0.5 * (low + high)))
        if high - low <= max(KNOWN * change, self.least):
            raise Known(change)
