"""Several aims at once: weights that compare like with like, and the front of best compromises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.errors import OptionError
from trajopt.solution import Solution


@dataclass(frozen=True, eq=False)
class ParetoPoint:
    """One compromise: its weight, what every cost is worth without weight, and the solution."""

    weight: float
    costs: Mapping[str, float]
    solution: Solution


def weighted(problem: Any, costs: Mapping[str, tuple[Any, float, float]]) -> None:
    """Minimize sum_c w_c J_c / J_c,0 with weights that sum to one (Barman, thesis, eq. 4.18).

    costs : name -> (term, weight w_c >= 0, typical size J_c,0 > 0). Raises OptionError otherwise.
    """
    weights = np.array([weight for _, weight, _ in costs.values()])
    sizes = np.array([size for *_, size in costs.values()])
    if np.any(weights < 0.0) or not np.isclose(weights.sum(), 1.0) or np.any(sizes <= 0.0):
        raise OptionError(
            f"weights are {weights.tolist()} and sizes {sizes.tolist()}: "
            "give weights that sum to 1 and sizes above 0"
        )
    for name, (term, weight, size) in costs.items():
        if weight > 0.0:
            problem.minimize(term, weight=weight / size, name=name)


def pareto_front(
    build: Callable[[float], Any], weights: Sequence[float], terms: Mapping[str, Any], solver: Any = None
) -> tuple[ParetoPoint, ...]:
    """Solve build(weight) for every weight, each from the answer before it.

    terms : name -> term, what is reported of every solution: its integral over the path, or the duration.
    Points that did not converge are kept, with their status.
    """
    from trajopt.solve import solve

    points: list[ParetoPoint] = []
    for weight in weights:
        problem = build(float(weight))
        if points and points[-1].solution.converged:
            problem.guess(points[-1].solution)
        solution = solve(problem, solver)
        costs = {name: _worth(solution, term) for name, term in terms.items()}
        points.append(ParetoPoint(float(weight), costs, solution))
    return tuple(points)


def _worth(solution: Solution, term: Any) -> float:
    """Integral of a term over the motion by 5-point Gauss rules between the nodes; durations by value."""
    if term.quantity == "duration":
        return solution.duration
    nodes = np.unique(solution.node_times)
    points, unit = np.polynomial.legendre.leggauss(5)
    half = 0.5 * np.diff(nodes)
    times = (nodes[:-1, None] + half[:, None] * (points + 1.0)).ravel()
    return float(solution.value(term, times).sum(axis=-1) @ np.outer(half, unit).ravel())
