"""A convex quadratic program within a box whose limits may be missed at a price, by an interior-point method.

    minimize  g' d + d' H d / 2 + penalty * sum of misses   over   least <= d <= most

with a miss max(lower - A d, 0) and max(A d - upper, 0) for every limit. It has an answer for any limits, also
for those that contradict each other, and no multiplier above the penalty. With t the distance of A d to a
limit, plus its miss e, and z the multiplier, t z and e (penalty - z) tend to zero together; all equations but
those of the multipliers hold from the first step on. Rows that no step within the box brings to a limit are
left out.

Source: the predictor and corrector of Mehrotra, SIAM J. Optim. 2 (1992) 575.

`J' S J` is summed for a matrix J whose rows have entries in windows of neighbouring columns, as on splines.

A row of a program on splines depends on the few control points of its span, and on durations and parameters.
Rows in order of their windows form groups of which each needs few columns, so that J' S J is the sum of one
small product per group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from trajopt.solvers.interior.newton_step import longest
from trajopt.solvers.interior.slack_program import finite_limits
from trajopt.solvers.matrices import scattered
from trajopt.solvers.solver import LITTLE, MOST_STEPS, REGULARIZATION, ROUNDING

MISS = 1e-3  # of every limit at the beginning, at least; of the penalty, the least multiplier there
FIRST = 0.1  # of the box: its sides' distance from the beginning; of it, first barrier parameter


class ElasticStep(NamedTuple):
    """The step d (n,); multipliers of rows (m,), positive at upper limits, and of both sides of the box."""

    d: np.ndarray
    multipliers: np.ndarray
    of_least: np.ndarray
    of_most: np.ndarray


class _Point(NamedTuple):
    """d (n,), distances p and q from the box's sides, gaps t, misses e; multipliers of t, e and both sides.

    Distances and w = penalty - z are kept, as differences would lose them to rounding.
    """

    d: np.ndarray
    p: np.ndarray
    q: np.ndarray
    t: np.ndarray
    e: np.ndarray
    z: np.ndarray
    w: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True, eq=False)
class ElasticProgram:
    """H (n, n) positive semidefinite, g (n,), A (m, n), lower and upper (m,), the box least < most (n,)."""

    H: np.ndarray
    g: np.ndarray
    A: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    least: np.ndarray
    most: np.ndarray
    penalty: float

    def objective(self, d: np.ndarray) -> float:
        """g' d + d' H d / 2."""
        return float(self.g @ d + 0.5 * d @ self.H @ d)

    def solved(self, tol: float) -> ElasticStep:
        """The step whose objective is within tol of the least, or a hundredth of what it gains.

        After `MOST_STEPS`, or where rounding stops the method, the last step so far, which is within the box.
        """
        reach = np.abs(self.A) @ np.maximum(-self.least, self.most)
        low, high = self.lower > -reach, self.upper < reach  # not of those that are infinite
        kept = np.flatnonzero(low | high)
        lower, upper = np.where(low, self.lower, -np.inf), np.where(high, self.upper, np.inf)
        gaps = _Gaps(self.A[kept], *finite_limits(lower[kept], upper[kept]))
        point = _Run(self, gaps).solved(tol)
        of_kept = -gaps.by_row(gaps.sign * point.z)
        return ElasticStep(point.d, scattered(of_kept, kept, len(self.lower)), point.low, point.high)


@dataclass(frozen=True, eq=False)
class _Gaps:
    """sign (A d - limit)[side] of every finite limit: `side` is its row, `sign` 1 at a lower one, else -1."""

    A: np.ndarray
    side: np.ndarray
    sign: np.ndarray
    limit: np.ndarray

    def change(self, d: np.ndarray) -> np.ndarray:
        return self.sign * (self.A @ d)[self.side]

    def at(self, d: np.ndarray) -> np.ndarray:
        return self.change(d) - self.sign * self.limit

    @cached_property
    def _windows(self) -> RowWindows | None:
        row, column = np.nonzero(self.A)
        return row_windows(row, column, self.A.shape)

    def gram(self, weights: np.ndarray) -> np.ndarray:
        """A' diag(weights) A, weights of the rows."""
        if self._windows is not None:
            return self._windows.gram(self.A, weights)
        weighted = self.A * np.sqrt(weights)[:, None]
        return weighted.T @ weighted

    def by_row(self, values: np.ndarray) -> np.ndarray:
        return np.bincount(self.side, values, minlength=len(self.A))

    def backward(self, values: np.ndarray) -> np.ndarray:
        """The gradient by d of values' times the gaps."""
        return self.by_row(self.sign * values) @ self.A


