"""Pareto front of several costs by weighted sums: one solve per weight, each from the solution before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from trajopt.api.solve import solve
from trajopt.base.errors import ProblemError
from trajopt.checks.path_equations import quadrature
from trajopt.graph.protocols import Term
from trajopt.problem.problem import Problem
from trajopt.solution.solution import Solution
from trajopt.solvers.solver import Solver
from trajopt.studies.many.point import StudyPoint
from trajopt.studies.many.sweep import sweep
from trajopt.studies.workers.workers import Where

WEIGHT = "weight"


@dataclass(frozen=True, eq=False)
class ParetoPoint:
    """One point of the front: its weight, the unweighted value of every cost, and the solution."""

    weight: float
    costs: Mapping[str, float]
    solution: Solution


def pareto_front(
    build: Callable[[float], Problem],
    weights: Sequence[float],
    terms: Mapping[str, Term],
    solver: Solver | None = None,
    *,
    processes: int | None = None,
    executor: Where | None = None,
) -> tuple[ParetoPoint, ...]:
    """Solve build(weight) for every weight, each from the answer before it.

    terms : name -> term, what is reported of every solution: its integral over the path, or the duration.
    processes, executor : where they are solved, as in `sweep`, which cuts the front into as many pieces; by
        default one after the other in this process
    Points that did not converge are kept, with their status. What building or solving one raises is raised,
    by other workers as a ProblemError with its message.
    """
    values = [float(weight) for weight in weights]
    if processes in (None, 1) and executor is None:
        solutions = _in_turn(build, values, solver)
    else:
        study = sweep(
            partial(_at_weight, build), {WEIGHT: values}, solver, processes=processes, executor=executor
        )
        solutions = [_solution_of(point, weight) for point, weight in zip(study.points, values, strict=True)]
    return tuple(
        ParetoPoint(weight, {name: _value(solution, term) for name, term in terms.items()}, solution)
        for weight, solution in zip(values, solutions, strict=True)
    )


def _at_weight(build: Callable[[float], Problem], weight: float) -> Problem:
    return build(weight)


def _in_turn(
    build: Callable[[float], Problem], weights: Sequence[float], solver: Solver | None
) -> list[Solution]:
    solutions: list[Solution] = []
    for weight in weights:
        problem = build(weight)
        if solutions and solutions[-1].converged:
            problem.guess(solutions[-1])
        solutions.append(solve(problem, solver))
    return solutions


def _solution_of(point: StudyPoint, weight: float) -> Solution:
    if point.solution is None:
        raise ProblemError(f"the point of weight {weight:g} has no solution: {point.error or point.status}")
    return point.solution


def _value(solution: Solution, term: Term) -> float:
    """Integral of a term over the motion by Gauss' rule in every span; durations by value."""
    if term.quantity == "duration":
        return solution.duration
    times, weights, _ = quadrature(solution)
    return float(solution.value(term, times).sum(axis=-1) @ weights)
