"""Certified refinement of phases: finer knots where equations are missed, nodes for limits, a line for all.

It is that of single problems (`certified.py`) without switching structures, time scaling and brackets:
equations between nodes are mended by halved intervals, limits by nodes that carry limits alone, where
certificates find them violated, and all phases are solved again together.
"""

from __future__ import annotations

from dataclasses import replace

from trajopt.certificates.phases_certificate import PhasesCertificate, certificate_of_phases
from trajopt.certified.added_nodes import INTERRUPTED, times_of_violations
from trajopt.certified.search_settings import SearchSettings
from trajopt.checks.equations.path_equations import path_equations
from trajopt.refinement.limit_nodes import asked_with_limit_nodes
from trajopt.refinement.refined import Refined
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.records.certification import NO_STRUCTURE, Certification
from trajopt.solution.solve_once import solve_once
from trajopt.solvers.run import SolvesStopped, TimedSolver
from trajopt.solvers.solver import StartKind


def certified_phases(
    solution: PhasesSolutionData,
    certification: Certification,
    rounds: int,
    budget: TimedSolver,
    search: SearchSettings,
) -> PhasesSolutionData:
    """The solution with a certification, on as many intervals and nodes as its statements needed.

    rounds : largest number of times that nodes are added
    """
    first = solution
    if solution.converged and any(path_equations(part.problem) for part in solution.parts):
        tolerance = certification.equation_tolerance or certification.tolerance
        solution = Refined(tol=tolerance, rounds=rounds, errors="equations").refine(solution, budget)
    best = last = replace(solution, certification=certification)
    near = budget.asking(start_kind=StartKind.SAME_MOTION)
    count, iterations, reason = 0, solution.iterations, NO_STRUCTURE
    of_last = of_best = _certificate(last)
    while count < rounds and last.converged:
        times = _times_of_violations(of_last, search)
        if not any(map(len, times)):
            break
        try:
            finer = solve_once(asked_with_limit_nodes(last, times), near)
        except (SolvesStopped, KeyboardInterrupt) as stop:
            reason = f"{reason}; {str(stop) or INTERRUPTED}"
            break
        last, count = replace(finer, certification=certification, run=first.run), count + 1
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


def _times_of_violations(certificate: PhasesCertificate, search: SearchSettings) -> list[list[float]]:
    """Seconds at which limits of every phase are violated between its nodes."""
    each = zip(certificate.motion.parts, certificate.phases, strict=True)
    return [times_of_violations(motion, part, certificate.tolerance, search) for motion, part in each]


def _worst(certificate: PhasesCertificate) -> float:
    """The largest violation of a line in multiples of its tolerance."""
    return max((line.ratio for line in certificate.lines), default=0.0)


def _certificate(solution: PhasesSolutionData) -> PhasesCertificate:
    certificate = certificate_of_phases(solution)
    assert certificate is not None  # it has a certification
    return certificate
