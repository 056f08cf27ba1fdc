"""A convex quadratic program within a box whose limits may be missed at a price, by an interior-point method.

    minimize  g' d + d' H d / 2 + penalty * sum of misses   over   least <= d <= most

with a miss max(lower - A d, 0) and max(A d - upper, 0) for every limit. It has an answer for any limits, also
for those that contradict each other, and no multiplier above the penalty. With t the distance of A d to a
limit, plus its miss e, and z the multiplier, t z and e (penalty - z) tend to zero together; all equations but
those of the multipliers hold from the first step on. Rows that no step within the box brings to a limit are
left out.

Source: the predictor and corrector of Mehrotra, SIAM J. Optim. 2 (1992) 575.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from trajopt.solvers.interior.slack_program import finite_limits
from trajopt.solvers.matrices import scattered
from trajopt.solvers.newton.compiled_loops import compiled
from trajopt.solvers.solver import LITTLE, MOST_STEPS, REGULARIZATION, ROUNDING, SHARE

MISS = 1e-3  # of every limit at the beginning, at least; of the penalty, the least multiplier there
FIRST = 0.1  # of the box: its sides' distance from the beginning; of it, first barrier parameter


class ElasticStep(NamedTuple):
    """The step d (n,); multipliers of rows (m,), positive at upper limits, and of both sides of the box."""

    d: np.ndarray
    multipliers: np.ndarray
    of_least: np.ndarray
    of_most: np.ndarray


class _Point(NamedTuple):
    """d (n,) and the pairs whose products tend to zero: gaps t and z, misses e and w, sides of the box.

    `one` holds t, e, and the distances of d from the least and the most; `other` their multipliers.
    Distances and w = penalty - z are kept, as differences would lose them to rounding.
    """

    d: np.ndarray
    one: np.ndarray
    other: np.ndarray


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
        limits = self.lower, self.upper, self.least, self.most
        A = np.ascontiguousarray(self.A)
        kept, reach, *rows = _near_rows(A, *limits)
        lower, upper = self.lower[kept], self.upper[kept]
        side, sign, limit = finite_limits(
            np.where(lower > -reach, lower, -np.inf), np.where(upper < reach, upper, np.inf)
        )
        gaps = *rows, side, sign
        at = self._start(gaps, limit)
        missed, size = float(np.maximum(sign * limit, 0.0).sum()), self._size
        for _ in range(MOST_STEPS):
            K, S, residual, total = _condensed(self.H, self.g, A, kept, *gaps, *at)
            left = float(at.one[side.size : 2 * side.size].sum())
            decrease = self.penalty * (missed - left) - self.objective(at.d)
            enough = max(tol, ROUNDING * size, LITTLE * decrease)
            if total <= enough and np.abs(residual).max() <= enough * size:
                break
            factors = _factorized(K)
            if factors is None:
                break
            at = _Point(*_moved(factors, S, residual, *gaps, *at, SHARE))
        of_kept = -np.bincount(side, sign * at.other[: side.size], minlength=kept.size)
        low, high = np.split(at.other[2 * side.size :], 2)
        return ElasticStep(at.d, scattered(of_kept, kept, len(self.lower)), low, high)

    @property
    def _size(self) -> float:
        return max(float(np.abs(self.g).max(initial=0.0)), MISS)

    def _start(self, gaps: tuple[np.ndarray, ...], limit: np.ndarray) -> _Point:
        starts, columns, entries, side, sign = gaps
        width = self.most - self.least
        d = np.clip(0.0, self.least + FIRST * width, self.most - FIRST * width)
        gap = sign * (_products(starts, columns, entries, d)[side] - limit)
        e = np.maximum(0.0, -gap) + FIRST * float(np.abs(gap).mean() if gap.size else 0.0) + MISS
        t, p, q = gap + e, d - self.least, self.most - d
        mu = FIRST * self._size * float(width.mean())
        z = np.clip(mu / t, MISS * self.penalty, 0.5 * self.penalty)
        return _Point(d, np.concatenate([t, e, p, q]), np.concatenate([z, self.penalty - z, mu / p, mu / q]))


def _factorized(K: np.ndarray) -> np.ndarray | None:
    """The lower Cholesky factor of a lower triangle; None where rounding has used up its curvature."""
    factors, failed = lapack.dpotrf(K.T, lower=0, clean=0)
    if failed:
        own = np.arange(len(K))
        K[own, own] += REGULARIZATION * np.abs(K[own, own]).max()
        factors, failed = lapack.dpotrf(K.T, lower=0, clean=0)
    return None if failed else factors.T


# Sums in any order, so that SIMD lanes can share them; NaN and infinity stay what they are.
_compiled = partial(compiled, fastmath={"reassoc", "contract"})


@_compiled
def _near_rows(
    A: np.ndarray, lower: np.ndarray, upper: np.ndarray, least: np.ndarray, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of the rows that a step within the box brings to a limit, their most, starts, columns, entries.

    Their most is how far such a step changes A d at most; entries are those that are not zero.
    """
    m, n = A.shape
    kept, reaches, starts = np.empty(m, np.int64), np.empty(m), np.zeros(m + 1, np.int64)
    count = 0
    for row in range(m):
        reach, filled = 0.0, 0
        for k in range(n):
            reach += abs(A[row, k]) * max(-least[k], most[k])
            filled += A[row, k] != 0.0
        if lower[row] > -reach or upper[row] < reach:
            kept[count], reaches[count], starts[count + 1] = row, reach, starts[count] + filled
            count += 1
    columns, entries = np.empty(starts[count], np.int64), np.empty(starts[count])
    for number in range(count):
        place, row = starts[number], A[kept[number]]
        for k in range(n):
            if row[k] != 0.0:
                columns[place], entries[place] = k, row[k]
                place += 1
    return kept[:count].copy(), reaches[:count].copy(), starts[: count + 1].copy(), columns, entries


