"""Influences on a gait: speed and step length, control points and nodes, the start of the search.

Each study is of one cost, "sourced" or "thesis", and without limit nodes but for `between_nodes`.
"""

from __future__ import annotations

import time
from typing import Any, Literal

import trajopt
from benchmarks.gait.runs import recommended, shown, solved
from benchmarks.gait.size import Size
from problems import gait
from problems.human.assessment.score import mean_correlation, scores
from problems.human.assessment.slip import slip

SPREAD = 0.1
WITHOUT_AND_WITH: dict[str, Literal["auto"] | None] = {"plain": None, "refined": "auto"}  # limit nodes


def row(solution: trajopt.Solution, cpu: float) -> dict[str, Any]:
    """Results of a solve; per metre stands the whole cost of sources, of the thesis's the effort."""
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


def measured(size: Size, **parameters: Any) -> dict[str, Any]:
    """One solve from the measured start unless given, with its CPU seconds; parameters beside the result."""
    began = time.process_time()
    solution = solved(size, **{"contact": "imposed", "start": "measured", **parameters})
    return parameters | row(solution, time.process_time() - began)


def sweep(cost: str, size: Size) -> list[dict[str, Any]]:
    """Cost over speed and step length, every gait from the measured start."""
    asked = [{"speed": speed, "step_length": length} for speed in size.speeds for length in size.lengths]
    return [shown(measured(size, cost=cost, **each)) for each in asked]


def between_nodes(cost: str, size: Size) -> list[dict[str, Any]]:
    """Every gait of the sweep without limit nodes and with them: verdicts, violations, nodes, CPU seconds."""
    found = []
    for speed in size.speeds:
        for length in size.lengths:
            problem = gait.build(
                cost=cost, contact="imposed", speed=speed, step_length=length, start="measured"
            )
            rows = {}
            for name, refine in WITHOUT_AND_WITH.items():
                began = time.process_time()
                solver = size.solver(problem)
                solution = trajopt.solve(problem, solver, refine=refine, starts=1, progress="silent")
                rows[name] = verified(solution, time.process_time() - began)
            found.append(shown({"speed": speed, "step_length": length, **rows}))
    return found


def verified(solution: trajopt.Solution, cpu: float) -> dict[str, Any]:
    """Statements of `verify` on a gait, and its time."""
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


def control_points(cost: str, size: Size) -> list[dict[str, Any]]:
    """Cost and seconds for more control points, and for fewer or more nodes per span of the default."""
    found = [shown(measured(size, cost=cost, intervals=count - 3)) for count in size.control_points]
    return found + [shown(measured(size, cost=cost, nodes_per_span=count)) for count in size.nodes_per_span]


def starts(cost: str, size: Size) -> dict[str, Any]:
    """Ten perturbed starts, and the one from standing upright."""
    problem = gait.build(cost=cost, contact="imposed", start="measured")
    table = trajopt.multistart(problem, size.starts, recommended(problem, size), processes=1, spread=SPREAD)
    print(table, flush=True)
    names = ("seed", "status", "converged", "objective", "iterations", "seconds", "error")
    rows = [{name: getattr(start, name) for name in names} for start in table.starts]
    return {
        "perturbed": rows,
        "optima": list(table.optima),
        "standing": shown(measured(size, cost=cost, start="standing")),
    }
