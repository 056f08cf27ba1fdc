"""A nonlinear program with a slack for everything that has a limit.

    minimize f(x)   subject to   G(x) - s = 0,   t = sign (s - limit) > 0 for every limit

x are the unknowns that are not fixed, n of them, in the order of `Bands`. G are the rows with limits, the
unknowns with limits, and the equations; s are slacks of the first two, of which one with two limits has two
gaps t, and the right-hand sides of the equations. Small rows with no limit but zero are divided by their size
at the start: their unit is that of the unknowns, of which a fine mesh leaves the step from one to the next.

The places of a program's derivatives in the Newton matrix of the steps are found once.

Rows are those with limits, the unknowns with limits, and the equations; unknowns are in the order of `Bands`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trajopt.base.arrays import cached_if_small, read_only
from trajopt.solvers.interior.band_kernels import add_transposed
from trajopt.solvers.interior.bands import Bands, bands_of
from trajopt.solvers.kkt import lagrangian_gradient
from trajopt.solvers.monitor import Monitor, Refusal
from trajopt.solvers.solver import BOUND_RELAXATION, FEASIBILITY, Program, WarmStart, relaxations


class Point(NamedTuple):
    """x with its slacks s, all rows of the program, f(x) and the gaps t.

    apart : G - s, (rows,), slacks of equations being their right-hand sides
    violation : |G - s|_1
    """

    x: np.ndarray
    s: np.ndarray
    rows: np.ndarray
    f: float
    t: np.ndarray
    apart: np.ndarray
    violation: float


class Slopes(NamedTuple):
    """Gradient of f, (n,), and the entries of dG/dx as `NewtonLayout` has them."""

    g: np.ndarray
    values: np.ndarray


class Multipliers(NamedTuple):
    """y of G - s = 0, and z > 0 of the gaps, with y = sum of -sign z at an optimum but for equations."""

    y: np.ndarray
    z: np.ndarray


class Iterate(NamedTuple):
    """A point with its first derivatives and multipliers."""

    point: Point
    slopes: Slopes
    multipliers: Multipliers


def finite_limits(lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Place, sign (1 of a lower one, else -1) and value of every finite limit, (k,) each."""
    at_low, at_high = np.flatnonzero(np.isfinite(lower)), np.flatnonzero(np.isfinite(upper))
    sign = np.concatenate([np.ones(at_low.size), -np.ones(at_high.size)])
    return np.concatenate([at_low, at_high]), sign, np.concatenate([lower[at_low], upper[at_high]])


PUSH = 1e-2  # off limits at a start without multipliers: kappa_1 and kappa_2


