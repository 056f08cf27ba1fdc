"""B-spline bases on normalised time, q(s) = sum_i B_i(s) P_i, 0 <= s <= 1, and curves in time on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arguments import check_count, numbers, short_repr
from trajopt.base.arrays import Array, cached_if_small, read_only
from trajopt.base.errors import OptionError, ShapeError
from trajopt.base.tolerances import AGREEMENT

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

# Far more than any motion needs; the arrays of the largest basis still fit into memory.
MOST_SPANS, HIGHEST_DEGREE = 100_000, 25
HIGHEST_DERIVATIVE = 3  # position, velocity, acceleration, jerk: all that the leaves of the graph need
SAME_TIME = AGREEMENT  # of a span, an arc or a motion: times that differ by less are the same one
BORDER_SIDE = 1e-12  # of an arc or a motion: how far from a breakpoint either of its sides is looked at
WIDER = 1.5  # times the widest of the spans that a coarser one joins
EQUAL = 1.0 + SAME_TIME  # ratio of widths that differ by rounding


@dataclass(frozen=True, eq=False)
class SplineBasis:
    """Clamped B-spline basis of a degree on breakpoints 0 = s_0 < ... < s_l = 1.

    The Cox-de Boor recursion defines it,

        B_i,0(s) = 1 on [t_i, t_i+1), else 0
        B_i,d(s) = (s - t_i) / (t_i+d - t_i) B_i,d-1(s) + (t_i+d+1 - s) / (t_i+d+1 - t_i+1) B_i+1,d-1(s)

    on the knots t: the ends repeated degree + 1 times, interior breakpoint k repeated multiplicities[k - 1]
    times, where the curve keeps degree - multiplicity continuous derivatives (Barman 2020, eq. 4.13).
    SciPy's BSpline evaluates it; tests compare it with the recursion above.
    """

    breakpoints: NDArray[np.float64]
    degree: int
    multiplicities: NDArray[np.int64]

    @staticmethod
    def clamped(breakpoints: ArrayLike, degree: int, multiplicities: ArrayLike | None = None) -> SplineBasis:
        """Check and build; breakpoints (l + 1,) rise from 0 to 1, multiplicities (l - 1,) default to one."""
        check_count("degree, of a curve with second derivatives,", degree, 2, error=ShapeError)
        return _checked(breakpoints, degree, multiplicities, most=degree)

    @staticmethod
    def of_any_degree(
        breakpoints: ArrayLike, degree: int, multiplicities: ArrayLike | None = None
    ) -> SplineBasis:
        """Make a basis as `clamped` does, from degree 0 up: for curves without second derivatives.

        Where the multiplicity is degree + 1 the curve itself may jump.
        """
        check_count("degree", degree, error=ShapeError)
        return _checked(breakpoints, degree, multiplicities, most=degree + 1)

    @staticmethod
    def with_continuity(breakpoints: ArrayLike, degree: int, continuity: int) -> SplineBasis:
        """Piecewise polynomials with `continuity` continuous derivatives; -1 lets the curve jump."""
        count = max(np.size(breakpoints) - 2, 0)
        return SplineBasis.of_any_degree(breakpoints, degree, np.full(count, degree - continuity))

    @staticmethod
    def uniform(intervals: int, degree: int = 3) -> SplineBasis:
        """Evenly spaced breakpoints (Barman 2020, eq. 4.14 with the step written as T / l)."""
        check_count("intervals", intervals, 1, MOST_SPANS, ShapeError)
        return SplineBasis.clamped(np.linspace(0.0, 1.0, intervals + 1), degree)

    @cached_property
    def knots(self) -> NDArray[np.float64]:
        """Knot vector, (count + degree + 1,)."""
        interior = np.repeat(self.breakpoints[1:-1], self.multiplicities)
        ends = np.ones(self.degree + 1)
        return read_only(np.concatenate([0.0 * ends, interior, ends]))

    @property
    def count(self) -> int:
        """The number of control points of one coordinate."""
        return self.knots.size - self.degree - 1

    @property
    def span_count(self) -> int:
        return self.breakpoints.size - 1

    @cached_property
    def first_control_point(self) -> NDArray[np.int64]:
        """Index of the first of the degree + 1 control points that shape each span, (spans,)."""
        return read_only(np.concatenate([[0], np.cumsum(self.multiplicities)]).astype(np.int64))

    @cached_property
    def greville(self) -> NDArray[np.float64]:
        """Averages of degree consecutive knots: where control point i has most influence, (count,).

        A control point that shapes one span alone, at a knot where the curve may jump, has it just inside.
        """
        if self.degree == 0:
            return read_only(0.5 * (self.breakpoints[:-1] + self.breakpoints[1:]))
        window = np.lib.stride_tricks.sliding_window_view(self.knots[1:-1], self.degree)
        places = window.mean(axis=1)
        spans = np.flatnonzero(self.multiplicities > self.degree) + 1
        side = SAME_TIME * np.diff(self.breakpoints)
        first = self.first_control_point[spans]
        places[first - 1] -= side[spans - 1]
        places[first] += side[spans]
        return read_only(places)

    @property
    def slope_greville(self) -> NDArray[np.float64]:
        """The same of the derivative: averages of its degree - 1 inner knots, (count - 1,)."""
        if self.degree == 1:
            return 0.5 * (self.knots[1:-2] + self.knots[2:-1])
        inner = self.knots[2:-2]
        return np.lib.stride_tricks.sliding_window_view(inner, self.degree - 1).mean(axis=1)

    @property
    def slope_widths(self) -> NDArray[np.float64]:
        """Distances of the knots that a control point of the derivative spans, (count - 1,).

        Those of the derivative are degree / slope_widths times the differences of control points.
        """
        return self.knots[self.degree + 1 : -1] - self.knots[1 : -self.degree - 1]

    def local_values(self, span: int | NDArray[np.int64], s: ArrayLike) -> NDArray[np.float64]:
        """d^l B / ds^l of the degree + 1 functions that are not zero on a span, (4, points, degree + 1).

        span : one for all points, or one for each
        Values at a span's ends are those of its own polynomial piece: the two spans beside a breakpoint
        give its two one-sided limits. With u_0 .. u_(2p+1) the knots around the span [u_p, u_(p+1)] and f_j
        the functions of degree r - 1 there, each over the width of its support, those of degree r are
        (s - u_(p-r+j)) f_(j-1) + (u_(p+1+j) - s) f_j, and their derivatives r f_(j-1) - r f_j
        (de Boor, A Practical Guide to Splines, chapter X).
        """
        degree, points = self.degree, np.atleast_1d(np.asarray(s, dtype=float))
        first = self.first_control_point[np.broadcast_to(span, points.shape)]
        u = self.knots[first[:, None] + np.arange(2 * degree + 2)]
        at, functions = points[:, None], np.ones((points.size, 1))
        values = np.zeros((HIGHEST_DERIVATIVE + 1, points.size, degree + 1))
        for r in range(degree + 1):
            if r:
                functions = _raised(functions, u, r, at)
            order = degree - r
            if order <= HIGHEST_DERIVATIVE:
                derived = functions
                for higher in range(r + 1, degree + 1):
                    derived = _raised(derived, u, higher, None)
                values[order] = derived
        return values

    def halved(self) -> SplineBasis:
        """The basis with every second breakpoint where neighbouring spans differ by a factor of two at most.

        Every span is `WIDER` times as wide as the widest that it joins, so that one between many narrow spans
        is made coarser, too. A last span that is alone stays as it is, unless it is wider than all others.
        """
        ends, last, kept, widest = self.breakpoints.tolist(), self.span_count, [0], 0.0
        for end, width in enumerate(np.diff(self.breakpoints).tolist(), start=1):
            widest = max(widest, width)
            if EQUAL * (ends[end] - ends[kept[-1]]) >= WIDER * widest:
                kept.append(end)
                widest = 0.0
        if kept[-1] < last:
            kept = [*self._before_wide_rest(kept), last]
        repeats = self.multiplicities[np.asarray(kept[1:-1], dtype=int) - 1]
        return SplineBasis.of_any_degree(self.breakpoints[kept], self.degree, repeats)

    def _before_wide_rest(self, kept: list[int]) -> list[int]:
        """Breakpoints to keep before a rest of spans: fewer where one of these is wider than all before."""
        widths, rest = np.diff(self.breakpoints), kept[-1]
        widest = np.maximum.accumulate(widths[::-1])[::-1]  # from a span to the last
        if widest[rest] <= EQUAL * widths[:rest].max(initial=0.0):
            return kept
        wide = EQUAL * (self.breakpoints[-1] - self.breakpoints[:-1]) >= WIDER * widest
        return [k for k in kept if k == 0 or wide[k]]

    def spline(self, control_points: Array) -> BSpline:
        """SciPy's spline of control points (count, ...), without its checks of knots, which are a basis's."""
        from scipy.interpolate import BSpline

        points = np.ascontiguousarray(control_points, dtype=float)
        return BSpline.construct_fast(self.knots, points, self.degree)

    def evaluate(self, control_points: Array, s: ArrayLike, derivative: int = 0) -> NDArray[np.float64]:
        """d^l q / ds^l at s (...,) from control points (count, n): (..., n); right limits at breakpoints."""
        s = np.asarray(s, dtype=float)
        if derivative > self.degree:
            return np.zeros((*s.shape, *np.shape(control_points)[1:]))
        return self.spline(control_points)(s, nu=derivative)

    def interpolate(self, values: Array) -> NDArray[np.float64]:
        """Control points (count, n) of the spline through values (count, n) at the Greville abscissae.

        A curve that already lies in this space, one on coarser knots for instance, is reproduced exactly:
        this is knot insertion and degree elevation in one.
        """
        from scipy.linalg import solve_banded

        return solve_banded((self.degree, self.degree), self._at_greville, np.asarray(values, dtype=float))

    @cached_property
    def _at_greville(self) -> NDArray[np.float64]:
        """The matrix B_j(greville_i) by diagonals, (2 degree + 1, count), as `solve_banded` takes it."""
        degree, last = self.degree, self.span_count - 1
        span = np.minimum(np.searchsorted(self.breakpoints, self.greville, side="right") - 1, last)
        column = self.first_control_point[span][:, None] + np.arange(degree + 1)
        # Row i has the degree + 1 functions around control point i: all are within `degree` of the diagonal.
        banded = np.zeros((2 * degree + 1, self.count))
        offset = np.arange(self.count)[:, None] - column
        banded[degree + offset, column] = self.local_values(span, self.greville)[0]
        return read_only(banded)


def _raised(functions: Array, u: Array, degree: int, at: Array | None) -> NDArray[np.float64]:
    """Functions of a degree, (points, degree + 1), from those of one less; see `local_values`.

    at : the points (points, 1); None: the derivatives, from those of one order less
    """
    middle = u.shape[1] // 2 - 1
    left, right = u[:, middle - degree + 1 : middle + 1], u[:, middle + 1 : middle + degree + 1]
    parts = functions / (right - left)
    found = np.zeros((functions.shape[0], degree + 1))
    rising, falling = (degree, -degree) if at is None else (at - left, right - at)
    found[:, 1:] = rising * parts
    found[:, :-1] += falling * parts
    return found


def _checked(breakpoints: ArrayLike, degree: int, multiplicities: ArrayLike | None, most: int) -> SplineBasis:
    """The basis, or ShapeError; OptionError where it is too large. most : the largest multiplicity."""
    points = np.array(numbers(breakpoints, "breakpoints"))
    if degree > HIGHEST_DEGREE or points.size > MOST_SPANS + 1:
        raise OptionError(
            f"degree {short_repr(degree)} on {points.size - 1} spans: give at most degree {HIGHEST_DEGREE} "
            f"and {MOST_SPANS} spans"
        )
    rises = points.ndim == 1 and points.size >= 2 and bool(np.all(np.diff(points) > 0))
    if not rises or points[0] != 0.0 or points[-1] != 1.0:
        raise ShapeError(
            f"breakpoints are {short_repr(points)} but must rise strictly from 0 to 1: "
            "give normalised time, the duration is a separate variable"
        )
    repeats = np.ones(points.size - 2, dtype=np.int64)
    given = repeats
    if multiplicities is not None:
        given = numbers(multiplicities, "multiplicities")
        whole = np.where(given == np.round(given), given, 0.0)  # zero is refused below
        repeats = whole.clip(0, HIGHEST_DEGREE + 2).astype(np.int64)
    if repeats.shape != (points.size - 2,) or np.any(repeats < 1) or np.any(repeats > most):
        raise ShapeError(
            f"multiplicities are {short_repr(given.tolist())} but each of the {points.size - 2} interior "
            f"breakpoints needs one between 1 and the degree{' plus one' * (most > degree)}, {most}"
        )
    return _basis(points.size, points, int(degree), repeats)


@cached_if_small
def _basis(breakpoints: Array, degree: int, multiplicities: Array) -> SplineBasis:
    """One basis for all who ask for the same, so that its knots and its interpolation are computed once."""
    return SplineBasis(breakpoints.copy(), degree, multiplicities.copy())


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
