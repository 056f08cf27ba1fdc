"""Largest violation of every path limit over all t, by a bracketed search between samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solvers.violation import bound_violation

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

SAMPLES_PER_INTERVAL = 8  # between neighbouring nodes
HULL_TOLERANCE = 1e-9  # in the limit's unit: rounding of control points
ROUNDS, POINTS = 3, 17  # each round narrows a bracket eight-fold, from two samples to 1/256 of one


@dataclass(frozen=True)
class LimitViolation:
    """Largest violation of one component of a path limit over all t, and its time.

    value : max over t of max(lower - value(t), value(t) - upper), in the limit's unit; negative where the
        limit holds with a margin
    time : seconds
    hull : the limit holds for all t because all control points lie within it (convex hull)
    """

    name: str
    component: str
    value: float
    time: float
    hull: bool = False

    def __str__(self) -> str:
        how = "holds by the convex hull" if self.hull else f"at t = {self.time:.6f} s"
        return f"{self.label}: {self.value:.3e} {how}"

    @property
    def label(self) -> str:
        """The limit, and the component where there are several."""
        return f"{self.name}, {self.component}" if self.component else self.name


def path_limits(solution: Solution) -> list[Constraint]:
    """The inequality constraints over the whole path of a solution's problem."""
    return solution.problem.path_limits()


def largest_violations(solution: Solution) -> list[LimitViolation]:
    """One entry per component of every path limit, in their order.

    Every interval between nodes is sampled, every local maximum of the samples is bracketed by its
    neighbours, and all brackets are narrowed together. A peak narrower than an eighth of an interval may be
    missed; the curve is a polynomial of low degree there, so only a term that oscillates has such peaks.
    """
    limits = path_limits(solution)
    if not limits:
        return []
    found: list[LimitViolation] = []
    for limit, peaks in zip(limits, _peaks(solution, limits), strict=True):
        labels = solution.problem.component_names(limit.term.quantity, limit.lower.size)
        for component, label in enumerate(labels):
            times, values = peaks[component]
            best = int(np.argmax(values))
            hull = _holds_by_hull(solution, limit, component)
            found.append(LimitViolation(limit.name, label, float(values[best]), float(times[best]), hull))
    return found


def relative_violations(solution: Solution, violations: Sequence[LimitViolation]) -> list[float]:
    """Violations divided by the range of their limit, in the order of `largest_violations`."""
    if not violations:
        return []
    ranges = np.concatenate([_range(limit) for limit in path_limits(solution)])
    return [float(violation.value / width) for violation, width in zip(violations, ranges, strict=True)]


def _range(limit: Constraint) -> NDArray:
    """Upper minus lower bound; of a one-sided limit its bound's magnitude; one where that is zero."""
    width = limit.upper - limit.lower
    one = np.where(np.isfinite(limit.upper), np.abs(limit.upper), np.abs(limit.lower))
    width = np.where(np.isfinite(width), width, one)
    return np.where(np.isfinite(width) & (width > 0.0), width, 1.0)


def local_maxima(solution: Solution, limit: Constraint, above: float) -> list[tuple[NDArray, NDArray]]:
    """Times and values of the local maxima of every component's violation that may exceed `above`."""
    return _peaks(solution, [limit], above)[0]


def _peaks(
    solution: Solution, limits: list[Constraint], above: float = np.inf
) -> list[list[tuple[NDArray, NDArray]]]:
    """Times and values of the local maxima of the violation of every component of every limit.

    All brackets of all components are narrowed together, with one evaluation of the motion per round.
    """
    times = _samples(solution)
    terms = [limit.term for limit in limits]
    sampled = solution.values(terms, times)
    found = [
        [_Brackets(limit, component, times, column, above) for component, column in enumerate(violation.T)]
        for limit in limits
        for violation in [_violation(limit, sampled[limit.term.quantity])]
    ]
    every = [brackets for components in found for brackets in components]
    for _ in range(ROUNDS):
        grids = [brackets.grid() for brackets in every]
        values = solution.values(terms, np.concatenate([grid.ravel() for grid in grids]))
        ends = np.cumsum([grid.size for grid in grids])
        for brackets, grid, end in zip(every, grids, ends, strict=True):
            brackets.narrow(grid, values[brackets.limit.term.quantity][end - grid.size : end])
    return [[(brackets.at, brackets.values) for brackets in components] for components in found]


class _Brackets:
    """The local maxima of one component's violation, each bracketed by the neighbouring samples.

    Between samples a peak is taken to exceed its own sample by less than that differs from its neighbours:
    peaks that can reach neither the highest sample nor `above` are left out.
    """

    def __init__(
        self, limit: Constraint, component: int, times: NDArray, violation: NDArray, above: float
    ) -> None:
        self.limit, self.component = limit, component
        left = np.append(-np.inf, violation[:-1])
        right = np.append(violation[1:], -np.inf)
        peaks = np.flatnonzero((violation >= left) & (violation >= right))
        drops = np.stack([violation[peaks] - each[peaks] for each in (left, right)])
        reach = violation[peaks] + np.where(np.isfinite(drops), drops, 0.0).max(axis=0)
        peaks = peaks[(reach >= violation.max()) | (reach > above)]
        self.low = times[np.maximum(peaks - 1, 0)]
        self.high = times[np.minimum(peaks + 1, times.size - 1)]
        self.at, self.values = times[peaks].copy(), violation[peaks].copy()

    def grid(self) -> NDArray:
        """Times (peaks, POINTS) that divide every bracket evenly."""
        return self.low[:, None] + (self.high - self.low)[:, None] * np.linspace(0.0, 1.0, POINTS)

    def narrow(self, grid: NDArray, values: NDArray) -> None:
        """Update every peak and shrink its bracket to the neighbours of the highest value on its grid."""
        height = _violation(self.limit, values)[:, self.component].reshape(grid.shape)
        best, rows = np.argmax(height, axis=1), np.arange(grid.shape[0])
        better = height[rows, best] > self.values
        self.at[better], self.values[better] = grid[rows, best][better], height[rows, best][better]
        self.low = grid[rows, np.maximum(best - 1, 0)]
        self.high = grid[rows, np.minimum(best + 1, POINTS - 1)]


def _violation(limit: Constraint, values: NDArray) -> NDArray:
    return bound_violation(values, limit.lower, limit.upper)


def _holds_by_hull(solution: Solution, limit: Constraint, component: int) -> bool:
    """Whether all control points of q, or of v, lie within the limit."""
    if limit.hold != "hull":
        return False
    order = ("q", "v").index(limit.term.quantity)
    for basis, points, duration in zip(
        solution.curve.bases, solution.curve.control_points, solution.curve.durations, strict=True
    ):
        values = points[:, component]
        if order:
            widths = basis.knots[basis.degree + 1 : -1] - basis.knots[1 : -basis.degree - 1]
            values = basis.degree * np.diff(values) / (widths * duration)
        lower, upper = limit.lower[component] - HULL_TOLERANCE, limit.upper[component] + HULL_TOLERANCE
        if np.any(values > upper) or np.any(values < lower):
            return False
    return True


def _samples(solution: Solution) -> NDArray:
    """Nodes, times between them, and both sides of every knot, where the acceleration may jump."""
    nodes = np.unique(solution.node_times)
    fractions = np.arange(SAMPLES_PER_INTERVAL) / SAMPLES_PER_INTERVAL
    inner = (nodes[:-1, None] + np.diff(nodes)[:, None] * fractions).ravel()
    knots = solution.curve.knot_times[1:-1]
    before = np.nextafter(knots, 0.0)
    return np.unique(np.concatenate([inner, before, knots, nodes[-1:]]))
