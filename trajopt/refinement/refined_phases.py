"""Refinement of phases: spans are halved in every phase until the errors of all are small.

The errors are those of `Refined`, estimated phase by phase with what it shares held at its value; what finer
knots could gain is compared with the costs of all phases together.
"""

from __future__ import annotations

from trajopt.base.arrays import Array
from trajopt.refinement.error_estimate import ErrorEstimate
from trajopt.refinement.knots import split
from trajopt.refinement.refined import Refined, near_run
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.records.solve_history import record_solve
from trajopt.solvers.run import run_solver
from trajopt.solvers.solver import Callback, Solver
from trajopt.transcription.links.linked_program import linked_program


def refined_phases(
    settings: Refined, solution: PhasesSolutionData, solver: Solver, progress: Callback | None = None
) -> PhasesSolutionData:
    """The solution of phases with the smallest error, with the record of its refinement."""

    run = near_run(solution, progress)

    def estimate(last: PhasesSolutionData) -> ErrorEstimate:
        return _together(last, [settings.estimate(part) for part in last.phases])

    def finer(last: PhasesSolutionData, marks: list[Array]) -> PhasesSolutionData:
        meshes = []
        for problem in last.known.problems:
            own, marks = marks[: len(problem.trajectory.arcs)], marks[len(problem.trajectory.arcs) :]
            meshes.append(split(problem.trajectory, own))
        phases = last.known.on(*meshes)
        phases.guess(last)
        program = linked_program(phases)
        found = record_solve(program, run_solver(solver, program, None, run))
        return PhasesSolutionData.of(program, found, solution.run)

    return settings.improved(solution, estimate, finer)


def _together(solution: PhasesSolutionData, errors: list[ErrorEstimate]) -> ErrorEstimate:
    """The errors of all arcs of all phases, the gains relative to the costs of all."""
    own = [sum(abs(value) for value in part.cost_terms.values()) or 1.0 for part in solution.phases]
    total = sum(abs(value) for value in solution.cost_terms.values()) or 1.0
    shares = [size / total for size in own]
    return ErrorEstimate(
        tuple(values for each in errors for values in each.equations),
        tuple(
            share * values for share, each in zip(shares, errors, strict=True) for values in each.optimality
        ),
    )
