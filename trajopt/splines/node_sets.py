"""Node sets: the part of a motion over which a cost or constraint counts, and the nodes that lie in it.

Costs and constraints hold one; users write `over="path"` for instance.

`Instants` are single times at which a cost is summed or a constraint holds, as of samples.

Users write node sets as the parameter `over`:

`over="path"`, `"start"`, `"end"`, a window `(s0, s1)` of normalised time, single times `[t1, t2]` in seconds,
`Instants(...)`, `ArcNodes(...)`, `Neighbours(...)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from trajopt.base.arguments import check_choice, numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, near_matches
from trajopt.splines.basis import SAME_TIME, Curve
from trajopt.splines.trajectory import Nodes, Trajectory

ArcPart = Literal["whole", "start", "inside", "end", "extra"]
Window = tuple[float, float]  # of normalised time


@dataclass(frozen=True, eq=False)
class MotionSamples:
    """Times (K,) at which constraints are looked at, and the arc that each belongs to.

    At the border of two arcs quantities may jump, so that both sides of it are looked at.
    """

    times: NDArray[np.float64]
    arc: NDArray[np.int64]
    along: NDArray[np.float64]  # normalised time over the whole motion, every arc counted alike
    inner: NDArray[np.bool_]  # not an end of the arc

    @staticmethod
    def at(curve: Curve, times: Array, arc: Array | None = None) -> MotionSamples:
        """Any times (K,) inside the motion, in any order.

        arc : of every time (K,); where it is left out, at a border the arc that begins there
        """
        if arc is None:
            arc = curve.arc_at(times)
        within = np.clip((times - curve.starts[arc]) / curve.durations[arc], 0.0, 1.0)
        inner = (within > SAME_TIME) & (within < 1.0 - SAME_TIME)
        return MotionSamples(times, arc, (arc + within) / len(curve.bases), inner)


class NodeSet(ABC):
    """A set of nodes of a trajectory; equal to the `over` that users write for it, `"path"` for example.

    is_difference : whether a constraint bounds term(later) - term(earlier) instead of the term
    has_cost : whether a cost over the set is defined
    integrates : whether a cost over the set is the integral of its term, not the value at one node
    """

    is_difference: bool = False
    has_cost: bool = True
    integrates: bool = True

    @property
    def written(self) -> object:
        """The `over` that users write for this set."""
        return self

    @abstractmethod
    def nodes(self, trajectory: Trajectory) -> Array:
        """Indices of the nodes, one per row of a constraint; OptionError where there is none."""

    def placed_on(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with the nodes that the set needs beside those that there are."""
        return trajectory

    def window(self, trajectory: Trajectory) -> Window | None:
        """First and last time of a window, by number of the arc plus normalised time; None for others."""
        return None

    def outer_nodes(self, trajectory: Trajectory) -> tuple[Array, Array]:
        """Nodes (k,) before a window's start, or after its end, at the same time, and those (k,) within.

        Where a window begins at a breakpoint a control may jump, and a state where arcs meet: the node that
        ends the span before has the value from before.
        """
        window, nodes = self.window(trajectory), trajectory.nodes
        if window is None or window[1] - window[0] <= 2.0 * SAME_TIME:
            return np.empty(0, dtype=int), np.empty(0, dtype=int)
        place = nodes.arc + nodes.s
        # The last node of a span, where the next span begins at the same time
        pair = np.flatnonzero((np.diff(place) <= SAME_TIME) & (np.diff(nodes.span) > 0))
        first, last = (pair[np.abs(place[pair] - end) <= SAME_TIME] for end in window)
        return np.concatenate([first, last + 1]), np.concatenate([first + 1, last])

    @abstractmethod
    def mask(self, times: MotionSamples) -> Array:
        """Mask of the times (K,) that lie in the set."""

    def cost_weights(self, trajectory: Trajectory) -> Array:
        """Weights w (K,) of a cost: sum_k w_k T term_k, with the arcs' durations T, where the set integrates.

        Else sum_k w_k term_k, with a weight of one at every node of the set. Raises OptionError where no cost
        is defined, or where a window ends between breakpoints.
        """
        if not self.has_cost:
            raise no_cost(self)
        return 1.0 * np.bincount(self.nodes(trajectory), minlength=trajectory.nodes.count)

    def carries_equations(self, trajectory: Trajectory) -> Array:
        """Mask of the `nodes` that carry equations as well as limits.

        Where a set covers a part of the motion these are its collocation nodes, those with a weight, and the
        ends of arcs, but for those of `Trajectory.collocation`. Equations at nodes that are added for limits
        would outnumber the unknowns. A window in which all nodes are added ones, at the times when a foot
        stands for instance, means just these, but never the `limit_points` of a trajectory.
        """
        chosen, nodes = self.nodes(trajectory), trajectory.nodes
        stated = ~nodes.limits_only[chosen]
        if not (self.integrates and self.has_cost):
            return stated
        border = _at_ends(nodes.arc) & ~nodes.collocated
        carrying = (nodes.weight[chosen] > 0.0) | border[chosen]
        return carrying if carrying.any() else stated

    def carries_limits(self, trajectory: Trajectory, continuous: bool) -> Array:
        """Mask of the `nodes` that carry limits: all but ends of collocated spans that have no weight.

        There a control has no coefficient that the equations need, and a continuous quantity has the value
        that it has on the other side. Of a `continuous` quantity the ends of arcs carry limits, too.
        """
        chosen = self.nodes(trajectory)
        if not (self.integrates and self.has_cost):
            return np.ones(chosen.size, dtype=bool)
        nodes = trajectory.nodes
        left_out = _at_ends(nodes.span) & (nodes.weight == 0.0) & nodes.collocated
        if continuous:
            left_out &= ~_at_ends(nodes.arc)
        return ~(left_out | nodes.samples_only)[chosen]

    def selection(self, trajectory: Trajectory) -> sparse.csr_array:
        """The rows of a constraint as a matrix times the values at all nodes, (rows, K)."""
        chosen = self.nodes(trajectory)
        by_rows = np.ones(chosen.size), chosen, np.arange(chosen.size + 1)
        return sparse.csr_array(by_rows, shape=(chosen.size, trajectory.nodes.count))

    def __eq__(self, other: object) -> bool:
        return self.written == (other.written if isinstance(other, NodeSet) else other)

    def __hash__(self) -> int:
        return hash(self.written)

    def __str__(self) -> str:
        return repr(self.written)


