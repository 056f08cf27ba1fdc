"""The largest excess of every limit over all of the motion, found by a bracketed search between samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.problem.costs_and_constraints import Constraint

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

SAMPLES_PER_INTERVAL = 8  # between neighbouring nodes
HULL = 1e-9  # in units of the limit: by how much control points may leave it through rounding
ROUNDS, POINTS = 3, 17  # every round narrows a bracket eight-fold: 1/8 of an interval to 1/4000 of it


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
    return solution.problem.path_limits()


def largest_excesses(solution: Solution) -> list[Excess]:
    """One entry per component of every limit over the path.

    Every interval between nodes is sampled, every local maximum of the samples is bracketed by its
    neighbours, and all brackets are narrowed together. A peak narrower than an eighth of an interval could
    be missed; the curve is a polynomial of low degree there, so such peaks need a term that oscillates.
    """
    limits = path_limits(solution)
    if not limits:
        return []
    found: list[Excess] = []
    for limit, peaks in zip(limits, _peaks(solution, limits), strict=True):
        labels = solution.problem.component_names(limit.term.quantity, limit.lower.size)
        for component, label in enumerate(labels):
            times, values = peaks[component]
            best = int(np.argmax(values))
            hull = _holds_by_hull(solution, limit, component)
            found.append(Excess(limit.name, label, float(values[best]), float(times[best]), hull))
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


def local_maxima(solution: Solution, limit: Constraint, above: float) -> list[tuple[NDArray, NDArray]]:
    """Refined times and values of the local maxima of every component's excess that may lie above a value."""
    return _peaks(solution, [limit], above)[0]


def _peaks(
    solution: Solution, limits: list[Constraint], above: float = np.inf
) -> list[list[tuple[NDArray, NDArray]]]:
    """Times and values of the local maxima of every component of every limit.

    All brackets of all components are narrowed together: one evaluation of the motion in every round.
    """
    times = _samples(solution)
    terms = [limit.term for limit in limits]
    sampled = solution.values(terms, times)
    found = [
        [_Brackets(limit, component, times, column, above) for component, column in enumerate(excess.T)]
        for limit in limits
        for excess in [_excess(limit, sampled[limit.term.quantity])]
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
    """The local maxima of one component's excess, each between its neighbours among the samples.

    Between samples a peak rises above its own by less than its larger step to a neighbour: those that can
    reach neither the highest sample nor `above` are left out.
    """

    def __init__(
        self, limit: Constraint, component: int, times: NDArray, excess: NDArray, above: float
    ) -> None:
        self.limit, self.component = limit, component
        left = np.append(-np.inf, excess[:-1])
        right = np.append(excess[1:], -np.inf)
        peaks = np.flatnonzero((excess >= left) & (excess >= right))
        drops = np.stack([excess[peaks] - each[peaks] for each in (left, right)])
        reach = excess[peaks] + np.where(np.isfinite(drops), drops, 0.0).max(axis=0)
        peaks = peaks[(reach >= excess.max()) | (reach > above)]
        self.low = times[np.maximum(peaks - 1, 0)]
        self.high = times[np.minimum(peaks + 1, times.size - 1)]
        self.at, self.values = times[peaks].copy(), excess[peaks].copy()

    def grid(self) -> NDArray:
        """Times (peaks, POINTS) to look at next."""
        return self.low[:, None] + (self.high - self.low)[:, None] * np.linspace(0.0, 1.0, POINTS)

    def narrow(self, grid: NDArray, values: NDArray) -> None:
        """Keep what is higher, and the neighbours of the highest of each row."""
        height = _excess(self.limit, values)[:, self.component].reshape(grid.shape)
        best, rows = np.argmax(height, axis=1), np.arange(grid.shape[0])
        better = height[rows, best] > self.values
        self.at[better], self.values[better] = grid[rows, best][better], height[rows, best][better]
        self.low = grid[rows, np.maximum(best - 1, 0)]
        self.high = grid[rows, np.minimum(best + 1, POINTS - 1)]


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