class _Run:
    """The iterates of one solve."""

    def __init__(self, program: ElasticProgram, gaps: _Gaps) -> None:
        self.program, self.gaps = program, gaps
        self.size = max(float(np.abs(program.g).max(initial=0.0)), MISS)

    def solved(self, tol: float) -> _Point:
        at = self._start()
        missed = float(np.maximum(-self.gaps.at(np.zeros_like(at.d)), 0.0).sum())
        for _ in range(MOST_STEPS):
            newton = _Newton(self.program, self.gaps, at)
            decrease = self.program.penalty * (missed - float(at.e.sum())) - self.program.objective(at.d)
            enough = max(tol, ROUNDING * self.size, LITTLE * decrease)
            if newton.total <= enough and np.abs(newton.residual).max() <= enough * self.size:
                break
            if not newton.factorize():
                break
            at = newton.moved(newton.corrected())
        return at

    def _start(self) -> _Point:
        program, penalty = self.program, self.program.penalty
        width = program.most - program.least
        d = np.clip(0.0, program.least + FIRST * width, program.most - FIRST * width)
        gap = self.gaps.at(d)
        e = np.maximum(0.0, -gap) + FIRST * float(np.abs(gap).mean() if gap.size else 0.0) + MISS
        t = gap + e
        mu = FIRST * self.size * float(width.mean())
        p, q, z = d - program.least, program.most - d, np.clip(mu / t, MISS * penalty, 0.5 * penalty)
        return _Point(d, p, q, t, e, z, penalty - z, mu / p, mu / q)


class _Newton:
    """Newton's directions at a point: all of them share one factorized matrix."""

    def __init__(self, program: ElasticProgram, gaps: _Gaps, at: _Point) -> None:
        self.program, self.gaps, self.at = program, gaps, at
        self.residual = program.H @ at.d + program.g - gaps.backward(at.z) - at.low + at.high
        #: pairs whose products tend to zero: of gaps, misses and both sides of the box
        self.pairs = (at.t, at.z), (at.e, at.w), (at.p, at.low), (at.q, at.high)
        self.total = float(sum(one @ other for one, other in self.pairs))
        self.count = sum(one.size for one, _ in self.pairs)

    def factorize(self) -> bool:
        """Factorize H + A' S A and the box's part; False where rounding has used up its curvature."""
        (t, z), (e, w), (p, low), (q, high) = self.pairs
        self.S = z / (t + z * e / w)
        K, n = self.program.H + self.gaps.gram(self.gaps.by_row(self.S)), len(p)
        own = np.arange(n)
        K[own, own] += low / p + high / q
        self._factors, failed = lapack.dpotrf(K, lower=1, clean=0)
        if failed:
            K[own, own] += REGULARIZATION * np.abs(K[own, own]).max()
            self._factors, failed = lapack.dpotrf(K, lower=1, clean=0)
        return not failed

    def direction(self, rests: list[np.ndarray]) -> _Point:
        """The changes by which every product changes by its rest, to first order."""
        (_, z), (e, w), (p, low), (q, high) = self.pairs
        of_gaps, of_misses, of_low, of_high = rests
        v = self.S * (of_gaps / z - of_misses / w)
        right = -self.residual + self.gaps.backward(v) + of_low / p - of_high / q
        dd = lapack.dpotrs(self._factors, right, lower=1)[0]
        change = self.gaps.change(dd)
        dz = v - self.S * change
        de = (of_misses + e * dz) / w
        of_box = (of_low - low * dd) / p, (of_high + high * dd) / q
        return _Point(dd, dd, -dd, change + de, de, dz, -dz, *of_box)

    def corrected(self) -> _Point:
        """The direction towards equal products, with what the changes of the predictor multiply to."""
        predicted = self.direction([-one * other for one, other in self.pairs])
        primal, dual = self.lengths(predicted)
        changes = self._changes(predicted)
        after = sum(
            float((one + primal * d_one) @ (other + dual * d_other))
            for (one, other), (d_one, d_other) in zip(self.pairs, changes, strict=True)
        )
        aim = self.total / self.count * min(1.0, after / self.total) ** 3
        return self.direction(
            [
                aim - one * other - d_one * d_other
                for (one, other), (d_one, d_other) in zip(self.pairs, changes, strict=True)
            ]
        )

    def moved(self, step: _Point) -> _Point:
        primal, dual = self.lengths(step)
        lengths = *[primal] * 5, *[dual] * 4
        return _Point(*(old + length * new for old, length, new in zip(self.at, lengths, step, strict=True)))

    def lengths(self, step: _Point) -> tuple[float, float]:
        """Step lengths of unknowns and multipliers: the longest up to 1 that keep all of them positive."""
        each = list(zip(self.pairs, self._changes(step), strict=True))
        primal = min(longest(pair[0], change[0]) for pair, change in each)
        return primal, min(longest(pair[1], change[1]) for pair, change in each)

    @staticmethod
    def _changes(step: _Point) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        return (step.t, step.z), (step.e, step.w), (step.p, step.low), (step.q, step.high)


