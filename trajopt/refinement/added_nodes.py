"""Limits that hold for all t on a spline: the times of violations between nodes become nodes.

The problem is solved again from the last motion until the largest violation is below the tolerance. Where
that solve does not converge, limits are tightened by their violations; where limits still do not hold at the
end, time is scaled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.refinement.knots import on_trajectory
from trajopt.refinement.search_settings import SearchSettings
from trajopt.refinement.time_scaling import time_scaled
from trajopt.solution.certificate import Certificate
from trajopt.solution.solution import Solution
from trajopt.solution.solve_once import solve_once
from trajopt.solution.violation import largest_violations, local_maxima, path_limits
from trajopt.solvers.capabilities import StartPreset
from trajopt.solvers.time_budget import SolvesStopped, TimeBudget
from trajopt.splines.trajectory import Trajectory

INTERRUPTED = "the refinement was interrupted"


@dataclass(frozen=True)
class NodeRefinement:
    """Certification of a spline solution by adding nodes.

    tol : largest violation of any limit at any time, in the limit's own unit
    rounds : largest number of times that nodes are added
    """

    tol: float
    rounds: int
    settings: SearchSettings

    def run(self, solution: Solution, solver: TimeBudget, reason: str) -> Solution:
        """The solution with a certificate, on as many nodes as its limits needed.

        reason : why there is no switching structure
        """
        problem, count = solution.problem, 0
        while True:
            certificate = self._certificate(solution, reason, count)
            if certificate.holds or not solution.converged or count == self.rounds:
                return self.certified(solution, reason, count)
            problem = on_trajectory(solution, self._with_nodes(solution, problem.trajectory))
            try:
                refined = solve_once(problem, solver.with_start_preset(StartPreset.SAME_MOTION))
            except (SolvesStopped, KeyboardInterrupt) as stop:
                note = _joined(reason, str(stop) or INTERRUPTED)
                return self.certified(solution, note, count)
            if not refined.converged:
                refined = self._within_tighter_limits(solution, certificate, solver)
            if refined is None:
                note = _joined(reason, "adding nodes and tightening limits did not converge")
                return self.certified(solution, note, count)
            iterations, count = solution.iterations + refined.iterations, count + 1
            solution = replace(refined, recipe=solution.recipe, iterations=iterations)

    def certified(self, solution: Solution, reason: str, rounds: int = 0) -> Solution:
        """The solution with its certificate, after time scaling where its limits do not hold otherwise."""
        certificate = self._certificate(solution, reason, rounds)
        if not certificate.holds and solution.converged:
            slower = time_scaled(solution, self.tol, self.settings)
            if slower is not None:
                growth = slower[0].duration / solution.duration - 1.0
                solution = slower[0]
                certificate = replace(certificate, violations=slower[1], motion=solution, slowed=growth)
        return replace(solution, certificate=certificate)

    def _certificate(self, solution: Solution, reason: str, rounds: int) -> Certificate:
        violations = tuple(largest_violations(solution))
        return Certificate(self.tol, violations, "added nodes", None, rounds, reason, motion=solution)

    def _within_tighter_limits(
        self, solution: Solution, certificate: Certificate, solver: TimeBudget
    ) -> Solution | None:
        """Solve again with every limit tightened by its violation; None where that does not converge."""
        original = solution.problem
        problem = on_trajectory(solution, original.trajectory)
        factor, cursor = self.settings.tightening_factor, 0
        margins = [max(0.0, factor * violation.value) for violation in certificate.violations]
        for limit in path_limits(solution):
            margin = np.array(margins[cursor : cursor + limit.lower.size])
            cursor += limit.lower.size
            tighter = replace(limit, lower=limit.lower + margin, upper=limit.upper - margin)
            problem.constraints[problem.constraints.index(limit)] = tighter
        try:
            refined = solve_once(problem, solver.with_start_preset(StartPreset.SAME_MOTION))
        except (SolvesStopped, KeyboardInterrupt):
            return None
        return replace(refined, known_problem=original, point=None) if refined.converged else None

    def _with_nodes(self, solution: Solution, trajectory: Trajectory) -> Trajectory:
        """The trajectory with all local maxima of violations as further nodes."""
        extra = [list(points) for points in trajectory.extra_points] or [[] for _ in trajectory.arcs]
        curve, threshold = solution.curve, self.settings.node_threshold * self.tol
        for limit in path_limits(solution):
            for times, values in local_maxima(solution, limit, threshold):
                for time in times[values > threshold]:
                    arc = int(np.searchsorted(curve.starts, time, side="right") - 1)
                    arc = int(np.clip(arc, 0, len(extra) - 1))
                    s = float((time - curve.starts[arc]) / curve.durations[arc])
                    if 0.0 < s < 1.0:
                        extra[arc].append(s)
        return replace(trajectory, extra_points=tuple(tuple(sorted(set(points))) for points in extra))


def _joined(*reasons: str) -> str:
    return "; ".join(filter(None, reasons))
