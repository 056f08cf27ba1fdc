"""Solves on switching arcs: briefly, from several starts, and counted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trajopt.certified.search_settings import SearchSettings
from trajopt.problem.problem import ProblemData
from trajopt.solution.journal import Attempt, Journal
from trajopt.solution.solution import SolutionData
from trajopt.solvers.newton.damped_newton import SquareNewton
from trajopt.solvers.run import Fallback
from trajopt.solvers.solver import Run, StartKind, Status


@dataclass
class ArcSolves:
    """Solves on switching arcs, and a count of what they took.

    Where limits determine all joints there are as many equations as unknowns, which Newton's method solves;
    the solver of the journal solves the other programs, and what Newton's steps do not.

    count : of all solves
    effort, largest : as `SearchSettings.effort_of` counts it, of all solves and of one
    """

    journal: Journal
    settings: SearchSettings
    count: int = 0
    effort: float = 0.0
    largest: float = 0.0

    @property
    def exhausted(self) -> bool:
        """True if a further solve may exceed what all are allowed."""
        return self.effort + self.largest >= self.settings.total_iterations

    def solve(
        self, problem: ProblemData, like: SolutionData | None = None, free: bool = False
    ) -> SolutionData:
        """Solve with few iterations: on a wrong structure a solve takes hundreds.

        Joints that are free start near their bounds; else a second start is tried, with these near theirs.

        like : the solution of the same arcs with other margins and weights, tried as a start before
        free : whether joints are free on some arc, so that limits are inequalities there
        """
        if like is not None:
            solution = self._solve(problem, None, like)
            if solution.converged:
                return solution
        if not free:
            solution = self._solve(problem, StartKind.NEAR_START)
            if solution.converged or self.exhausted:
                return solution
        return self._solve(problem, StartKind.NEAR_BOUNDS)

    def _solve(
        self, problem: ProblemData, kind: StartKind | None, like: SolutionData | None = None
    ) -> SolutionData:
        s, start = self.settings, None if like is None else like.point
        brief = Run(max_iterations=s.arc_iterations, start_kind=kind, row_tolerances=s.row_tolerances)
        newton = Fallback(SquareNewton(), self.journal.solver)
        found = self.journal.answer(Attempt(problem, start, brief, newton, policy="switching arcs"))
        solution = converged_to_rounding(found, s)
        self.count += 1
        effort = self.settings.effort_of(solution)
        self.effort, self.largest = self.effort + effort, max(self.largest, effort)
        return solution


def converged_to_rounding(solution: SolutionData, settings: SearchSettings) -> SolutionData:
    """Converged, where an acceptable point has rows as exact as ever and stationarity to `optimal`.

    Multipliers only have to show their signs.
    """
    kkt = solution.kkt
    exact = max(kkt.primal, kkt.complementarity, kkt.sign) <= settings.acceptable_tolerance
    if solution.status is Status.ACCEPTABLE and exact and kkt.stationarity <= settings.optimal:
        return replace(solution, status=Status.CONVERGED)
    return solution
