"""Single times within a motion at which a cost is summed or a constraint holds: samples, points to pass.

Also here: the parameter `over`, the part of a motion over which a cost or constraint counts, read as a node
set.

`over="path"`, `"start"`, `"end"`, a window `(s0, s1)` of normalised time, single times `[t1, t2]` in seconds,
`Instants(...)`, `ArcNodes(...)`, `Neighbours(...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arguments import check_choice, numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, near_matches
from trajopt.splines.basis import SAME_TIME
from trajopt.splines.node_sets import END, PATH, START, MotionSamples, NodeSet, TimeWindow, Window
from trajopt.splines.trajectory import Trajectory


@dataclass(frozen=True)
class Instants(NodeSet):
    """Single times within the motion: a cost over them is a sum, a constraint holds at each.

        sum_i weight * term(t_i),        lower <= term(t_i) <= upper

    times : (k,) rising; where a quantity jumps, at the border of two arcs for instance, its value before
    clock : "seconds" of a motion whose duration is fixed, or "progress", normalised time from 0 to 1, in
        which every arc counts alike
    Times that are no nodes become nodes, which carry nothing else.
    """

    times: Sequence[float] | NDArray[np.float64]
    clock: Literal["seconds", "progress"] = "seconds"
    integrates = False

    def __post_init__(self) -> None:
        times = np.atleast_1d(numbers(self.times, "the times of Instants"))
        is_row = times.ndim == 1 and times.size > 0 and np.isfinite(times).all()
        if not is_row or np.any(np.diff(times) <= 0.0):
            raise OptionError(f"over is {short_repr(self.times)}: single times rise, [0.5, 1.0] for instance")
        check_choice("clock", self.clock, ("seconds", "progress"))
        object.__setattr__(self, "times", tuple(times.tolist()))

    def each(self) -> list[Instants]:
        """One set for every time."""
        return [Instants((time,), self.clock) for time in self.times]

    def places(self, trajectory: Trajectory) -> list[list[float]]:
        """The normalised times in every arc, one entry for each; OptionError where there are none."""
        ends, unit = np.arange(len(trajectory.arcs) + 1.0), "of normalised time"
        times = np.array(self.times) * (1.0 if self.clock == "seconds" else len(trajectory.arcs))
        if self.clock == "seconds":
            if trajectory.has_free_duration:
                raise OptionError(
                    f"over is {self}, but the duration is free, so that seconds are no place of the motion: "
                    "fix it, Trajectory.uniform(20, duration=2.0), or give normalised times, "
                    "over=trajopt.Instants([0.5], clock='progress')"
                )
            ends, unit = np.concatenate([[0.0], np.cumsum(trajectory.duration_bounds[0])]), "s"
        slack = SAME_TIME * ends[-1]
        if times[0] < -slack or times[-1] > ends[-1] + slack:
            last = ends[-1] if unit == "s" else 1.0
            raise OptionError(f"over is {self}: the motion lasts from 0 to {last:g} {unit}")
        arc = np.clip(np.searchsorted(ends + slack, times) - 1, 0, len(trajectory.arcs) - 1)
        s = np.clip((times - ends[arc]) / np.diff(ends)[arc], 0.0, 1.0)
        return [s[arc == index].tolist() for index in range(len(trajectory.arcs))]

    def nodes(self, trajectory: Trajectory) -> Array:
        nodes, found = trajectory.nodes, []
        for arc, places in enumerate(self.places(trajectory)):
            mine = np.flatnonzero(nodes.arc == arc)
            found += [mine[np.argmin(np.abs(nodes.s[mine] - s))] for s in places]
        return np.array(found)

    def mask(self, times: MotionSamples) -> Array:
        seconds = self.clock == "seconds"
        given, slack = (times.times, SAME_TIME * times.times[-1]) if seconds else (times.along, SAME_TIME)
        near = np.abs(given[:, None] - np.array(self.times)) <= slack
        first = np.argmax(near, axis=0)
        mask = np.zeros(given.size, dtype=bool)
        mask[first[near.any(axis=0)]] = True
        return mask

    def cost_weights(self, trajectory: Trajectory) -> Array:
        return 1.0 * np.bincount(self.nodes(trajectory), minlength=trajectory.nodes.count)

    def carries_equations(self, trajectory: Trajectory) -> Array:
        return np.ones(len(self.times), dtype=bool)

    def placed_on(self, trajectory: Trajectory) -> Trajectory:
        return trajectory.with_sample_points(self.places(trajectory))

    def __str__(self) -> str:
        unit = "s" if self.clock == "seconds" else "T"
        if len(self.times) == 1:
            return f"{self.times[0]} {unit}"  # in full: slacks are named by it
        return f"{len(self.times)} times, {self.times[0]:g} to {self.times[-1]:g} {unit}"


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
