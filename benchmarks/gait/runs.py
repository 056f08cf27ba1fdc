"""One gait, solved and measured: sizes, iterations, seconds by part, violations, active constraints."""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

import trajopt
from benchmarks.gait.size import Size
from problems import gait
from problems.human.assessment.slip import slip
from trajopt.solvers.solver import Program, Result, Run, WarmStart
from trajopt.transcription.transcribe import transcribe

TIME_LIMIT = 120.0  # s
_TIMING = re.compile(r"^\s*([A-Za-z() ]+?)\.+:\s+[\d.]+ \(sys:\s+[\d.]+ wall:\s+([\d.]+)\)", re.MULTILINE)


def solved(size: Size, logs: list[str] | None = None, **parameters: Any) -> trajopt.Solution:
    """A gait with these parameters, by the solver that the problem recommends, without limit nodes."""
    problem = gait.build(**parameters)
    solver = recommended(problem, size)
    if logs is not None:
        own = {part.name: getattr(solver.solver, part.name) for part in fields(trajopt.Ipopt)}
        solver = replace(solver, solver=Logged(**own, logs=logs))
    return trajopt.solve(problem, solver, refine=None, starts=1, progress="silent")


def recommended(problem: trajopt.Problem, size: Size) -> trajopt.ConstraintGeneration:
    """The solver that the problem recommends, with a time limit."""
    solver = size.solver(problem) or problem.solver
    assert isinstance(solver, trajopt.ConstraintGeneration)
    return replace(solver, time_limit=TIME_LIMIT)


@dataclass(frozen=True)
class Logged(trajopt.Ipopt):
    """IPOPT whose own log is kept, one text for every solve."""

    logs: list[str] = field(default_factory=list)

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "ipopt.txt"
            own: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(trajopt.Ipopt)}
            own["options"] = {**self.options, **timing_options(log)}
            plain = trajopt.Ipopt(**own)
            result = plain.solve(nlp, start, run)
            self.logs.append(log.read_text())
        return result


def default_run(cost: str, size: Size) -> dict[str, Any]:
    """The default step by one cost with imposed contact: the last of several runs, the least CPU seconds."""
    solved(size, cost=cost, contact="imposed")  # compiles
    best, solution, split = np.inf, None, {}
    for _ in range(size.repeats):
        logs: list[str] = []
        began = time.process_time()
        solution = solved(size, logs, cost=cost, contact="imposed")
        seconds = time.process_time() - began
        if seconds < best:
            best, split = seconds, seconds_by_part(solution, "\n".join(logs))
    assert solution is not None
    report = solution.verify()
    return {
        "status": solution.status.name.lower(),
        "variables": solution.n_variables,
        "rows": solution.n_constraints,
        "active": active_count(solution),
        "kept": solution.detail.rpartition("; ")[2],
        "iterations": solution.iterations,
        "cpu_seconds": best,
        "objective": solution.objective,
        "effort": float(solution.cost_terms["dynamic effort"]),
        "violation_nodes": report.max_violation_nodes,
        "violation_dense": report.max_violation_dense,
        "kkt_error": report.kkt_error,
        "slip": max(slip(solution).values()),
        "split": split,
    }


def active_count(solution: trajopt.Solution) -> int:
    """Number of rows and unknowns of the program whose multiplier is larger than their distance to the bound.

    Both scaled. 0 without multipliers of the problem's own program, as after a certified search.
    """
    point = solution.point
    if point is None or point.row_multipliers is None or solution.certificate is not None:
        return 0
    nlp = transcribe(solution.problem)
    rows = nlp.rows(point.y)
    distance = np.minimum(np.abs(rows - nlp.row_lower), np.abs(nlp.row_upper - rows))
    held = int((np.abs(point.row_multipliers) > distance).sum())
    for bound, multipliers in ((nlp.lower, point.lower_multipliers), (nlp.upper, point.upper_multipliers)):
        held += int((np.asarray(multipliers) > np.abs(point.y - bound)).sum())
    return held


def timing_options(log: Path) -> dict[str, Any]:
    return {
        "output_file": str(log),
        "file_print_level": 5,
        "print_timing_statistics": "yes",
        "print_level": 0,
    }


def seconds_by_part(solution: trajopt.Solution, log: str) -> dict[str, float]:
    """Wall seconds of all rounds: our functions and derivatives, their way into IPOPT, its algebra, rest."""
    told: dict[str, float] = {}
    for name, seconds in _TIMING.findall(log):  # once for each round
        told[name.strip()] = told.get(name.strip(), 0.0) + float(seconds)
    ours = coarse_split(solution)
    asked, algebra = told["Function Evaluations"], told["PDSystemSolverTotal"]
    marshalling = max(asked - sum(ours.values()), 0.0)
    rest = max(solution.seconds - asked - algebra, 0.0)
    return {
        **ours,
        "marshalling": marshalling,
        "linear algebra": algebra,
        "rest": rest,
    }


def coarse_split(solution: trajopt.Solution) -> dict[str, float]:
    """Wall seconds inside our own functions and derivatives."""
    kinds = {"functions": ("objective", "rows"), "derivatives": ("gradient", "jacobian", "hessian")}
    return {part: sum(solution.timings[kind] for kind in of) for part, of in kinds.items()}


def shown(result: dict[str, Any]) -> dict[str, Any]:
    """The same result, printed as soon as it is there."""
    print(result, flush=True)
    return result
