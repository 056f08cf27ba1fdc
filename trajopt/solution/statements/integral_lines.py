"""Lines of a certificate for bounded integrals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.arrays import Array
from trajopt.solution.statements.cost_lines import QUADRATURE, fine_quadrature
from trajopt.solution.statements.statement_line import StatementLine
from trajopt.splines.node_sets import NodeSet
from trajopt.terms.smoothed_term import exact_of

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

LEAST = 1e-12  # in the integral's own unit: the scale where bounds and integrand are zero


def integral_lines(solution: Solution) -> Iterator[StatementLine]:
    """By how much every bounded integral oversteps its bounds, by Gauss points in every span."""
    for bounded in solution.problem.integrals:
        value, size = integral_of(solution, bounded.term, bounded.over)
        resolution = float(np.diff(fine_quadrature(solution, bounded.over)[0]).max(initial=0.0))
        for i, miss in enumerate(bounded.violation(value)):
            scale = max(float(size[i]), LEAST)
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


def integral_of(solution: Solution, term: Any, over: NodeSet) -> tuple[Array, Array]:
    """The integral of a term, and of its absolute value, (width,) each, without smoothing."""
    times, weights = fine_quadrature(solution, over)
    values = solution.value(exact_of(term), times)
    return weights @ values, weights @ np.abs(values)
