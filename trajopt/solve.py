"""From a problem to its solution: transcribe, solve, and hand back a curve with everything known about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from trajopt.errors import OptionError, ShapeError
from trajopt.problem.problem import Problem
from trajopt.solution.solution import Solution
from trajopt.solvers.solver import Solver
from trajopt.transcription.derivative_check import check_problem
from trajopt.transcription.transcribe import transcribe

if TYPE_CHECKING:
    from trajopt.refinement.certified import Certified
    from trajopt.refinement.knots import Refined


def solve(
    problem: Problem,
    solver: Solver | None = None,
    *,
    refine: Certified | Refined | None = None,
    progress: Literal["auto", "silent"] | Callable[..., Any] = "silent",
) -> Solution:
    """Minimize the problem's costs; the answer says whether it converged.

    refine, `Certified(tol=1e-6)`, makes the limits hold for all t and, where the switching structure can be
    confirmed, finds the true optimum; the solution then has a `certificate`. progress is "auto" (a live line
    on a terminal, plain lines elsewhere), "silent", or a function of every `Iteration`, refining included.

    The derivatives of the user's own blocks are checked before the first solve.

    Without a solver the one that the problem recommends is used, or IPOPT with its defaults.

    Raises ProblemError when the problem contradicts itself, EvaluationError when a term is not finite at the
    start, DerivativeError when a block's derivatives are wrong; not converging is a status of the answer.
    """
    if not isinstance(problem, Problem):
        raise ShapeError(f"solve takes a trajopt.Problem, not {type(problem).__name__}: call build() first")
    solver = solver or default_solver(problem)
    if not hasattr(solver, "solve"):
        raise OptionError(
            f"solver is {solver!r}: give an instance such as trajopt.Ipopt() or trajopt.Slsqp()"
        )
    if refine is not None and not hasattr(refine, "refine"):
        raise OptionError(f"refine is {refine!r}: give an instance such as trajopt.Certified(tol=1e-6)")
    check_problem(problem)
    nlp = transcribe(problem)
    # A term that is NaN on the way is told by name, with its node; NumPy's warnings would only repeat it.
    with _watching(progress) as watch, np.errstate(all="ignore"):
        result = solver.solve(nlp) if watch is None else solver.solve(nlp, watch)
        solution = Solution.of(problem, nlp, result)
        if refine is None:
            return solution
        # A checkpoint is of the problem that was asked, not of the ones that refine it.
        return refine.refine(solution, getattr(solver, "without_checkpoints", solver), watch)


@contextmanager
def _watching(progress: str | Callable[..., Any]) -> Iterator[Callable[..., Any] | None]:
    """What is called at every iteration, or None."""
    if callable(progress):
        yield progress
    elif progress == "silent":
        yield None
    else:
        from trajopt.solvers.progress import Progress

        with Progress(progress) as display:  # type: ignore[arg-type]
            yield display


def default_solver(problem: Problem) -> Solver:
    """What the problem recommends, or IPOPT with its defaults."""
    if problem.solver is not None:
        return problem.solver
    from trajopt.solvers.ipopt import Ipopt

    return Ipopt()
