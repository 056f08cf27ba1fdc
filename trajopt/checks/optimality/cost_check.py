"""Costs of a solution computed again from its motion: by the problem's own nodes, and as exact integrals.

Reports compare the integral of a quadrature with the solution's value; certificates the enclosure of it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_result import AT_TIMES, CheckResult
from trajopt.checks.check_times import interval_of, node_samples, trajectory_of
from trajopt.checks.integral_checks import (
    INTEGRAL_ACCURACY,
    IntegralRange,
    MeasuredViolation,
    decided,
    enclosed_range,
    sampled_range,
)
from trajopt.checks.optimality.cancellation import size_of_parts
from trajopt.problem.costs_and_constraints import Cost
from trajopt.solution.solution import SolutionData
from trajopt.terms.nonsmooth import exact_of

NEGLIGIBLE_COST = 1e-6  # of the costs together: smaller ones are compared with this, their size is no measure
LEAST_COST = 1e-12  # in the cost's own unit: the same where the objective is zero
CANCELLED = NEGLIGIBLE_COST**2  # of the size of their parts: costs below are zero, as the square of 1e-6 is
MISSED = INTEGRAL_ACCURACY**2  # of the size of their parts: the square of what equations may be missed by

RangeOf = Callable[..., IntegralRange]  # `enclosed_range` or `sampled_range`


@dataclass(frozen=True)
class CostCheck:
    """A cost as the solution reports it, and as its motion gives it.

    value : what was minimized, from the solution
    by_nodes : the same quadrature over the solution's nodes again; NaN where its nodes are not known
    integral : by adaptive quadrature, or the value at an end; of a smoothed term that of the exact one
    size : integral of the absolute value
    total : sizes of all costs together, which the error of the integral is compared with; at least `zero`
    time : of the first sample that is not finite; 0 where all are
    smoothed : whether a smooth term stood for an exact one
    error : of the integral, estimated by the difference of two rules
    zero : where all costs are zero because their parts cancel, 1e-4 of the size of the parts; 0 elsewhere
    """

    name: str
    value: float
    by_nodes: float
    integral: float
    size: float
    total: float
    time: float = 0.0
    smoothed: bool = False
    error: float = 0.0
    zero: float = 0.0

    @property
    def changed(self) -> float:
        """How far the recomputed quadrature is from the solution's value, relative; 0 where not known."""
        size = max(self.size, NEGLIGIBLE_COST * self.total)
        return 0.0 if np.isnan(self.by_nodes) else abs(self.by_nodes - self.value) / size

    @property
    def relative(self) -> float:
        """How far the integral may be from the solution's value, relative to all costs together."""
        return (abs(self.integral - self.value) + self.error) / self.total


def cost_checks(solution: SolutionData) -> list[CostCheck]:
    """One entry per name of a cost; those of one name are added.

    Costs that are zero have no size of their own: a spring may give all the torque, so that what is left to
    the motor is rounding at the nodes and the error of the spline between them. Such a cost is an equation,
    and is held to what equations are held to, relative to the size of its parts (`size_of_parts`).
    """
    by_nodes, found = _by_nodes(solution), []
    reported = float(np.nansum(np.abs(list(solution.cost_terms.values()))))
    for name, costs in _by_name(solution).items():
        exact = _summed(solution, costs, reported, INTEGRAL_ACCURACY, sampled_range)
        low, high, size = (float(each[0]) for each in (exact.low, exact.high, exact.size))
        smoothed = any(c.over.integrates and exact_of(c.term) is not c.term for c in costs)
        value, integral = float(solution.cost_terms.get(name, np.nan)), 0.5 * (low + high)
        sizes = {"size": size, "total": size, "error": 0.5 * (high - low)}
        found.append(
            CostCheck(name, value, by_nodes[name], integral, **sizes, time=exact.time, smoothed=smoothed)
        )
    total = max(float(np.nansum([check.size for check in found])), np.finfo(float).tiny)
    zero = _zero(solution, [replace(check, total=total) for check in found])
    return [replace(check, total=max(total, zero), zero=zero) for check in found]


