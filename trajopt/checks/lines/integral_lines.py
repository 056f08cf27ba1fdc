"""Bounded integrals on a motion and their lines in a certificate: enclosed, or by adaptive quadrature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.lines.integral_ranges import (
    QUADRATURE,
    IntegralRange,
    MeasuredViolation,
    decided,
    enclosed_range,
    sampled_range,
)
from trajopt.checks.lines.statement_line import StatementLine
from trajopt.problem.constraints.integrals import IntegralConstraint
from trajopt.terms.smoothed_term import exact_of

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData


def integral_lines(solution: SolutionData) -> Iterator[StatementLine]:
    """By how much every bounded integral oversteps its bounds: enclosed, or by adaptive quadrature."""
    for bounded in solution.problem.integrals:
        several = measured_violations(solution, bounded, QUADRATURE)
        for i, found in enumerate(several):
            yield StatementLine(
                bounded.name,
                str(i) if len(several) > 1 else "",
                found.value,
                found.time,
                QUADRATURE * found.scale,
                found.evidence,
                found.resolution,
                found.scale,
                equation=bool(bounded.lower[i] == bounded.upper[i]),
            )


def measured_violations(
    solution: SolutionData, bounded: IntegralConstraint, accuracy: float, enclose: bool = True
) -> list[MeasuredViolation]:
    """By how much the integral of a term without smoothing oversteps its bounds, for every component.

    The scale is the larger one of the largest finite bound and the integral of the absolute value, of which
    an enclosure gives a lower bound and a quadrature an estimate; 1 where both are zero.

    accuracy : relative to the scale, what a violation is compared with
    enclose : whether an enclosure is tried first
    """
    term = exact_of(bounded.term)
    sides = np.abs([bounded.lower, bounded.upper])
    bound = np.where(np.isfinite(sides), sides, 0.0).max(axis=0)

    def scale(size: Array) -> Array:
        found = np.maximum(bound, size)
        return np.where(found == 0.0, 1.0, found)

    def violations(of: IntegralRange) -> tuple[Array, Array]:
        least = np.maximum(bounded.lower - of.high, of.low - bounded.upper)
        return least, np.maximum(bounded.violation(of.low), bounded.violation(of.high))

    def sampled() -> IntegralRange:
        return sampled_range(solution, term, bounded.over, bound, accuracy)

    proved = IntegralRange.unknown(bound.size)
    if enclose:
        proved = enclosed_range(solution, term, bounded.over, bound, accuracy)
    return decided(proved, sampled, violations, scale, accuracy)
