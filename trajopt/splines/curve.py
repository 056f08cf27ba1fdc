"""Spline curves in time: q(t) and its derivatives at any time of a motion."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import numbers
from trajopt.base.errors import ShapeError
from trajopt.splines.basis import SAME_TIME, SplineBasis

if TYPE_CHECKING:
    from scipy.interpolate import BSpline


@dataclass(frozen=True, eq=False)
class CurveGroup:
    """Curves with a basis of their own, on the breakpoints of the others: controls, for instance.

    control_points : (count, m) per arc
    """

    bases: tuple[SplineBasis, ...]
    control_points: tuple[NDArray[np.float64], ...]

    @property
    def n(self) -> int:
        return self.control_points[0].shape[1]


@dataclass(frozen=True, eq=False)
class Curve:
    """q(t) = B((t - t_a) / T_a) P_a on arc a, with start time t_a and duration T_a in seconds.

    control_points : P_a (count, n) per arc, n the number of coordinates
    apart : further curves, columns behind those of P_a, each group with bases of its own
    """

    bases: tuple[SplineBasis, ...]
    control_points: tuple[NDArray[np.float64], ...]
    durations: NDArray[np.float64]
    apart: tuple[CurveGroup, ...] = ()

    @property
    def n(self) -> int:
        """The number of coordinates, further curves among them."""
        return self._columns[-1].stop

    @cached_property
    def groups(self) -> tuple[CurveGroup, ...]:
        """All curves as groups with common bases, in the order of their columns."""
        return (CurveGroup(self.bases, self.control_points), *self.apart)

    def group_of(self, column: int) -> tuple[CurveGroup, int]:
        """The group of a column, and the place of the curve in it."""
        for group, columns in zip(self.groups, self._columns, strict=True):
            if column < columns.stop:
                return group, column - columns.start
        raise ShapeError(f"there are {self.n} curves: no column {column}")

    @cached_property
    def _columns(self) -> list[slice]:
        """The columns of every group."""
        ends = np.cumsum([group.n for group in self.groups]).tolist()
        return list(map(slice, [0, *ends], ends))

    @cached_property
    def starts(self) -> NDArray[np.float64]:
        """Start time of every arc and the end of the last, (arcs + 1,) seconds."""
        return np.concatenate([[0.0], np.cumsum(self.durations)])

    @property
    def duration(self) -> float:
        return float(self.starts[-1])

    @cached_property
    def knot_times(self) -> NDArray[np.float64]:
        """Times of all breakpoints, in seconds, each once."""
        return np.unique(np.concatenate(self.knot_times_of_arcs))

    @cached_property
    def knot_times_of_arcs(self) -> tuple[NDArray[np.float64], ...]:
        """Times of the breakpoints of every arc, both of its ends among them, in seconds."""
        return tuple(
            start + basis.breakpoints * duration
            for start, basis, duration in zip(self.starts[:-1], self.bases, self.durations, strict=True)
        )

    def __call__(self, t: ArrayLike, derivative: int = 0) -> NDArray[np.float64]:
        """d^l q / dt^l at times t (...,) in seconds, (..., n); the right limit where it jumps.

        Raises ShapeError for times outside [0, duration].
        """
        return self.derivatives(t, (derivative,))[derivative]

    def derivatives(
        self, t: ArrayLike, orders: Iterable[int], needed: Collection[tuple[int, slice]] | None = None
    ) -> dict[int, NDArray[np.float64]]:
        """d^l q / dt^l of several orders l at the same times, {l: (..., n)}; as one call for each.

        needed : orders and columns that are read, None: all; those of other groups of curves stay zero
        """
        time = self._checked(t)
        arc = self.arc_at(time)
        found = {order: np.zeros((*time.shape, self.n)) for order in orders}
        read = [(order, slice(0, self.n)) for order in found] if needed is None else needed
        asked = [
            {order for order, those in read if those.start < own.stop and own.start < those.stop}
            for own in self._columns
        ]
        for index, duration in enumerate(self.durations):
            here = arc == index
            s = np.clip((time[here] - self.starts[index]) / duration, 0.0, 1.0)
            if not s.size:
                continue
            for (columns, spline), of_group in zip(self._splines[index], asked, strict=True):
                for order in of_group:
                    if order <= spline.k:
                        found[order][here, columns] = spline(s, nu=order) / duration**order
        return found

    def arc_duration(self, t: ArrayLike) -> NDArray[np.float64]:
        """The duration of the arc in which each time lies."""
        return self.durations[self.arc_at(self._checked(t))]

    def at_progress(self, s: ArrayLike) -> NDArray[np.float64]:
        """q at normalised time of the whole motion, every arc counted alike; for guesses on another mesh."""
        progress = np.clip(np.asarray(s, dtype=float), 0.0, 1.0) * len(self.bases)
        return self(np.minimum(self.time_at(progress), self.duration))

    def time_at(self, progress: ArrayLike) -> NDArray[np.float64]:
        """Seconds at normalised times from 0 to the number of arcs, each of which counts as one."""
        along = np.asarray(progress, dtype=float)
        arc = np.minimum(along.astype(int), len(self.bases) - 1)
        return self.times_at(arc, along - arc)

    def times_at(self, arc: NDArray[np.int64], s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Seconds at normalised times s of arcs."""
        return self.starts[arc] + s * self.durations[arc]

    @cached_property
    def _splines(self) -> tuple[tuple[tuple[slice, BSpline], ...], ...]:
        """The columns of every arc's groups, and their splines in normalised time."""
        arcs, found = range(len(self.bases)), []
        for group, columns in zip(self.groups, self._columns, strict=True):
            found.append([(columns, group.bases[arc].spline(group.control_points[arc])) for arc in arcs])
        return tuple(zip(*found, strict=True))

    def arc_at(self, time: NDArray[np.float64]) -> NDArray[np.int64]:
        """The arc in which each time lies, at a border the later one."""
        return np.clip(np.searchsorted(self.starts, time, side="right") - 1, 0, len(self.bases) - 1)

    def _checked(self, t: ArrayLike) -> NDArray[np.float64]:
        time = numbers(t, "the times")
        slack = SAME_TIME * self.duration
        if time.size and not (time.min() >= -slack and time.max() <= self.duration + slack):
            raise ShapeError(
                f"times span [{time.min():.6g}, {time.max():.6g}] s but the motion lasts from 0 to "
                f"{self.duration:.6g} s: ask for times inside"
            )
        return np.clip(time, 0.0, self.duration)
