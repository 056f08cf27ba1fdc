"""Line segments of a robot for figures: their shape is checked, and the two world axes to draw are chosen."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.errors import ShapeError

FLAT = 1e-6  # of the largest extent: a motion thinner than this is planar, a rail thinner than this straight


def checked_segments(lines: NDArray, count: int) -> NDArray[np.float64]:
    """The segments of `count` postures as (count, segments, 2, 3) floats; ShapeError for another shape."""
    lines = np.asarray(lines, dtype=float)
    if lines.ndim != 4 or lines.shape[0] != count or lines.shape[2:] != (2, 3):
        raise ShapeError(f"skeleton(q) returned shape {lines.shape}: expected ({count}, segments, 2, 3)")
    return lines


def drawing_axes(lines: NDArray, gravity: ArrayLike | None = None) -> tuple[int, int]:
    """Indices (0 x, 1 y, 2 z) of the world axes to draw horizontally and vertically, of points (..., 3).

    The vertical axis is the one along gravity, z without gravity, and the horizontal axis the one of the
    larger extent. A motion within the plane normal to the vertical axis is drawn in that plane.
    """
    extent = np.ptp(lines.reshape(-1, 3), axis=0)
    flat = extent <= FLAT * extent.max()
    field = np.zeros(3) if gravity is None else np.abs(np.asarray(gravity, dtype=float))
    up = int(np.argmax(field)) if field.any() else 2
    if not flat[up]:
        others = [axis for axis in range(3) if axis != up]
        return max(others, key=lambda axis: (extent[axis], -axis)), up
    first, second = (axis for axis in range(3) if axis != up)
    return first, second
