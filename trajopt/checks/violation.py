"""Largest violation of every path limit, at nodes and between them, by samples and a search around peaks.

Refinement uses these; a certificate evaluates every statement anew (`lines/all_lines.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajopt.checks.violation_peaks import Peaks, component_violation, narrowed
from trajopt.problem.costs_and_constraints import Constraint

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

SAMPLES_PER_INTERVAL = 8  # between neighbouring nodes
HULL_TOLERANCE = 1e-9  # in the limit's unit: rounding of control points


@dataclass(frozen=True)
class LimitViolation:
    """Largest violation of one component of a path limit that was found, and its time.

    value : max over t of max(lower - value(t), value(t) - upper), in the limit's unit; negative where the
        limit holds with a margin, infinity where a value is not finite
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


def path_limits(solution: SolutionData) -> list[Constraint]:
    """The inequality constraints over the whole path of a solution's problem."""
    return solution.problem.path_limits()


def largest_violations(solution: SolutionData) -> list[LimitViolation]:
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
            value, time = peaks[component].highest
            hull = _holds_by_hull(solution, limit, component)
            found.append(LimitViolation(limit.name, label, value, time, hull))
    return found


def relative_violations(solution: SolutionData, violations: Sequence[LimitViolation]) -> list[float]:
    """Violations divided by the range of their limit, in the order of `largest_violations`."""
    if not violations:
        return []
    ranges = np.concatenate([limit_ranges(limit) for limit in path_limits(solution)])
    return [float(violation.value / width) for violation, width in zip(violations, ranges, strict=True)]


def limit_ranges(limit: Constraint) -> NDArray:
    """Upper minus lower bound; of a one-sided limit its bound's magnitude; one where that is zero."""
    width = limit.upper - limit.lower
    one = np.where(np.isfinite(limit.upper), np.abs(limit.upper), np.abs(limit.lower))
    width = np.where(np.isfinite(width), width, one)
    return np.where(np.isfinite(width) & (width > 0.0), width, 1.0)


def side_scales(limit: Constraint, values: NDArray) -> NDArray:
    """(2, width): what violations of the lower and the upper side are compared with, values (K, width).

    The range of a limit, but at most its bound plus the largest value: a bound beyond all that happens is no
    end of a range and must not loosen the other side. Without another bound, the bound itself; one unit where
    that is zero, or where there is none.
    """
    reach = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=0, initial=0.0)
    sides = ((limit.lower, limit.upper), (limit.upper, limit.lower))
    return np.stack([_side_scale(own, other, reach) for own, other in sides])


def _side_scale(own: NDArray, other: NDArray, reach: NDArray) -> NDArray:
    with np.errstate(invalid="ignore"):
        width = np.abs(other - own)
    scale = np.where(np.isfinite(other), np.minimum(width, np.abs(own) + reach), np.abs(own))
    return np.where(np.isfinite(own) & (scale > 0.0), scale, 1.0)


def zero_bounded(limit: Constraint) -> NDArray:
    """Which components have one bound, and that is zero: it says nothing of the size of values, (width,)."""
    one = np.where(np.isfinite(limit.upper), limit.upper, limit.lower)
    return (np.isfinite(limit.lower) != np.isfinite(limit.upper)) & (one == 0.0)


def local_maxima(solution: SolutionData, limit: Constraint, above: float) -> list[tuple[NDArray, NDArray]]:
    """Times and values of the local maxima of every component's violation that may exceed `above`."""
    return [(peaks.at, peaks.values) for peaks in _peaks(solution, [limit], above)[0]]


def _peaks(solution: SolutionData, limits: list[Constraint], above: float = np.inf) -> list[list[Peaks]]:
    """The local maxima of the violation of every component of every limit."""
    times = _samples(solution)
    sampled = solution.values([limit.term for limit in limits], times)
    found = [
        [
            Peaks(limit, component, times, component_violation(limit, values, component), above)
            for component in range(limit.lower.size)
        ]
        for limit in limits
        for values in [sampled[limit.term.quantity]]
    ]
    narrowed(solution, [peaks for components in found for peaks in components])
    return found


def _holds_by_hull(solution: SolutionData, limit: Constraint, component: int) -> bool:
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


def _samples(solution: SolutionData) -> NDArray:
    """Nodes, times between them, and both sides of every knot, where the acceleration may jump."""
    nodes = np.unique(solution.node_times)
    fractions = np.arange(SAMPLES_PER_INTERVAL) / SAMPLES_PER_INTERVAL
    inner = (nodes[:-1, None] + np.diff(nodes)[:, None] * fractions).ravel()
    knots = solution.curve.knot_times[1:-1]
    before = np.nextafter(knots, 0.0)
    return np.unique(np.concatenate([inner, before, knots, nodes[-1:]]))
