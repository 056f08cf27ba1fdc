"""The plane in which a robot's line segments are drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import ShapeError

FLAT = 1e-6  # of the motion's extent: thinner than this along a world axis, the motion is planar


def checked_segments(lines: NDArray, count: int) -> NDArray[np.float64]:
    """Segments as (count, segments, 2, 3); ShapeError otherwise."""
    lines = np.asarray(lines, dtype=float)
    if lines.ndim != 4 or lines.shape[0] != count or lines.shape[2:] != (2, 3):
        raise ShapeError(f"skeleton(q) returned shape {lines.shape}: expected ({count}, segments, 2, 3)")
    return lines


def plane(lines: NDArray) -> tuple[int, int]:
    """The two world axes to draw, across and up: z is up wherever the motion leaves the horizontal plane."""
    points = lines.reshape(-1, 3)
    extent = np.ptp(points, axis=0)
    flat = extent <= FLAT * extent.max()
    dropped = 2 if flat[2] else int(np.argmin(extent[:2]))
    across, up = (axis for axis in range(3) if axis != dropped)
    return across, up
