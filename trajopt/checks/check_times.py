"""The times at which a motion is checked: its nodes, times between them, and both sides of every breakpoint.

Every constraint over a part of the motion has an interval of seconds here, `interval_of`, and every check
that samples an interval takes its times from `sample_times`, as near to each other as a `Density` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from trajopt.base.arrays import Array
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData
from trajopt.splines.basis import BORDER_SIDE, SAME_TIME
from trajopt.splines.curve import Curve
from trajopt.splines.instants import Instants
from trajopt.splines.node_sets import ArcNodes, MotionEnd, MotionSamples, NodeSet, TimeWindow


@dataclass(frozen=True)
class Density:
    """The density of the samples of an interval.

    between : times per interval between neighbouring nodes
    whole : evenly spaced times over the whole motion
    least : evenly spaced times over an interval, where it has fewer of these
    """

    between: int
    whole: int = 0
    least: int = 0

    def thinned(self, by: int) -> Density:
        """One of `by` times."""
        return Density(-(-self.between // by), -(-self.whole // by), self.least)


CHECK_DENSITY = Density(between=10, whole=2000, least=64)  # of reports, certificates and limit nodes
SEARCH_DENSITY = Density(between=8)  # of certified solutions, searched in every round


class Interval(NamedTuple):
    """All times from first to last, seconds; one time where they are equal."""

    first: float
    last: float


def interval_of(over: NodeSet, curve: Curve) -> Interval:
    """The times that a node set stands for, its ends from inside where a quantity may jump there."""
    T, side = curve.duration, BORDER_SIDE * curve.duration
    if isinstance(over, MotionEnd):
        time = 0.0 if over.end == "start" else T
        return Interval(time, time)
    if isinstance(over, TimeWindow):
        first, last = curve.time_at(np.array([over.first, over.last]) * len(curve.bases))
    elif isinstance(over, ArcNodes):
        start, end = curve.starts[over.arc : over.arc + 2]
        inside = SAME_TIME * (end - start)
        if isinstance(over.part, tuple):
            first, last = curve.time_at(over.arc + np.array(over.part))
        elif over.part == "start":
            first = last = start
        elif over.part == "end":
            first = last = end if end >= T else end - side
        elif over.part == "whole":
            first, last = start, end
        else:
            first, last = start + inside, end - inside
        if first == last:
            return Interval(float(first), float(last))
    elif isinstance(over, Instants):
        times = single_times(over, curve)
        return Interval(float(times[0]), float(times[-1]))
    else:
        first, last = 0.0, T
    first, last = first if first <= 0.0 else first + side, last if last >= T else last - side
    if not first < last:  # a window that is shorter than rounding
        first = last = 0.5 * (first + last)
    return Interval(float(first), float(last))


def intervals_of(solution: SolutionData, constraints: Iterable[Constraint]) -> dict[Constraint, Interval]:
    """The constraints that are meant for all times of an interval of the motion, and that interval."""
    found = {}
    for each in constraints:
        if has_place(solution, each) and not (each.over.is_difference or isinstance(each.over, Instants)):
            interval = interval_of(each.over, solution.curve)
            if interval.first < interval.last:
                found[each] = interval
    return found


def has_place(solution: SolutionData, constraint: Constraint) -> bool:
    """Whether the arcs that a constraint names are arcs of the motion."""
    named = isinstance(constraint.over, ArcNodes | TimeWindow) or constraint.over.is_difference
    return not named or len(solution.problem.trajectory.arcs) == len(solution.curve.bases)


def single_times(over: NodeSet, curve: Curve) -> Array:
    """The times (k,) of a set of single instants; where a quantity may jump, from before."""
    if not isinstance(over, Instants):
        return np.array([interval_of(over, curve).first])
    times, side = np.array(over.times), BORDER_SIDE * curve.duration
    if over.clock == "progress":
        times = curve.time_at(times * len(curve.bases))
    inner = curve.knot_times[1:-1]
    jumps = np.any(np.abs(times[:, None] - inner) <= SAME_TIME * curve.duration, axis=1)
    return np.clip(times, 0.0, curve.duration) - side * jumps


def sample_times(solution: SolutionData, density: Density, interval: Interval | None = None) -> Array:
    """Times (K,) in an interval, the whole motion by default: nodes, times between, both sides of knots."""
    curve, nodes = solution.curve, np.unique(solution.node_times)
    T, side = curve.duration, BORDER_SIDE * curve.duration
    first, last = (0.0, T) if interval is None else (interval.first, interval.last)
    fractions = np.arange(density.between) / density.between
    between = (nodes[:-1, None] + np.diff(nodes)[:, None] * fractions).ravel()
    knots, ends = curve.knot_times[1:-1], np.array([first, last])
    every = [ends, between, nodes[-1:], knots - side, knots, knots + side]
    # Intervals share the grid of the whole motion: their terms are evaluated together.
    every.append(np.linspace(0.0, T, density.whole + 1))
    if density.whole * (last - first) < density.least * T:
        every.append(np.linspace(first, last, density.least + 1))
    times = np.concatenate(every)
    times = np.unique(times[(times >= first) & (times <= last)])
    # Grids share times, equal but for rounding: one of a pair stands, or no peak lies between neighbours.
    times = times[np.append(True, np.diff(times) > 0.25 * side)]
    times[-1] = last
    return times


def dense_samples(solution: SolutionData, density: Density = CHECK_DENSITY) -> MotionSamples:
    """The times of a density over the whole motion."""
    return MotionSamples.at(solution.curve, sample_times(solution, density))


def node_samples(solution: SolutionData) -> MotionSamples:
    """The nodes alone; of two at one time, each lies on its side of the breakpoint that they share."""
    curve, times, side = solution.curve, solution.node_times, BORDER_SIDE * solution.duration
    # Each border is the last node of one arc and the first of the next.
    firsts = 1 + np.searchsorted(times, curve.starts[1:-1] - 2.0 * side)
    arc = np.searchsorted(firsts, np.arange(times.size), side="right")
    pair = np.append((np.diff(times) <= side) & (np.diff(arc) == 0), False)
    apart = times + side * (np.roll(pair, 1).astype(float) - pair)
    nodes = MotionSamples.at(curve, apart, arc)
    last = np.where(arc == len(curve.bases) - 1, curve.starts[arc + 1], curve.starts[arc + 1] - side)
    return replace(nodes, times=np.clip(apart, curve.starts[arc], last))
