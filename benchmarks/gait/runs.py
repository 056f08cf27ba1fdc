"""One walk, solved and measured: sizes, iterations, seconds by part, violations, active constraints."""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import trajopt
from problems import gait

SOLVER = trajopt.Ipopt(tol=1e-4, options={"mu_strategy": "adaptive"})
DEFAULTS: dict[str, Any] = {"time_limit": 120.0}
REPEATS = 3
_TIMING = re.compile(r"^\s*([A-Za-z() ]+?)\.+:\s+[\d.]+ \(sys:\s+[\d.]+ wall:\s+([\d.]+)\)", re.MULTILINE)


def solved(warm: Any = None, options: dict[str, Any] | None = None, **parameters: Any) -> trajopt.Solution:
    """A walk with these parameters of the problem, from its own start or from another walk."""
    problem = gait.build(**parameters)
    if warm is not None:
        problem.guess(warm)
    solver = replace(SOLVER, **DEFAULTS, options={**SOLVER.options, **(options or {})})
    return trajopt.solve(problem, solver, progress="silent")


def default_run(**parameters: Any) -> dict[str, Any]:
    """Everything about one run: the last of several, with the least CPU seconds among them."""
    solved(**parameters)  # compiles
    best, walk, split = np.inf, None, {}
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "ipopt.txt"
            began = time.process_time()
            walk = solved(options=timing_options(log), **parameters)
            seconds = time.process_time() - began
            if seconds < best:
                best, split = seconds, seconds_by_part(walk, log.read_text())
    assert walk is not None
    report = walk.verify()
    return {
        "status": walk.status.name.lower(),
        "variables": walk.n_variables,
        "rows": walk.n_constraints,
        "active": active(walk),
        "iterations": walk.iterations,
        "cpu_seconds": best,
        "effort": walk.objective,
        "violation_nodes": report.max_violation_nodes,
        "violation_dense": report.max_violation_dense,
        "kkt_error": report.kkt_error,
        "split": split,
    }


def timing_options(log: Path) -> dict[str, Any]:
    return {
        "output_file": str(log),
        "file_print_level": 5,
        "print_timing_statistics": "yes",
        "print_level": 0,
    }


def seconds_by_part(walk: trajopt.Solution, log: str) -> dict[str, float]:
    """Wall seconds: our functions and derivatives, their way into IPOPT, its linear algebra, and the rest."""
    told = {name.strip(): float(seconds) for name, seconds in _TIMING.findall(log)}
    ours = coarse_split(walk)
    asked, algebra = told["Function Evaluations"], told["PDSystemSolverTotal"]
    marshalling = max(asked - sum(ours.values()), 0.0)
    rest = max(walk.seconds - asked - algebra, 0.0)
    return {
        **ours,
        "marshalling": marshalling,
        "linear algebra": algebra,
        "rest of IPOPT": rest,
    }


def coarse_split(walk: trajopt.Solution) -> dict[str, float]:
    """Wall seconds inside our own functions and derivatives."""
    kinds = {"functions": ("objective", "rows"), "derivatives": ("gradient", "jacobian", "hessian")}
    return {part: sum(walk.timings[kind] for kind in of) for part, of in kinds.items()}


def active(walk: trajopt.Solution) -> int:
    """Rows and bounds whose multiplier exceeds their distance from the limit, both scaled."""
    nlp, point = trajopt.transcribe(walk.problem), walk.point
    if point is None or point.row_multipliers is None:
        return 0
    rows = nlp.rows(point.y)
    distance = np.minimum(np.abs(rows - nlp.row_lower), np.abs(nlp.row_upper - rows))
    held = int((np.abs(point.row_multipliers) > distance).sum())
    for bound, multipliers in ((nlp.lower, point.lower_multipliers), (nlp.upper, point.upper_multipliers)):
        held += int((np.asarray(multipliers) > np.abs(point.y - bound)).sum())
    return held
