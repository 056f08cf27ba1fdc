"""When the statements of a problem hold: the interval, or the single time, of a node set on a motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_times import END, SIDE
from trajopt.splines.curve import Curve
from trajopt.splines.node_sets import ArcNodes, MotionEnd, NodeSet, TimeWindow

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

SAMPLES = 2000  # evenly spaced over the whole motion
LEAST_SAMPLES = 64  # over an interval, however short
PER_NODE_INTERVAL = 8


@dataclass(frozen=True)
class Interval:
    """All times from first to last, seconds; one time where they are equal."""

    first: float
    last: float

    @property
    def is_time(self) -> bool:
        return self.first == self.last


def interval_of(over: NodeSet, curve: Curve) -> Interval:
    """The times that a node set stands for, its ends from inside where a quantity may jump there."""
    T, side = curve.duration, SIDE * curve.duration
    if isinstance(over, MotionEnd):
        time = 0.0 if over.end == "start" else T
        return Interval(time, time)
    if isinstance(over, TimeWindow):
        count = len(curve.bases)
        first, last = (_along(curve, s * count) for s in (over.first, over.last))
    elif isinstance(over, ArcNodes):
        start, end = curve.starts[over.arc : over.arc + 2]
        inside = END * (end - start)
        if isinstance(over.part, tuple):
            first, last = (_along(curve, over.arc + s) for s in over.part)
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
    else:
        first, last = 0.0, T
    return Interval(float(first if first <= 0.0 else first + side), float(last if last >= T else last - side))


def sample_times(solution: SolutionData, interval: Interval, thinned: int = 1) -> Array:
    """Times in an interval: nodes, eight between each two, an even grid, and both sides of every knot.

    thinned : one of so many of the grid and of the times between nodes, up to eight
    """
    curve, nodes = solution.curve, np.unique(solution.node_times)
    T, side = curve.duration, SIDE * curve.duration
    first, last = interval.first, interval.last
    fractions = np.arange(0, PER_NODE_INTERVAL, thinned) / PER_NODE_INTERVAL
    between = (nodes[:-1, None] + np.diff(nodes)[:, None] * fractions).ravel()
    count = max(LEAST_SAMPLES, int(np.ceil(SAMPLES * (last - first) / (thinned * T))))
    knots = curve.knot_times[1:-1]
    every = np.concatenate([np.linspace(first, last, count + 1), between, knots - side, knots + side])
    return np.unique(every[(every >= first) & (every <= last)])


def _along(curve: Curve, progress: float) -> float:
    """Seconds at a progress in [0, arcs], every arc counted as one."""
    arc = min(int(progress), len(curve.bases) - 1)
    return float(curve.starts[arc] + (progress - arc) * curve.durations[arc])
