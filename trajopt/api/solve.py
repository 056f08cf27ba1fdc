"""`solve`: the list of what is tried by default, in its order."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from typing import Literal, overload

import numpy as np

from trajopt.base.arguments import MOST_STARTS, check_count, check_flag, check_positive
from trajopt.base.arrays import one_blas_thread
from trajopt.base.errors import OptionError, OutsideTableWarning, warn_user
from trajopt.checks.constraint_checks import outside_tables
from trajopt.problem.measured_start import with_measured_start
from trajopt.problem.phases import Phases
from trajopt.problem.problem import Problem
from trajopt.problem.problem_parts import Refinement, check_refinement, checked_problem
from trajopt.refinement.mesh_levels import levels, other_solvers
from trajopt.refinement.refinements import default_refinement, refinements
from trajopt.refinement.several_starts import retries, several_starts
from trajopt.solution.journal import Journal
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.records import RunRecord
from trajopt.solution.solution import Solution
from trajopt.solvers.monitor import iteration_callback
from trajopt.solvers.run import check_solver, create
from trajopt.solvers.solver import Callback, Run, Solver

Starts = int | Literal["auto"]
Progress = Literal["auto", "silent"] | Callback


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

    By default these are tried, in this order, each from the best answer before:

    1. levels: a problem that is given as the guess. Where durations are free, nothing is guessed and an arc
       has more than 20 spans, 10 to 19 spans first, then twice as many, up to the problem's own mesh; a
       coarse solve that fails is followed by a direct one. Else, and for `trajopt.InteriorPoint()`, the own
       mesh alone
    2. starts: where nothing is guessed and motions are known to have several optima, up to 8 guesses on a
       coarse mesh until several agree, the best different optima carried to the own one. They are 4 joints or
       more, or a turn of more than 90 degrees, in a free duration; joints without motors; and systems
       x' = f with bounded controls, whose guesses are simulated under controls that switch
    3. retries: where a guess with a free duration found nothing, or ended at the default limit of iterations,
       the same without its duration; other guesses, swings among them, where the own one found nothing, or
       alone found something
    4. other solvers: where IPOPT with its defaults stops short of an optimum, another barrier rule; then, up
       to 500 unknowns, SLSQP from where it stopped
    5. halved spans, in problems with path equations, as systems have: where these are missed between nodes by
       more than 1 % of their scale, or integrals by 1 %, as long as that changes states by 1 % or the
       objective by 0.1 %
    6. limit nodes: nodes for limits where these are exceeded between nodes by more than 0.1 % of their size;
       5 and 6 once more where this made equations worse
    7. in other problems: 6 for other optima of the starts that are lower than the best one is then

    Any objective that falls far below its scale is scaled anew. Of two answers the better one is decided by
    `trajopt/solution/journal.py`, which also makes the sums: iterations and seconds count all attempts.
    `solution.journal` is their table.

    solver : `trajopt.Ipopt(...)` for instance, without other solvers after it; None: the one that the problem
        recommends, else IPOPT with its defaults
    refine : in place of 5 to 7. "auto": what the problem recommends, else these. None: nothing; equations and
        limits hold at the nodes of the mesh alone. `trajopt.LimitNodes()`: 6 and 7.
        `trajopt.Refined(...)` halves spans until estimated errors are small, then 6.
        `trajopt.Certified(tol=1e-6)` makes the limits hold for all t and, where the switching structure can
        be confirmed, finds the true optimum; the solution then has a `certificate`
    starts : in place of 2; the table is `solution.journal.starts`. 1: neither starts nor retries. "auto": as
        above, or what the problem recommends, where its first start finds an optimum
    coarse_to_fine : in place of the condition of 1. The table is `solution.journal.levels`. False: starts are
        left out, too, unless their number is given
    time_limit : wall seconds for everything together; None: that of the solver for 1 to 3 together, and
        for each further solve
    progress : "auto" (a live line on a terminal, plain lines elsewhere), "silent", or a function called with
        every `Iteration`, those of the refinement included

    `trajopt.Phases` are solved from their own guesses, or from several `starts` that perturb them, on their
    own meshes unless coarse_to_fine is True, and refined by the same three; the search for a switching
    structure is for single problems.

    The constraints hold at the nodes to the solver's tolerance, and limits between them to 0.1 % of the
    larger of their two bounds by default, or the solution's `warning` says which does not.
    After Ctrl-C or the time limit the best answer so far is returned, its limits looked at, if there is one.
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
    record = RunRecord.of(
        solver,
        {"refine": refine, "starts": starts, "coarse_to_fine": coarse_to_fine, "time_limit": time_limit},
    )
    deadline = np.inf if time_limit is None else time.monotonic() + time_limit
    # The monitor reports NaN with its term and node; NumPy's warnings would only repeat it.
    with (
        one_blas_thread(),
        nullcontext()
        if isinstance(progress, str) and progress == "silent"
        else iteration_callback(progress) as callback,
        np.errstate(all="ignore"),
    ):
        whole = Run(deadline=deadline, callback=callback)
        # A solver's own time limit holds for levels and starts together.
        limited = whole.within(getattr(solver, "time_limit", None))
        problem = with_measured_start(problem)
        journal = Journal(problem, solver, limited, record)
        journal.improve(levels(journal, coarse_to_fine))
        journal.improve(several_starts(journal, starts, coarse_to_fine))
        journal.improve(retries(journal, starts))
        journal.run = replace(journal.run, deadline=deadline)
        if chosen is None:
            journal.improve(other_solvers(journal))
        journal.improve(refinements(journal, refine))
        answer = journal.solution(journal.best)
    for sentence in dict.fromkeys(each for part in answer.parts for each in outside_tables(part)):
        warn_user(sentence, OutsideTableWarning)
    return answer


def _check_arguments(
    problem: object,
    solver: object,
    refine: object,
    starts: object,
    coarse_to_fine: object,
    time_limit: float | None,
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


def _is_auto(given: object) -> bool:
    return isinstance(given, str) and given == "auto"
