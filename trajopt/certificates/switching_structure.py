"""Switching structures: the switch times of an optimal motion and the limits that are saturated between them.

On an arc, the time between two neighbouring switches, every component of every path limit is either saturated
(equal to its upper or its lower bound) or inactive. A torque at its bound makes a bang arc, a velocity or a
position at its bound a boundary arc.

Pontryagin's sign condition compares multipliers of saturated limits with the bounds at which they sit.

An upper limit that is active at an optimum has a multiplier >= 0, a lower one a multiplier <= 0. A multiplier
of the other sign says that the objective would fall if the limit were left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trajopt.base.arrays import Array
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem_graph import limit_order
from trajopt.solution.solution import Solution


class Saturation(NamedTuple):
    """One component of one limit at its upper (side = 1) or lower (side = -1) bound.

    limit : index among the path limits of the problem
    component : index within the limit, a joint for q, v, a and tau
    """

    limit: int
    component: int
    side: int

    def exists(self, limits: Sequence[Constraint]) -> bool:
        """True if the path limits have this component; a file may name other limits."""
        return 0 <= self.limit < len(limits) and 0 <= self.component < limits[self.limit].lower.size

    def bound(self, limits: Sequence[Constraint]) -> float:
        """The bound at which the component is, in the unit of its limit among these path limits."""
        limit = limits[self.limit]
        return float((limit.upper if self.side > 0 else limit.lower)[self.component])

    @property
    def flipped(self) -> Saturation:
        """The same component at its other bound."""
        return Saturation(self.limit, self.component, -self.side)


@dataclass(frozen=True)
class ActiveInterval:
    """A saturation with its entry time `start` and its exit time `end`, in one unit of time."""

    saturation: Saturation
    start: float
    end: float


@dataclass(frozen=True)
class Structure:
    """Switch times 0 = t_0 < ... < t_A in seconds and, for each of the A arcs, the saturations on it.

    Neighbours that are saturated alike are parts of one arc, of equal durations.
    """

    times: tuple[float, ...]
    saturated: tuple[frozenset[Saturation], ...]

    @staticmethod
    def of(intervals: Iterable[ActiveInterval], duration: float, gap: float) -> Structure:
        """The arcs between all entry and exit times; times nearer to each other than `gap` are one switch."""
        intervals = list(intervals)
        ends = [time for interval in intervals for time in (interval.start, interval.end)]
        borders = _distinct([0.0, *ends, duration], gap)
        saturated = []
        for left, right in pairwise(borders):
            middle = 0.5 * (left + right)
            saturated.append(frozenset(i.saturation for i in intervals if i.start < middle < i.end))
        return Structure(tuple(borders), tuple(saturated)).merged()

    @property
    def is_one(self) -> bool:
        """True if there is an arc between every two times, and every side is that of a bound."""
        fits = len(self.times) == len(self.saturated) + 1 and all(map(math.isfinite, self.times))
        return fits and {s.side for arc in self.saturated for s in arc} <= {-1, 1}

    @property
    def arc_count(self) -> int:
        return len(self.saturated)

    @property
    def durations(self) -> NDArray[np.float64]:
        return np.diff(self.times)

    @property
    def parts(self) -> tuple[int, ...]:
        """Numbers of parts into which each arc of the merged structure is cut."""
        return tuple(len(list(alike)) for _, alike in groupby(self.saturated))

    def arc_at(self, time: float) -> int:
        """Index of the arc that contains a time; the later arc at a switch."""
        return int(np.clip(np.searchsorted(self.times, time, "right") - 1, 0, self.arc_count - 1))

    def without(self, arc: int) -> Structure:
        """The structure without one arc, whose time goes to its neighbours; equal neighbours are merged."""
        times = list(self.times)
        middle = 0.5 * (times[arc] + times[arc + 1])
        if arc == 0:
            times = [times[0], *times[2:]]
        elif arc == self.arc_count - 1:
            times = [*times[:-2], times[-1]]
        else:
            times = [*times[:arc], middle, *times[arc + 2 :]]
        saturated = self.saturated[:arc] + self.saturated[arc + 1 :]
        return Structure(tuple(times), saturated).merged()

    def replaced(self, arc: int, start: float, end: float, saturated: frozenset[Saturation]) -> Structure:
        """Other saturations from `start` to `end` within one arc; what remains of the arc stays as it was."""
        left, right = self.times[arc], self.times[arc + 1]
        inner = [
            (left, start, self.saturated[arc]),
            (start, end, saturated),
            (end, right, self.saturated[arc]),
        ]
        parts = [part for part in inner if part[1] > part[0]]
        times = (*self.times[:arc], *(part[0] for part in parts), *self.times[arc + 1 :])
        states = (*self.saturated[:arc], *(part[2] for part in parts), *self.saturated[arc + 1 :])
        return Structure(times, states).merged()

    def in_parts(self, parts: Iterable[int]) -> Structure:
        """Every arc cut in a number of equal parts, which are saturated alike; `merged` joins them again."""
        times, saturated = [self.times[:1]], []
        for arc, count in enumerate(parts):
            times.append(tuple(np.linspace(self.times[arc], self.times[arc + 1], count + 1)[1:].tolist()))
            saturated += [self.saturated[arc]] * count
        return Structure(tuple(chain.from_iterable(times)), tuple(saturated))

    def on(self, times: Array) -> Structure:
        """The same saturations on finer arcs, whose borders `times` the switches are among."""
        middles = 0.5 * (times[:-1] + times[1:])
        saturated = tuple(self.saturated[self.arc_at(float(middle))] for middle in middles)
        return Structure(tuple(times.tolist()), saturated)

    def merged(self) -> Structure:
        """The structure with neighbouring arcs of equal saturations joined into one."""
        times, saturated = [self.times[0]], []
        for index, state in enumerate(self.saturated):
            if saturated and saturated[-1] == state:
                times[-1] = self.times[index + 1]
            else:
                saturated.append(state)
                times.append(self.times[index + 1])
        return Structure(tuple(times), tuple(saturated))

    def record(self) -> dict[str, object]:
        """Times and saturations as lists, for a file."""
        return {
            "times": list(self.times),
            "saturated": [[list(s) for s in sorted(arc)] for arc in self.saturated],
        }

    def with_times(self, durations: Array) -> Structure:
        """The same saturations on arcs of other durations."""
        return Structure(tuple(np.concatenate([[0.0], np.cumsum(durations)]).tolist()), self.saturated)


def _distinct(values: list[float], gap: float) -> list[float]:
    """Sorted values, each group within `gap` replaced by its mean; the first and the last value stay."""
    ordered = sorted(values)
    groups = [[ordered[0]]]
    for value in ordered[1:]:
        if value - groups[-1][0] > gap:
            groups.append([value])
        else:
            groups[-1].append(value)
    result = [sum(group) / len(group) for group in groups]
    result[0], result[-1] = ordered[0], ordered[-1] if len(result) > 1 else result[-1]
    return result


@dataclass(frozen=True)
class ArcSettings:
    """Settings by which limits are imposed on the arcs of a switching structure.

    regular : the optimal controls are continuous in time (the Hamiltonian is strictly convex in the
        accelerations, as with an effort); else they are bang-bang
    effort_weight : weight of the least-effort term that determines the motion of joints which the optimum
        leaves free, relative to the objective
    margins : (width,) for every path limit, subtracted from its range at both bounds, in the limit's unit
    free_margins : (width,) for every path limit, subtracted in addition where a limit is inactive on an arc
        with free joints
    """

    regular: bool = False
    effort_weight: float = 1e-2
    margins: tuple[tuple[float, ...], ...] = ()
    free_margins: tuple[tuple[float, ...], ...] = ()

    def margins_of(self, index: int, limit: Constraint) -> tuple[Array, Array]:
        """Margin and free margin of one path limit, (width,) each."""
        given = (self.margins, self.free_margins)
        margin, free = (np.array(each[index]) if each else np.zeros(limit.lower.size) for each in given)
        return margin, free


@dataclass(frozen=True)
class Contradiction:
    """A time interval within an arc on which a saturated limit's multiplier has the sign of the other bound.

    arc : index of the arc, of the first one where a velocity is held over several
    start, end : seconds
    impulse : of the wrong sign, the integral of the multiplier's density over the interval, relative to the
        largest impulse of a saturated limit over an arc
    """

    arc: int
    saturation: Saturation
    start: float
    end: float
    impulse: float


@dataclass(frozen=True)
class Signs:
    """Result of the sign check of all saturated limits of a switching structure.

    checked : number of pairs of arc and saturated component that were checked
    unchecked : number of pairs that were not checked: positions at their limits
    wrong : largest impulse of the wrong sign over an interval, relative to the largest over an arc
    where : the component and the interval in seconds of that impulse; empty where all signs are right
    free : seconds during which fewer limits are saturated than there are joints, in a problem whose controls
        are not determined by an effort; the optimal motion is not unique there
    """

    checked: int
    unchecked: int
    wrong: float
    where: str
    free: float


def sign_check(
    motion: Solution,
    structure: Structure,
    contradictions: tuple[Contradiction, ...],
    regular: bool,
    boundaries_checked: int = 0,
) -> Signs:
    """Summary of the sign check.

    contradictions : all wrong signs that were found, the largest impulse first
    regular : controls are continuous, see `ArcSettings`
    boundaries_checked : number of pairs of arc and velocity or position at its limit that were checked
    """
    limits, n = motion.problem.path_limits(), motion.problem.dynamics.n
    orders = [limit_order(motion.problem, limit) for limit in limits]
    saturated_orders = [orders[s.limit] for saturated in structure.saturated for s in saturated]
    checked = saturated_orders.count(2) + boundaries_checked
    unchecked = len(saturated_orders) - checked
    spans = zip(structure.durations, structure.saturated, strict=True)
    free = 0.0 if regular else float(sum(seconds for seconds, saturated in spans if len(saturated) < n))
    if not contradictions:
        return Signs(checked, unchecked, 0.0, "", free)
    worst = contradictions[0]
    what = component_label(motion, worst.saturation)
    where = f"{what} from {worst.start:.6f} to {worst.end:.6f} s"
    return Signs(checked, unchecked, worst.impulse, where, free)


def component_label(motion: Solution, saturation: Saturation) -> str:
    """The saturated quantity and its joint, such as `tau of elbow`."""
    limit = motion.problem.path_limits()[saturation.limit]
    labels = motion.problem.component_names(limit.term.quantity, limit.lower.size)
    label = labels[saturation.component]
    return f"{limit.term.name} of {label}" if label else limit.term.name
