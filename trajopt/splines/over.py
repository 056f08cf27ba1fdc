"""The parameter `over`, the part of a motion over which a cost or constraint counts, read as a node set.

`over="path"`, `"start"`, `"end"`, a window `(s0, s1)` of normalised time, single times `[t1, t2]` in seconds,
`Instants(...)`, `ArcNodes(...)`, `Neighbours(...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError, near_matches
from trajopt.splines.instants import Instants
from trajopt.splines.node_sets import END, PATH, START, NodeSet, TimeWindow, Window

# For messages about times within the motion, where a spline has a node only by chance.
ONE_INSTANT = (
    "; one instant within the motion is a list of one time in seconds, over=[0.5], or, of normalised time, "
    "where two arcs meet: Trajectory.uniform(10, arcs=2) and over=ArcNodes(0, 'end')"
)
ENDS = "; the ends of the motion are 'start' and 'end'"

# Values of `over`: a node set, or "path", "start", "end", a window (s0, s1) of normalised time, or single
# times in seconds.
Over = Literal["path", "start", "end"] | Window | Sequence[float] | NDArray[np.float64] | NodeSet


def node_set(over: object) -> NodeSet:
    """The node set that users mean by `over`; OptionError where it means none."""
    if isinstance(over, NodeSet):
        return over
    if isinstance(over, tuple):
        numbers = len(over) == 2 and all(isinstance(s, Real) for s in over)
        if numbers and 0.0 <= over[0] < over[1] <= 1.0:
            return TimeWindow(float(over[0]), float(over[1]))
        instant = _of_instant(over[0]) if numbers and over[0] == over[1] else ""
        raise OptionError(f"over is {short_repr(over)}: a window is (s0, s1) with 0 <= s0 < s1 <= 1{instant}")
    if isinstance(over, list | np.ndarray):
        return Instants(over)
    for known in (PATH, START, END):
        if isinstance(over, str) and known == over:
            return known
    near = near_matches(over, ("path", "start", "end"))
    instant = _of_instant(float(over)) if isinstance(over, Real) and not isinstance(over, bool) else ""
    raise OptionError(
        f"over is {short_repr(over)}{near}: use 'path', 'start', 'end', a window (s0, s1), single times "
        f"[t1, t2], ArcNodes or Neighbours{instant}"
    )


def _of_instant(s: float) -> str:
    """The advice for one normalised time; nothing for a number beyond the motion."""
    if s in (0.0, 1.0):
        return ENDS
    return ONE_INSTANT if 0.0 < s < 1.0 else ""
