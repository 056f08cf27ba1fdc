"""Steps that can be walked by the cost with sources, and ends of solves that ask for more."""

from __future__ import annotations

import time
from typing import Any

import trajopt
from benchmarks.gait import score
from benchmarks.gait.runs import shown
from benchmarks.gait.size import Size
from problems import gait
from problems.human.assessment.criteria import credibility

IMPOSSIBLE: tuple[dict[str, float], ...] = (
    {"speed": 4.0, "step_length": 0.7},
    {"speed": 1.2, "step_length": 1.2},
    {"speed": 1.6, "step_length": 1.5},
    {"speed": 2.0, "step_length": 0.6, "slope": 0.3, "backpack": 100.0},
    {"speed": 1.2, "step_length": 0.6, "backpack": 150.0},
)
POSSIBLE = {
    "speed": 1.2,
    "step_length": 0.6,
}  # of the smallest size: others take long
TIME_LIMIT = 120.0  # s


def predicted_speeds(size: Size) -> list[dict[str, Any]]:
    """Walks at people's step lengths, and the trial's, refined as by default."""
    steps = [*size.people.items(), (score.AT_TRIAL["speed"], score.AT_TRIAL["step_length"])]
    return [shown(walk(size, speed=v, step_length=length)) for v, length in steps]


def impossible(size: Size) -> list[dict[str, Any]]:
    """Steps that nobody can walk: how each solve ends, after how long, and what its message names."""
    steps = (POSSIBLE, *IMPOSSIBLE)[: size.impossible] if size.impossible else IMPOSSIBLE
    return [shown({"asked": asked, **walk(size, **asked)}) for asked in steps]


def walk(size: Size, **parameters: Any) -> dict[str, Any]:
    """One solve as by default, limit nodes included: outcome, verdict, peaks, CPU seconds."""
    problem = gait.build(**parameters)
    began = time.process_time()
    solution = trajopt.solve(problem, size.solver(problem), progress="silent", time_limit=TIME_LIMIT)
    seconds = time.process_time() - began
    found = {
        "speed": parameters["speed"],
        "step_length": parameters["step_length"],
        "status": solution.status.name.lower(),
        "detail": solution.detail,
        "iterations": sum(len(each.iterations) - 1 for each in solution.journal.histories),
        "cpu_seconds": seconds,
    }
    if not solution.converged:
        return found
    criteria = credibility(solution)
    return found | {
        "objective": solution.objective,
        "verdict": solution.verify().verdict,
        "peaks": [each.value for each in criteria[:3]],
        "knee": next(each.value for each in criteria if each.name == "knee, peak in swing"),
        "not_met": [f"{each.name} {each.value:.3g}" for each in criteria if not each.met],
    }
