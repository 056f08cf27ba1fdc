"""`solve`: one solve, coarse meshes or further starts where they are worth it, and a refinement if asked."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Literal, overload

import numpy as np

from trajopt.api.phases_solution import PhasesSolution
from trajopt.api.problem import Problem
from trajopt.api.solution import Solution
from trajopt.base.arguments import MOST_STARTS, check_count, check_flag, check_positive
from trajopt.base.blas_threads import one_blas_thread
from trajopt.base.errors import OptionError
from trajopt.problem.links.phases import Phases
from trajopt.problem.problem_parts import checked_problem
from trajopt.problem.refinement_protocol import Refinement, check_refinement
from trajopt.refinement.limit_nodes import LimitNodes
from trajopt.refinement.mesh_levels import solve_on_levels
from trajopt.refinement.other_ways import solved_otherwise, worth_other_ways
from trajopt.refinement.starts.several_starts import best_of_starts
from trajopt.refinement.starts.start_rules import (
    ONE,
    RETRIES,
    coarse_first,
    default_refinement,
    given_rule,
    start_rule,
    worth_retrying,
)
from trajopt.solution.records import RunRecord, recorded_solves
from trajopt.solution.solve_once import solved_on_mesh
from trajopt.solvers.progress import iteration_callback
from trajopt.solvers.run import SolvesStopped, TimedSolver, check_solver, create, without_checkpoints
from trajopt.solvers.solver import Callback, Iteration, Run, Solver

Starts = int | Literal["auto"]
Progress = Literal["auto", "silent"] | Callable[..., Any]


@overload
def solve(
    problem: Problem,
    solver: Solver | None = None,
    *,
    refine: Refinement | Literal["auto"] | None = "auto",
    starts: Starts = "auto",
    coarse_to_fine: bool | Literal["auto"] = "auto",
    time_limit: float | None = None,
    progress: Progress = "silent",
) -> Solution: ...
@overload
def solve(
    problem: Phases,
    solver: Solver | None = None,
    *,
    refine: Refinement | Literal["auto"] | None = "auto",
    starts: Starts = "auto",
    coarse_to_fine: bool | Literal["auto"] = "auto",
    time_limit: float | None = None,
    progress: Progress = "silent",
) -> PhasesSolution: ...
def solve(
    problem: Problem | Phases,
    solver: Solver | None = None,
    *,
    refine: Refinement | Literal["auto"] | None = "auto",
    starts: Starts = "auto",
    coarse_to_fine: bool | Literal["auto"] = "auto",
    time_limit: float | None = None,
    progress: Progress = "silent",
) -> Solution | PhasesSolution:
    """Minimize the problem's costs subject to its constraints; `status` of the solution says how it ended.

    solver : `trajopt.Ipopt(...)` for instance; None: the one that the problem recommends, else IPOPT with its
        defaults and, where that stops short of an optimum, with another barrier rule; then, up to 500
        unknowns, SLSQP from where it stopped
    refine : "auto": what the problem recommends, else what `verify` asks for between nodes: knot intervals
        are halved where path equations, as those of systems, are missed by more than 1 % of their scale, or
        integrals by 1 %, then `trajopt.LimitNodes()` adds nodes for limits where they are exceeded by more
        than 0.1 % of their size, and equations are looked at once more. None: nothing; equations and limits
        hold at the nodes of the mesh alone.
        `trajopt.Certified(tol=1e-6)` makes the limits hold for all t and, where the switching structure can
        be confirmed, finds the true optimum; the solution then has a `certificate`.
        `trajopt.Refined(...)` halves knot intervals until estimated errors are small
    starts : with several, perturbed guesses are solved on a coarse mesh too, and the best different optima
        carried to the problem's own, where the one that is best once its limits hold between nodes wins; the
        solution has the table, `solution.starts`. Once several starts agree
        on the lowest optimum, the others are left out; where none of them finds a solution, further ones are
        tried. "auto": up to 8 where nothing is guessed and motions are known to have several optima: 4 joints
        or more, or a turn of more than 90 degrees, in a free duration, joints without motors, and systems
        x' = f with bounded controls, whose guesses are simulated under controls that switch; what the problem
        recommends, where its first start finds an optimum. Else 1, and further ones, swings among them, only
        where that one finds nothing, or only that one something
    coarse_to_fine : True: solve on 10 to 19 spans first, then on twice as many, up to the problem's own mesh,
        each from the last solution. "auto": where durations are free, nothing is guessed, and an arc has more
        than 20 spans. The table is `solution.levels`; a coarse solve that fails is followed by a direct one
    time_limit : wall seconds for starts, meshes and refinement together; None: that of the solver for each
        solve of a refinement, and for starts and meshes together
    progress : "auto" (a live line on a terminal, plain lines elsewhere), "silent", or a function called with
        every `Iteration`, those of the refinement included

    `trajopt.Phases` are solved from their own guesses, or from several `starts` that perturb them, on their
    own meshes unless coarse_to_fine is True, and refined by the same three; the search for a switching
    structure is for single problems.

    The constraints hold at the nodes to the solver's tolerance, and limits between them to 0.1 % of the
    larger of their two bounds by default, or the solution's `warning` says which does not.
    BLAS has one thread until the solve ends, unless OPENBLAS_NUM_THREADS, OMP_NUM_THREADS or MKL_NUM_THREADS
    is set: the matrices are small.

    Raises ProblemError for a problem that contradicts itself, EvaluationError where a term is not finite at
    the start, DerivativeError for a user's block with wrong derivatives. Not converging raises nothing.
    """
    _check_arguments(problem, solver, refine, starts, coarse_to_fine, time_limit)
    starts = starts if starts == "auto" else int(starts)
    chosen = solver or problem.solver
    solver = chosen or create()
    if isinstance(refine, str):
        refine = default_refinement(problem)
    run = RunRecord.of(
        solver,
        {"refine": refine, "starts": starts, "coarse_to_fine": coarse_to_fine, "time_limit": time_limit},
    )
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    # The monitor reports NaN with its term and node; NumPy's warnings would only repeat it.
    with (
        one_blas_thread(),
        recorded_solves() as solves,
        nullcontext()
        if isinstance(progress, str) and progress == "silent"
        else iteration_callback(progress) as callback,
        np.errstate(all="ignore"),
    ):
        timed = TimedSolver(solver, Run(deadline=deadline, callback=callback))
        first, *others = _from_starts(problem, timed, starts, coarse_to_fine)
        if chosen is None and not first.converged and worth_other_ways(first, timed):
            first = solved_otherwise(problem, timed, first)
        refined = partial(_refined_in_turn, refine, run, without_checkpoints(solver), deadline, callback)
        answer = refined(first)
        if isinstance(refine, LimitNodes):
            for other in others:
                if other.objective < answer.objective and time.monotonic() < deadline:
                    answer = _better(answer, refined(other), other)
        answer = replace(answer, run=run, solves=tuple(solves))
        return answer.as_instance_of(Solution, PhasesSolution)


def _from_starts(
    problem: Problem | Phases,
    timed: TimedSolver,
    starts: int | Literal["auto"],
    coarse_to_fine: bool | Literal["auto"],
) -> list[Any]:
    """The answer of one start, or those of several, the best first, over coarse meshes or on the own one."""
    # A solver's own time limit holds for all meshes and starts together.
    timed = replace(timed, run=timed.run.within(getattr(timed.solver, "time_limit", None)))
    by_levels = coarse_first(problem, timed.solver) if coarse_to_fine == "auto" else coarse_to_fine
    rule = start_rule(problem, timed.solver) if coarse_to_fine else ONE
    rule = rule if starts == "auto" else given_rule(problem, starts)
    found = [solution := (solve_on_levels if by_levels else solved_on_mesh)(problem, timed)]
    if rule.count > 1 and (solution.converged or rule.after_failure):
        found = best_of_starts(problem, timed, solution, rule)
    if starts != 1 and worth_retrying(found[0], timed):
        return best_of_starts(problem, timed, found[0], RETRIES)
    return found


def _refined_in_turn(
    refine: Refinement | None,
    run: RunRecord,
    solver: Solver,
    deadline: float,
    callback: Callback | None,
    first: Any,
) -> Any:
    """An answer after its refinement, with the tables of meshes and starts that it had before.

    Limit nodes follow a refinement that leaves limits between nodes to them. Equations may be missed by more
    on these nodes than before: where they are, both follow once more.
    """

    def refined(by: Refinement | None, answer: Any) -> Any:
        if by is None or (time.monotonic() >= deadline and not isinstance(by, LimitNodes)):
            return answer  # limits are looked at even then
        return _refined(by, answer, solver, deadline, callback)

    answer = refined(refine, replace(first, run=run).as_instance_of(Solution, PhasesSolution))
    if not getattr(refine, "holds_limits", True):
        held = refined(LimitNodes(), answer)
        moved, reached = held.iterations > answer.iterations, getattr(held.refinement, "reached", True)
        finer = refined(refine, held) if moved and reached else held
        answer = (
            refined(LimitNodes(), _noting_both(held, finer)) if finer.iterations > held.iterations else held
        )
    return replace(answer, levels=first.levels, starts=first.starts)


def _noting_both(once: Any, twice: Any) -> Any:
    """An answer that was refined again with the rounds of both times in its record."""
    first, second = once.refinement, twice.refinement
    if first is None or second is None:
        return twice
    return replace(twice, refinement=replace(second, rounds=(*first.rounds, *second.rounds[1:])))


def _better(answer: Any, other: Any, unrefined: Any) -> Any:
    """The lower of two refined answers, with the iterations and seconds of both.

    A motion whose limits are missed between nodes replaces none that holds them.
    unrefined : the second as it was before, whose iterations and seconds the first contains as well
    """
    lower = (
        other.converged and other.objective < answer.objective and bool(other.warning) <= bool(answer.warning)
    )
    return replace(
        other if lower else answer,
        iterations=answer.iterations + other.iterations - unrefined.iterations,
        seconds=answer.seconds + other.seconds - unrefined.seconds,
    )


def _refined(
    refinement: Refinement, solution: Any, solver: Solver, deadline: float, callback: Callback | None
) -> Any:
    """The refined solution of a problem or of phases; the former one where a deadline or an error ends it.

    What the callback raises leaves the refinement, too.
    """
    raised: list[Exception] = []

    def seen(iteration: Iteration) -> object:
        assert callback is not None
        try:
            return callback(iteration)
        except Exception as error:
            raised.append(error)
            raise

    watched = None if callback is None else seen
    run = Run(deadline=deadline, callback=watched)
    limited = TimedSolver(solver, run) if np.isfinite(deadline) else solver
    try:
        return refinement.refine(solution, limited, watched)
    except SolvesStopped:
        return solution
    except Exception as error:  # whatever it is, the finished solve must not be lost
        if any(error is each for each in raised):
            raise
        warnings.warn(
            f"the refinement ended in an error, the solution is as it was before ({type(error).__name__}: "
            f"{error})",
            stacklevel=3,
        )
        return solution


def _check_arguments(
    problem: Any, solver: Any, refine: Any, starts: Any, coarse_to_fine: Any, time_limit: Any
) -> None:
    if not isinstance(problem, Phases):
        checked_problem(problem)
    if solver is not None:
        check_solver(solver)
    given = None if _is_auto(refine) else refine
    if given is not None:
        check_refinement(given, "refine")
    if isinstance(problem, Phases) and given is not None and not getattr(given, "takes_links", False):
        raise OptionError(
            f"{type(given).__name__} is for single problems: phases are refined by refine="
            "trajopt.Refined(...) or trajopt.LimitNodes(...) or trajopt.Certified(...)"
        )
    if not _is_auto(starts):
        check_count("starts ('auto' or a number)", starts, 1, MOST_STARTS)
    if not _is_auto(coarse_to_fine):
        check_flag("coarse_to_fine ('auto' or a flag)", coarse_to_fine)
    check_positive("time_limit", time_limit, optional=True)


def _is_auto(given: Any) -> bool:
    return isinstance(given, str) and given == "auto"
