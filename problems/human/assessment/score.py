"""Agreement of a walk with measured curves: correlation, root mean square, share within two deviations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from problems.human.assessment.criteria import agreement
from problems.human.assessment.measured import TRIAL, Measured, measured
from problems.human.assessment.whole_body import WholeBody, thigh_inclination, whole_body
from problems.human.gait.cycle import gait_cycle

if TYPE_CHECKING:
    from trajopt import Solution

# The ten curves by which a walk is judged as a whole.
TEN = (
    "hip angle", "knee angle", "ankle angle",
    "hip moment", "hip abduction moment", "knee moment", "ankle moment",
    "vertical reaction", "fore-aft reaction", "lateral reaction",
)  # fmt: skip
EVERY = ("thigh angle", *TEN)


@dataclass(frozen=True)
class Score:
    """One predicted curve beside one measured curve, over the whole cycle.

    correlation : Pearson's, without unit
    rms : root of the mean squared difference, in the unit of the curve (degrees, N m/kg, body weights)
    within : share of the cycle within two standard deviations, None where none were measured
    """

    quantity: str
    source: str
    correlation: float
    rms: float
    within: float | None


def predicted_curves(body: WholeBody) -> dict[str, np.ndarray]:
    """Quantity -> its values (K,) along the cycle of the right leg, in units and signs of `measured`."""
    cycle = body.cycle
    x, y, z = cycle.reaction("r")[:, 3:].T / cycle.weight

    def moment(joint: str) -> np.ndarray:
        return -body.torque(joint) / cycle.mass

    return {
        "thigh angle": thigh_inclination(body),
        "hip angle": cycle.angle("hip_r_flex"),
        "knee angle": cycle.angle("knee_r_flex"),
        "ankle angle": cycle.angle("ankle_r_dorsi"),
        "hip moment": moment("hip_r_flex"),
        "hip abduction moment": moment("hip_r_add"),
        "knee moment": moment("knee_r_flex"),
        "ankle moment": moment("ankle_r_dorsi"),
        "vertical reaction": y,
        "fore-aft reaction": x,
        "lateral reaction": z,
    }


def scores(solution: Solution, source: str = TRIAL) -> tuple[Score, ...]:
    """The scores of a solved gait against every curve that a source has."""
    body = whole_body(gait_cycle(solution))
    return scores_of(predicted_curves(body), body.cycle.percent, source)


def scores_of(curves: Mapping[str, np.ndarray], percent: np.ndarray, source: str) -> tuple[Score, ...]:
    """The scores of curves (K,) at parts `percent` (K,) of the cycle against every curve of a source."""
    found = []
    for quantity, values in curves.items():
        for curve in measured(quantity):
            if curve.source == source:
                r, rms = agreement(values, curve.at(percent))
                found.append(Score(quantity, source, r, rms, _within(values, percent, curve)))
    return tuple(found)


def mean_correlation(found: tuple[Score, ...]) -> float:
    """The mean correlation of those of the ten curves that were measured; one that is constant counts 0."""
    ten = [each.correlation for each in found if each.quantity in TEN]
    return float(np.mean(np.nan_to_num(ten)))


def _within(values: np.ndarray, percent: np.ndarray, curve: Measured) -> float | None:
    if curve.deviation is None:
        return None
    allowed = 2.0 * np.interp(percent, curve.percent, curve.deviation)
    return float(np.mean(np.abs(values - curve.at(percent)) <= allowed))
