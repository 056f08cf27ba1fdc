"""Checks every bounded component of every constraint of a problem on a motion.

The constraints are those of the problem, and the bounds of its additional curves and parameters. Derivatives
of curves are bounded for all times by control points; all other terms are sampled over the times for which
they are stated and searched for peaks between the samples, or evaluated where these are single times.
Periodicity, continuity between arcs and durations compare ends of the motion and of its arcs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_result import CheckResult, ControlPointBound, Place
from trajopt.checks.check_times import Density, Interval, interval_of, node_samples, trajectory_of
from trajopt.checks.peaks import NOWHERE, Peaks, Worst, search
from trajopt.checks.scales import equation_scales, periodicity_scales, side_scales, zero_bounded
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.implied_constraints import all_constraints
from trajopt.problem.problem_graph import graph_of
from trajopt.problem.units import units_of
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.kkt import side_violations
from trajopt.splines.node_sets import ArcNodes, TimeWindow
from trajopt.splines.polynomial_bounds import jump_times, pieces_of, pieces_of_group, upper_bound
from trajopt.terms import term as terms
from trajopt.transcription.unknowns import continuity_name

JUMP = 1e-6  # of the largest acceleration or velocity of a joint: smaller jumps are rounding
MISPLACED = "stated for arcs that the motion does not have"
DIFFERENCES = "differences of neighbouring nodes only, nothing between two of them"


class ConstraintChecks:
    """The checks of all constraints of one motion.

    stated : the constraints, those implied by curves and parameters last
    nodes : of the motion;  values : of every constraint's term at all nodes, quantity -> (K, width)
    """

    def __init__(self, solution: SolutionData) -> None:
        self.solution, self.problem, self.curve = solution, solution.problem, solution.curve
        self.stated, self.leaves = all_constraints(self.problem), self.problem.spline_leaves
        self.nodes, self.trajectory = node_samples(solution), trajectory_of(solution)
        measured = [c for c in self.stated if np.any((c.lower == c.upper) | zero_bounded(c))]
        self.scales = equation_scales(solution, measured, self.nodes)
        self.values = solution.values([c.term for c in self.stated], self.nodes.times) if self.stated else {}

    def results(self, density: Density, only: Iterable[Constraint] | None = None) -> list[CheckResult]:
        """In the order of the constraints; those that are sampled are evaluated together."""
        chosen = self.stated if only is None else list(only)
        without_bound = {c: None for c in self.over_intervals() if c.term.quantity not in self.leaves}
        searched = search(self.solution, [c for c in chosen if c in without_bound], density)
        sampled = {peaks.constraint: peaks for peaks in searched}
        found: list[CheckResult] = []
        for constraint in chosen:
            if constraint in sampled:
                found += self._sampled(sampled[constraint])
            elif not self.placed(constraint):
                found += self._misplaced(constraint)
            elif constraint.over.is_difference:
                found += self._differences(constraint)
            elif constraint.term.quantity in self.leaves:
                found += self._polynomial(constraint)
            else:
                found += self._at_time(constraint)
        return found

    def over_intervals(self) -> list[Constraint]:
        """The constraints that are meant for all times of an interval of the motion."""
        return [
            c
            for c in self.stated
            if self.placed(c) and not c.over.is_difference and not interval_of(c.over, self.curve).is_time
        ]

    # -- checks of one constraint -------------------------------------------------------------------------

    def _sampled(self, peaks: Peaks) -> list[CheckResult]:
        constraint = peaks.constraint
        interval = interval_of(constraint.over, self.curve)
        jumps = self._jumps(constraint, interval)
        return [
            replace(
                blank,
                between=peaks.worst(c),
                evidence="sampled",
                resolution=peaks.resolution,
                jumps=jumps[c],
                place=Place(constraint, c, interval),
            )
            for c, blank in self._blank(constraint, peaks.reach)
        ]

    def _polynomial(self, constraint: Constraint) -> list[CheckResult]:
        """Bounds of a derivative of the curve over an interval, or at a time, by its control points."""
        when, leaf = interval_of(constraint.over, self.curve), self.leaves[constraint.term.quantity]
        pieces, place = pieces_of_group(self.curve, leaf.curves.start, leaf.order)
        pieces, jumps = pieces.within(when.first, when.last), self._jumps(constraint, when)
        coefficients = pieces.coefficients[..., place : place + constraint.lower.size]
        bounds = {}
        for c in _bounded(constraint):
            own = coefficients[..., c]
            bounds[c] = tuple(upper_bound(replace(pieces, coefficients=sign * own)) for sign in (-1.0, 1.0))
        reach = np.zeros(constraint.lower.size)
        for c, both in bounds.items():
            reach[c] = np.max(np.abs([each.attained for each in both]))
        found = []
        for c, blank in self._blank(constraint, reach):
            below, above = bounds[c]
            lower, upper = constraint.lower[c], constraint.upper[c]
            ends = (below.value + lower, below.time), (above.value - upper, above.time)
            worse = max(ends, key=lambda end: (np.isnan(end[0]), end[0]))
            hull = np.max([below.hull + lower, above.hull - upper])
            sides = Worst(below.attained + lower, below.time), Worst(above.attained - upper, above.time)
            bound = ControlPointBound(*map(float, (*worse, hull)))
            size = max(1.0, abs(above.hull), abs(below.hull))
            result = replace(blank, between=sides, bound=bound, size=size)
            if not when.is_time:
                about = Place(constraint, c, when)
                result = replace(result, evidence="sampled", jumps=jumps[c], place=about)
            found.append(result)
        return found

    def _at_time(self, constraint: Constraint) -> list[CheckResult]:
        time = interval_of(constraint.over, self.curve).first
        values = self.solution.value(constraint.term, np.array([time]))
        peaks = Peaks(constraint, np.array([time]), values)
        return [
            replace(blank, between=peaks.worst(c), at_nodes=peaks.worst(c))
            for c, blank in self._blank(constraint, peaks.reach)
        ]

    def _differences(self, constraint: Constraint) -> list[CheckResult]:
        """Differences between neighbouring nodes; what happens between two of them is not stated."""
        times = self.nodes.times[constraint.over.mask(self.nodes)]
        resolution = float(np.diff(times).max(initial=0.0))
        return [
            replace(blank, evidence="sampled", resolution=resolution, note=DIFFERENCES)
            for _, blank in self._blank(constraint, self._reach_at_nodes(constraint))
        ]

    def _misplaced(self, constraint: Constraint) -> list[CheckResult]:
        unknown = Worst(np.nan, 0.0), Worst(np.nan, 0.0)
        return [
            replace(blank, at_nodes=unknown, between=unknown, note=MISPLACED)
            for _, blank in self._blank(constraint, self._reach_at_nodes(constraint))
        ]

    # -- common parts -------------------------------------------------------------------------------------

    def _blank(self, constraint: Constraint, reach: Array) -> list[tuple[int, CheckResult]]:
        """Every bounded component with its result at nodes alone."""
        quantity, width = constraint.term.quantity, constraint.lower.size
        scales = self.side_scales(constraint, reach)
        labels = self.problem.component_names(quantity, width)
        units, at_nodes = units_of(self.problem, constraint.term, width), self._at_nodes(constraint)
        return [
            (
                c,
                CheckResult(
                    constraint.name,
                    labels[c],
                    units[c],
                    float(constraint.lower[c]),
                    float(constraint.upper[c]),
                    (float(scales[0, c]), float(scales[1, c])),
                    NOWHERE if at_nodes is None else at_nodes.worst(c),
                    None,
                    "evaluated",
                ),
            )
            for c in _bounded(constraint)
        ]

    def side_scales(self, constraint: Constraint, reach: Array) -> Array:
        """(2, width): what violations of both sides are compared with; reach : of the values, (width,)."""
        return side_scales(constraint, reach, self.scales.get(constraint))

    def _reach_at_nodes(self, constraint: Constraint) -> Array:
        values = self.values[constraint.term.quantity]
        return np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=0, initial=0.0)

    def _at_nodes(self, constraint: Constraint) -> Peaks | None:
        """The violations at nodes; values that nodes do not carry are moved within their bounds."""
        if not self.placed(constraint):
            return None
        over, mask = constraint.over, constraint.over.mask(self.nodes)
        times, values = self.nodes.times[mask], self.values[constraint.term.quantity][mask]
        if over.is_difference:
            times, values = times[1:], np.diff(values, axis=0)
        elif self.trajectory is not None and over.integrates and len(values):
            held = constraint.held_at(self.trajectory)
            if len(held) == len(values):
                values = np.where(held, values, np.clip(values, constraint.lower, constraint.upper))
        return Peaks(constraint, times, values, most=0)

    def placed(self, constraint: Constraint) -> bool:
        """Whether the arcs that a constraint names are arcs of the motion."""
        named = isinstance(constraint.over, ArcNodes | TimeWindow) or constraint.over.is_difference
        return not named or len(self.problem.trajectory.arcs) == len(self.curve.bases)

    # -- jumps --------------------------------------------------------------------------------------------

    def _jumps(self, constraint: Constraint, when: Interval) -> list[Array]:
        """Of every component the times in an interval at which it is infinite, because v or a jumps there.

        At the border of two arcs velocities may jump, as an impact makes them: that is no torque.
        """
        width, (of_a, of_v) = constraint.lower.size, self._jumps_of_joints
        if not any(times.size for times in (*of_a, *of_v)):
            return [np.empty(0)] * width
        jerk, a = self._dependence(constraint)
        found = []
        for c in range(width):
            several = [of_a[joint] for joint in np.flatnonzero(jerk[c])]
            several += [of_v[joint] for joint in np.flatnonzero(jerk[c] | a[c])]
            times = np.unique(np.concatenate([np.empty(0), *several]))
            found.append(times[(times > when.first) & (times < when.last)])
        return found

    @cached_property
    def _jumps_of_joints(self) -> tuple[list[Array], list[Array]]:
        """Seconds at which the acceleration, and the velocity but at borders of arcs, of each joint jump."""
        joints = range(self.problem.dynamics.n)
        of_a = [jump_times(self.curve, joint, 2, JUMP) for joint in joints]
        of_v = [jump_times(self.curve, joint, 1, JUMP) for joint in joints]
        return of_a, [times[~np.isin(times, self.curve.starts)] for times in of_v]

    def _dependence(self, constraint: Constraint) -> tuple[Array, Array]:
        """On which joints' jerk, and on which accelerations, components depend, (width, n) each."""
        quantity, n = constraint.term.quantity, self.problem.dynamics.n
        none = np.zeros((constraint.lower.size, n), dtype=bool)
        if quantity in self.leaves:
            one = np.eye(constraint.lower.size, n, dtype=bool)
            return (one if quantity == "jerk" else none), (one if quantity == "a" else none)
        pattern: Any = graph_of(self.problem, [constraint.term]).leaf_pattern(quantity)
        return np.asarray(pattern.get("jerk", none)), np.asarray(pattern.get("a", none))


