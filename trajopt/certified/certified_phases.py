"""Certified refinement of phases: finer knots where equations are missed, nodes for limits, a line for all.

It is that of single problems (`certified.py`) without switching structures, time scaling and brackets:
equations between nodes are mended by halved intervals, limits by nodes that carry limits alone, where
certificates find them violated, and all phases are solved again together.
"""

from __future__ import annotations

from dataclasses import replace

from trajopt.certificates.phases_certificate import PhasesCertificate, certificate_of_phases
from trajopt.certified.added_nodes import times_of_violations
from trajopt.certified.search_settings import SearchSettings
from trajopt.checks.path_equations import path_equations
from trajopt.refinement.limit_nodes import asked_with_limit_nodes
from trajopt.refinement.refined import Refined
from trajopt.refinement.rounds import NoFurtherRound, Rounds, run_rounds, unless_smaller
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.records import NO_STRUCTURE, Certification
from trajopt.solution.solve_once import solve_once
from trajopt.solvers.run import TimedSolver
from trajopt.solvers.solver import StartKind


def certified_phases(
    solution: PhasesSolutionData,
    certification: Certification,
    rounds: int,
    budget: TimedSolver,
    search: SearchSettings,
) -> PhasesSolutionData:
    """The solution with a certification, on as many intervals and nodes as its equations and limits needed.

    rounds : largest number of times that nodes are added
    """
    first = solution
    if solution.converged and any(path_equations(part.problem) for part in solution.parts):
        tolerance = certification.equation_tolerance or certification.tolerance
        solution = Refined(tol=tolerance, rounds=rounds, errors="equations").refine(solution, budget)
    near = budget.asking(start_kind=StartKind.SAME_MOTION)

    def ended(so_far: Rounds[PhasesCertificate]) -> str | None:
        if not so_far.last.answer.converged:
            return "with added nodes the solve did not converge" * bool(so_far.count)
        return "" if so_far.count >= rounds else None

    def finer(so_far: Rounds[PhasesCertificate]) -> PhasesSolutionData:
        times = _times_of_violations(so_far.last.measure, search)
        if not any(map(len, times)):
            raise NoFurtherRound
        answer = solve_once(asked_with_limit_nodes(so_far.last.answer, times), near)
        return replace(answer, certification=certification, run=first.run)

    found = run_rounds(
        replace(solution, certification=certification),
        measure=_certificate,
        ended=ended,
        finer=finer,
        objection=unless_smaller(_worst),
    )
    reason = "; ".join(filter(None, (NO_STRUCTURE, found.reason)))
    return found.answer(
        certification=replace(certification, rounds=found.count, reason=reason),
        refinement=solution.refinement,
        recipe=first.recipe,
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
