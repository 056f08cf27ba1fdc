"""Bounded integrals by a quadrature finer than the program's, and their lines in a certificate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from trajopt.arrays import Array
from trajopt.problem.statements.integrals import IntegralConstraint
from trajopt.solution.statements.cost_lines import QUADRATURE, fine_quadrature
from trajopt.solution.statements.statement_line import StatementLine
from trajopt.terms.smoothed_term import exact_of

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


def integral_lines(solution: Solution) -> Iterator[StatementLine]:
    """By how much every bounded integral oversteps its bounds, by Gauss points in every span."""
    for bounded in solution.problem.integrals:
        value, scales = measured_integral(solution, bounded)
        resolution = float(np.diff(fine_quadrature(solution, bounded.over)[0]).max(initial=0.0))
        for i, miss in enumerate(bounded.violation(value)):
            scale = float(scales[i])
            yield StatementLine(
                bounded.name,
                str(i) if value.size > 1 else "",
                float(miss),
                0.0,
                QUADRATURE * scale,
                "sampled",
                resolution,
                scale,
                equation=bool(bounded.lower[i] == bounded.upper[i]),
            )


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
