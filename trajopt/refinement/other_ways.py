"""Other ways to solve a program where IPOPT with its defaults stops short of an optimum.

Second derivatives that jump can keep an interior-point method from its tolerance for a thousand iterations.
A barrier parameter that may rise again can help, and quasi-Newton steps use no second derivatives. The first
way that converges is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from trajopt.base.errors import TrajoptError
from trajopt.refinement.mesh_levels import summed
from trajopt.refinement.rounds import iterations_on
from trajopt.solution.records import StartSolves, StartTable
from trajopt.solution.solve_once import solved_on_mesh
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.run import TimedSolver
from trajopt.solvers.slsqp import Slsqp
from trajopt.solvers.solver import Solver, Status

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


def worth_other_ways(answer: Any, timed: TimedSolver) -> bool:
    """Whether IPOPT stopped where another way may go on."""
    return isinstance(timed.solver, Ipopt) and answer.status in STOPPED and not timed.run.expired


def solved_otherwise(asked: Any, timed: TimedSolver, first: Any) -> Any:
    """The answer of the first way that converges, else `first`; its table of meshes has all solves.

    first : the answer of IPOPT that did not converge; the table of its starts gets a line for the others
    """
    tried, found = [first], first
    for name, solver, motion in _ways(timed.solver, first):
        way = replace(timed, solver=solver).asking(max_iterations=iterations_on())
        try:
            answer = solved_on_mesh(asked, way, motion)
        except TrajoptError:  # a start at which a term is not finite, for instance
            continue
        (level,) = answer.levels
        tried.append(replace(answer, levels=(replace(level, status=f"{level.status} ({name})"),)))
        if answer.converged:
            found = tried[-1]
            break
        if timed.run.expired or answer.status is Status.INTERRUPTED:
            break
    return replace(
        summed(found, *tried),
        starts=_with_ways(first.starts, tried[1:], found is not first),
        iterations=sum(each.iterations for each in tried),  # with those of starts, which are no levels
        seconds=sum(each.seconds for each in tried),
    )


def _with_ways(table: StartTable | None, tried: Sequence[Any], found: bool) -> StartTable | None:
    """The table of starts, if there is one, with the solves of other ways as one more start."""
    if table is None or not tried:
        return table
    number = len(table.starts)
    row = StartSolves(number, tuple(level for each in tried for level in each.levels), finished=True)
    return StartTable((*table.starts, row), number if found else table.chosen)


def _ways(solver: Any, first: Any) -> Iterator[tuple[str, Solver, Any]]:
    """Name, solver and motion to start from, None for the guess, of every way."""
    rule = {"adaptive_mu_globalization": "never-monotone-mode"}
    if not rule.keys() & solver.options.keys():
        yield "barrier never monotone", replace(solver, options={**solver.options, **rule}), None
    if first.n_variables <= SMALL:
        yield "SLSQP from there", Slsqp(), first
