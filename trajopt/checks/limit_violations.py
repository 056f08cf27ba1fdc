"""Violations of limits over the whole path, for certificates: the largest of every limit, and all peaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.rounding import CONTROL_POINT_ROUNDING
from trajopt.checks.check_result import OfComponent
from trajopt.checks.check_times import SEARCH_DENSITY
from trajopt.checks.peaks import search
from trajopt.graph.keys import SPLINE_LEAVES
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData
from trajopt.splines.polynomial_bounds import pieces_of


@dataclass(frozen=True)
class LimitViolation(OfComponent):
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


def largest_violations(solution: SolutionData) -> list[LimitViolation]:
    """One entry per component of every path limit, in their order; -inf of those without bounds.

    Every interval between nodes is sampled, every local maximum of the samples is bracketed by its
    neighbours, and all brackets are narrowed together. A peak narrower than an eighth of an interval may be
    missed; the curve is a polynomial of low degree there, so only a term that oscillates has such peaks.
    """
    limits = solution.problem.path_limits()
    found: list[LimitViolation] = []
    for limit, peaks in zip(limits, search(solution, limits, SEARCH_DENSITY, most=None), strict=True):
        labels = solution.problem.component_names(limit.term.quantity, limit.lower.size)
        for component, label in enumerate(labels):
            worst = max(peaks.worst(component), key=lambda side: (np.isnan(side.value), side.value))
            value = np.inf if np.isnan(worst.value) else worst.value
            hull = _holds_by_hull(solution, limit, component)
            found.append(LimitViolation(limit.name, label, value, worst.time, hull))
    return found


def relative_violations(solution: SolutionData, violations: Sequence[LimitViolation]) -> list[float]:
    """Violations divided by the range of their limit, in the order of `largest_violations`."""
    if not violations:
        return []
    ranges = np.concatenate([limit_ranges(limit) for limit in solution.problem.path_limits()])
    return [float(violation.value / width) for violation, width in zip(violations, ranges, strict=True)]


def limit_ranges(limit: Constraint) -> Array:
    """Upper minus lower bound; of a one-sided limit its bound's magnitude; one where that is zero."""
    width = limit.upper - limit.lower
    one = np.where(np.isfinite(limit.upper), np.abs(limit.upper), np.abs(limit.lower))
    width = np.where(np.isfinite(width), width, one)
    return np.where(np.isfinite(width) & (width > 0.0), width, 1.0)


def peak_times(solution: SolutionData, above: float) -> list[float]:
    """Times of all peaks of path limits that are violated by more than `above`, in their own units."""
    limits, found = solution.problem.path_limits(), []
    for peaks in search(solution, limits, SEARCH_DENSITY, above, most=None):
        found += peaks.times[peaks.values > above].tolist()
    return found


def _holds_by_hull(solution: SolutionData, limit: Constraint, component: int) -> bool:
    """Whether all control points of a curve's derivative, in Bernstein form, lie within the limit."""
    if limit.hold != "hull":
        return False
    values = pieces_of(solution.curve, component, SPLINE_LEAVES.index(limit.term.quantity)).coefficients
    below, above = limit.lower[component] - values.min(), values.max() - limit.upper[component]
    return bool(max(below, above) <= CONTROL_POINT_ROUNDING)
