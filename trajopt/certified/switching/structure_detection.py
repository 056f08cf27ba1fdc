"""Detection of the switching structure of a spline solution: the arcs between all entry and exit times.

Active intervals of a limit are the times at which a component sits at one of its bounds.

Limits on torques and accelerations are active where their multipliers are. Multipliers are sharper than the
torques themselves: a cubic spline ripples below a bang, and a torque that touches its bound without any gain
to the objective has no multiplier. Limits on velocities and positions, whose multipliers are spread over
control points, are active where the values are at the bound, which a spline follows closely.

Times are counted in knot intervals here, so that a mesh that is fine at the switches is read as finely.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arrays import Array
from trajopt.base.tolerances import NOT_ZERO
from trajopt.certificates.switching_structure import ActiveInterval, Saturation, Structure
from trajopt.certified.search_settings import DEFAULT, SearchSettings
from trajopt.checks.violations import limit_ranges
from trajopt.graph.quantities import TORQUES
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem_graph import graph_of, limit_order
from trajopt.solution.solution import Solution
from trajopt.splines.node_sets import PATH


@dataclass(frozen=True)
class DetectionOptions:
    """Options for reading a structure from a spline solution.

    regular : controls are continuous in time and leave one bound before they reach the other
    longest_switch : knot intervals; a longer pause between two bang arcs is an arc of its own
    fine : knots are fine at the switches. An arc of a few of their intervals with free joints is then one
        switch read as several, since the costates of several joints vanish and return together
    """

    regular: bool = False
    longest_switch: float = DEFAULT.longest_switch
    fine: bool = False


@dataclass(frozen=True, eq=False)
class KnotCoordinate:
    """Piecewise linear map between seconds and knot intervals: knot k is at the coordinate k."""

    knot_times: NDArray[np.float64]

    @property
    def end(self) -> float:
        return float(self.knot_times.size - 1)

    def of(self, seconds: ArrayLike) -> NDArray[np.float64]:
        return np.interp(np.asarray(seconds, dtype=float), self.knot_times, np.arange(self.knot_times.size))

    def seconds(self, coordinate: ArrayLike) -> NDArray[np.float64]:
        knots = np.arange(self.knot_times.size)
        return np.interp(np.asarray(coordinate, dtype=float), knots, self.knot_times)


def largest_multiplier(solution: Solution) -> float:
    """Largest multiplier of all path limits, in objective per range of the limit."""
    found = [_multipliers_per_range(solution, limit) for limit in solution.problem.path_limits()]
    return max(
        (float(np.abs(values).max(initial=0.0)) for values in found if values is not None), default=0.0
    )


def _multipliers_per_range(solution: Solution, limit: Constraint) -> Array | None:
    """Multipliers in objective per range of the limit, (K, width); None where they are not one per node."""
    multipliers = solution.multipliers.get(limit.name)
    if multipliers is None or multipliers.shape != (solution.node_times.size, limit.lower.size):
        return None
    return multipliers * limit_ranges(limit)


@dataclass(frozen=True)
class LimitDetection:
    """Reads the active intervals of one limit, by its number among the path limits."""

    solution: Solution
    index: int
    coordinate: KnotCoordinate
    options: DetectionOptions
    settings: SearchSettings

    @property
    def limit(self) -> Constraint:
        return self.solution.problem.path_limits()[self.index]

    # -- velocities and positions, by their values --------------------------------------------------------

    def boundary_intervals(self) -> list[ActiveInterval]:
        """Intervals in which a velocity or a position is within a small margin of one of its bounds."""
        s, limit, end = self.settings, self.limit, self.coordinate.end
        times = np.linspace(0.0, end, s.samples_per_interval * int(end) + 1)
        values = self.solution.value(limit.term, self.coordinate.seconds(times))
        found = []
        for component in range(limit.lower.size):
            lower, upper = limit.lower[component], limit.upper[component]
            both = np.isfinite(lower) and np.isfinite(upper)
            extent = upper - lower if both else max(np.ptp(values[:, component]), 1e-12)
            margin = (s.fine_boundary_margin if self.options.fine else s.boundary_margin) * extent
            at = np.where(values[:, component] >= upper - margin, 1, 0)
            at = np.where(values[:, component] <= lower + margin, -1, at)
            edges = np.concatenate([[0], np.flatnonzero(np.diff(at)) + 1, [at.size]])
            for first, last in pairwise(edges):
                start, stop = float(times[first]), float(times[min(last, times.size - 1)])
                if at[first] and stop - start > s.shortest_boundary_arc:
                    found.append(
                        ActiveInterval(Saturation(self.index, component, int(at[first])), start, stop)
                    )
        return found

    # -- torques and accelerations, by their multipliers --------------------------------------------------

    def bang_intervals(self, scale: float, boundary: list[ActiveInterval]) -> list[ActiveInterval]:
        """Bang arcs of all components.

        scale : multiplier, in objective per range, that others are compared with
        boundary : boundary arcs of velocities and positions, on which their joint's torque follows
        """
        multipliers = _multipliers_per_range(self.solution, self.limit)
        if multipliers is None or scale == 0.0:
            return []
        nodes = self.coordinate.of(self.solution.node_times)
        follows = self.limit.term.quantity in (*TORQUES, "a")
        significant = np.abs(multipliers) > self.settings.significant_multiplier * scale
        found: list[ActiveInterval] = []
        for component, signs in enumerate((significant * np.sign(multipliers)).T):
            beside = [each for each in boundary if follows and each.saturation.component == component]
            bangs = self._bangs(nodes, signs, beside)
            bangs += [_Draft(0, b.start, b.end, self._speed(b.saturation)) for b in beside]
            bangs.sort(key=lambda draft: draft.start)
            self._join(component, bangs)
            found += [
                ActiveInterval(Saturation(self.index, component, draft.side), draft.start, draft.end)
                for draft in bangs
                if draft.side and draft.end > draft.start
            ]
        return found

    def _bangs(self, nodes: Array, signs: Array, boundary: list[ActiveInterval]) -> list[_Draft]:
        """Clusters of active nodes outside of boundary arcs; signs : of their multipliers, 0 elsewhere."""
        for interval in boundary:
            signs = np.where((nodes < interval.start) | (nodes > interval.end), signs, 0)
        active = np.flatnonzero(signs)
        clusters = _clusters(nodes[active], signs[active], self.settings.longest_gap)
        gap = self.options.longest_switch
        return [cluster for i, cluster in enumerate(clusters) if not _is_isolated(clusters, i, gap, boundary)]

    def _join(self, component: int, drafts: list[_Draft]) -> None:
        """Let neighbouring intervals meet at a switch, or leave room for an arc between them."""
        reach_beyond = self.settings.half_node_spacing
        for left, right in pairwise(drafts):
            gap = right.start - left.end
            direct = not self.options.regular and gap <= self.options.longest_switch
            if direct and left.side == 0:
                left.end = right.start = self._exit(left, component, right.start, left.end)
            elif direct and right.side == 0:
                left.end = right.start = self._exit(right, component, left.end, right.start)
            elif direct and left.side != right.side:
                crossing = self._crossing(component, *self.coordinate.seconds([left.end, right.start]))
                left.end = right.start = float(self.coordinate.of(crossing))
            elif gap > self.settings.clear_gap:
                left.end += reach_beyond * (left.side != 0)
                right.start -= reach_beyond * (right.side != 0)
            elif left.side * right.side < 0:  # continuous controls need time to cross
                middle = 0.5 * (left.end + right.start)
                left.end, right.start = middle - reach_beyond, middle + reach_beyond
        reach = self.settings.end_reach if self.options.regular else self.settings.longest_gap
        if drafts and drafts[0].side and drafts[0].start < reach:
            drafts[0].start = 0.0
        if drafts and drafts[-1].side and self.coordinate.end - drafts[-1].end < reach:
            drafts[-1].end = self.coordinate.end

    def _speed(self, boundary: Saturation) -> float | None:
        """The velocity of a boundary arc of a velocity limit, None on one of a position limit."""
        limits = self.solution.problem.path_limits()
        return boundary.bound(limits) if limits[boundary.limit].term.quantity == "v" else None

    def _exit(self, arc: _Draft, component: int, bang: float, edge: float) -> float:
        """Time when a bang arc meets the velocity of the boundary arc beside it, at constant acceleration.

        bang is the outermost active node of the bang arc, edge the end of the boundary arc as it was read:
        between them a spline rounds the corner off. Where no better estimate is possible, edge.
        """
        if not self.options.fine or arc.speed is None:
            return edge
        time = float(self.coordinate.seconds(bang))
        acceleration = float(self.solution.a(time)[component])
        missing = arc.speed - float(self.solution.v(time)[component])
        change = missing / acceleration if acceleration else 0.0
        low, high = sorted((bang, edge))
        return float(np.clip(self.coordinate.of(time + change), low, high))

    def _crossing(self, component: int, left: float, right: float) -> float:
        """Seconds at which the value crosses the middle between both bounds."""
        times = np.linspace(left, right, 65)
        values = self.solution.value(self.limit.term, times)[:, component]
        middle = 0.5 * (self.limit.lower[component] + self.limit.upper[component])
        signs = np.sign(values - middle)
        crossings = np.flatnonzero(signs[1:] != signs[:-1])
        if not np.isfinite(middle) or crossings.size == 0:
            return 0.5 * (left + right)
        return float(0.5 * (times[crossings[0]] + times[crossings[-1] + 1]))


@dataclass
class _Draft:
    """An active interval whose ends may still move; side 0 is a boundary arc, with its speed or None.

    count : of its active nodes
    """

    side: int
    start: float
    end: float
    speed: float | None = None
    count: int = 1


def _clusters(times: Array, sides: Array, gap: float) -> list[_Draft]:
    """Neighbouring active nodes on the same side."""
    found: list[_Draft] = []
    for time, side in zip(times, sides, strict=True):
        if found and found[-1].side == side and time - found[-1].end <= gap:
            found[-1].end, found[-1].count = float(time), found[-1].count + 1
        else:
            found.append(_Draft(int(side), float(time), float(time)))
    return found


def _is_isolated(clusters: list[_Draft], index: int, gap: float, boundary: list[ActiveInterval]) -> bool:
    """True if a cluster is a single active node far from every other: that is no evidence of an arc."""
    own, others = clusters[index], [*clusters[:index], *clusters[index + 1 :], *boundary]
    before = max((other.end for other in others if other.end <= own.start), default=-np.inf)
    after = min((other.start for other in others if other.start >= own.end), default=np.inf)
    return own.count == 1 and min(own.start - before, after - own.end) > gap


def is_regular(solution: Solution, settings: SearchSettings = DEFAULT) -> bool:
    """True if the optimal controls are continuous: the integrand is strictly convex in a along the motion.

    The Hessian of the integral costs with respect to a is taken at five times by second differences with unit
    steps, which are exact for quadratic efforts.
    """
    problem = solution.problem
    costs = [c for c in problem.costs if c.over == PATH and c.term.quantity not in ("duration", "t")]
    if not costs:
        return False
    graph = graph_of(problem, [cost.term for cost in costs])
    times = np.linspace(0.0, 1.0, 7)[1:-1] * solution.duration
    leaves, n = solution.leaves(times), problem.dynamics.n

    def integrand(change: Array) -> Array:
        values = graph.values(leaves | {"a": leaves["a"] + change})
        return np.sum([cost.weight * values[cost.term.quantity].sum(axis=1) for cost in costs], axis=0)

    unit, base = np.eye(n), integrand(np.zeros(n))
    single = [integrand(e) for e in unit]
    hessian = np.empty((times.size, n, n))
    for i in range(n):
        for j in range(n):
            hessian[:, i, j] = integrand(unit[i] + unit[j]) - single[i] - single[j] + base
    smallest = np.linalg.eigvalsh(0.5 * (hessian + hessian.transpose(0, 2, 1)))
    return bool(np.all(smallest[:, 0] > settings.convexity * np.abs(smallest).max() + NOT_ZERO))


def detect(
    solution: Solution, options: DetectionOptions | None = None, settings: SearchSettings = DEFAULT
) -> Structure:
    """The switching structure of a spline solution, of all limits that an arc can hold."""
    if options is None:
        options = DetectionOptions(is_regular(solution, settings), settings.longest_switch)
    coordinate, problem = KnotCoordinate(solution.knot_times), solution.problem
    boundary: list[ActiveInterval] = []
    torques: list[LimitDetection] = []
    for index, limit in enumerate(problem.path_limits()):
        detection = LimitDetection(solution, index, coordinate, options, settings)
        order = limit_order(problem, limit)
        if order == 2:
            torques.append(detection)
        elif order is not None:
            boundary += detection.boundary_intervals()
    scale = max(largest_multiplier(solution), settings.multiplier_floor * abs(solution.objective))
    bangs = [bang for detection in torques for bang in detection.bang_intervals(scale, boundary)]
    structure = Structure.of([*boundary, *bangs], coordinate.end, settings.merged_switches)
    if options.fine:
        structure = _without_short_free_arcs(structure, problem.dynamics.n, settings.longest_gap)
    return Structure(tuple(coordinate.seconds(structure.times).tolist()), structure.saturated)


def fits_ends(solution: Solution, structure: Structure, margin: float) -> bool:
    """True if the velocities and positions held by the first and the last arc are those at the ends.

    margin : of a limit's range
    """
    limits = solution.problem.path_limits()
    for time, held in ((0.0, structure.saturated[0]), (solution.duration, structure.saturated[-1])):
        for each in held:
            limit = limits[each.limit]
            away = abs(float(solution.value(limit.term, time)[each.component]) - each.bound(limits))
            state = limit_order(solution.problem, limit) in (0, 1)
            if state and away > margin * limit_ranges(limit)[each.component]:
                return False
    return True


def _without_short_free_arcs(structure: Structure, n: int, shortest: float) -> Structure:
    """Remove arcs with free joints that are shorter than some knot intervals, the shortest first."""
    while structure.arc_count > 1:
        short = [
            (length, arc)
            for arc, (length, saturated) in enumerate(
                zip(structure.durations, structure.saturated, strict=True)
            )
            if len(saturated) < n and length < shortest
        ]
        if not short:
            break
        structure = structure.without(min(short)[1])
    return structure
