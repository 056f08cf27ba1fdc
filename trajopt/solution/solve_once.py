"""One solve of a problem as it stands: transcribe, run the solver, read the solution back."""

from __future__ import annotations

from trajopt.problem.problem import Problem
from trajopt.solution.solution import Solution
from trajopt.solvers.solver import Callback, Solver
from trajopt.transcription.transcribe import transcribe


def solve_once(problem: Problem, solver: Solver, callback: Callback | None = None) -> Solution:
    """The solution of a problem on its own trajectory, without refinement and without a derivative check."""
    nlp = transcribe(problem)
    return Solution.of(problem, nlp, solver.solve(nlp, callback))
