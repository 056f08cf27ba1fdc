"""Guess of a run: round angles of a running leg, the other one half a cycle behind.

Postures that anyone would draw of a jogger, in tenths of the cycle from the strike of the heel, measured on
nobody. The trunk leans forward by a few degrees, the pelvis sinks in stance.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from problems.human.body.model import standing
from problems.human.gait.initial_guess import Curve
from problems.human.gait.step import Step

# Degrees at 0, 10, ... 90 % of the cycle of this leg, of the arm on its side.
CYCLE = MappingProxyType({
    "hip_flex": (35, 32, 18, 0, -12, -8, 12, 35, 45, 42),
    "knee_flex": (15, 40, 42, 25, 15, 45, 80, 95, 75, 30),
    "ankle_dorsi": (3, 15, 22, 8, -18, -18, -8, 0, 5, 5),
    "shoulder_flex": (-35, -25, -12, -2, 2, 3, 2, -3, -12, -25),
    "elbow_flex": (80,) * 10,
})  # fmt: skip
LEAN = 5.0  # degrees
SUNK, SINKS = 0.02, 0.04  # m, of the pelvis below standing, and further in the middle of stance
STANCE = 0.74  # part of the step
BEHIND = 0.35  # m, of the pelvis behind the heel that strikes


def running_guess(names: Sequence[str], step: Step) -> Curve:
    """Postures (K, n) of a run over parts (K,) of a step."""
    from scipy.interpolate import CubicSpline

    tenths = np.linspace(0.0, 1.0, 11)
    cycle = {
        key: CubicSpline(tenths, (*angles, angles[0]), bc_type="periodic") for key, angles in CYCLE.items()
    }
    forward, upward, tilt = (names.index(f"global_{name}") for name in ("tx", "ty", "tilt"))

    def curve(parts: np.ndarray) -> np.ndarray:
        s = np.asarray(parts, dtype=float)
        q = np.tile(standing(names, step.height), (len(s), 1))
        for key, angles in cycle.items():
            for side, ahead in (("r", 0.0), ("l", 0.5)):
                joint = key.replace("_", f"_{side}_", 1)
                q[:, names.index(joint)] = np.deg2rad(angles((0.5 * s + ahead) % 1.0))
        q[:, forward] = step.length * s - BEHIND
        q[:, upward] -= SUNK + SINKS * np.sin(np.pi * np.clip(s / STANCE, 0.0, 1.0))
        q[:, tilt] = np.deg2rad(LEAN)
        return q

    return curve
