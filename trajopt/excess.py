"""The largest excess of every limit over all of the motion, found by a bracketed search between samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.problem import Constraint, Problem

if TYPE_CHECKING:
    from trajopt.solution import Solution

SAMPLES_PER_INTERVAL = 8  # between neighbouring nodes
HULL = 1e-9  # in units of the limit: by how much control points may leave it through rounding
ROUNDS, POINTS = 4, 9  # every round narrows a bracket four-fold: 1/8 of an interval to 1/2000 of it


@dataclass(frozen=True)
class Excess:
    """How far a component of a limit is overstepped, and when; negative where it holds with room to spare."""

    name: str
    component: str
    value: float  # in units of the limit
    time: float  # seconds
    hull: bool = False  # the limit holds by the convex hull of control points, no search was needed

    def __str__(self) -> str:
        how = "holds by the convex hull" if self.hull else f"at t = {self.time:.6f} s"
        return f"{self.label}: {self.value:.3e} {how}"

    @property
    def label(self) -> str:
        """The limit, and the component where there are several."""
        return f"{self.name}, {self.component}" if self.component else self.name


def path_limits(solution: Solution) -> list[Constraint]:
    """The inequality constraints that a solution's problem means for the whole motion."""
    return path_limits_of(solution.problem)


def path_limits_of(problem: Problem) -> list[Constraint]:
    """The inequality constraints that a problem means for the whole motion."""
    return [c for c in problem.constraints if c.over == "path" and not np.all(c.lower == c.upper)]


def largest_excesses(solution: Solution) -> list[Excess]:
    """One entry per component of every limit over the path.

    Every interval between nodes is sampled, every local maximum of the samples is bracketed by its
    neighbours, and all brackets are narrowed together. A peak narrower than an eighth of an interval could
    be missed; the curve is a polynomial of low degree there, so such peaks need a term that oscillates.
    """
    limits = path_limits(solution)
    if not limits:
        return []
    times = _samples(solution)
    found: list[Excess] = []
    sampled = solution.values([limit.term for limit in limits], times)
    for limit in limits:
        excess = _excess(limit, sampled[limit.term.quantity])
        labels = solution.problem.component_names(limit.term.quantity, excess.shape[1])
        for component, label in enumerate(labels):
            value, time = _refined(solution, limit, component, times, excess[:, component])
            found.append(Excess(limit.name, label, value, time, _holds_by_hull(solution, limit, component)))
    return found


def relative_excesses(solution: Solution, excesses: Sequence[Excess]) -> list[float]:
    """Excesses as parts of the range of their limit, in the order of `largest_excesses`."""
    if not excesses:
        return []
    ranges = np.concatenate([_range(limit) for limit in path_limits(solution)])
    return [float(excess.value / width) for excess, width in zip(excesses, ranges, strict=True)]


def _range(limit: Constraint) -> NDArray:
    """Distance between the two sides; of a one-sided limit, the bound itself; one where that is zero."""
    width = limit.upper - limit.lower
    one = np.where(np.isfinite(limit.upper), np.abs(limit.upper), np.abs(limit.lower))
    width = np.where(np.isfinite(width), width, one)
    return np.where(np.isfinite(width) & (width > 0.0), width, 1.0)


def local_maxima(solution: Solution, limit: Constraint, component: int) -> tuple[NDArray, NDArray]:
    """Refined times and values of all local maxima of one component's excess."""
    times = _samples(solution)
    excess = _excess(limit, solution.value(limit.term, times))[:, component]
    return _narrowed(solution, limit, component, times, excess)


def _refined(solution, limit, component, times, excess) -> tuple[float, float]:
    at, values = _narrowed(solution, limit, component, times, excess)
    best = int(np.argmax(values))
    return float(values[best]), float(at[best])


def _narrowed(solution, limit, component, times, excess) -> tuple[NDArray, NDArray]:
    """Local maxima of the samples, each narrowed within the bracket of its neighbours."""
    left = np.append(-np.inf, excess[:-1])
    right = np.append(excess[1:], -np.inf)
    peaks = np.flatnonzero((excess >= left) & (excess >= right))
    near = excess[peaks] > excess.max() - 0.2 * max(np.ptp(excess), 1e-12)
    peaks = peaks[near | (excess[peaks] > 0.0)]
    low = times[np.maximum(peaks - 1, 0)]
    high = times[np.minimum(peaks + 1, times.size - 1)]
    at, values = times[peaks].copy(), excess[peaks].copy()
    for _ in range(ROUNDS):
        grid = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, POINTS)
        height = _excess(limit, solution.value(limit.term, grid.ravel()))[:, component].reshape(grid.shape)
        best = np.argmax(height, axis=1)
        rows = np.arange(peaks.size)
        better = height[rows, best] > values
        at[better], values[better] = grid[rows, best][better], height[rows, best][better]
        low = grid[rows, np.maximum(best - 1, 0)]
        high = grid[rows, np.minimum(best + 1, POINTS - 1)]
    return at, values


def _excess(limit: Constraint, values: NDArray) -> NDArray:
    return np.maximum(limit.lower - values, values - limit.upper)


def _holds_by_hull(solution: Solution, limit: Constraint, component: int) -> bool:
    """Whether the control points of q, or of v, themselves lie within the limit."""
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
        if np.any(values > limit.upper[component] + HULL) or np.any(values < limit.lower[component] - HULL):
            return False
    return True


def _samples(solution: Solution) -> NDArray:
    """Nodes, points between them, and both sides of every border at which the acceleration may jump."""
    nodes = np.unique(solution.node_times)
    fractions = np.arange(SAMPLES_PER_INTERVAL) / SAMPLES_PER_INTERVAL
    inner = (nodes[:-1, None] + np.diff(nodes)[:, None] * fractions).ravel()
    borders = solution.curve.knot_times[1:-1]
    before = np.nextafter(borders, 0.0)
    return np.unique(np.concatenate([inner, before, borders, nodes[-1:]]))