def _bounded(constraint: Constraint) -> list[int]:
    """The components that have a bound."""
    return np.flatnonzero(np.isfinite(constraint.lower) | np.isfinite(constraint.upper)).tolist()


def end_checks(solution: SolutionData) -> Iterator[CheckResult]:
    """Periodicities, then continuity at the borders of arcs, then durations."""
    yield from _periodicities(solution)
    yield from _continuity(solution)
    yield from _durations(solution)


def _periodicities(solution: SolutionData) -> Iterator[CheckResult]:
    """term(T)_i - signs_i term(0)_order(i) - offset_i = 0."""
    problem, T = solution.problem, solution.duration
    if not problem.periodicities:
        return
    scales = periodicity_scales(solution, node_samples(solution))
    for periodicity in problem.periodicities:
        first, last = solution.value(periodicity.term, np.array([0.0, T]))
        gap = last - periodicity.signs * first[periodicity.order] - periodicity.offset
        names = problem.component_names(periodicity.term.quantity, gap.size)
        units = units_of(problem, periodicity.term, gap.size)
        each = zip(names, np.abs(gap), scales[periodicity.term.quantity], units, strict=True)
        for name, miss, scale, unit in each:
            yield _equation(periodicity.name, name, unit, float(scale), float(miss), T)


def _continuity(solution: SolutionData) -> Iterator[CheckResult]:
    """Jumps at the borders of arcs of what is continuous there, the worst of each joint."""
    curve, problem = solution.curve, solution.problem
    n, borders = problem.dynamics.n, len(curve.bases) - 1
    if not borders:
        return
    units = [units_of(problem, leaf, n) for leaf in (terms.q, terms.v, terms.a)]
    cut = borders != len(problem.trajectory.arcs) - 1  # by a refinement: at its switches torques may jump
    kept = np.ones((borders, n)) if cut else problem.continuity_at_borders
    for order in range(int(kept.max(initial=-1)) + 1):
        sizes = np.abs(curve(solution.node_times, order)[:, :n]).max(axis=0)
        sizes = np.maximum(sizes, 1e-6 * sizes.max()) if sizes.max() > 0.0 else np.ones(n)
        for joint, name in enumerate(problem.dynamics.joint_names):
            pieces = pieces_of(curve, joint, order)
            at_border = np.isin(pieces.start[1:], curve.starts[1:-1][kept[:, joint] >= order])
            if not at_border.any():
                continue
            jumps = np.abs(pieces.coefficients[1:, 0] - pieces.coefficients[:-1, -1]) * at_border
            worst = int(np.argmax(jumps))
            label, unit = continuity_name(("q", "v", "a")[order]), units[order][joint]
            yield _equation(
                label, name, unit, float(sizes[joint]), float(jumps[worst]), float(pieces.start[1:][worst])
            )


def _durations(solution: SolutionData) -> Iterator[CheckResult]:
    """Durations of arcs within their bounds; of the whole motion where one arc was cut into several."""
    arcs, durations = solution.problem.trajectory.arcs, np.asarray(solution.curve.durations)
    if len(arcs) == 1:
        durations = np.array([solution.duration])
    if len(arcs) != durations.size:
        return
    for index, (arc, T) in enumerate(zip(arcs, durations.tolist(), strict=True)):
        shortest, longest = arc.duration_bounds
        lower, upper = side_violations(T, shortest, longest)
        time = float(solution.curve.starts[index])
        sides = Worst(float(lower), time), Worst(float(upper), time)
        name = "duration" if len(arcs) == 1 else f"duration of arc {index}"
        yield CheckResult(name, "", "s", shortest, longest, (T, T), sides, None, "evaluated", size=T)


def _equation(name: str, component: str, unit: str, scale: float, miss: float, time: float) -> CheckResult:
    sides = Worst(-miss, time), Worst(miss, time)
    return CheckResult(name, component, unit, 0.0, 0.0, (scale, scale), sides, None, "evaluated", size=scale)