@dataclass(frozen=True, eq=False)
class WholePath(NodeSet):
    """All nodes."""

    @property
    def written(self) -> str:
        return "path"

    def nodes(self, trajectory: Trajectory) -> Array:
        return np.arange(trajectory.nodes.count)

    def mask(self, times: MotionSamples) -> Array:
        return np.ones(times.arc.size, dtype=bool)

    def cost_weights(self, trajectory: Trajectory) -> Array:
        return trajectory.nodes.weight


@dataclass(frozen=True, eq=False)
class MotionEnd(NodeSet):
    """The first node of the motion, or its last."""

    end: Literal["start", "end"]
    integrates = False

    @property
    def written(self) -> str:
        return self.end

    def nodes(self, trajectory: Trajectory) -> Array:
        return np.array([0 if self.end == "start" else trajectory.nodes.count - 1])

    def mask(self, times: MotionSamples) -> Array:
        return _only(times.arc.size, 0 if self.end == "start" else times.arc.size - 1)


@dataclass(frozen=True, eq=False)
class TimeWindow(NodeSet):
    """The nodes with normalised time in [first, last]; every arc of the motion counts alike."""

    first: float
    last: float

    @property
    def written(self) -> Window:
        return self.first, self.last

    def nodes(self, trajectory: Trajectory) -> Array:
        nodes = trajectory.nodes
        progress = (nodes.arc + nodes.s) / len(trajectory.arcs)
        return _some(np.flatnonzero(within(progress, self.written)), nodes, self)

    def window(self, trajectory: Trajectory) -> Window:
        return self.first * len(trajectory.arcs), self.last * len(trajectory.arcs)

    def mask(self, times: MotionSamples) -> Array:
        return within(times.along, self.written)

    def cost_weights(self, trajectory: Trajectory) -> Array:
        count, weights = len(trajectory.arcs), np.zeros(trajectory.nodes.count)
        for arc in range(count):
            weights += window_weights(trajectory, arc, self.written, offset=arc, parts=count)
        return weights


