"""The scoreboard of walking: predicted curves beside measured ones, null models, removals, starts and meshes.

All at the speed and step length of the trial with eight control points unless said, one solve each from the
measured start, limit nodes left out.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import trajopt
from benchmarks.gait.size import Size
from problems import gait
from problems.human.assessment.criteria import credibility
from problems.human.assessment.measured import TRIAL, WINTER, measured
from problems.human.assessment.score import TEN, Score, mean_correlation, scores, scores_of
from problems.human.gait.cycle import gait_cycle
from problems.human.gait.formulation import FORMULATIONS
from problems.human.gait.step import Step
from trajopt.refinement.starts.perturbed_guess import perturbed

AT_TRIAL: dict[str, Any] = {"speed": 1.253, "step_length": 0.717, "intervals": 5}
AT_WINTER: dict[str, Any] = {"speed": 1.325, "step_length": 0.72, "intervals": 5}
OURS: dict[str, Any] = {"cost": "sourced", "contact": "imposed", "start": "measured"}
REMOVALS: dict[str, dict[str, Any]] = {
    "passive moments and springs": {"springs": False},
    "mechanical power": {"power": 0.0},
    "steadiness of head and pelvis": {"steadiness": 0.0},
    "rate of leg forces": {"force_rate": 0.0},
    "opposing force of the legs": {"split": "time"},
    "swing clearance": {"clearance": 0.0},
    "flat soles": {"sole": 0.0},
    "toe-out": {"toe_out": 0.0},
    "elbows beside the trunk": {"without": "arms beside trunk"},
}
REMOVALS["all nine"] = {name: value for left in REMOVALS.values() for name, value in left.items()}
SPREAD = 0.1


def scoreboard(size: Size) -> dict[str, Any]:
    """Ten starts, the thesis's cost, Winter's speed, null models, and what is removed one by one."""
    seeds = [headlined(f"start {seed}", row(size, seed, **AT_TRIAL, **OURS)) for seed in range(size.starts)]
    return {
        "ours": best(seeds),
        "starts": seeds,
        "thesis": headlined("thesis", row(size, cost="thesis", **AT_TRIAL)),
        "winter": headlined("at Winter's speed", row(size, source=WINTER, **AT_WINTER, **OURS)),
        "nulls": null_models(),
        "removals": {
            name: headlined(name, row(size, **AT_TRIAL, **OURS, **left))
            for name, left in list(REMOVALS.items())[: size.removals]
        },
    }


def meshes(size: Size) -> list[dict[str, Any]]:
    """The walk with more control points."""
    rows = [
        headlined(f"{n + 3} points", row(size, **dict(AT_TRIAL, **OURS, intervals=n))) for n in size.meshes
    ]
    return [each | {"points": n + 3} for n, each in zip(size.meshes, rows, strict=True)]


def preferred_lengths(size: Size) -> list[dict[str, Any]]:
    """Walks over step lengths around the one that people prefer, at each speed."""
    found = []
    for speed, people in size.people.items():
        for part in size.parts_of_length:
            walk = row(size, speed=speed, step_length=part * people, intervals=5, **OURS)
            found.append(headlined(f"{speed} m/s, {part * people:.3f} m", walk | {"people": people}))
    return found


def row(size: Size, seed: int = 0, source: str = TRIAL, **parameters: Any) -> dict[str, Any]:
    """One solve: scores, peaks of the vertical reaction, criteria that are not met, CPU seconds."""
    problem = gait.build(**parameters)
    if seed:
        problem = perturbed(problem, [0, seed], SPREAD)
    began = time.process_time()
    solution = trajopt.solve(problem, size.solver(problem), refine=None, starts=1, progress="silent")
    seconds = time.process_time() - began
    found, criteria = scores(solution, source), credibility(solution)
    cycle = gait_cycle(solution)
    return {
        "speed": parameters["speed"],
        "step_length": parameters["step_length"],
        "status": solution.status.name.lower(),
        "objective": solution.objective,
        "terms": dict(solution.cost_terms),
        "iterations": solution.iterations,
        "cpu_seconds": seconds,
        "mean": mean_correlation(found),
        "curves": as_table(found),
        "peaks": [each.value for each in criteria[:3]],
        "knee": next(each.value for each in criteria if each.name == "knee, peak in swing"),
        "pelvis": [float(np.abs(cycle.angle(name)).max()) for name in ("global_yaw", "global_list")],
        "not_met": [f"{each.name} {each.value:.3g}" for each in criteria if not each.met],
    }


def best(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The converged start of the lowest objective; of all where none converged."""
    converged = [each for each in rows if each["status"] == "converged"]
    return min(converged or rows, key=lambda each: each["objective"])


def null_models() -> dict[str, dict[str, Any]]:
    """Curves that know nothing of the motion, and another human group, beside the trial."""
    percent = np.linspace(0.0, 100.0, 401)
    trial = {name: curve.at(percent) for name in TEN for curve in measured(name) if curve.source == TRIAL}
    constant = {name: np.full_like(percent, values.mean()) for name, values in trial.items()}
    others = {name: curve.at(percent) for name in TEN for curve in measured(name) if curve.source == WINTER}
    weight = {"vertical reaction": weight_by_the_split(percent)}
    named = {
        "body weight by the time split": weight,
        "mean of each curve": constant,
        "Winter's adults": others,
    }
    return {name: as_table(scores_of(curves, percent, TRIAL)) for name, curves in named.items()}


def weight_by_the_split(percent: np.ndarray) -> np.ndarray:
    """Body weight on the right foot by the imposed weight function alone, (K,) in body weights."""
    step = Step(
        AT_TRIAL["step_length"], AT_TRIAL["speed"], 1.75, 75.0, toe_off=FORMULATIONS["sourced"].toe_off
    )
    share = np.array([step.reaction_split.weight(_At(t * step.duration)) for t in percent % 50.0 / 50.0])
    return np.where(percent < 50.0, share, 1.0 - share)


class _At:
    """A node as the time split reads it."""

    def __init__(self, time: float) -> None:
        self.t = [time]


def as_table(found: tuple[Score, ...]) -> dict[str, list[float | None]]:
    """Quantity -> correlation (None for a constant), root mean square, share within two deviations."""
    return {
        each.quantity: [None if np.isnan(each.correlation) else each.correlation, each.rms, each.within]
        for each in found
    }


def headlined(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """The same result, whose headline is printed as soon as it is there."""
    print(f"{name}: {result['status']}, r {result['mean']:.3f}, J {result['objective']:.5f}", flush=True)
    return result
