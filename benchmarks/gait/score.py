"""Curves beside which predicted ones stand: measured steps, and null models that know nothing of a motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from problems.human.assessment.measured import TRIAL, WINTER, measured
from problems.human.assessment.score import TEN, Score, scores_of
from problems.human.gait.formulation import FORMULATIONS
from problems.human.gait.step import Step

AT_TRIAL: dict[str, Any] = {"speed": 1.253, "step_length": 0.717}
AT_WINTER: dict[str, Any] = {"speed": 1.325, "step_length": 0.72}


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
