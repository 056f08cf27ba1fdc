"""The integrals of a problem's costs on a motion: what was minimized against what the motion gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from trajopt.checks.lines.statement_line import AT_TIMES, StatementLine
from trajopt.checks.lines.statement_times import interval_of
from trajopt.problem.costs_and_constraints import Cost
from trajopt.terms.smoothed_term import exact_of

if TYPE_CHECKING:
    from trajopt.solution.solution import SolutionData

NEGLIGIBLE = 1e-6  # of the objective: what smaller costs are compared with
TINY = float(np.finfo(float).tiny)
LEAST = 1e-12  # in the cost's own unit: the same where the objective is zero

Range = Callable[..., IntegralRange]  # `enclosed_range` or `sampled_range`


def cost_lines(solution: SolutionData) -> Iterator[StatementLine]:
    """The difference of every named cost to its integral, or to its value at an end, without smoothing.

    Its scale is the integral of the absolute value of the sum of the cost's components, at least 1e-6 of the
    objective.
    """
    named: dict[str, list[Cost]] = {}
    for cost in solution.problem.costs:
        named.setdefault(cost.name, []).append(cost)
    for name, costs in named.items():
        told = float(solution.cost_terms.get(name, np.nan))
        integrates = any(cost.over.integrates for cost in costs)
        accuracy = QUADRATURE if integrates else AT_TIMES
        found = _difference(solution, costs, told, accuracy)
        yield StatementLine(
            f"cost '{name}'",
            "",
            found.value,
            found.time,
            accuracy * found.scale,
            found.evidence if integrates else "evaluated",
            found.resolution,
            found.scale,
            equation=True,
        )


def _difference(solution: SolutionData, costs: list[Cost], told: float, accuracy: float) -> MeasuredViolation:
    """How far some costs together are from what is told of them."""
    least = max(NEGLIGIBLE * abs(solution.objective), LEAST)

    def summed(range_of: Range) -> IntegralRange:
        several = [_range_of_cost(solution, cost, least, accuracy, range_of) for cost in costs]
        return sum(several[1:], several[0])

    def away(of: IntegralRange) -> tuple[Array, Array]:
        most = np.maximum(np.abs(of.low - told), np.abs(of.high - told))
        return np.maximum(of.low - told, told - of.high), most

    def scale(size: Array) -> Array:
        return np.maximum(size, least)

    (found,) = decided(summed(enclosed_range), lambda: summed(sampled_range), away, scale, accuracy)
    return found


def _range_of_cost(
    solution: SolutionData, cost: Cost, least: float, accuracy: float, range_of: Range
) -> IntegralRange:
    if not cost.over.integrates:
        when = np.array([interval_of(cost.over, solution.curve).first])
        value = np.array([cost.weight * float(solution.value(cost.term, when).sum())])
        return IntegralRange(value, value, np.abs(value), time=0.0 if np.isfinite(value[0]) else when[0])
    term, own_least = exact_of(cost.term), np.array([least / max(abs(cost.weight), TINY)])
    found = range_of(solution, term, cost.over, own_least, accuracy, together=True)
    return found.times(cost.weight)
