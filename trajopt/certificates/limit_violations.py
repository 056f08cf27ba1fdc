"""Violations of limits over the whole path, for certificates: the largest of every component."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_result import NOWHERE, CheckResult, Place
from trajopt.checks.peaks_between_nodes import SEARCH_DENSITY, Peaks, interval_of, search
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.solution.solution import SolutionData


def largest_violations(solution: SolutionData) -> tuple[CheckResult, ...]:
    """One entry per component of every path limit, in their order; -inf of those without bounds.

    Every interval between nodes is sampled, every local maximum of the samples is bracketed by its
    neighbours, and all brackets are narrowed together. A peak narrower than an eighth of an interval may be
    missed; the curve is a polynomial of low degree there, so only a term that oscillates has such peaks.
    Violations are compared with the range of their limit.
    """
    found = search(solution, solution.problem.path_limits(), SEARCH_DENSITY, most=None)
    return tuple(result for peaks in found for result in _of_components(solution, peaks))


def _of_components(solution: SolutionData, peaks: Peaks) -> Iterator[CheckResult]:
    limit, width = peaks.constraint, peaks.constraint.lower.size
    named = solution.problem.component_names(limit.term.quantity, width)
    units = solution.problem.term_units(limit.term, width)
    interval, bounds = interval_of(limit.over, solution.curve), (limit.lower.tolist(), limit.upper.tolist())
    each = zip(named, units, *bounds, limit_ranges(limit).tolist(), strict=True)
    for c, (label, unit, lower, upper, size) in enumerate(each):
        stated, sides = (limit.name, label, unit, lower, upper), (NOWHERE, peaks.worst(c))
        place = Place(limit, c, interval)
        yield CheckResult(*stated, (size, size), *sides, "sampled", peaks.resolution, place=place)


def limit_ranges(limit: Constraint) -> Array:
    """Upper minus lower bound; of a one-sided limit its bound's magnitude; one where that is zero."""
    width = limit.upper - limit.lower
    one = np.where(np.isfinite(limit.upper), np.abs(limit.upper), np.abs(limit.lower))
    width = np.where(np.isfinite(width), width, one)
    return np.where(np.isfinite(width) & (width > 0.0), width, 1.0)
