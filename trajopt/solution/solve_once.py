"""One solve of a problem or of phases as they stand: transcribe, run the solver, read the answer back."""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from trajopt.problem.guess import Motion
from trajopt.problem.links.phases import Phases
from trajopt.problem.problem import ProblemData
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.records import record_solve
from trajopt.solution.solution import Answer, SolutionData
from trajopt.solvers.run import run_solver
from trajopt.solvers.solver import Result, Run, Solver, WarmStart
from trajopt.transcription.initial_point import first_guess
from trajopt.transcription.links.linked_problems import linked_problems
from trajopt.transcription.links.linked_program import LinkedProgram, program_of
from trajopt.transcription.nlp import NLP


@overload
def solve_once(
    asked: ProblemData,
    solver: Solver,
    run: Run | None = None,
    motion: Motion | None = None,
    like: Answer | None = None,
) -> SolutionData: ...
@overload
def solve_once(
    asked: Phases, solver: Solver, run: Run | None = None, motion: Any = None, like: None = None
) -> PhasesSolutionData: ...
def solve_once(
    asked: Any,
    solver: Solver,
    run: Run | None = None,
    motion: Motion | Answer | None = None,
    like: Answer | None = None,
) -> Answer:
    """The answer on the trajectories as they are, without refinement and without a derivative check.

    motion : what to start from instead of the problem's guess; the program and its scaling stay the same
    like : the solution of a program that differs in bounds and weights alone: its point and multipliers are
        the start
    """
    program = program_of(asked)
    start = None if like is None else like.point
    if motion is not None and start is None:
        start = _start_of(motion, asked, program)
    return answer_of(asked, program, record_solve(program, run_solver(solver, program, start, run)))


def answer_of(asked: Any, program: NLP | LinkedProgram, result: Result) -> Answer:
    """The answer to a problem, or to phases, at a solver's result."""
    if isinstance(program, LinkedProgram):
        return PhasesSolutionData.of(program, result)
    return SolutionData.of(asked, program, result)


def _start_of(motion: Any, asked: Any, program: NLP | LinkedProgram) -> WarmStart:
    """The start of a program at a motion, or at the motions of phases."""
    guessed = asked.on(*(part.trajectory for part in asked.parts))
    guessed.guess(motion)
    if isinstance(program, NLP):
        return WarmStart(program.bounds.clipped(program.unknowns.of(*first_guess(guessed))))
    each = zip(program.programs, linked_problems(guessed).problems, strict=True)
    return WarmStart(np.concatenate([p.bounds.clipped(p.unknowns.of(*first_guess(own))) for p, own in each]))
