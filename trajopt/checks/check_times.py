"""The times at which an answer is checked: its nodes, and a finer grid, each with the arc it belongs to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.splines.trajectory import Trajectory

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData
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
    def at(curve: Curve, times: NDArray) -> Samples:
        """Any times (K,) inside the motion, in any order; at a border the arc that begins there."""
        arc = np.clip(np.searchsorted(curve.starts, times, side="right") - 1, 0, len(curve.bases) - 1)
        within = np.clip((times - curve.starts[arc]) / curve.durations[arc], 0.0, 1.0)
        inner = (within > END) & (within < 1.0 - END)
        return Samples(times, arc, (arc + within) / len(curve.bases), inner)

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


def samples(solution: SolutionData) -> tuple[Samples, Samples]:
    """The nodes, and a grid with nine evenly spaced times between each two of them.

    Where the acceleration may jump both hold the two sides of a breakpoint.
    """
    curve, side = solution.curve, SIDE * solution.duration
    grid = [
        np.unique(np.concatenate([_refined(part), knots, knots[1:-1] - side, knots[1:-1] + side]))
        for part, knots in zip(_nodes_of_arcs(solution), _knots_of_arcs(curve), strict=True)
    ]
    return node_samples(solution), Samples.of(curve, grid)


def node_samples(solution: SolutionData) -> Samples:
    """The nodes alone."""
    side = SIDE * solution.duration
    return Samples.of(solution.curve, [_two_sided(part, side) for part in _nodes_of_arcs(solution)])


def _nodes_of_arcs(solution: SolutionData) -> list[NDArray]:
    """Times of the nodes of every arc: each border is the last node of one and the first of the next."""
    times, side = solution.node_times, SIDE * solution.duration
    return np.split(times, 1 + np.searchsorted(times, solution.curve.starts[1:-1] - 2.0 * side))


def trajectory_of(solution: SolutionData) -> Trajectory | None:
    """The trajectory whose nodes are the solution's; None where it cannot be told from problem and curve."""
    arcs, curve = solution.problem.trajectory.arcs, solution.curve
    if len(arcs) != len(curve.bases):
        return None
    same = tuple(replace(arc, basis=basis) for arc, basis in zip(arcs, curve.bases, strict=True))
    continuity = solution.problem.trajectory.continuity
    found = Trajectory(same, continuity, solution.extra_points, limit_points=solution.limit_points)
    if found.nodes.count != solution.node_times.size:
        return None
    times = curve.starts[found.nodes.arc] + found.nodes.s * curve.durations[found.nodes.arc]
    return found if np.allclose(times, solution.node_times, rtol=0.0, atol=1e-9 * curve.duration) else None


def _knots_of_arcs(curve: Curve) -> list[NDArray]:
    """Times of the breakpoints of every arc, clipped to the arc: rounding may put its end outside."""
    arcs = zip(curve.knot_times_of_arcs, pairwise(curve.starts), strict=True)
    return [np.clip(knots, start, end) for knots, (start, end) in arcs]


def _two_sided(times: NDArray, side: float) -> NDArray:
    """The times, two equal ones moved to either side of the breakpoint that they share."""
    first = np.append(np.diff(times) <= side, False)
    return times + side * (np.roll(first, 1).astype(float) - first)


def _refined(times: NDArray) -> NDArray:
    times = np.unique(times)
    fractions = np.arange(REFINEMENT) / REFINEMENT
    inner = times[:-1, None] + np.diff(times)[:, None] * fractions
    return np.append(inner.ravel(), times[-1:])  # a file may tell no node in an arc
