"""The plane in which a robot's line segments are drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.errors import ShapeError

FLAT = 1e-6  # of the motion's extent: thinner than this along a world axis, the motion is planar


def checked_segments(lines: NDArray, count: int) -> NDArray[np.float64]:
    """Segments as (count, segments, 2, 3); ShapeError otherwise."""
    lines = np.asarray(lines, dtype=float)
    if lines.ndim != 4 or lines.shape[0] != count or lines.shape[2:] != (2, 3):
        raise ShapeError(f"skeleton(q) returned shape {lines.shape}: expected ({count}, segments, 2, 3)")
    return lines


def plane(lines: NDArray, gravity: ArrayLike | None = None) -> tuple[int, int]:
    """The two world axes to draw, across and up, of line segments (..., 3).

    Up is against gravity where there is any and the motion leaves the horizontal plane, else z where it does.
    """
    extent = np.ptp(lines.reshape(-1, 3), axis=0)
    flat = extent <= FLAT * extent.max()
    pull = np.zeros(3) if gravity is None else np.abs(np.asarray(gravity, dtype=float))
    up = int(np.argmax(pull)) if pull.any() else 2
    if not flat[up]:
        others = [axis for axis in range(3) if axis != up]
        return max(others, key=lambda axis: (extent[axis], -axis)), up
    across, upward = (axis for axis in range(3) if axis != up)
    return across, upward
