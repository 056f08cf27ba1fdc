"""What a gait depends on: speed and step length, control points and nodes, the start of the search.

Each study is of one cost, "sourced" or "thesis", and without limit nodes but for `between_nodes`.
"""

from __future__ import annotations

import time
from typing import Any

import trajopt
from benchmarks.gait.runs import recommended, shown, solved
from problems import gait
from problems.human.assessment.score import mean_correlation, scores
from problems.human.assessment.slip import slip

SPEEDS = (0.8, 1.0, 1.2, 1.4, 1.6)  # m/s
LENGTHS = (0.5, 0.6, 0.7, 0.8)  # m
CONTROL_POINTS = (6, 8, 10)
NODES_PER_SPAN = (5, 7, 9, 13)
STARTS, SPREAD = 10, 0.1


def row(solution: trajopt.Solution, cpu: float) -> dict[str, Any]:
    """What a solve found; per metre stands the whole cost of sources, of the thesis's the effort."""
    assert solution.recipe is not None
    known, effort = solution.recipe.parameters, float(solution.cost_terms["dynamic effort"])
    return {
        "objective": solution.objective,
        "effort": effort,
        "per_metre": (effort if known["cost"] == "thesis" else solution.objective) / known["step_length"],
        "iterations": solution.iterations,
        "status": solution.status.name.lower(),
        "converged": solution.converged,
        "variables": solution.n_variables,
        "rows": solution.n_constraints,
        "cpu_seconds": cpu,
        "violation": solution.verify().max_violation_dense,
        "slip": max(slip(solution).values()),
        "correlation": mean_correlation(scores(solution)),
    }


def measured(**parameters: Any) -> dict[str, Any]:
    """One solve from the measured start unless given, with its CPU seconds; parameters beside the result."""
    began = time.process_time()
    solution = solved(**{"start": "measured", **parameters})
    return parameters | row(solution, time.process_time() - began)


def sweep(cost: str) -> list[dict[str, Any]]:
    """Cost over speed and step length, every gait from the measured start."""
    asked = [{"speed": speed, "step_length": length} for speed in SPEEDS for length in LENGTHS]
    return [shown(measured(cost=cost, **each)) for each in asked]


def between_nodes(cost: str) -> list[dict[str, Any]]:
    """Every gait of the sweep without limit nodes and with them: verdicts, violations, nodes, CPU seconds."""
    found = []
    for speed in SPEEDS:
        for length in LENGTHS:
            problem = gait.build(cost=cost, speed=speed, step_length=length, start="measured")
            began = time.process_time()
            plain = trajopt.solve(problem, refine=None, starts=1, progress="silent")
            solved_at = time.process_time()
            assert problem.refinement is not None and problem.solver is not None
            refined = problem.refinement.refine(plain, problem.solver)
            seconds = solved_at - began, time.process_time() - began
            rows = [verified(solution, cpu) for solution, cpu in zip((plain, refined), seconds, strict=True)]
            found.append(shown({"speed": speed, "step_length": length, "plain": rows[0], "refined": rows[1]}))
    return found


def verified(solution: trajopt.Solution, cpu: float) -> dict[str, Any]:
    """What `verify` says of a gait, and what it took."""
    report = solution.verify()
    return {
        "verdict": report.verdict,
        "reason": report.reason,
        "violation": max(v.dense_relative for v in report.violations),
        "limit_nodes": sum(map(len, solution.limit_points)),
        "iterations": solution.iterations,
        "objective": solution.objective,
        "cpu_seconds": cpu,
    }


def control_points(cost: str) -> list[dict[str, Any]]:
    """Cost and seconds for more control points, and for fewer or more nodes per span of the default."""
    found = [shown(measured(cost=cost, intervals=count - 3)) for count in CONTROL_POINTS]
    return found + [shown(measured(cost=cost, nodes_per_span=count)) for count in NODES_PER_SPAN]


def starts(cost: str) -> dict[str, Any]:
    """Ten perturbed starts, and the one from standing upright."""
    problem = gait.build(cost=cost, start="measured")
    table = trajopt.multistart(problem, STARTS, recommended(problem), processes=1, spread=SPREAD)
    print(table, flush=True)
    names = ("seed", "status", "converged", "objective", "iterations", "seconds", "error")
    rows = [{name: getattr(start, name) for name in names} for start in table.starts]
    return {
        "perturbed": rows,
        "optima": list(table.optima),
        "standing": shown(measured(cost=cost, start="standing")),
    }
