"""Breakpoints of data as breakpoints of a collocation mesh: where a given curve jumps or bends, or a sample.

On an interval inside which a given curve jumps, no polynomial meets x' = f: errors stay as large as the jump
whatever the order. With a breakpoint there both sides are smooth.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.graph.data import Data
from trajopt.splines.basis import SAME_TIME
from trajopt.splines.trajectory import Trajectory

MOST = 4  # breakpoints of data per interval of an arc: data that are finer than that leave the mesh as it is
BESIDE = 0.25  # of the shorter neighbouring interval: a breakpoint so near to one of data gives way to it


def at_breakpoints(trajectory: Trajectory, datasets: Collection[Data], start: float | None) -> Trajectory:
    """A collocation mesh with the breakpoints of data whose places are known; another trajectory as it is.

    start : when the motion starts, in seconds, None where that is free; then, and where a duration is free,
        data in seconds have no place. The same data twice change nothing.
    """
    if trajectory.scheme is None:
        return trajectory
    if any(data.interpolation == "steps" for data in datasets) and trajectory.scheme.points == "lobatto":
        raise OptionError(
            "data in steps need equations on one side of each jump alone, but Lobatto points are at the same "
            "time on both sides: use Trajectory.collocation(intervals, order, 'radau')"
        )
    several = [_normalised(trajectory, data, start) for data in datasets if data.breakpoints.size]
    if not several:
        return trajectory
    bases, places = [], np.unique(np.concatenate(several))
    for number, arc in enumerate(trajectory.arcs):
        inside = places[(places > number + SAME_TIME) & (places < number + 1.0 - SAME_TIME)] - number
        before = arc.basis.breakpoints
        new = inside[np.abs(inside[:, None] - before).min(axis=1, initial=np.inf) > SAME_TIME]
        if not new.size or inside.size > MOST * arc.basis.span_count:
            bases.append(arc.basis)
            continue
        kept = np.sort(np.concatenate([new, _far_from(before, new, inside)]))
        bases.append(trajectory.scheme.basis(kept, trajectory.continuity + 1))
    return trajectory.with_bases(bases)


def _normalised(trajectory: Trajectory, data: Data, start: float | None) -> Array:
    """Breakpoints by number of the arc and normalised time in it; none where these are not known."""
    arcs, times = len(trajectory.arcs), data.breakpoints
    if data.clock == "progress":
        return times * arcs if arcs == 1 or not trajectory.has_free_duration else np.empty(0)
    if start is None or trajectory.has_free_duration:
        return np.empty(0)
    ends = np.concatenate([[0.0], np.cumsum(trajectory.duration_bounds[0])])
    inside = times[(times > start) & (times < start + ends[-1])] - start
    return np.interp(inside, ends, np.arange(arcs + 1.0))


def _far_from(before: Array, new: Array, places: Array) -> Array:
    """The breakpoints before (k,) without those that lie beside new ones and are no places of data."""
    inner, widths = before[1:-1], np.diff(before)
    near = np.abs(inner[:, None] - new).min(axis=1) < BESIDE * np.minimum(widths[:-1], widths[1:])
    own = np.abs(inner[:, None] - places).min(axis=1) <= SAME_TIME
    return np.concatenate([before[:1], inner[~near | own], before[-1:]])
