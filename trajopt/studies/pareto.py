"""Pareto front of several costs by weighted sums: one solve per weight, each from the solution before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.solution.solution import Solution
from trajopt.solve import solve
from trajopt.splines.gauss_rules import gauss


@dataclass(frozen=True, eq=False)
class ParetoPoint:
    """One point of the front: its weight, the unweighted value of every cost, and the solution."""

    weight: float
    costs: Mapping[str, float]
    solution: Solution


def pareto_front(
    build: Callable[[float], Any], weights: Sequence[float], terms: Mapping[str, Any], solver: Any = None
) -> tuple[ParetoPoint, ...]:
    """Solve build(weight) for every weight, each from the answer before it.

    terms : name -> term, what is reported of every solution: its integral over the path, or the duration.
    Points that did not converge are kept, with their status.
    """
    points: list[ParetoPoint] = []
    for weight in weights:
        problem = build(float(weight))
        if points and points[-1].solution.converged:
            problem.guess(points[-1].solution)
        solution = solve(problem, solver)
        costs = {name: _value(solution, term) for name, term in terms.items()}
        points.append(ParetoPoint(float(weight), costs, solution))
    return tuple(points)


def _value(solution: Solution, term: Any) -> float:
    """Integral of a term over the motion by 5-point Gauss rules between the nodes; durations by value."""
    if term.quantity == "duration":
        return solution.duration
    nodes = np.unique(solution.node_times)
    points, weights = gauss(5)
    lengths = np.diff(nodes)
    times = (nodes[:-1, None] + lengths[:, None] * points).ravel()
    return float(solution.value(term, times).sum(axis=-1) @ np.outer(lengths, weights).ravel())
