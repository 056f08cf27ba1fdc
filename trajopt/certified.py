"""The certified optimum: limits that hold for all t, and the true minimum where its structure is confirmed.

A uniform spline approaches a bang-bang optimum only as h^2. Once its switching structure is known, the
motion is smooth between the switches: one arc of high degree per switching interval, with its own duration,
converges like the Taylor series does. On each arc the saturated limits are *equalities at Gauss points*
(inequalities on arcs of free duration run into other local optima), the slack ones stay inequalities.

Where no structure is confirmed, the uniform motion is refined instead: nodes are added where limits are
overstepped until the largest excess is below the tolerance. What is true is certified, not more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trajopt.bspline import SplineBasis
from trajopt.errors import OptionError, TrajoptError
from trajopt.excess import Excess, largest_excesses, local_maxima, path_limits
from trajopt.problem import Problem
from trajopt.solution import Solution
from trajopt.solver import Solver
from trajopt.switching import Structure, detect
from trajopt.trajectory import Arc, Trajectory
from trajopt.use import ArcNodes

COLLAPSED = 1e-3  # of the whole duration: an arc shorter than this was no switching interval
SHORTEST_ARC = 1e-4  # of the whole duration, lower bound of an arc while its structure is being tested
HIGHEST_DEGREE = 16  # beyond it the monomials behind the basis lose more digits than the degree gains
UNCONFIRMED = 1e-2  # of the range between limits: a larger excess means a wrong structure, not a low degree


@dataclass(frozen=True)
class Certificate:
    """What is guaranteed about a solution.

    excesses : the largest excess of every component of every limit over all t, in its own unit
    method : "switching arcs" or "added nodes"
    structure : the confirmed switching structure, or None
    reason : why there are no switching arcs, empty where there are
    """

    tolerance: float
    excesses: tuple[Excess, ...]
    method: str
    structure: Structure | None
    rounds: int
    reason: str

    @property
    def largest_excess(self) -> float:
        return max((excess.value for excess in self.excesses), default=-np.inf)

    @property
    def holds(self) -> bool:
        return self.largest_excess <= self.tolerance

    def __str__(self) -> str:
        worst = max(self.excesses, key=lambda excess: excess.value, default=None)
        lines = [
            f"certificate ({self.method}, {self.rounds} rounds): {'holds' if self.holds else 'does not hold'}"
        ]
        if worst is not None:
            lines.append(f"  largest excess for all t: {worst} (tolerance {self.tolerance:.1e})")
        if self.structure is not None:
            switches = ", ".join(f"{time:.6f}" for time in self.structure.times[1:-1])
            lines.append(f"  switches at {switches or 'none'} s")
        if self.reason:
            lines.append(f"  {self.reason}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Certified:
    """How to refine: `solve(problem, refine=Certified(tol=1e-6))`.

    tol : largest excess of any limit at any time, in the limit's own unit
    degree : of the arcs between switches, raised where the excess asks for it
    rounds : how often a structure may be corrected, and how often nodes may be added
    """

    tol: float = 1e-6
    degree: int = 14
    rounds: int = 8

    def __post_init__(self) -> None:
        if not (np.isfinite(self.tol) and self.tol > 0.0):
            raise OptionError(f"tol is {self.tol!r}: give a positive number in the unit of the limits")
        if not isinstance(self.degree, int) or not 4 <= self.degree <= 16:
            raise OptionError(f"degree is {self.degree!r}: arcs between switches take 4 to 16, best 8 to 12")
        if not isinstance(self.rounds, int) or self.rounds < 1:
            raise OptionError(f"rounds is {self.rounds!r}: give a whole number of at least 1")

    def refine(self, solution: Solution, solver: Solver) -> Solution:
        """A solution with a `certificate`: on switching arcs, or else on a spline with added nodes."""
        reason = ""
        if path_limits(solution):
            try:
                on_arcs, reason = self._on_arcs(solution, solver)
            except TrajoptError as error:
                on_arcs, reason = None, f"no switching arcs: {error}"
            if on_arcs is not None:
                return on_arcs
        return self._with_added_nodes(solution, solver, reason)

    # -- arcs ---------------------------------------------------------------------------------------------

    def _on_arcs(self, uniform: Solution, solver: Solver) -> tuple[Solution | None, str]:
        """Solve on the detected structure and correct it; accept only what the checks confirm.

        A collapsed arc is dropped. An excess near the arcs' ends falls with the degree; what is left of it at
        the highest degree is taken off the limits.
        """
        structure, degree, margin = detect(uniform), self.degree, 0.0
        if not any(structure.saturated):
            return None, "no limit is saturated anywhere, so there is no switching structure"
        trial, iterations = uniform, uniform.iterations
        excesses: tuple[Excess, ...] = ()
        judged, count, excess = trial, 0, np.inf
        for count in range(1, self.rounds + 1):  # noqa: B007  reported in the certificate
            trial = _solved(arc_problem(uniform.problem, structure, trial, degree, margin), solver)
            iterations += trial.iterations
            if not trial.converged:
                return None, f"the arcs did not converge ({trial.status.value})"
            structure = structure.with_times(trial.curve.durations)
            shortest = int(np.argmin(structure.durations))
            if structure.durations[shortest] < COLLAPSED * trial.duration and structure.arc_count > 1:
                structure = structure.without(shortest)
                continue
            judged = replace(trial, known_problem=_copy(uniform.problem, trial.problem.trajectory))
            excesses = tuple(largest_excesses(judged))
            excess = max(excess.value for excess in excesses)
            if excess <= self.tol:
                break
            if excess > UNCONFIRMED * _range(uniform):
                return None, f"the arcs overstep a limit by {excess:.3g}: the structure is not confirmed"
            degree, margin = (
                (degree + 2, margin) if degree + 2 <= HIGHEST_DEGREE else (degree, margin + 1.2 * excess)
            )
        else:
            return None, f"the arcs still overstep a limit by {excess:.3g} after {self.rounds} rounds"
        if trial.objective > uniform.objective * (1.0 + 1e-6) + 1e-12:
            return None, "the arcs are worse than the uniform solve: the structure is not confirmed"
        certificate = Certificate(self.tol, excesses, "switching arcs", structure, count, "")
        return replace(judged, certificate=certificate, recipe=uniform.recipe, iterations=iterations), ""

    # -- nodes --------------------------------------------------------------------------------------------

    def _with_added_nodes(self, solution: Solution, solver: Solver, reason: str) -> Solution:
        """Add the times of all excesses as nodes and solve again from the last motion."""
        problem = solution.problem
        for count in range(self.rounds + 1):
            excesses = tuple(largest_excesses(solution))
            certificate = Certificate(self.tol, excesses, "added nodes", None, count, reason)
            solution = replace(solution, certificate=certificate)
            if certificate.holds or not solution.converged or count == self.rounds:
                return solution
            problem = _copy(problem, _with_nodes(solution, problem.trajectory, self.tol))
            problem.guess(solution.curve.at_progress, duration=solution.curve.durations)
            refined = _solved(problem, solver)
            if not refined.converged:
                note = f"adding nodes stopped: {refined.status.value}"
                return replace(solution, certificate=replace(certificate, reason=note))
            solution = replace(
                refined, recipe=solution.recipe, iterations=solution.iterations + refined.iterations
            )
        return solution


def arc_problem(
    problem: Problem, structure: Structure, motion: Solution, degree: int, margin: float = 0.0
) -> Problem:
    """The problem on one arc per switching interval, saturated limits as equalities at Gauss points.

    With degree - 1 Gauss points a saturated joint's polynomial is determined by its start and its torque.
    margin is taken off every limit, in its own unit.
    """
    shortest = SHORTEST_ARC * motion.duration
    longest = sum(arc.duration_bounds[1] for arc in problem.trajectory.arcs)
    basis = SplineBasis.uniform(1, degree)
    arc = Arc(basis, (shortest, longest), nodes_per_span=degree - 1, rule="gauss")
    arcs = _copy(problem, Trajectory((arc,) * structure.arc_count, continuity=1), keep_path=False)
    limits = [c for c in problem.constraints if c.over == "path" and not np.all(c.lower == c.upper)]
    for index, limit in enumerate(limits):
        for number, saturated in enumerate(structure.saturated):
            held = {s.component: s.side for s in saturated if s.limit == index}
            lower, upper = limit.lower + margin, limit.upper - margin
            for component, side in held.items():
                value = upper[component] if side > 0 else lower[component]
                lower[component] = upper[component] = value
            arcs.subject_to(limit.term, lower, upper, over=ArcNodes(number), name=limit.name)
    arcs.guess(
        _along(motion, structure), duration=structure.durations * motion.duration / structure.times[-1]
    )
    return arcs


def _along(motion: Solution, structure: Structure):
    """q of a motion at the progress of a structure's arcs."""
    times = np.array(structure.times) * (motion.duration / structure.times[-1])

    def curve(progress: Any) -> np.ndarray:
        along = np.asarray(progress, dtype=float) * structure.arc_count
        return motion.q(np.interp(along, np.arange(structure.arc_count + 1), times))

    return curve


