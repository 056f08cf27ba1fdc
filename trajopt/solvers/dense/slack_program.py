"""A nonlinear program with a slack for everything that has a limit, its derivatives as dense matrices.

    minimize f(x)   subject to   c(x) = 0,   G(x) - s = 0,   t = sign (s - limit) > 0 for every limit

x are the unknowns that are not fixed, n of them, c the equations. G are the rows with limits and then the
unknowns with limits; s are their slacks, of which one with two limits has two gaps t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trajopt.solvers.dense.row_windows import row_windows
from trajopt.solvers.matrices import MatrixPlaces
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.optimality.kkt import lagrangian_gradient
from trajopt.solvers.solver import WarmStart
from trajopt.solvers.solver_constants import BOUND_RELAXATION


class Point(NamedTuple):
    """x with its slacks s, all rows of the program, f(x), G(x), c(x), and the gaps t.

    apart : G - s
    violation : |c|_1 + |G - s|_1
    """

    x: np.ndarray
    s: np.ndarray
    rows: np.ndarray
    f: float
    G: np.ndarray
    c: np.ndarray
    t: np.ndarray
    apart: np.ndarray
    violation: float


class Slopes(NamedTuple):
    """Gradient of f, Jacobians of the rows with limits J (rows, n) and of the equations C (equations, n)."""

    g: np.ndarray
    J: np.ndarray
    C: np.ndarray


class Multipliers(NamedTuple):
    """y of G - s = 0, of the equations, and z > 0 of the gaps, with y = sum of -sign z at an optimum."""

    y: np.ndarray
    of_equations: np.ndarray
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

    windows : of the Jacobian of the rows with limits, where it has any
    side : which slack every gap belongs to;  sign : 1 at a lower limit, -1 at an upper one
    """

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self.nlp = nlp = monitor.nlp
        lower, upper = np.asarray(nlp.lower), np.asarray(nlp.upper)
        row_lower, row_upper = np.asarray(nlp.row_lower), np.asarray(nlp.row_upper)
        self.fixed = np.flatnonzero(lower == upper)
        self.free = np.flatnonzero(lower != upper)
        self.equations = np.flatnonzero(row_lower == row_upper)
        limited = np.isfinite(row_lower) | np.isfinite(row_upper)
        self.rows = np.flatnonzero(limited & (row_lower != row_upper))
        self.bounded = np.flatnonzero(np.isfinite(lower[self.free]) | np.isfinite(upper[self.free]))
        own = self.free[self.bounded]
        low = np.concatenate([row_lower[self.rows], lower[own]])
        high = np.concatenate([row_upper[self.rows], upper[own]])
        self.side, self.sign, limit = finite_limits(low, high)
        self.limit = limit - self.sign * BOUND_RELAXATION * np.maximum(1.0, np.abs(limit))
        self.right_sides = row_lower[self.equations]
        self.slack_count, self.n = low.size, self.free.size
        of_bound = np.flatnonzero(self.side >= self.rows.size)
        #: gaps of lower and of upper bounds, and their unknowns among all
        self._of_lower, self._of_upper = (
            (gaps, own[self.side[gaps] - self.rows.size])
            for gaps in (of_bound[self.sign[of_bound] > 0.0], of_bound[self.sign[of_bound] < 0.0])
        )
        self._places()

    def _places(self) -> None:
        """Compute the places of the entries of sparse derivatives in the dense matrices."""
        nlp, n, m = self.nlp, self.n, self.nlp.row_count
        column = np.full(nlp.variable_count, -1)
        column[self.free] = np.arange(n)
        row = np.full(m, -1)
        row[self.rows] = np.arange(self.rows.size)
        row[self.equations] = self.rows.size + np.arange(self.equations.size)
        i, j = row[nlp.jacobian_rows], column[nlp.jacobian_columns]
        self._jacobian = MatrixPlaces(i, j, (self.rows.size + self.equations.size, n))
        of_limits = (i >= 0) & (i < self.rows.size) & (j >= 0)
        self.windows = row_windows(i[of_limits], j[of_limits], (self.rows.size, n))
        self._hessian = MatrixPlaces(column[nlp.hessian_rows], column[nlp.hessian_columns], (n, n))

    def whole(self, x: np.ndarray) -> np.ndarray:
        """All unknowns of the program, with the fixed ones at their values."""
        if not self.fixed.size:
            return x
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
        y, count = self.whole(x), self.rows.size
        rows = self.monitor.rows(y)
        f = float(self.monitor.objective(y))
        own = x[self.bounded]
        s = np.concatenate([s[:count], own])
        G, c = np.concatenate([rows[self.rows], own]), rows[self.equations] - self.right_sides
        apart = G - s
        return Point(x, s, rows, f, G, c, self.gaps(s), apart, float(np.abs(c).sum() + np.abs(apart).sum()))

    def slopes(self, x: np.ndarray) -> Slopes:
        """First derivatives at x."""
        y = self.whole(x)
        J = self._jacobian.dense(self.monitor.jacobian(y))
        g = np.asarray(self.monitor.gradient(y), dtype=float)
        return Slopes(g[self.free] if self.fixed.size else g, J[: self.rows.size], J[self.rows.size :])

    def hessian(self, x: np.ndarray, multipliers: Multipliers) -> np.ndarray:
        """The lower triangle of the Lagrangian's Hessian, (n, n)."""
        weights = self.row_multipliers(multipliers)
        return self._hessian.dense(self.monitor.hessian(self.whole(x), weights, 1.0))

    def row_multipliers(self, multipliers: Multipliers) -> np.ndarray:
        """Multipliers of all rows of the program."""
        found = np.zeros(self.nlp.row_count)
        found[self.rows] = multipliers.y[: self.rows.size]
        found[self.equations] = multipliers.of_equations
        return found

    def forward(self, slopes: Slopes, dx: np.ndarray) -> np.ndarray:
        """dG/dx dx."""
        return np.concatenate([slopes.J @ dx, dx[self.bounded]])

    def backward(self, slopes: Slopes, of_slacks: np.ndarray) -> np.ndarray:
        """(dG/dx)' times numbers of the slacks."""
        count = self.rows.size
        found = of_slacks[:count] @ slopes.J
        found[self.bounded] += of_slacks[count:]
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
