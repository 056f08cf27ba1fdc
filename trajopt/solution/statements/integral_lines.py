"""Bounded integrals on a motion and their lines in a certificate: enclosed, or by a finer quadrature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from trajopt.arrays import Array
from trajopt.problem.statements.integrals import IntegralConstraint
from trajopt.solution.statements.cost_lines import QUADRATURE, fine_quadrature
from trajopt.solution.statements.enclosed_integrals import decided, integral_enclosure
from trajopt.solution.statements.statement_line import StatementLine
from trajopt.terms.smoothed_term import exact_of

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


def integral_lines(solution: Solution) -> Iterator[StatementLine]:
    """By how much every bounded integral oversteps its bounds: enclosed, or by Gauss points in every span."""
    for bounded in solution.problem.integrals:
        value, scales = measured_integral(solution, bounded)
        resolution = float(np.diff(fine_quadrature(solution, bounded.over)[0]).max(initial=0.0))
        misses = bounded.violation(value)
        least, most = _enclosed_violations(solution, bounded, value, QUADRATURE * scales)
        for i, scale in enumerate(scales.tolist()):
            miss, evidence = decided(float(misses[i]), (least[i], most[i]), QUADRATURE * scale)
            yield StatementLine(
                bounded.name,
                str(i) if value.size > 1 else "",
                miss,
                0.0,
                QUADRATURE * scale,
                evidence,
                resolution if evidence == "sampled" else 0.0,
                scale,
                equation=bool(bounded.lower[i] == bounded.upper[i]),
            )


def _enclosed_violations(
    solution: Solution, bounded: IntegralConstraint, value: Array, tolerance: Array
) -> tuple[Array, Array]:
    """The violations are at least and at most these, (width,) each; infinite where nothing is enclosed."""
    found = None
    if np.all(np.isfinite(value)):
        found = integral_enclosure(solution, exact_of(bounded.term), bounded.over, tolerance)
    if found is None:
        return np.full(value.size, -np.inf), np.full(value.size, np.inf)
    low, high = found[0] - found[1], found[0] + found[1]
    least = np.maximum(bounded.lower - high, low - bounded.upper)
    return least, np.maximum(bounded.violation(low), bounded.violation(high))


def measured_integral(solution: Solution, bounded: IntegralConstraint) -> tuple[Array, Array]:
    """The integral of a term without smoothing, and what a violation is compared with, (width,) each.

    That is the larger one of the largest finite bound and the integral of the absolute value; 1 where both
    are zero.
    """
    times, weights = fine_quadrature(solution, bounded.over)
    values = solution.value(exact_of(bounded.term), times)
    sides = np.abs([bounded.lower, bounded.upper])
    scale = np.maximum(np.where(np.isfinite(sides), sides, 0.0).max(axis=0), weights @ np.abs(values))
    return weights @ values, np.where(scale == 0.0, 1.0, scale)
