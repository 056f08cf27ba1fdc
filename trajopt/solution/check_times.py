"""The times at which an answer is checked: its nodes, and a finer grid, each with the arc it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.problem.costs_and_constraints import Over
from trajopt.splines.node_sets import WINDOW_TOLERANCE, ArcNodes, Neighbours

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution
    from trajopt.splines.curve import Curve

REFINEMENT = 10  # dense points per interval between nodes
SIDE = 1e-12  # of the duration: how far before a border its left side is looked at
END = 1e-9  # of an arc: what counts as its end


@dataclass(frozen=True, eq=False)
class Samples:
    """Times (K,) at which constraints are looked at, and the arc that each belongs to.

    At the border of two arcs quantities may jump, so that both sides of it are looked at.
    """

    times: NDArray[np.float64]
    arc: NDArray[np.int64]
    along: NDArray[np.float64]  # normalised time over the whole motion, every arc counted alike
    inner: NDArray[np.bool_]  # not an end of the arc

    @staticmethod
    def of(curve: Curve, times_of_arcs: list[NDArray]) -> Samples:
        count = len(times_of_arcs)
        arc = np.repeat(np.arange(count), [times.size for times in times_of_arcs])
        first, last = curve.starts[arc], curve.starts[arc + 1]
        within = np.clip((np.concatenate(times_of_arcs) - first) / curve.durations[arc], 0.0, 1.0)
        inner = (within > END) & (within < 1.0 - END)
        left = np.where(arc == count - 1, last, last - SIDE * curve.duration)
        times = np.clip(np.concatenate(times_of_arcs), first, left)
        return Samples(times, arc, (arc + within) / count, inner)

    def where(self, over: Over) -> NDArray[np.bool_]:
        """Mask of the times to which a constraint applies."""
        if isinstance(over, ArcNodes):
            mine = self.arc == over.arc
            if over.part == "whole":
                return mine
            if isinstance(over.part, tuple):
                s = self.along * (self.arc.max() + 1) - over.arc
                return mine & _within(s, over.part)
            if over.part in ("inside", "extra"):
                return mine & self.inner
            place = np.flatnonzero(mine)[0 if over.part == "start" else -1]
            return np.arange(self.times.size) == place
        if isinstance(over, Neighbours) and over.after is not None:
            last = np.flatnonzero(self.arc == over.after)[-1]
            return np.isin(np.arange(self.times.size), [last, last + 1])
        if over == "path" or isinstance(over, Neighbours):
            return np.ones(self.times.size, dtype=bool)
        if over in ("start", "end"):
            return np.arange(self.times.size) == (0 if over == "start" else self.times.size - 1)
        first, last = over
        return _within(self.along, (float(first), float(last)))


def _within(s: NDArray, window: tuple[float, float]) -> NDArray[np.bool_]:
    first, last = window
    return (s >= first - WINDOW_TOLERANCE) & (s <= last + WINDOW_TOLERANCE)


def samples(solution: Solution) -> tuple[Samples, Samples]:
    """The nodes, and a grid with nine evenly spaced times between each two of them."""
    starts, times = solution.curve.starts, solution.node_times
    near = 2.0 * SIDE * solution.duration
    nodes = [times[(times >= first - near) & (times <= last + near)] for first, last in pairwise(starts)]
    return Samples.of(solution.curve, nodes), Samples.of(solution.curve, [_refined(part) for part in nodes])


def _refined(times: NDArray) -> NDArray:
    times = np.unique(times)
    fractions = np.arange(REFINEMENT) / REFINEMENT
    inner = times[:-1, None] + np.diff(times)[:, None] * fractions
    return np.append(inner.ravel(), times[-1])
