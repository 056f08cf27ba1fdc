"""Sets of nodes at which a cost or constraint counts: the path, an end, a window, an arc, neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from trajopt.arrays import Array
from trajopt.errors import OptionError
from trajopt.splines.trajectory import Nodes, Trajectory

WINDOW_TOLERANCE = 1e-9  # of normalised time: how closely a window's end must meet a breakpoint


ArcPart = Literal["whole", "start", "inside", "end", "extra"]


@dataclass(frozen=True)
class ArcNodes:
    """The nodes of one arc: all of it ("whole"), its "start", its "end", those "inside", or "extra" ones.

    A part (s0, s1) is a window of the arc's own normalised time.
    """

    arc: int
    part: ArcPart | tuple[float, float] = "inside"


@dataclass(frozen=True)
class Neighbours:
    """Every two neighbouring nodes: the constraint holds for term(later) - term(earlier).

    Of all pairs, only the two sides of the border after an arc where `after` names one.
    """

    after: int | None = None


def progress(trajectory: Trajectory, nodes: Nodes) -> Array:
    """Normalised time over the whole motion, (K,): every arc counts alike, whatever its duration."""
    return (nodes.arc + nodes.s) / len(trajectory.arcs)


def selected_nodes(trajectory: Trajectory, over) -> Array:
    """Indices of the nodes at "start", at "end", of an arc, in a window (s0, s1), or all for "path"."""
    nodes = trajectory.nodes
    if isinstance(over, ArcNodes):
        mine = np.flatnonzero(nodes.arc == over.arc)
        if mine.size == 0 or not (isinstance(over.part, tuple) or over.part in get_args(ArcPart)):
            raise OptionError(
                f"over is {over}: the {len(trajectory.arcs)} arcs count from 0, and their parts are "
                f"{', '.join(get_args(ArcPart))}, or a window (s0, s1)"
            )
        if isinstance(over.part, tuple):
            return _within(mine, nodes.s[mine], over.part, over)
        if over.part == "extra":
            return mine[1:-1][nodes.weight[mine[1:-1]] == 0.0]
        return {"start": mine[:1], "inside": mine[1:-1], "end": mine[-1:], "whole": mine}[over.part]
    if over == "path":
        return np.arange(nodes.count)
    if over == "start":
        return np.array([0])
    if over == "end":
        return np.array([nodes.count - 1])
    return _within(np.arange(nodes.count), progress(trajectory, nodes), over, over)


def _within(chosen: Array, s: Array, window: tuple[float, float], over) -> Array:
    inside = chosen[(s >= window[0] - WINDOW_TOLERANCE) & (s <= window[1] + WINDOW_TOLERANCE)]
    if inside.size == 0:
        raise OptionError(f"no node lies in the window {over}: widen it or use more intervals")
    return inside


def border(trajectory: Trajectory, after: int) -> tuple[int, int]:
    """The last node of an arc and the first one of the next; OptionError where there is no next arc."""
    if not 0 <= after < len(trajectory.arcs) - 1:
        raise OptionError(f"no arc follows arc {after}: the {len(trajectory.arcs)} arcs count from 0")
    last = int(np.flatnonzero(trajectory.nodes.arc == after)[-1])
    return last, last + 1