def _by_nodes(solution: SolutionData) -> dict[str, float]:
    """The costs of every name by the quadrature over the solution's nodes; NaN where these are not known."""
    costs, trajectory = solution.problem.costs, trajectory_of(solution)
    found = dict.fromkeys(_by_name(solution), 0.0 if trajectory else np.nan)
    if trajectory is None or not costs:
        return found
    nodes = node_samples(solution)
    values = solution.values([cost.term for cost in costs], nodes.times)
    for cost in costs:
        at_nodes = cost.weight * values[cost.term.quantity].sum(axis=1)
        by_time = solution.curve.durations[nodes.arc] * at_nodes if cost.over.integrates else at_nodes
        found[cost.name] += float(cost.over.cost_weights(trajectory) @ by_time)
    return found


def _zero(solution: SolutionData, found: Sequence[CostCheck]) -> float:
    """What `CostCheck.zero` says; looked at only where something is wrong by the costs' own sizes."""
    if not any(c.relative > INTEGRAL_ACCURACY or c.changed > NEGLIGIBLE_COST for c in found):
        return 0.0
    parts = size_of_parts(solution)
    at_nodes = sum(max(abs(c.value), abs(np.nan_to_num(c.by_nodes))) for c in found)
    return MISSED * parts if at_nodes <= CANCELLED * parts else 0.0


def cost_differences(solution: SolutionData) -> Iterator[CheckResult]:
    """The difference of every named cost to its integral, or to its value at an end, without smoothing.

    Its scale is the integral of the absolute value of the sum of the cost's components, at least 1e-6 of the
    objective.
    """
    for name, costs in _by_name(solution).items():
        reported = float(solution.cost_terms.get(name, np.nan))
        integrates = any(cost.over.integrates for cost in costs)
        found = _difference(solution, costs, reported, INTEGRAL_ACCURACY if integrates else AT_TIMES)
        result = found.result(f"cost '{name}'", "", "", (0.0, 0.0))
        yield result if integrates else replace(result, evidence="evaluated")


def _difference(
    solution: SolutionData, costs: list[Cost], reported: float, accuracy: float
) -> MeasuredViolation:
    """How far some costs together are from what a solution reports of them."""
    least = max(NEGLIGIBLE_COST * abs(solution.objective), LEAST_COST)

    def summed(range_of: RangeOf) -> IntegralRange:
        return _summed(solution, costs, least, accuracy, range_of)

    def away(of: IntegralRange) -> tuple[Array, Array]:
        most = np.maximum(np.abs(of.low - reported), np.abs(of.high - reported))
        return np.maximum(of.low - reported, reported - of.high), most

    def scale(size: Array) -> Array:
        return np.maximum(size, least)

    (found,) = decided(summed(enclosed_range), lambda: summed(sampled_range), away, scale, accuracy)
    return found


def _by_name(solution: SolutionData) -> dict[str, list[Cost]]:
    """The costs of every name, which are added."""
    named: dict[str, list[Cost]] = {}
    for cost in solution.problem.costs:
        named.setdefault(cost.name, []).append(cost)
    return named


def _summed(
    solution: SolutionData, costs: Sequence[Cost], least: float, accuracy: float, range_of: RangeOf
) -> IntegralRange:
    """The range of some costs together: integrals of terms without smoothing, and values at an end."""
    found = IntegralRange(np.zeros(1), np.zeros(1), np.zeros(1))
    for cost in costs:
        if cost.over.integrates:
            own_least = np.array([least / max(abs(cost.weight), np.finfo(float).tiny)])
            own = range_of(solution, exact_of(cost.term), cost.over, own_least, accuracy, together=True)
            found += own.times(cost.weight)
        else:
            when = np.array([interval_of(cost.over, solution.curve).first])
            value = np.array([cost.weight * float(solution.value(cost.term, when).sum())])
            found += IntegralRange(
                value, value, np.abs(value), time=0.0 if np.isfinite(value[0]) else when[0]
            )
    return found
