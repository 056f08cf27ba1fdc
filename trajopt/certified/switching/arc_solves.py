"""Solves on switching arcs: briefly, from several starts, and counted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from trajopt.certified.search_settings import SearchSettings
from trajopt.problem.problem import ProblemData
from trajopt.solution.journal import solve_once
from trajopt.solution.solution import SolutionData
from trajopt.solvers.newton.square_newton import SquareNewton
from trajopt.solvers.run import Fallback, TimedSolver
from trajopt.solvers.solver import StartKind, Status


@dataclass
class ArcSolves:
    """Solves on switching arcs, and a count of what they took.

    Where limits determine all joints there are as many equations as unknowns, which Newton's method solves;
    `solver` solves the other programs, and what Newton's steps do not.

    iterations, count : of all solves
    effort, largest : as `SearchSettings.effort_of` counts it, of all solves and of one
    """

    solver: TimedSolver
    settings: SearchSettings
    iterations: int = 0
    count: int = 0
    effort: float = 0.0
    largest: float = 0.0

    @property
    def exhausted(self) -> bool:
        """Whether a further solve may exceed what all are allowed."""
        return self.effort + self.largest >= self.settings.total_iterations

    def solve(
        self, problem: ProblemData, like: SolutionData | None = None, free: bool = False
    ) -> SolutionData:
        """Solve with few iterations: on a wrong structure a solve takes hundreds.

        Joints that are free start near their bounds; else a second start is tried, with these near theirs.

        like : the solution of the same arcs with other margins and weights, tried as a start before
        free : whether joints are free on some arc, so that limits are inequalities there
        """
        brief = self.solver.asking(
            max_iterations=self.settings.arc_iterations, row_tolerances=self.settings.row_tolerances
        )
        if like is not None:
            solution = self._solve(problem, brief, like)
            if solution.converged:
                return solution
        if not free:
            solution = self._solve(problem, brief.asking(start_kind=StartKind.NEAR_START))
            if solution.converged or self.exhausted:
                return solution
        return self._solve(problem, brief.asking(start_kind=StartKind.NEAR_BOUNDS))

    def _solve(
        self, problem: ProblemData, solver: TimedSolver, like: SolutionData | None = None
    ) -> SolutionData:
        newton = Fallback(SquareNewton(), solver.solver)
        solution = solve_once(problem, replace(solver, solver=newton), like=like)
        solution = converged_to_rounding(solution, self.settings)
        self.iterations, self.count = self.iterations + solution.iterations, self.count + 1
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