def _copy(problem: Problem, trajectory: Trajectory, keep_path: bool = True) -> Problem:
    """The same problem on another trajectory; its limits over the path are left out on request."""
    copy = Problem(problem.dynamics, trajectory, problem.name)
    copy.costs = list(problem.costs)
    copy.parameters = dict(problem.parameters)
    copy.loads = dict(problem.loads)
    copy.periodicities = list(problem.periodicities)
    for constraint in problem.constraints:
        limit = constraint.over == "path" and not np.all(constraint.lower == constraint.upper)
        if keep_path or not limit:
            copy.constraints.append(constraint)
    return copy


def _range(solution: Solution) -> float:
    """The widest finite distance between the two sides of a limit."""
    widths = np.concatenate([limit.upper - limit.lower for limit in path_limits(solution)])
    finite = widths[np.isfinite(widths)]
    return float(finite.max()) if finite.size else 1.0


def _with_nodes(solution: Solution, trajectory: Trajectory, tolerance: float) -> Trajectory:
    extra = [list(points) for points in trajectory.extra_points] or [[] for _ in trajectory.arcs]
    curve = solution.curve
    for limit in path_limits(solution):
        for component in range(limit.lower.size):
            times, values = local_maxima(solution, limit, component)
            for time in times[values > 0.1 * tolerance]:
                arc = int(np.clip(np.searchsorted(curve.starts, time, side="right") - 1, 0, len(extra) - 1))
                s = float((time - curve.starts[arc]) / curve.durations[arc])
                if 0.0 < s < 1.0:
                    extra[arc].append(s)
    return replace(trajectory, extra_points=tuple(tuple(sorted(set(points))) for points in extra))


def _solved(problem: Problem, solver: Solver) -> Solution:
    from trajopt.transcription import transcribe

    nlp = transcribe(problem)
    return Solution.of(problem, nlp, solver.solve(nlp))
