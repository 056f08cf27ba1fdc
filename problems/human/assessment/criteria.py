"""Criteria of a credible gait: bands around measured values, as wide as adults differ at such speeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from problems.human.assessment.measured import WINTER, measured
from problems.human.assessment.whole_body import (
    LOADED,
    WholeBody,
    centre_of_pressure,
    inclination,
    sole,
    thigh_inclination,
    whole_body,
)
from problems.human.gait.cycle import gait_cycle

if TYPE_CHECKING:
    from trajopt import Solution


@dataclass(frozen=True)
class Criterion:
    """A number that should lie between `lower` and `upper`."""

    name: str
    value: float
    lower: float
    upper: float
    unit: str = ""

    @property
    def met(self) -> bool:
        return bool(self.lower <= self.value <= self.upper)

    @property
    def wanted(self) -> str:
        """The band in words."""
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            return f"{self.lower:.3g} .. {self.upper:.3g}"
        return f"<= {self.upper:.3g}" if self.lower == -np.inf else f">= {self.lower:.3g}"


def credibility(solution: Solution) -> tuple[Criterion, ...]:
    """The criteria for a solved gait: forces in body weights, angles in degrees.

    Internal joint forces are net, those of inverse dynamics: muscles add to what a joint bears.
    Peaks of the vertical reaction are the largest values in each half of the stance of one foot, the valley
    is the least between them. Correlations are Pearson's over the whole cycle. Where sides differ, every
    criterion is that of the right leg, and then of the left one.
    """
    found = []
    for leg, cycle in gait_cycle(solution).legs.items():
        body = whole_body(cycle)
        own = (*_reactions(body), *_angles(body), *_joint_forces(body), _pressure(body), *_upper_body(body))
        found += own if cycle.mirrored else [replace(each, name=f"{leg}: {each.name}") for each in own]
    return tuple(found)


def unmet(criteria: Iterable[Criterion], gait: str = "walk") -> str:
    """One line: how many criteria are met, and those that are not, with value and band."""
    every = tuple(criteria)
    missed = [each for each in every if not each.met]
    if not missed:
        return f"criteria of a credible {gait}: all {len(every)} are met"
    each = (f"{one.name} {one.value:.3g} ({one.wanted}{one.unit and ' ' + one.unit})" for one in missed)
    return f"criteria of a credible {gait}: {len(missed)} of {len(every)} are not met: {'; '.join(each)}"


def table(criteria: Iterable[Criterion]) -> str:
    """Markdown: one criterion per line, with its value, its band and whether it is met."""
    lines = ["| criterion | value | wanted | met |", "| --- | --- | --- | --- |"]
    for each in criteria:
        verdict = "yes" if each.met else "**no**"
        cells = (each.name, f"{each.value:.3g} {each.unit}", f"{each.wanted} {each.unit}", verdict)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _reactions(body: WholeBody) -> list[Criterion]:
    cycle = body.cycle
    x, y, z = cycle.reaction("r")[:, 3:].T / cycle.weight
    half = 0.5 * cycle.stance_end
    early, late = cycle.percent <= half, cycle.percent > half
    first = int(np.argmax(np.where(early, y, -np.inf)))
    second = int(np.argmax(np.where(late, y, -np.inf)))
    valley = float(y[first : second + 1].min())
    depth = float(min(y[first], y[second]) - valley)
    return [
        Criterion("vertical reaction, first peak", float(y[first]), 0.95, 1.30, "BW"),
        Criterion("vertical reaction, valley", valley, 0.60, 0.95, "BW"),
        Criterion("vertical reaction, second peak", float(y[second]), 0.95, 1.30, "BW"),
        Criterion("depth of the valley below the lower peak", depth, 0.05, np.inf, "BW"),
        Criterion("fore-aft reaction, braking", float(-x.min()), 0.08, 0.30, "BW"),
        Criterion("fore-aft reaction, propulsion", float(x.max()), 0.08, 0.30, "BW"),
        Criterion("lateral reaction, largest", float(np.abs(z).max()), -np.inf, 0.15, "BW"),
    ]


def _angles(body: WholeBody) -> list[Criterion]:
    cycle = body.cycle
    curves = {
        "thigh angle": thigh_inclination(body),
        "knee angle": cycle.angle("knee_r_flex"),
        "ankle angle": cycle.angle("ankle_r_dorsi"),
    }
    found = []
    for quantity, values in curves.items():
        winter = next(curve for curve in measured(quantity) if curve.source == WINTER)
        r, _ = agreement(values, winter.at(cycle.percent))
        found.append(Criterion(f"{quantity}, correlation with Winter", r, 0.8, np.inf))
    swing = cycle.percent > cycle.stance_end
    peak = float(cycle.angle("knee_r_flex")[swing].max())
    return [*found, Criterion("knee, peak in swing", peak, 45.0, 75.0, "deg")]


def _joint_forces(body: WholeBody) -> list[Criterion]:
    hip, ankle = (float(body.force(joint).max()) for joint in ("hip_r_flex", "ankle_r_dorsi"))
    return [
        Criterion("hip, peak of the internal joint force, net", hip, -np.inf, 1.3, "BW"),
        Criterion("ankle, peak of the internal joint force, net", ankle, 0.9, np.inf, "BW"),
    ]


def _pressure(body: WholeBody) -> Criterion:
    """Distance by which the centre of pressure of the loaded foot leaves its sole, fore and aft."""
    back, front = sole(body, "r")
    place = centre_of_pressure(body.cycle, "r")[:, 0]
    loaded = body.cycle.reaction("r")[:, 4] > LOADED * body.cycle.weight
    outside = np.maximum(np.maximum(back - place, place - front), 0.0)[loaded]
    return Criterion("centre of pressure outside the sole", float(100.0 * outside.max()), -np.inf, 2.0, "cm")


def _upper_body(body: WholeBody) -> list[Criterion]:
    """Arms that hang and swing, a trunk that is upright: our own bounds, wide around the measured trial."""
    arms = [each for each in ("shoulder_r_flex", "elbow_r_flex") if each in body.cycle.joint_names]
    found = []
    for joint, most in zip(arms, (45.0, 90.0), strict=False):
        name = f"{joint.partition('_')[0]}, largest flexion either way"
        found.append(Criterion(name, float(np.abs(body.cycle.angle(joint)).max()), -np.inf, most, "deg"))
    lean = float(np.abs(inclination(body, "pelvis", "neck")).max())
    return [*found, Criterion("trunk, largest lean", lean, -np.inf, 15.0, "deg")]


def agreement(values: np.ndarray, reference: np.ndarray) -> tuple[float, float]:
    """Pearson's correlation, NaN for a constant, and the root of the mean squared difference."""
    moving = np.ptp(values) > 0.0 and np.ptp(reference) > 0.0
    r = float(np.corrcoef(values, reference)[0, 1]) if moving else np.nan
    return r, float(np.sqrt(np.mean((values - reference) ** 2)))
