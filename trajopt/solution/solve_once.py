"""One solve of a problem as it stands: transcribe, run the solver, read the solution back."""

from __future__ import annotations

from trajopt.problem.guess import Motion
from trajopt.problem.problem import ProblemData
from trajopt.solution.records.solve_history import record_solve
from trajopt.solution.solution import SolutionData
from trajopt.solvers.run import run_solver
from trajopt.solvers.solver import Run, Solver, WarmStart
from trajopt.transcription.initial_point import first_guess
from trajopt.transcription.nlp import NLP
from trajopt.transcription.transcribe import transcribe


def solve_once(
    problem: ProblemData,
    solver: Solver,
    run: Run | None = None,
    motion: Motion | None = None,
    like: SolutionData | None = None,
) -> SolutionData:
    """The solution of a problem on its own trajectory, without refinement and without a derivative check.

    motion : what to start from instead of the problem's guess; the program and its scaling stay the same
    like : the solution of a program that differs in bounds and weights alone: its point and multipliers are
        the start
    """
    nlp = transcribe(problem)
    start = None if motion is None else _start_of(motion, problem, nlp)
    if like is not None and like.point is not None:
        start = like.point
    return SolutionData.of(problem, nlp, record_solve(nlp, run_solver(solver, nlp, start, run)))


def _start_of(motion: Motion, problem: ProblemData, nlp: NLP) -> WarmStart:
    guessed = problem.on(problem.trajectory)
    guessed.guess(motion)
    return WarmStart(nlp.bounds.clipped(nlp.unknowns.of(*first_guess(guessed))))
