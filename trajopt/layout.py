"""The leaves of every graph, and where the unknowns behind them stand in x."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trajopt.block import Array
from trajopt.trajectory import Trajectory

SPLINE_LEAVES = ("q", "v", "a", "jerk")
CLOCK_LEAVES = ("t", "duration", "arc_duration")


def parameter_leaf(name: str) -> str:
    """The leaf that carries a constant unknown."""
    return f"parameter:{name}"


@dataclass(frozen=True, eq=False)
class Layout:
    """Where everything stands in x: control points by arc, point, coordinate; durations; parameters."""

    offsets: Array  # (arcs,) start of each arc's control points
    control_point_count: int  # over all arcs and coordinates
    durations: slice
    parameters: dict[str, slice]
    size: int

    @property
    def global_count(self) -> int:
        """Durations and parameters: the unknowns that every node sees."""
        return self.size - self.control_point_count


def layout_of(trajectory: Trajectory, n: int, parameters: Mapping[str, int]) -> Layout:
    """Lay out control points, durations and parameters (name -> width)."""
    sizes = np.array([arc.basis.count * n for arc in trajectory.arcs])
    control_points = int(sizes.sum())
    cursor = control_points + len(trajectory.arcs)
    places = {}
    for name, width in parameters.items():
        places[name] = slice(cursor, cursor + width)
        cursor += width
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return Layout(offsets, control_points, slice(control_points, control_points + len(sizes)), places, cursor)
