"""The walk with predicted contact: on several meshes, at Winter's speed, and with settings that are moved.

At the speed and step length of the trial unless said, one solve each from the solved walk, without limit
nodes. Beside what `score` reports stand events, slip, sinking and the force that is missing between nodes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import trajopt
from benchmarks.gait.score import AT_TRIAL, AT_WINTER, as_table, headlined, null_models
from benchmarks.gait.size import Size
from problems import gait
from problems.human.assessment.criteria import credibility
from problems.human.assessment.measured import TRIAL, WINTER
from problems.human.assessment.metabolic import measured_cost, metabolic_cost
from problems.human.assessment.score import mean_correlation, scores
from problems.human.assessment.slip import sinking, slip
from problems.human.gait.formulation import PREDICTED

MESHES = (2, 4, 6)  # intervals in each arc of single support
EVENTS = ("foot-flat", "toe-off", "heel-off")
ON_SLOPES: dict[str, Any] = {"speed": 1.2, "step_length": 0.65}
MOVED = 0.2  # of its time, an event of the initial guess


def predicted(size: Size) -> dict[str, Any]:
    """All rows of the table."""
    meshes = [
        row(size, on(n), AT_TRIAL, parameters={"intervals": n}) for n in size.predicted_meshes or MESHES
    ]
    base = on(PREDICTED.intervals) if size.predicted_meshes is None else meshes[0]["name"]
    winter = row(size, f"{PREDICTED.intervals} intervals, at Winter's speed", AT_WINTER)
    moved = [row(size, *each) for each in moved_settings()[: size.moved]]
    return {"meshes": meshes, "base": base, "winter": winter, "moved": moved, "nulls": null_models()}


def slopes(size: Size) -> list[dict[str, Any]]:
    """Metabolic cost of the walk with predicted contact downhill, level and uphill, beside people's."""
    found = []
    for slope in size.slopes:
        problem = gait.build(slope=slope, **ON_SLOPES)
        solution = trajopt.solve(problem, size.solver(problem), refine=None, starts=1, progress="silent")
        found.append(headlined(f"slope of {slope:+.0%}", {
            "slope": slope, "status": solution.status.name.lower(), "objective": solution.objective,
            "mean": mean_correlation(scores(solution)), "iterations": solution.iterations,
            "cost": metabolic_cost(solution), "people": measured_cost(slope),
        }))  # fmt: skip
    return found


def lengths(size: Size) -> list[dict[str, Any]]:
    """Metabolic cost of walks with predicted contact over step lengths around the one that people prefer."""
    found = []
    for speed, people in size.people.items():
        for step_length in (part * people for part in size.parts_of_length):
            problem = gait.build(speed=speed, step_length=step_length)
            solution = trajopt.solve(problem, size.solver(problem), refine=None, starts=1, progress="silent")
            found.append(headlined(f"{speed} m/s, {step_length:.3f} m", {
                "speed": speed, "step_length": step_length, "people": people,
                "status": solution.status.name.lower(), "objective": solution.objective,
                "mean": mean_correlation(scores(solution)), "cost": metabolic_cost(solution),
            }))  # fmt: skip
    return found


def on(intervals: int) -> str:
    return f"{intervals} intervals"


def moved_settings() -> list[tuple[Any, ...]]:
    """Arguments of `row`: weights halved and doubled, guessed events moved."""
    weights = {name: getattr(PREDICTED.weights, name) for name in ("power", "steadiness", "force_rate")}
    weights["smoothness"] = PREDICTED.smoothness
    settings: list[tuple[Any, ...]] = []
    for name, weight in weights.items():
        for factor in (0.5, 2.0):
            title = f"{name} x {factor:g}"
            settings.append((title, AT_TRIAL, None, {name: factor * weight}))
    for number, event in enumerate(EVENTS):
        for sign in (-1, 1):
            title = f"guess of {event} {100 * sign * MOVED:+.0f} %"
            settings.append((title, AT_TRIAL, (number, 1.0 + sign * MOVED), {}))
    return settings


def row(
    size: Size,
    name: str,
    step: dict[str, Any],
    event: tuple[int, float] | None = None,
    parameters: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One solve; `event` is the number of one of EVENTS and the factor of its guessed time."""
    asked = dict(step, intervals=PREDICTED.intervals) | (parameters or {})
    problem = gait.build(**asked)
    if event is not None:
        assert problem.guessed_durations is not None
        problem.guess(duration=moved_durations(problem.guessed_durations, *event))
    began = time.process_time()
    solution = trajopt.solve(problem, size.solver(problem), refine=None, starts=1, progress="silent")
    seconds = time.process_time() - began
    found = {source: scores(solution, source) for source in (TRIAL, WINTER)}
    criteria = credibility(solution)
    events = np.cumsum(solution.curve.durations)[:3] / solution.duration
    return headlined(name, {
        "name": name,
        "status": solution.status.name.lower(),
        "objective": solution.objective,
        "iterations": solution.iterations,
        "cpu_seconds": seconds,
        "variables": solution.n_variables,
        "mean": mean_correlation(found[TRIAL]),
        "winter": float(np.mean([each.correlation for each in found[WINTER]])),
        "curves": as_table(found[TRIAL]),
        "peaks": [each.value for each in criteria[:3]],
        "events": dict(zip(EVENTS, (50.0 * events + [0.0, 50.0, 0.0]).tolist(), strict=True)),
        "slip": max(slip(solution).values()),
        "sinking": max(sinking(solution).values()),
        "missing": missing_force(solution),
        "not_met": [f"{each.name} {each.value:.3g}" for each in criteria if not each.met],
    })  # fmt: skip


def moved_durations(durations: np.ndarray, number: int, factor: float) -> np.ndarray:
    """Seconds of the four arcs when one event of the guess comes at so many times its time."""
    ends = np.cumsum(durations)
    ends[number] *= factor
    return np.diff(ends, prepend=0.0)


def missing_force(solution: trajopt.Solution) -> float:
    """Largest force that would have to hold the pelvis between nodes, in body weights."""
    t = np.linspace(0.0, solution.duration, 801)[1:-1]
    robot: Any = solution.problem.dynamics
    held = solution.tau(t)[:, :3]
    return float(np.abs(held).max() / (robot.total_mass * np.linalg.norm(robot.gravity)))