def zero_limit_factors(values: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Factors, from 1 to 1 / `FEASIBILITY`, of rows with these values at the start, (rows,).

    The size of a row whose finite limits are all zero, such as the step between two control points less that
    of the largest speed, is its value there, or the median of such rows that do not start on zero, whichever
    is larger. A row is divided by it where it is below `PUSH`, so that slacks would begin far outside, and by
    powers of it that fall to 0 where it is half as large again: a step there would let rounding decide.
    """
    factors = np.ones(values.size)
    unsized = np.flatnonzero((~np.isfinite(lower) | (lower == 0.0)) & (~np.isfinite(upper) | (upper == 0.0)))
    size = np.abs(values[unsized])
    if (size > FEASIBILITY).any():
        size = np.maximum(size, np.median(size[size > FEASIBILITY]))
        factors[unsized] = size ** -np.clip(3.0 - 2.0 * size / PUSH, 0.0, 1.0)
    return factors


class SlackProgram:
    """The functions above of the program that a monitor evaluates.

    side : which slack every gap belongs to;  sign : 1 at a lower limit, -1 at an upper one
    factors : of the rows with limits, 1 but of those with limits of zero
    """

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.nlp = nlp = monitor.nlp
        lower, upper = np.asarray(nlp.lower), np.asarray(nlp.upper)
        row_lower, row_upper = np.asarray(nlp.row_lower), np.asarray(nlp.row_upper)
        self.fixed, free = np.flatnonzero(lower == upper), np.flatnonzero(lower != upper)
        self.equations = np.flatnonzero(row_lower == row_upper)
        limited = np.isfinite(row_lower) | np.isfinite(row_upper)
        self.rows = np.flatnonzero(limited & (row_lower != row_upper))
        own = free[np.isfinite(lower[free]) | np.isfinite(upper[free])]
        self.layout = newton_layout(nlp, free, self.rows, own, self.equations)
        self.free, place = self.layout.order, np.empty(lower.size, dtype=np.int64)
        place[self.free] = np.arange(free.size)
        self.bounded = place[own]
        low = np.concatenate([row_lower[self.rows], lower[own]])
        high = np.concatenate([row_upper[self.rows], upper[own]])
        # Limits of rows with factors are zero: these need none
        at_start = np.asarray(nlp.rows(monitor.start.y))[self.rows]
        self.factors = zero_limit_factors(at_start, low[: at_start.size], high[: at_start.size])
        self.rows_at_start = self.factors * at_start
        others = np.ones(self.layout.row_count - at_start.size)
        self._by_entry = np.repeat(np.concatenate([self.factors, others]), np.diff(self.layout.starts))
        self.side, self.sign, limit = finite_limits(low, high)
        near = (high - low)[
            self.side
        ] <= 4.0 * BOUND_RELAXATION  # limits between which that leaves no interior
        moved = np.where(near, BOUND_RELAXATION * np.maximum(1.0, np.abs(limit)), relaxations(limit))
        self.limit = limit - self.sign * moved
        self.right_sides = row_lower[self.equations]
        self.slack_count, self.n = low.size, free.size
        ends = np.full((2, low.size), np.inf)
        ends[(self.sign > 0.0).astype(int), self.side] = self.sign * -self.limit
        self.widths = ends.sum(axis=0)[self.side]
        of_bound = np.flatnonzero(self.side >= self.rows.size)
        #: gaps of lower and of upper bounds, and their unknowns among all
        self._of_lower, self._of_upper = (
            (gaps, own[self.side[gaps] - self.rows.size])
            for gaps in (of_bound[self.sign[of_bound] > 0.0], of_bound[self.sign[of_bound] < 0.0])
        )

    def whole(self, x: np.ndarray) -> np.ndarray:
        """All unknowns of the program, with the fixed ones at their values."""
        y = np.empty(self.nlp.variable_count)
        y[self.free], y[self.fixed] = x, np.asarray(self.nlp.lower)[self.fixed]
        return y

    def gaps(self, s: np.ndarray) -> np.ndarray:
        """t of slacks."""
        return self.sign * (s[self.side] - self.limit)

    def by_slack(self, of_gaps: np.ndarray) -> np.ndarray:
        """Sums over the gaps of every slack."""
        return np.bincount(self.side, of_gaps, minlength=self.slack_count)

    def inside(self, s: np.ndarray, apart: np.ndarray | float) -> np.ndarray:
        """Slacks moved until gaps are at least `apart`, or a quarter of the range between two limits."""
        least, most = np.full(self.slack_count, -np.inf), np.full(self.slack_count, np.inf)
        at_low, end = self.sign > 0.0, self.limit + self.sign * np.minimum(apart, 0.25 * self.widths)
        least[self.side[at_low]], most[self.side[~at_low]] = end[at_low], end[~at_low]
        return np.fmin(np.fmax(s, least), most)

    def point(self, x: np.ndarray, s: np.ndarray) -> Point:
        """The point at x, whose slacks of unknowns are the unknowns; raises what the monitor raises."""
        y, count, own = self.whole(x), self.rows.size, x[self.bounded]
        rows = self.monitor.rows(y)
        f = float(self.monitor.objective(y))
        s = np.concatenate([s[:count], own])
        apart = np.concatenate(
            [
                self.factors * rows[self.rows] - s[:count],
                np.zeros(own.size),
                rows[self.equations] - self.right_sides,
            ]
        )
        return Point(x, s, rows, f, self.gaps(s), apart, float(np.abs(apart).sum()))

    def trial(self, x: np.ndarray, s: np.ndarray) -> Point | None:
        """The point at x; None where it cannot be evaluated or is not within all limits."""
        try:
            point = self.point(x, s)
        except Refusal:
            if self.monitor.reason is not None:
                raise
            return None
        return point if (point.t > 0.0).all() else None

    def slopes(self, x: np.ndarray) -> Slopes:
        """First derivatives at x."""
        y = self.whole(x)
        values = self._by_entry * np.append(self.monitor.jacobian(y), 1.0)[self.layout.entries]
        return Slopes(np.asarray(self.monitor.gradient(y), dtype=float)[self.free], values)

    def hessian(self, x: np.ndarray, multipliers: Multipliers, objective: float = 1.0) -> np.ndarray:
        """Entries of the lower triangle of the Lagrangian's Hessian, with this factor of the objective."""
        weights = self.row_multipliers(multipliers)
        return self.monitor.hessian(self.whole(x), weights, objective)[self.layout.H_entries]

    def row_multipliers(self, multipliers: Multipliers) -> np.ndarray:
        """Multipliers of all rows of the program."""
        found = np.zeros(self.nlp.row_count)
        found[self.rows] = self.factors * multipliers.y[: self.rows.size]
        found[self.equations] = multipliers.y[self.slack_count :]
        return found

    def lagrangian_gradient(self, slopes: Slopes, y: np.ndarray) -> np.ndarray:
        """grad f + (dG/dx)' y, (n,)."""
        found = slopes.g.copy()
        add_transposed(*self.layout.row_arrays, slopes.values, y, found)
        return found

    def answer(self, at: Iterate) -> WarmStart:
        """An iterate as the program has it; what is left of the gradient is multipliers of fixed unknowns."""
        multipliers, nlp = at.multipliers, self.nlp
        y, rows = self.whole(at.point.x), self.row_multipliers(multipliers)
        lower, upper = np.zeros(nlp.variable_count), np.zeros(nlp.variable_count)
        for (gaps, unknowns), found in ((self._of_lower, lower), (self._of_upper, upper)):
            found[unknowns] = multipliers.z[gaps]
        if self.fixed.size:
            left = lagrangian_gradient(nlp, y, rows)[self.fixed]
            lower[self.fixed], upper[self.fixed] = np.maximum(left, 0.0), np.maximum(-left, 0.0)
        return WarmStart(y, rows, lower, upper)


@dataclass(frozen=True, eq=False)
class NewtonLayout:
    """Compressed rows of G, and the places of G and H in the arrays of `band_kernels`.

    order : (n,) which of all unknowns of the program every unknown is
    starts, columns : rows of G and the unknowns of their entries
    entries : which entry of the Jacobian, with a 1 behind them, every entry of G is
    groups, rows : the rows, same columns together, far ones last;  near : groups of others
    far : the rows that stay rows of the matrix, (k,);  is_far : (rows,) their mask
    H_entries, H_rows, H_columns : which entries of the Hessian are in its lower triangle, and where
    H_places, far_places : of these, and of `far_entries` of G, in the flat arrays
    """

    bands: Bands
    order: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    entries: np.ndarray
    groups: np.ndarray
    rows: np.ndarray
    near: int
    far: np.ndarray
    is_far: np.ndarray
    H_entries: np.ndarray
    H_rows: np.ndarray
    H_columns: np.ndarray
    H_places: np.ndarray
    far_entries: np.ndarray
    far_places: np.ndarray

    @property
    def n(self) -> int:
        return self.order.size

    @property
    def row_count(self) -> int:
        return self.starts.size - 1

    @property
    def row_arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The arrays by which `band_kernels` finds the entries of rows."""
        return self.starts, self.columns, self.groups, self.rows

    @property
    def edge(self) -> int:
        """The number of unknowns and rows of the arrow."""
        return self.bands.arrow + self.far.size

    def arrays(self, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Band, arrow and corner, views of the flat array that holds them."""
        inner, wide, edge = self.bands.inner, self.bands.half + 1, self.edge
        one = inner * wide
        two = one + inner * edge
        return (
            flat[:one].reshape(inner, wide),
            flat[one:two].reshape(inner, edge),
            flat[two:].reshape(edge, edge),
        )


def newton_layout(
    nlp: Program, free: np.ndarray, limited: np.ndarray, bounded: np.ndarray, equations: np.ndarray
) -> NewtonLayout:
    """The layout of a program; programs of one structure, and small ones of equal structures, share it.

    free : the unknowns that are not fixed;  bounded : those of them with limits
    limited, equations : rows of the program
    """
    spans = getattr(nlp, "unknown_spans", None)
    if spans is None or len(spans) != nlp.variable_count:
        spans = np.zeros((nlp.variable_count, 2))
    J_rows, J_columns = np.asarray(nlp.jacobian_rows), np.asarray(nlp.jacobian_columns)
    H_rows, H_columns = np.asarray(nlp.hessian_rows), np.asarray(nlp.hessian_columns)
    parts = free, limited, bounded, equations
    given = (nlp.row_count, spans, J_rows, J_columns, H_rows, H_columns, *parts)
    layouts = getattr(nlp, "layouts", None)
    before, layout = ((), None) if layouts is None else layouts.get("band", ((), None))
    if layout is None or not all(map(_same_places, before, given)):
        layout = _newton_layout(free.size, *given)
        if layouts is not None:
            layouts["band"] = given, layout
    return read_only(layout)  # compiled loops know arrays that can be written as another type


def _same_places(one: np.ndarray | int, other: np.ndarray | int) -> bool:
    return one is other or np.array_equal(one, other, equal_nan=isinstance(one, np.ndarray))


@cached_if_small
def _newton_layout(
    row_count: int,
    spans: np.ndarray,
    jacobian_rows: np.ndarray,
    jacobian_columns: np.ndarray,
    hessian_rows: np.ndarray,
    hessian_columns: np.ndarray,
    free: np.ndarray,
    limited: np.ndarray,
    bounded: np.ndarray,
    equations: np.ndarray,
) -> NewtonLayout:
    n, rows = free.size, limited.size + bounded.size + equations.size
    unknown = np.full(len(spans), -1)
    unknown[free] = np.arange(n)
    row_of = np.full(row_count, -1)
    row_of[limited] = np.arange(limited.size)
    row_of[equations] = limited.size + bounded.size + np.arange(equations.size)
    row, column = row_of[jacobian_rows], unknown[jacobian_columns]
    kept = np.flatnonzero((row >= 0) & (column >= 0))
    entries = np.concatenate([kept, np.full(bounded.size, len(jacobian_rows))])
    row = np.concatenate([row[kept], limited.size + np.arange(bounded.size)])
    column = np.concatenate([column[kept], unknown[bounded]])
    one, other = unknown[hessian_rows], unknown[hessian_columns]
    H_entries = np.flatnonzero((one >= 0) & (other >= 0))
    one, other = one[H_entries], other[H_entries]

    bands = bands_of(spans[free], (row, column, rows), (one, other))
    position = np.empty(n, dtype=np.int64)
    position[bands.order] = np.arange(n)
    column, one, other = position[column], position[one], position[other]
    sorting = np.argsort(row * n + column, kind="stable")
    row, column, entries = row[sorting], column[sorting], entries[sorting]
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=rows))])
    groups, by_group, near = _groups(starts, column, bands.far)
    far = np.flatnonzero(bands.far)
    far_entries = np.flatnonzero(bands.far[row])
    number = np.full(rows, -1)
    number[far] = n + np.arange(far.size)
    H_rows, H_columns = np.maximum(one, other), np.minimum(one, other)
    return NewtonLayout(
        bands=bands,
        order=free[bands.order],
        starts=starts,
        columns=column,
        entries=entries,
        groups=groups,
        rows=by_group,
        near=near,
        far=far,
        is_far=bands.far,
        H_entries=H_entries,
        H_rows=H_rows,
        H_columns=H_columns,
        H_places=_places(bands, far.size, H_rows, H_columns),
        far_entries=far_entries,
        far_places=_places(bands, far.size, number[row[far_entries]], column[far_entries]),
    )