@dataclass(frozen=True)
class ArcNodes(NodeSet):
    """The nodes of one arc: all of it ("whole"), its "start", its "end", or those "inside".

    A part (s0, s1) is a window of the arc's own normalised time. "extra" are those inside without weight,
    which `Trajectory(extra_points=...)` adds. A cost over "whole" or "inside" is the integral over the arc,
    over "start" or "end" the value there; "extra" nodes have none. Arcs count from 0.
    """

    arc: int
    part: ArcPart | Window = "inside"

    def __post_init__(self) -> None:
        if not isinstance(self.part, tuple):
            return
        numbers = len(self.part) == 2 and all(isinstance(s, Real) for s in self.part)
        if not (numbers and -SAME_TIME <= self.part[0] <= self.part[1] <= 1.0 + SAME_TIME):
            raise OptionError(
                f"the part of an arc is {short_repr(self.part)}: a window is (s0, s1) with 0 <= s0 <= s1 <= 1"
            )

    @property
    def integrates(self) -> bool:  # type: ignore[override]  # here it depends on the part
        return self.part not in ("start", "end")

    @property
    def has_cost(self) -> bool:  # type: ignore[override]
        return self.part != "extra"

    def nodes(self, trajectory: Trajectory) -> Array:
        nodes, mine = trajectory.nodes, self._of_arc(trajectory)
        if isinstance(self.part, tuple):
            return _some(mine[within(nodes.s[mine], self.part)], nodes, self)
        if self.part == "extra":
            return mine[1:-1][((nodes.weight == 0.0) & ~nodes.samples_only)[mine[1:-1]]]
        return {"start": mine[:1], "inside": mine[1:-1], "end": mine[-1:], "whole": mine}[self.part]

    def window(self, trajectory: Trajectory) -> Window | None:
        if not isinstance(self.part, tuple):
            return None
        first, last = self.part
        return self.arc + first, self.arc + last

    def mask(self, times: MotionSamples) -> Array:
        mine = times.arc == self.arc
        if isinstance(self.part, tuple):
            return mine & within(times.along * (times.arc.max() + 1) - self.arc, self.part)
        if self.part == "whole":
            return mine
        if self.part in ("inside", "extra"):
            return mine & times.inner
        return _only(mine.size, np.flatnonzero(mine)[0 if self.part == "start" else -1])

    def cost_weights(self, trajectory: Trajectory) -> Array:
        nodes, of_arc = trajectory.nodes, self._of_arc(trajectory)
        if isinstance(self.part, tuple):
            return window_weights(trajectory, self.arc, self.part)
        if not (self.integrates and self.has_cost):
            return super().cost_weights(trajectory)
        weights = np.zeros(nodes.count)
        weights[of_arc] = nodes.weight[of_arc]
        return weights

    def _of_arc(self, trajectory: Trajectory) -> Array:
        mine = np.flatnonzero(trajectory.nodes.arc == self.arc)
        if mine.size == 0 or not (isinstance(self.part, tuple) or self.part in get_args(ArcPart)):
            raise OptionError(
                f"over is {self}: the {len(trajectory.arcs)} arcs count from 0, and their parts are "
                f"{', '.join(get_args(ArcPart))}, or a window (s0, s1)"
            )
        return mine


@dataclass(frozen=True)
class Neighbours(NodeSet):
    """Every two neighbouring nodes: the constraint holds for term(later) - term(earlier).

    Of all pairs, only the two sides of the border after an arc where `after` names one.
    """

    after: int | None = None
    is_difference, has_cost = True, False

    def nodes(self, trajectory: Trajectory) -> Array:
        """The later node of every pair."""
        if self.after is not None:
            return np.array([trajectory.border(self.after)[1]])
        return np.arange(1, trajectory.nodes.count)

    def mask(self, times: MotionSamples) -> Array:
        """Times whose differences, each from the one before, are those of the set."""
        if self.after is None:
            return np.ones(times.arc.size, dtype=bool)
        last = np.flatnonzero(times.arc == self.after)[-1]
        return np.isin(np.arange(times.arc.size), [last, last + 1])

    def selection(self, trajectory: Trajectory) -> sparse.csr_array:
        later = self.nodes(trajectory)
        return difference(trajectory.nodes, later, later - 1)


PATH, START, END = WholePath(), MotionEnd("start"), MotionEnd("end")


def no_cost(over: NodeSet) -> OptionError:
    """The error of a cost over nodes that define none."""
    return OptionError(
        f"nothing can be minimized over {over}: a cost is an integral over 'path', a window or an arc, "
        "ArcNodes(arc, 'whole'), or the value at 'start' or 'end', or a sum over single times, [0.5, 1.0]"
    )


def difference(nodes: Nodes, later: ArrayLike, earlier: ArrayLike, factor: float = 1.0) -> sparse.csr_array:
    """The rows term(later) - factor * term(earlier), one per pair of nodes (or for one pair), (rows, K).

    Nodes are numbered in time, so that `earlier` is the smaller number.
    """
    both = np.stack([np.atleast_1d(earlier), np.atleast_1d(later)], axis=1)
    count = len(both)
    by_rows = np.tile([-factor, 1.0], count), both.ravel(), 2 * np.arange(count + 1)
    return sparse.csr_array(by_rows, shape=(count, nodes.count))


def _at_ends(number: Array) -> Array:
    """Mask of the nodes that are first or last of their arc, or span, by its number (K,)."""
    changes = np.diff(number, prepend=-1, append=-1) != 0
    return changes[:-1] | changes[1:]


def _only(count: int, place: int) -> Array:
    """A mask (count,) that is true at one place."""
    return np.arange(count) == place


def _some(chosen: Array, nodes: Nodes, over: NodeSet) -> Array:
    """`chosen` itself; OptionError where it has no node, or only such as carry nothing."""
    if nodes.samples_only[chosen].all():
        raise OptionError(f"no node lies in the window {over}: widen it or use more intervals")
    return chosen


def within(s: Array, window: Window) -> Array:
    """Mask of the times s (K,) that lie in a window, its ends included."""
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
