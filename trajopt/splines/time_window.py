"""Windows of normalised time: which times lie in one, and the quadrature over its spans."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.splines.basis import SAME_TIME
from trajopt.splines.trajectory import Trajectory

Window = tuple[float, float]


def within(s: Array, window: Window) -> Array:
    """Which of the times s (K,) lie in a window, its ends included."""
    return (s >= window[0] - SAME_TIME) & (s <= window[1] + SAME_TIME)


def window_weights(
    trajectory: Trajectory, index: int, window: Window, offset: int = 0, parts: int = 1
) -> Array:
    """Quadrature weights (K,), in the normalised time of arc `index`, of its spans inside a window.

    The window is one of (s + offset) / parts, with s in [0, 1] the normalised time of the arc. Raises
    OptionError where it ends between breakpoints of the arc.
    """
    nodes, arc = trajectory.nodes, trajectory.arcs[index]
    mine, weights = np.flatnonzero(nodes.arc == index), np.zeros(nodes.count)
    points, unit = arc.unit_rule
    breaks, own = arc.basis.breakpoints, np.array(window) * parts - offset
    for end in own:
        if 0.0 < end < 1.0 and np.abs(breaks - end).min() > SAME_TIME:
            nearest = (breaks[np.argmin(np.abs(breaks - end))] + offset) / parts
            raise OptionError(
                f"an integral over {window} needs breakpoints at its ends: the nearest is {nearest:.6g}"
            )
    first_span = nodes.span[mine[0]]
    for span, (left, right) in enumerate(pairwise(breaks), start=int(first_span)):
        if left < own[0] - SAME_TIME or right > own[1] + SAME_TIME:
            continue
        # Of two nodes at a breakpoint, one on either side, the span's own one counts: controls may jump.
        foreign = np.where(nodes.span[mine] == span, 0.0, SAME_TIME)
        for point, weight in zip(left + (right - left) * points, unit, strict=True):
            node = np.argmin(np.abs(nodes.s[mine] - point) + foreign)
            weights[mine[node]] += (right - left) * weight
    return weights
