"""What the walk depends on: speed and step length, control points and nodes, the start of the search."""

from __future__ import annotations

import time
from typing import Any

import trajopt
from benchmarks.gait.runs import recommended, solved
from problems import gait
from problems.human.assessment.slip import slip

SPEEDS = (0.8, 1.0, 1.2, 1.4, 1.6)  # m/s
LENGTHS = (0.5, 0.6, 0.7, 0.8)  # m
CONTROL_POINTS = (6, 8, 10)
NODES_PER_SPAN = (5, 7, 9, 13)
STARTS, SPREAD = 10, 0.1


def row(walk: trajopt.Solution, cpu: float) -> dict[str, Any]:
    return {
        "objective": walk.objective,
        "effort": float(walk.cost_terms["dynamic effort"]),
        "per_metre": walk.cost_terms["dynamic effort"] / walk.problem.recipe.parameters["step_length"],  # type: ignore[union-attr]
        "iterations": walk.iterations,
        "status": walk.status.name.lower(),
        "converged": walk.converged,
        "variables": walk.n_variables,
        "rows": walk.n_constraints,
        "cpu_seconds": cpu,
        "violation": walk.verify().max_violation_dense,
        "slip": max(slip(walk).values()),
    }


def measured(**parameters: Any) -> dict[str, Any]:
    """One cold solve with its CPU seconds; the parameters stand beside the result."""
    began = time.process_time()
    walk = solved(**parameters)
    return parameters | row(walk, time.process_time() - began)


def sweep() -> list[dict[str, Any]]:
    """Effort over speed and step length, every walk from the measured start."""
    return [told(measured(speed=speed, step_length=length)) for speed in SPEEDS for length in LENGTHS]


def control_points() -> list[dict[str, Any]]:
    """Effort and seconds for more control points, and for fewer or more nodes per span of the default."""
    found = [told(measured(intervals=count - 3)) for count in CONTROL_POINTS]
    return found + [told(measured(nodes_per_span=count)) for count in NODES_PER_SPAN]


def starts() -> dict[str, Any]:
    """Ten perturbed starts, and the one from standing upright."""
    problem = gait.build()
    table = trajopt.multistart(problem, STARTS, recommended(problem), processes=1, spread=SPREAD)
    print(table, flush=True)
    names = ("seed", "status", "converged", "objective", "iterations", "seconds", "error")
    rows = [{name: getattr(start, name) for name in names} for start in table.starts]
    return {"perturbed": rows, "optima": list(table.optima), "standing": told(measured(start="standing"))}


def told(result: dict[str, Any]) -> dict[str, Any]:
    print(result, flush=True)
    return result
