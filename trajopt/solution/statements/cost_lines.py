"""The integrals of a problem's costs on a motion: what was minimized against a finer quadrature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from trajopt.arrays import Array
from trajopt.problem.costs_and_constraints import Cost
from trajopt.solution.statements.enclosed_integrals import decided, integral_enclosure
from trajopt.solution.statements.statement_line import AT_TIMES, Evidence, StatementLine
from trajopt.solution.statements.statement_times import interval_of
from trajopt.splines.gauss_rules import gauss
from trajopt.splines.node_sets import NodeSet
from trajopt.terms.smoothed_term import exact_of

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

POINTS = 12  # Gauss points per span
NEGLIGIBLE = 1e-6  # of the objective: what smaller costs are compared with
TINY = float(np.finfo(float).tiny)
LEAST = 1e-12  # in the cost's own unit: the same where the objective is zero
QUADRATURE = 1e-2  # of the integral of the absolute value: the tolerance of an integral


def cost_lines(solution: Solution) -> Iterator[StatementLine]:
    """The difference of every named cost to its integral, or to its value at an end, without smoothing."""
    named: dict[str, list[Cost]] = {}
    for cost in solution.problem.costs:
        named.setdefault(cost.name, []).append(cost)
    for name, costs in named.items():
        value = size = resolution = 0.0
        bad: list[float] = []
        for cost in costs:
            times, weights = fine_quadrature(solution, cost.over)
            term = exact_of(cost.term) if cost.over.integrates else cost.term
            parts = weights * cost.weight * solution.value(term, times).sum(axis=1)
            bad += times[~np.isfinite(parts)].tolist()
            value, size = value + float(parts.sum()), size + float(np.abs(parts).sum())
            resolution = max(resolution, float(np.diff(times).max(initial=0.0)))
        integrates = any(cost.over.integrates for cost in costs)
        scale = max(size, NEGLIGIBLE * abs(solution.objective), LEAST)
        evidence: Evidence = "sampled" if integrates else "evaluated"
        tolerance = (QUADRATURE if integrates else AT_TIMES) * scale
        told = float(solution.cost_terms.get(name, np.nan))
        miss, time = abs(value - told), bad[0] if bad else 0.0
        enclosed = _enclosed_value(solution, costs, tolerance) if integrates and not bad else None
        if enclosed is not None:
            away = abs(enclosed[0] - told)
            miss, evidence = decided(miss, (away - enclosed[1], away + enclosed[1]), tolerance)
            resolution = resolution if evidence == "sampled" else 0.0
        label = f"cost '{name}'"
        yield StatementLine(label, "", miss, time, tolerance, evidence, resolution, scale, equation=True)


def _enclosed_value(solution: Solution, costs: list[Cost], tolerance: float) -> tuple[float, float] | None:
    """(value, error) of some costs together, with smoothed terms exact; None where one has no enclosure."""
    value = error = 0.0
    for cost in costs:
        if not cost.over.integrates:
            times, _ = fine_quadrature(solution, cost.over)
            value += cost.weight * float(solution.value(cost.term, times).sum())
            continue
        term, factor = exact_of(cost.term), abs(cost.weight)
        width = solution.problem.width_of_term(term)
        found = integral_enclosure(
            solution, term, cost.over, np.full(width, tolerance / (max(factor, TINY) * width))
        )
        if found is None:
            return None
        value, error = value + cost.weight * float(found[0].sum()), error + factor * float(found[1].sum())
    return value, error


def fine_quadrature(solution: Solution, over: NodeSet) -> tuple[Array, Array]:
    """Times and weights: Gauss points in every span within a part of the motion, or its one time."""
    curve = solution.curve
    when = interval_of(over, curve)
    if when.is_time:
        return np.array([when.first]), np.ones(1)
    knots = curve.knot_times
    edges = np.unique(np.concatenate([[when.first, when.last], knots]))
    edges = edges[(edges >= when.first) & (edges <= when.last)]
    points, weights = gauss(POINTS)
    lengths = np.diff(edges)
    times = edges[:-1, None] + lengths[:, None] * points
    return times.ravel(), (lengths[:, None] * weights).ravel()
