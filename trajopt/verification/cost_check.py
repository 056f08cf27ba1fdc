"""Costs of a solution recomputed from its motion: by the problem's own nodes, and by a finer quadrature."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.arrays import Array
from trajopt.problem.costs_and_constraints import Cost
from trajopt.solution.check_times import Samples, samples, trajectory_of
from trajopt.solution.solution import Solution
from trajopt.terms.smoothed_term import exact_of
from trajopt.verification.equation_report import quadrature

NEGLIGIBLE = 1e-6  # of all costs together: where a cost is smaller, its own size is no measure


@dataclass(frozen=True)
class CostCheck:
    """A cost as the solution tells it, and as its motion gives it.

    value : what was minimized, from the solution
    by_nodes : the same quadrature over the solution's nodes again; NaN where its nodes are not known
    integral : Gauss points, twelve per span, or the value at an end; of a smoothed term that of the exact one
    size : integral of the absolute value
    total : sizes of all costs together, which the error of the integral is compared with
    time : of the first sample that is not finite; 0 where all are
    smoothed : whether a smooth term stood for an exact one
    """

    name: str
    value: float
    by_nodes: float
    integral: float
    size: float
    total: float
    time: float = 0.0
    smoothed: bool = False

    @property
    def changed(self) -> float:
        """How far the recomputed quadrature is from the solution's value, relative; 0 where not known."""
        size = max(self.size, NEGLIGIBLE * self.total)
        return 0.0 if np.isnan(self.by_nodes) else abs(self.by_nodes - self.value) / size

    @property
    def relative(self) -> float:
        """How far the integral is from the solution's value, relative to all costs together."""
        return abs(self.integral - self.value) / self.total


def cost_checks(solution: Solution) -> list[CostCheck]:
    """One entry per name of a cost; those of one name are added."""
    named: dict[str, list[Cost]] = {}
    for cost in solution.problem.costs:
        named.setdefault(cost.name, []).append(cost)
    if not named:
        return []
    times, weights, _ = quadrature(solution)
    nodes, trajectory = samples(solution)[0], trajectory_of(solution)
    # Values at an end are taken from the first and the last node, which the masks of ends look for.
    several = [cost.term for cost in solution.problem.costs]
    exact = [exact_of(term) for term in several]
    dense, own = solution.values(exact, times), solution.values(several, nodes.times)
    here, found = Samples.at(solution.curve, times), []
    for name, costs in named.items():
        fine, by_nodes, size, bad = 0.0, 0.0, 0.0, 0.0
        for cost in costs:
            at_nodes = cost.weight * own[cost.term.quantity].sum(axis=1)
            if cost.over.integrates:
                integrand = cost.weight * dense[exact_of(cost.term).quantity].sum(axis=1)
                inside = weights * cost.over.mask(here)
                when, parts = times, inside * integrand
                T = solution.curve.durations[nodes.arc]
            else:
                mask = cost.over.mask(nodes)
                when, parts, T = nodes.times[mask], at_nodes[mask], np.ones(nodes.times.size)
            fine, size = fine + float(parts.sum()), size + float(np.abs(parts).sum())
            bad = bad or _first_bad(when, parts)
            if trajectory is None:
                by_nodes = np.nan
            else:
                by_nodes += float((cost.over.cost_weights(trajectory) * T * at_nodes).sum())
        value = float(solution.cost_terms.get(name, np.nan))
        smoothed = any(exact_of(cost.term) is not cost.term for cost in costs)
        found.append(CostCheck(name, value, by_nodes, fine, size, size, bad, smoothed))
    total = max(float(np.nansum([check.size for check in found])), np.finfo(float).tiny)
    return [replace(check, total=total) for check in found]


def _first_bad(times: Array, values: Array) -> float:
    bad = np.flatnonzero(~np.isfinite(values))
    return float(times[bad[0]]) if bad.size else 0.0