@_compiled
def _products(starts: np.ndarray, columns: np.ndarray, entries: np.ndarray, d: np.ndarray) -> np.ndarray:
    """A d."""
    sums = np.zeros(len(starts) - 1)
    for row in range(len(sums)):
        for k in range(starts[row], starts[row + 1]):
            sums[row] += entries[k] * d[columns[k]]
    return sums


@_compiled
def _add_backward(
    starts: np.ndarray, columns: np.ndarray, entries: np.ndarray, of_rows: np.ndarray, sums: np.ndarray
) -> None:
    """Add A' times a value of every row."""
    for row in range(len(of_rows)):
        for k in range(starts[row], starts[row + 1]):
            sums[columns[k]] += entries[k] * of_rows[row]


@_compiled
def _condensed(
    H: np.ndarray,
    g: np.ndarray,
    A: np.ndarray,
    kept: np.ndarray,
    starts: np.ndarray,
    columns: np.ndarray,
    entries: np.ndarray,
    side: np.ndarray,
    sign: np.ndarray,
    d: np.ndarray,
    one: np.ndarray,
    other: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """The lower triangle of H + A' S A and the box's part; S of gaps, the gradient, the sum of products."""
    n, m = len(d), len(side)
    low, high = 2 * m, 2 * m + n
    S, total = np.empty(m), 0.0
    weights, pull = np.zeros(len(starts) - 1), np.zeros(len(starts) - 1)
    for k in range(len(one)):
        total += one[k] * other[k]
    for k in range(m):
        S[k] = other[k] / (one[k] + other[k] * one[m + k] / other[m + k])
        weights[side[k]] += S[k]
        pull[side[k]] -= sign[k] * other[k]
    K, residual = np.empty((n, n)), np.empty(n)
    for i in range(n):
        product = 0.0
        for j in range(n):
            K[i, j] = H[i, j]
            product += H[i, j] * d[j]
        residual[i] = product + g[i] - other[low + i] + other[high + i]
        K[i, i] += other[low + i] / one[low + i] + other[high + i] / one[high + i]
    _add_backward(starts, columns, entries, pull, residual)
    for row in range(len(weights)):
        if starts[row] < starts[row + 1]:
            first, dense = columns[starts[row]], A[kept[row]]
            for k in range(starts[row], starts[row + 1]):  # side by side, so that SIMD lanes share a row
                factor, sums = weights[row] * entries[k], K[columns[k]]
                for j in range(first, columns[k] + 1):
                    sums[j] += factor * dense[j]
    return K, S, residual, total


@_compiled
def _direction(
    L: np.ndarray,
    S: np.ndarray,
    residual: np.ndarray,
    starts: np.ndarray,
    columns: np.ndarray,
    entries: np.ndarray,
    side: np.ndarray,
    sign: np.ndarray,
    one: np.ndarray,
    other: np.ndarray,
    rests: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The changes of d and of both of every pair by which their products change by the rests, to first order.

    L : (n, n), its lower triangle times its transpose is the condensed matrix
    """
    n, m = len(residual), len(side)
    low, high = 2 * m, 2 * m + n
    v, of_rows = np.empty(m), np.zeros(len(starts) - 1)
    for k in range(m):
        v[k] = S[k] * (rests[k] / other[k] - rests[m + k] / other[m + k])
        of_rows[side[k]] += sign[k] * v[k]
    d = np.empty(n)
    for i in range(n):
        d[i] = rests[low + i] / one[low + i] - rests[high + i] / one[high + i] - residual[i]
    _add_backward(starts, columns, entries, of_rows, d)
    for i in range(n):
        row, left = L[i], d[i]
        for j in range(i):
            left -= row[j] * d[j]
        d[i] = left / row[i]
    for i in range(n - 1, -1, -1):
        row = L[i]
        d[i] /= row[i]
        for j in range(i):
            d[j] -= row[j] * d[i]
    by_row = _products(starts, columns, entries, d)
    of_one, of_other = np.empty(len(one)), np.empty(len(one))
    for k in range(m):
        change = sign[k] * by_row[side[k]]
        of_other[k] = v[k] - S[k] * change
        of_other[m + k] = -of_other[k]
        of_one[m + k] = (rests[m + k] + one[m + k] * of_other[k]) / other[m + k]
        of_one[k] = change + of_one[m + k]
    for i in range(n):
        of_one[low + i], of_one[high + i] = d[i], -d[i]
        of_other[low + i] = (rests[low + i] - other[low + i] * d[i]) / one[low + i]
        of_other[high + i] = (rests[high + i] + other[high + i] * d[i]) / one[high + i]
    return d, of_one, of_other


@_compiled
def _longest(values: np.ndarray, changes: np.ndarray, share: float) -> float:
    """The longest step up to 1 over which positive values lose no more than a share of themselves."""
    most = share
    for k in range(len(values)):
        part = -changes[k] / values[k]
        if not part <= most:  # NaN, too
            most = part
            if np.isnan(part):
                break
    return share / most


@_compiled
def _moved(
    L: np.ndarray,
    S: np.ndarray,
    residual: np.ndarray,
    starts: np.ndarray,
    columns: np.ndarray,
    entries: np.ndarray,
    side: np.ndarray,
    sign: np.ndarray,
    d: np.ndarray,
    one: np.ndarray,
    other: np.ndarray,
    share: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The next point: towards equal products, with what the changes of the predictor multiply to."""
    rests = -one * other
    _, of_one, of_other = _direction(L, S, residual, starts, columns, entries, side, sign, one, other, rests)
    primal, dual = _longest(one, of_one, share), _longest(other, of_other, share)
    total, after = -rests.sum(), ((one + primal * of_one) * (other + dual * of_other)).sum()
    aim = total / len(one) * min(1.0, after / total) ** 3
    rests = aim + rests - of_one * of_other
    of_d, of_one, of_other = _direction(
        L, S, residual, starts, columns, entries, side, sign, one, other, rests
    )
    primal, dual = _longest(one, of_one, share), _longest(other, of_other, share)
    return d + primal * of_d, one + primal * of_one, other + dual * of_other
