"""Peaks of violations between samples: local maxima, bracketed by their neighbours and narrowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solvers.optimality.violation import bound_violation

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

ROUNDS, POINTS = 3, 17  # each round narrows a bracket eight-fold, from two samples to 1/256 of one


class Peaks:
    """The local maxima of one component's violation, each bracketed by the neighbouring samples.

    Between samples a peak is taken to exceed its own sample by less than that differs from its neighbours:
    peaks that can reach neither the highest sample nor `above` are left out. A value that is not finite is a
    violation without bound: one peak, infinitely high, at its first time, `not_finite`.

    at, values : times of the peaks in seconds, and the violation there
    most : number of peaks that are looked at, those that may reach highest
    """

    def __init__(
        self,
        limit: Constraint,
        component: int,
        times: NDArray,
        violation: NDArray,
        above: float = np.inf,
        most: int | None = None,
    ) -> None:
        self.limit, self.component = limit, component
        self.not_finite: float | None = None
        self.at = self.values = self.low = self.high = np.empty(0)
        if not self._all_finite(times, violation):
            return
        if np.isneginf(violation).all():  # a component without bounds: one value for all times
            self.at, self.values = times[:1].copy(), violation[:1].copy()
            return
        left = np.append(-np.inf, violation[:-1])
        right = np.append(violation[1:], -np.inf)
        peaks = np.flatnonzero((violation >= left) & (violation >= right))
        drops = np.stack([violation[peaks] - each[peaks] for each in (left, right)])
        reach = violation[peaks] + np.where(np.isfinite(drops), drops, 0.0).max(axis=0)
        kept = (reach >= violation.max()) | (reach > above)
        peaks = peaks[kept][np.argsort(-reach[kept], kind="stable")[:most]]
        peaks.sort()
        self.low = times[np.maximum(peaks - 1, 0)]
        self.high = times[np.minimum(peaks + 1, times.size - 1)]
        self.at, self.values = times[peaks].copy(), violation[peaks].copy()

    @property
    def highest(self) -> tuple[float, float]:
        """The largest violation and its time; infinity where a value is not finite."""
        best = int(np.argmax(self.values))
        return float(self.values[best]), float(self.at[best])

    def grid(self) -> NDArray:
        """Times (peaks, POINTS) that divide every bracket evenly."""
        return self.low[:, None] + (self.high - self.low)[:, None] * np.linspace(0.0, 1.0, POINTS)

    def narrow(self, grid: NDArray, values: NDArray) -> None:
        """Update every peak and shrink its bracket to the neighbours of the highest value on its grid."""
        height = component_violation(self.limit, values, self.component).reshape(grid.shape)
        if not self._all_finite(grid.ravel(), height.ravel()):
            return
        best, rows = np.argmax(height, axis=1), np.arange(grid.shape[0])
        better = height[rows, best] > self.values
        self.at[better], self.values[better] = grid[rows, best][better], height[rows, best][better]
        self.low = grid[rows, np.maximum(best - 1, 0)]
        self.high = grid[rows, np.minimum(best + 1, POINTS - 1)]

    def _all_finite(self, times: NDArray, violation: NDArray) -> bool:
        bad = np.flatnonzero(~(violation < np.inf))
        if bad.size:
            self.not_finite = float(times[bad[0]])
            self.at, self.values = times[bad[:1]].copy(), np.array([np.inf])
            self.low = self.high = np.empty(0)
        return not bad.size


def narrowed(solution: SolutionData, every: Sequence[Peaks]) -> None:
    """Narrow the brackets of all components together, with one evaluation of the motion per round."""
    terms = list({peaks.limit.term.quantity: peaks.limit.term for peaks in every}.values())
    for _ in range(ROUNDS):
        some = [peaks for peaks in every if peaks.low.size]
        if not some:
            return
        grids = [peaks.grid() for peaks in some]
        values = solution.values(terms, np.concatenate([grid.ravel() for grid in grids]))
        ends = np.cumsum([grid.size for grid in grids])
        for peaks, grid, end in zip(some, grids, ends, strict=True):
            peaks.narrow(grid, values[peaks.limit.term.quantity][end - grid.size : end])


def component_violation(limit: Constraint, values: NDArray, component: int) -> NDArray:
    """Violation (K,) of one component of values (K, width); NaN where a bounded value is not finite."""
    lower, upper = limit.lower[component], limit.upper[component]
    own = values[:, component]
    if not (np.isfinite(lower) or np.isfinite(upper)):
        return np.full(own.shape, -np.inf)  # without bounds nothing is violated
    return np.where(np.isfinite(own), bound_violation(own, lower, upper), np.nan)
