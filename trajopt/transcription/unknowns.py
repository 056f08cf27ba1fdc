"""The leaves of every graph, and where the unknowns behind them stand in x."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trajopt.arrays import Array
from trajopt.splines.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Layout:
    """Where everything stands in x: control points by arc, point, curve; durations; parameters."""

    offsets: Array  # (arcs,) start of each arc's control points
    control_point_count: int  # over all arcs and curves
    durations: slice
    parameters: dict[str, slice]
    size: int

    @property
    def global_count(self) -> int:
        """Durations and parameters: the unknowns that every node sees."""
        return self.size - self.control_point_count


def layout_of(trajectory: Trajectory, curves: int, parameters: Mapping[str, int]) -> Layout:
    """Lay out control points, durations and parameters (name -> width)."""
    sizes = np.array([arc.basis.count * curves for arc in trajectory.arcs])
    control_points = int(sizes.sum())
    cursor = control_points + len(trajectory.arcs)
    places = {}
    for name, width in parameters.items():
        places[name] = slice(cursor, cursor + width)
        cursor += width
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return Layout(offsets, control_points, slice(control_points, control_points + len(sizes)), places, cursor)