def _groups(starts: np.ndarray, columns: np.ndarray, far: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Rows with the same columns together: where groups start, the rows, and how many groups are near."""
    widths, first = np.diff(starts), np.arange(far.size)  # first row with the same columns
    for width in np.unique(widths[~far]).tolist():
        mine = np.flatnonzero(~far & (widths == width))
        first[mine] = mine[0]
        if width:
            keys = np.ascontiguousarray(columns[starts[mine, None] + np.arange(width)])
            found = np.unique(keys.view(f"V{keys[0].nbytes}").ravel(), return_index=True, return_inverse=True)
            first[mine] = mine[found[1][found[2]]]
    rows = np.lexsort((first, far))
    begins = np.flatnonzero(np.diff(first[rows], prepend=-1))
    return np.append(begins, rows.size), rows, int(np.count_nonzero(~far[rows[begins]]))


def _places(bands: Bands, far: int, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Places of entries (row >= column) in the flat array of band, arrow and corner."""
    inner, wide, edge = bands.inner, bands.half + 1, bands.arrow + far
    behind = inner * wide
    in_band = column * wide + row - column
    in_arrow = behind + column * edge + row - inner
    in_corner = behind + inner * edge + (row - inner) * edge + column - inner
    return np.where(row < inner, in_band, np.where(column < inner, in_arrow, in_corner))
