"""One solve of phases: derivative checks, the program of all phases, the solver, the solutions read back."""

from __future__ import annotations

from trajopt.phases.linked_program import linked_program
from trajopt.phases.phases import Phases
from trajopt.phases.phases_solution import PhasesSolution
from trajopt.solution.records.run_record import RunRecord
from trajopt.solvers.capabilities import with_time_limit
from trajopt.solvers.solver import Callback, Solver
from trajopt.transcription.derivative_check import check_problem


def solve_phases(
    phases: Phases, solver: Solver, callback: Callback | None, run: RunRecord | None, time_limit: float | None
) -> PhasesSolution:
    """The solution of phases on their own meshes from their own guesses."""
    for problem in phases.problems:
        check_problem(problem)
    program = linked_program(phases)
    for problem in program.linked.problems:
        check_problem(problem)
    limited = solver if time_limit is None else with_time_limit(solver, time_limit)
    return PhasesSolution.of(program, limited.solve(program, callback), run)
