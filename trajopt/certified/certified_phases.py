"""Certified refinement of phases: finer knots where equations are missed, nodes for limits, a line for all.

It is that of single problems (`refinement/certified.py`) without switching structures, time scaling and
brackets: equations between nodes are mended by halved intervals, limits by nodes that carry limits alone,
where certificates find them violated, and all phases are solved again together.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trajopt.base.arrays import Array
from trajopt.certificates.phases_certificate import PhasesCertificate, certificate_of_phases
from trajopt.certified.added_nodes import INTERRUPTED, times_of_violations
from trajopt.certified.certified import Certified
from trajopt.checks.equations.path_equations import path_equations
from trajopt.refinement.limit_nodes import LimitNodes, LimitPeaks, limit_peaks, with_limit_nodes
from trajopt.refinement.refined import Refined
from trajopt.refinement.refined_phases import refined_phases
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.records.certification import NO_STRUCTURE, Certification
from trajopt.solution.records.solve_history import record_solve
from trajopt.solvers.run import SolvesStopped, TimedSolver, run_solver
from trajopt.solvers.solver import Callback, Run, Solver, StartKind
from trajopt.transcription.links.linked_program import linked_program


def certified_phases(
    settings: Certified, solution: PhasesSolutionData, solver: Solver, progress: Callback | None = None
) -> PhasesSolutionData:
    """The solution with a certificate, on as many intervals and nodes as its statements needed.

    Its seconds count all solves and checks. Where the certification ends in an error, the solution comes back
    with a certificate that does not hold and tells it.
    """
    began = time.perf_counter()
    try:
        found = _certified(
            settings, solution, TimedSolver(solver, Run(callback=progress).within(settings.time_limit))
        )
    except Exception as error:  # whatever it is, the finished solve must not be lost
        failed = f"the certification ended in an error ({type(error).__name__}: {error})"
        found = replace(
            solution, certification=Certification(settings.tol, settings.equation_tol, 0, failed=failed)
        )
    return replace(found, seconds=solution.seconds + time.perf_counter() - began)


def _certified(settings: Certified, solution: PhasesSolutionData, budget: TimedSolver) -> PhasesSolutionData:
    first, certification = solution, Certification(settings.tol, settings.equation_tol, 0)
    if solution.converged and any(path_equations(part.problem) for part in solution.phases):
        tolerance = settings.equation_tol or settings.tol
        knots = Refined(tol=tolerance, rounds=settings.rounds, errors="equations")
        solution = refined_phases(knots, solution, budget)
    best = last = replace(solution, certification=certification)
    count, iterations, reason = 0, solution.iterations, NO_STRUCTURE
    of_last = of_best = _certificate(last)
    while count < settings.rounds and last.converged:
        times = _times_of_violations(settings, of_last)
        if not any(own.size for own in times):
            break
        try:
            finer = with_nodes(last, times, budget)
        except (SolvesStopped, KeyboardInterrupt) as stop:
            reason = f"{reason}; {str(stop) or INTERRUPTED}"
            break
        last, count = replace(finer, certification=certification), count + 1
        iterations += finer.iterations
        if not last.converged:
            reason = f"{reason}; with added nodes the solve did not converge"
            break
        of_last = _certificate(last)
        if _worst(of_last) < _worst(of_best):
            best, of_best = last, of_last
    return replace(
        best,
        certification=replace(certification, rounds=count, reason=reason),
        refinement=solution.refinement,
        recipe=first.recipe,
        iterations=iterations,
    )


def phases_with_limit_nodes(
    settings: LimitNodes, solution: PhasesSolutionData, solver: Solver, progress: Callback | None = None
) -> PhasesSolutionData:
    """The solution of phases whose limits are violated least between nodes."""

    def peaks(last: PhasesSolutionData) -> list[LimitPeaks]:
        return [limit_peaks(part) for part in last.phases]

    def finer(last: PhasesSolutionData, times: Sequence[Array]) -> PhasesSolutionData:
        return with_nodes(last, times, solver, progress)

    return settings.improved(solution, peaks, finer)


def with_nodes(
    last: PhasesSolutionData, times: Sequence[Array], solver: Solver, progress: Callback | None = None
) -> PhasesSolutionData:
    """The phases solved again from their motions with limit nodes at these times of every phase, seconds."""
    meshes = [with_limit_nodes(part, own) for part, own in zip(last.phases, times, strict=True)]
    phases = last.known.on(*meshes)
    phases.guess(last)
    program = linked_program(phases)
    run = Run(start_kind=StartKind.SAME_MOTION, callback=progress)
    return PhasesSolutionData.of(
        program, record_solve(program, run_solver(solver, program, None, run)), last.run
    )


def _times_of_violations(settings: Certified, certificate: PhasesCertificate) -> list[Array]:
    """Seconds at which limits of every phase are violated between its nodes."""
    each = zip(certificate.motion.phases, certificate.phases, strict=True)
    return [
        np.array(times_of_violations(motion, part, settings.tol, settings.settings)) for motion, part in each
    ]


def _worst(certificate: PhasesCertificate) -> float:
    """The largest violation of a line in multiples of its tolerance."""
    return max((line.ratio for line in certificate.lines), default=0.0)


def _certificate(solution: PhasesSolutionData) -> PhasesCertificate:
    certificate = certificate_of_phases(solution)
    assert certificate is not None  # it has a certification
    return certificate