SHARE = 0.2  # of the multiplications of the whole product: the most that the groups may need


class RowWindows:
    """Rows (rows, n) in groups, and the columns of every group.

    rows : (groups, slots) the rows of every group, some of them again where they do not go round
    present : (groups, slots) whether a slot holds a row for the first time
    columns : (groups, width) different ones, which hold all entries of the group's rows
    n : number of columns
    """

    def __init__(self, rows: np.ndarray, present: np.ndarray, columns: np.ndarray, n: int) -> None:
        self.rows, self.present, self.columns, self.n = rows, present, columns, n
        self._entries = rows[:, :, None] * n + columns[:, None, :]
        self._into = (columns[:, :, None] * n + columns[:, None, :]).ravel()

    def gram(self, J: np.ndarray, S: np.ndarray) -> np.ndarray:
        """J' diag(S) J, (n, n), for J (rows, n) and S >= 0, (rows,)."""
        weights = np.sqrt(S)[self.rows] * self.present
        weighted = J.ravel().take(self._entries) * weights[:, :, None]
        products = np.matmul(weighted.transpose(0, 2, 1), weighted)
        return np.bincount(self._into, products.ravel(), minlength=self.n**2).reshape(self.n, self.n)


def row_windows(row: np.ndarray, column: np.ndarray, shape: tuple[int, int]) -> RowWindows | None:
    """The groups of a matrix with entries at (row, column); None where one product of all rows is as fast."""
    count, n = shape
    # A column with entries in more than half of the rows is in every group.
    inner = np.bincount(column, minlength=n)[column] <= 0.5 * count
    first = np.full(count, n)
    np.minimum.at(first, row[inner], column[inner])
    order = np.argsort(first, kind="stable")
    slots = max(1, int(np.sqrt(count)))  # so that groups, which take time of their own, are as few
    group = np.empty(count, dtype=int)
    group[order] = np.arange(count) // slots
    used = np.zeros((-(-count // slots), n), dtype=bool)
    used[group[row], column] = True
    width = int(used.sum(axis=1).max(initial=0))
    if used.shape[0] * slots * width**2 >= SHARE * count * n**2:
        return None
    rows = np.resize(order, (len(used), slots))
    present = (np.arange(rows.size) < count).reshape(rows.shape)
    # Columns without entries fill up those of groups with fewer.
    return RowWindows(rows, present, np.argsort(~used, axis=1, kind="stable")[:, :width], n)
