"""A nonlinear program with a slack for everything that has a limit.

    minimize f(x)   subject to   G(x) - s = 0,   t = sign (s - limit) > 0 for every limit

x are the unknowns that are not fixed, n of them, in the order of `Bands`. G are the rows with limits, the
unknowns with limits, and the equations; s are slacks of the first two, of which one with two limits has two
gaps t, and the right-hand sides of the equations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trajopt.solvers.interior.band_kernels import add_transposed
from trajopt.solvers.interior.newton_layout import newton_layout
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.optimality.kkt import lagrangian_gradient
from trajopt.solvers.solver import WarmStart
from trajopt.solvers.solver_constants import BOUND_RELAXATION


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


class SlackProgram:
    """The functions above of the program that a monitor evaluates.

    side : which slack every gap belongs to;  sign : 1 at a lower limit, -1 at an upper one
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
        self.side, self.sign, limit = finite_limits(low, high)
        self.limit = limit - self.sign * BOUND_RELAXATION * np.maximum(1.0, np.abs(limit))
        self.right_sides = row_lower[self.equations]
        self.slack_count, self.n = low.size, free.size
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

    def inside(self, s: np.ndarray, push: float) -> np.ndarray:
        """Slacks moved off their limits by `push` of the limit, of the range between two, or absolutely."""
        low, high = np.full(self.slack_count, -np.inf), np.full(self.slack_count, np.inf)
        at_low = self.sign > 0.0
        low[self.side[at_low]], high[self.side[~at_low]] = self.limit[at_low], self.limit[~at_low]
        width = high - low
        with np.errstate(invalid="ignore"):
            least = low + push * np.minimum(np.maximum(1.0, np.abs(low)), width)
            most = high - push * np.minimum(np.maximum(1.0, np.abs(high)), width)
        return np.fmin(np.fmax(s, least), most)

    def point(self, x: np.ndarray, s: np.ndarray) -> Point:
        """The point at x, whose slacks of unknowns are the unknowns; raises what the monitor raises."""
        y, count, own = self.whole(x), self.rows.size, x[self.bounded]
        rows = self.monitor.rows(y)
        f = float(self.monitor.objective(y))
        s = np.concatenate([s[:count], own])
        apart = np.concatenate(
            [rows[self.rows] - s[:count], np.zeros(own.size), rows[self.equations] - self.right_sides]
        )
        return Point(x, s, rows, f, self.gaps(s), apart, float(np.abs(apart).sum()))

    def slopes(self, x: np.ndarray) -> Slopes:
        """First derivatives at x."""
        y = self.whole(x)
        values = np.append(self.monitor.jacobian(y), 1.0)[self.layout.entries]
        return Slopes(np.asarray(self.monitor.gradient(y), dtype=float)[self.free], values)

    def hessian(self, x: np.ndarray, multipliers: Multipliers) -> np.ndarray:
        """Entries of the lower triangle of the Lagrangian's Hessian, as the layout has them."""
        weights = self.row_multipliers(multipliers)
        return self.monitor.hessian(self.whole(x), weights, 1.0)[self.layout.H_entries]

    def row_multipliers(self, multipliers: Multipliers) -> np.ndarray:
        """Multipliers of all rows of the program."""
        found = np.zeros(self.nlp.row_count)
        found[self.rows] = multipliers.y[: self.rows.size]
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
