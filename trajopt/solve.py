"""`solve`: checks the derivatives of a problem, solves it once, and refines the solution where asked to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from trajopt.errors import OptionError, ShapeError
from trajopt.problem.problem import Problem
from trajopt.solution.solution import Solution
from trajopt.solution.solve_once import solve_once
from trajopt.solvers import registry
from trajopt.solvers.capabilities import without_checkpoints
from trajopt.solvers.progress import iteration_callback
from trajopt.solvers.solver import Callback, Solver
from trajopt.transcription.derivative_check import check_problem


@runtime_checkable
class Refinement(Protocol):
    """What `solve(refine=...)` takes: makes a better solution from a solution, by further solves."""

    def refine(self, solution: Solution, solver: Solver, progress: Callback | None = None) -> Solution: ...


def solve(
    problem: Problem,
    solver: Solver | None = None,
    *,
    refine: Refinement | None = None,
    progress: Literal["auto", "silent"] | Callable[..., Any] = "silent",
) -> Solution:
    """Minimize the problem's costs subject to its constraints; `status` of the solution says how it ended.

    solver : `trajopt.Ipopt(...)` for instance; None: the one that the problem recommends, else IPOPT with its
        defaults
    refine : `trajopt.Certified(tol=1e-6)` makes the limits hold for all t and, where the switching structure
        can be confirmed, finds the true optimum; the solution then has a `certificate`.
        `trajopt.Refined(...)` halves knot intervals until the objective settles.
    progress : "auto" (a live line on a terminal, plain lines elsewhere), "silent", or a function called with
        every `Iteration`, those of the refinement included

    The constraints hold at the nodes to the solver's tolerance; between nodes see `Solution.verify`.

    Raises ProblemError for a problem that contradicts itself, EvaluationError where a term is not finite at
    the start, DerivativeError for a user's block with wrong derivatives. Not converging raises nothing.
    """
    _check_arguments(problem, solver, refine)
    solver = solver or default_solver(problem)
    check_problem(problem)
    # The monitor reports NaN with its term and node; NumPy's warnings would only repeat it.
    with iteration_callback(progress) as callback, np.errstate(all="ignore"):
        solution = solve_once(problem, solver, callback)
        if refine is None:
            return solution
        return refine.refine(solution, without_checkpoints(solver), callback)


def default_solver(problem: Problem) -> Solver:
    """The solver that the problem recommends, or IPOPT with its defaults."""
    return problem.solver or registry.create()


def _check_arguments(problem: Any, solver: Any, refine: Any) -> None:
    if not isinstance(problem, Problem):
        raise ShapeError(f"solve takes a trajopt.Problem, not {type(problem).__name__}: call build() first")
    if solver is not None:
        registry.check_solver(solver)
    if refine is not None and (not isinstance(refine, Refinement) or isinstance(refine, type)):
        raise OptionError(f"refine is {refine!r}: give an instance such as trajopt.Certified(tol=1e-6)")
