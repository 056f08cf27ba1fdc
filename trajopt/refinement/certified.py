"""The certified optimum: limits that hold for all t, and the true minimum where its structure is confirmed.

A uniform spline approaches a bang-bang optimum only as h^2. Once its switching structure is known, the
motion is smooth between the switches: one arc of high degree per switching interval, with its own duration,
converges like the Taylor series does.

Where no structure is confirmed, the spline is refined instead: knots are added where the objective could gain
by them, and then nodes where limits are overstepped, until the largest excess is below the tolerance. What is
true is certified, not more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.errors import OptionError
from trajopt.refinement.knots import moved
from trajopt.refinement.structure_search import HIGHEST_DEGREE, Search, solved
from trajopt.refinement.time_scaling import slowed
from trajopt.solution.certificate import Certificate
from trajopt.solution.solution import Solution
from trajopt.solution.violation import largest_excesses, local_maxima, path_limits
from trajopt.solvers.solver import Callback, Solver, check_positive
from trajopt.solvers.time_budget import SAME_MOTION, Budget, Stopped
from trajopt.splines.node_sets import PATH, TimeWindow
from trajopt.splines.trajectory import Trajectory

__all__ = ["Certificate", "Certified"]

FOR_THE_SEARCH = 0.7  # of the time limit; the rest is for adding nodes where no structure is found
LOWEST_DEGREE = 4


@dataclass(frozen=True)
class Certified:
    """How to refine: `solve(problem, refine=Certified(tol=1e-6))`.

    tol : largest excess of any limit at any time, in the limit's own unit
    degree : of the arcs between switches, raised where the excess asks for it
    rounds : how often a structure may be corrected, and how often nodes may be added
    time_limit : seconds for all of it; then, as after Ctrl-C, what was found so far is returned, certified
        for what it is
    """

    tol: float = 1e-6
    degree: int = 14
    rounds: int = 12
    time_limit: float = 20.0

    def __post_init__(self) -> None:
        check_positive("tol", self.tol)
        check_positive("time_limit", self.time_limit)
        if not isinstance(self.degree, int) or not LOWEST_DEGREE <= self.degree <= HIGHEST_DEGREE:
            raise OptionError(
                f"degree is {self.degree!r}: arcs between switches take {LOWEST_DEGREE} to "
                f"{HIGHEST_DEGREE}, best 8 to 14"
            )
        if not isinstance(self.rounds, int) or self.rounds < 1:
            raise OptionError(f"rounds is {self.rounds!r}: give a whole number of at least 1")

    def refine(self, solution: Solution, solver: Solver, progress: Callback | None = None) -> Solution:
        """A solution with a `certificate`: on switching arcs, or else on a spline with added nodes.

        progress sees every iteration of every solve.
        """
        budget = Budget.of(solver, self.time_limit, progress)
        search = Search(self, Budget.of(solver, FOR_THE_SEARCH * self.time_limit, progress), solution)
        try:
            reason = _unsuited(solution) or search.run()
        except (Stopped, KeyboardInterrupt) as stop:
            reason = str(stop) or "the refinement was interrupted"
            if "time limit" not in reason:
                return self._as_it_is(solution, reason)
        if search.found is not None:
            return search.found
        finest = solution if search.finest is None else search.finest
        finest = replace(finest, recipe=solution.recipe, iterations=solution.iterations + search.iterations)
        return self._with_added_nodes(finest, budget, reason)

    def _as_it_is(self, solution: Solution, reason: str, rounds: int = 0) -> Solution:
        """The solution with a certificate of what is true of it, or slowed until its limits hold."""
        excesses = tuple(largest_excesses(solution))
        certificate = Certificate(self.tol, excesses, "added nodes", None, rounds, reason, motion=solution)
        if not certificate.holds and solution.converged:
            slower = slowed(solution, self.tol)
            if slower is not None:
                growth = slower[0].duration / solution.duration - 1.0
                solution = slower[0]
                certificate = replace(certificate, excesses=slower[1], motion=solution, slowed=growth)
        return replace(solution, certificate=certificate)

    def _with_added_nodes(self, solution: Solution, solver: Budget, reason: str) -> Solution:
        """Add the times of all excesses as nodes and solve again from the last motion."""
        problem, count = solution.problem, 0
        while True:
            excesses = tuple(largest_excesses(solution))
            certificate = Certificate(self.tol, excesses, "added nodes", None, count, reason, motion=solution)
            if certificate.holds or not solution.converged or count == self.rounds:
                return self._as_it_is(solution, reason, count)
            problem = moved(solution, _with_nodes(solution, problem.trajectory, self.tol))
            try:
                refined = solved(problem, solver.near(SAME_MOTION))
            except (Stopped, KeyboardInterrupt) as stop:
                note = "; ".join(filter(None, [reason, str(stop) or "the refinement was interrupted"]))
                return self._as_it_is(solution, note, count)
            if not refined.converged:
                refined = self._within_tighter_limits(solution, certificate, solver)
            if refined is None:
                note = "; ".join(
                    filter(None, [reason, "adding nodes and tightening limits did not converge"])
                )
                return self._as_it_is(solution, note, count)
            iterations, count = solution.iterations + refined.iterations, count + 1
            solution = replace(refined, recipe=solution.recipe, iterations=iterations)

    def _within_tighter_limits(
        self, solution: Solution, certificate: Certificate, solver: Budget
    ) -> Solution | None:
        """Solve again with every limit tightened by its excess; None where that does not converge."""
        asked = solution.problem
        problem = moved(solution, asked.trajectory)
        over = [max(0.0, 1.5 * excess.value) for excess in certificate.excesses]
        limits, cursor = path_limits(solution), 0
        for limit in limits:
            margin = np.array(over[cursor : cursor + limit.lower.size])
            cursor += limit.lower.size
            tighter = replace(limit, lower=limit.lower + margin, upper=limit.upper - margin)
            problem.constraints[problem.constraints.index(limit)] = tighter
        try:
            refined = solved(problem, solver.near(SAME_MOTION))
        except (Stopped, KeyboardInterrupt):
            return None
        return replace(refined, known_problem=asked, point=None) if refined.converged else None


def _unsuited(solution: Solution) -> str:
    """Why no structure can be looked for, or nothing."""
    problem = solution.problem
    if not path_limits(solution):
        return "the problem bounds nothing over the whole motion"
    if any(isinstance(use.over, TimeWindow) for use in (*problem.costs, *problem.constraints)):
        return "a window of normalised time means another time on arcs"
    if any(c.over == PATH and np.all(c.lower == c.upper) for c in problem.constraints):
        return "an equality over the whole path leaves no freedom at the ends of arcs"
    if problem.extras:
        return "curves beside the joints have no structure that could be read"
    if len(problem.trajectory.arcs) > 1:
        return "the motion has arcs of its own"
    return ""


def _with_nodes(solution: Solution, trajectory: Trajectory, tolerance: float) -> Trajectory:
    extra = [list(points) for points in trajectory.extra_points] or [[] for _ in trajectory.arcs]
    curve = solution.curve
    for limit in path_limits(solution):
        for times, values in local_maxima(solution, limit, 0.1 * tolerance):
            for time in times[values > 0.1 * tolerance]:
                arc = int(np.clip(np.searchsorted(curve.starts, time, side="right") - 1, 0, len(extra) - 1))
                s = float((time - curve.starts[arc]) / curve.durations[arc])
                if 0.0 < s < 1.0:
                    extra[arc].append(s)
    return replace(trajectory, extra_points=tuple(tuple(sorted(set(points))) for points in extra))
