"""Costs of a solution recomputed from its motion: by the problem's own nodes, and by adaptive quadrature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trajopt.base.arrays import Array
from trajopt.checks.check_times import interval_of, node_samples, trajectory_of
from trajopt.checks.integral_checks import NEGLIGIBLE_COST
from trajopt.checks.optimality.cancellation import size_of_parts
from trajopt.solution.solution import SolutionData
from trajopt.splines.adaptive_quadrature import adaptive_integral
from trajopt.terms.smoothed_term import exact_of

PANELS = 2  # per span, at least: samples are as near as those of constraints between nodes
SHARPNESS = (1e-3, 1e-2)  # of the integral and of its size: estimated errors that are sought, of all costs
MOST_POINTS = 20_000  # as large robots take long
CANCELLED = 1e-12  # of the size of their parts: costs below are zero, as the square of 1e-6 is
MISSED = 1e-4  # of the size of their parts: the square of the 1 % by which equations may be missed
WRONG = 1e-2  # of all costs together: errors below are not worth a closer look at their parts


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
    costs, trajectory = solution.problem.costs, trajectory_of(solution)
    if not costs:
        return []
    # Values at an end are taken from the first and the last node, which the masks of ends look for.
    nodes = node_samples(solution)
    own = solution.values([cost.term for cost in costs], nodes.times)
    T, integrated = solution.curve.durations[nodes.arc], iter(_integrals(solution).T)
    named: dict[str, list[Array]] = {}
    for cost in costs:
        at_nodes = cost.weight * own[cost.term.quantity].sum(axis=1)
        if cost.over.integrates:
            figures, by_nodes = next(integrated), T * at_nodes
        else:
            mask, by_nodes = cost.over.mask(nodes), at_nodes
            bad = nodes.times[mask & ~np.isfinite(at_nodes)]
            figures = np.array(
                [at_nodes[mask].sum(), np.abs(at_nodes[mask]).sum(), 0.0, bad.min(initial=np.inf)]
            )
        recomputed = np.nan if trajectory is None else cost.over.cost_weights(trajectory) @ by_nodes
        named.setdefault(cost.name, []).append(np.append(figures, recomputed))
    found = [_check(solution, name, np.array(figures)) for name, figures in named.items()]
    total = max(float(np.nansum([check.size for check in found])), np.finfo(float).tiny)
    zero = _zero(solution, [replace(check, total=total) for check in found])
    return [replace(check, total=max(total, zero), zero=zero) for check in found]


def _zero(solution: SolutionData, found: Sequence[CostCheck]) -> float:
    """What `CostCheck.zero` says; looked at only where something is wrong by the costs' own sizes."""
    if not any(c.relative > WRONG or c.changed > NEGLIGIBLE_COST for c in found):
        return 0.0
    parts = size_of_parts(solution)
    at_nodes = sum(max(abs(c.value), abs(np.nan_to_num(c.by_nodes))) for c in found)
    return MISSED * parts if at_nodes <= CANCELLED * parts else 0.0


def _check(solution: SolutionData, name: str, figures: Array) -> CostCheck:
    """The costs of one name together; figures : (costs, 5), those of `_integrals` and the value by nodes."""
    integral, size, error, _, by_nodes = map(float, figures.sum(axis=0))
    bad = float(figures[:, 3].min())
    smoothed = any(exact_of(c.term) is not c.term for c in solution.problem.costs if c.name == name)
    value = float(solution.cost_terms.get(name, np.nan))
    time = bad if np.isfinite(bad) else 0.0
    return CostCheck(name, value, by_nodes, integral, size, size, time, smoothed, error)


def _integrals(solution: SolutionData) -> Array:
    """Of all costs that are integrals: integral, size, error and first bad time or infinity, (4, costs)."""
    costs = [cost for cost in solution.problem.costs if cost.over.integrates]
    if not costs:
        return np.zeros((4, 0))
    terms = [exact_of(cost.term) for cost in costs]
    when = [interval_of(cost.over, solution.curve) for cost in costs]

    def integrands(times: Array) -> Array:
        values = solution.values(terms, times)
        found = [
            cost.weight * values[term.quantity].sum(axis=1) for cost, term in zip(costs, terms, strict=True)
        ]
        inside = [(times >= each.first) & (times <= each.last) for each in when]
        return np.where(inside, found, 0.0).T

    knots = solution.knot_times
    edges = np.append(np.linspace(knots[:-1], knots[1:], PANELS, endpoint=False).T, knots[-1])
    reported = float(np.nansum(np.abs(list(solution.cost_terms.values()))))
    least = np.full(len(costs), reported)
    found = adaptive_integral(integrands, edges, SHARPNESS, least, panels=1, most=MOST_POINTS)
    return np.array([found.value, found.size, found.error, np.nan_to_num(found.first_bad, nan=np.inf)])
