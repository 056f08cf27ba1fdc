"""Other solvers, where IPOPT with its defaults stops short of an optimum.

Second derivatives that jump can keep an interior-point method from its tolerance for a thousand iterations.
A barrier parameter that may rise again can help, and quasi-Newton steps use no second derivatives.
Where the interior-point method's first steps led far from a good guess, as with a motion that its start alone
decides, SLSQP begins with that guess again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from trajopt.base.errors import TrajoptError
from trajopt.solution.journal import Attempt, Journal, Policy, iterations_on
from trajopt.solution.records import OTHER_SOLVERS
from trajopt.solution.solution import Answer
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.slsqp import Slsqp
from trajopt.solvers.solver import Run, Solver, Status

STOPPED = frozenset(
    {
        Status.ITERATION_LIMIT,
        Status.ACCEPTABLE,
        Status.RESTORATION_FAILED,
        Status.STEP_FAILED,
        Status.STEP_TOO_SMALL,
    }
)
SMALL = 500  # unknowns up to which SLSQP, whose steps cost their third power, is tried


def other_solvers(journal: Journal) -> Policy[None]:
    """Try other ways until one converges, where IPOPT stopped short; they are one more start."""
    first = journal.best.answer
    if not isinstance(journal.solver, Ipopt) or first.status not in STOPPED:
        return
    number, run = (
        1 + max(each.attempt.number for each in journal.entries),
        Run(max_iterations=iterations_on()),
    )
    for note, solver, start in _ways(journal.solver, first):
        common = {"policy": OTHER_SOLVERS, "number": number, "own_mesh": True}
        try:
            entry = yield Attempt(journal.asked, start, run, solver, note=note, **common)
        except TrajoptError:  # a start at which a term is not finite, for instance
            continue
        if entry.converged:
            return


def _ways(solver: Ipopt, first: Answer) -> Iterator[tuple[str, Solver, Any]]:
    """Name, solver and motion to start from, None for the guess, of every way."""
    rule = {"adaptive_mu_globalization": "never-monotone-mode"}
    if not rule.keys() & solver.options.keys():
        yield "barrier never monotone", replace(solver, options={**solver.options, **rule}), None
    if first.n_variables <= SMALL:
        yield "SLSQP from there", Slsqp(), first
        yield "SLSQP from the guess", Slsqp(), None
