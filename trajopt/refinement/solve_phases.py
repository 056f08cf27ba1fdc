"""Solves of phases: derivative checks, the program of all phases, the solver, the solutions read back."""

from __future__ import annotations

import numpy as np

from trajopt.problem.links.phases import Phases
from trajopt.refinement.starts.starts_of_phases import best_start_of_phases
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.records.run_record import RunRecord
from trajopt.solution.records.solve_history import record_solve
from trajopt.solvers.run import run_solver
from trajopt.solvers.solver import Callback, Run, Solver
from trajopt.transcription.derivative_check import check_problem
from trajopt.transcription.links.linked_program import linked_program


def solve_phases(
    phases: Phases,
    solver: Solver,
    callback: Callback | None,
    run: RunRecord | None,
    deadline: float = np.inf,
    starts: int = 1,
) -> PhasesSolutionData:
    """The best solution of phases on their own meshes from several starts, the first their own guesses.

    deadline : seconds of `time.monotonic`
    """
    for problem in phases.problems:
        check_problem(problem)

    def solved(each: Phases) -> PhasesSolutionData:
        program = linked_program(each)
        for problem in program.linked.problems:
            check_problem(problem)
        result = run_solver(solver, program, None, Run(deadline=deadline, callback=callback))
        return PhasesSolutionData.of(program, record_solve(program, result), run)

    return solved(phases) if starts == 1 else best_start_of_phases(phases, solved, starts)
