"""Mean curves over the cycle of a measured run: joint angles and ground reactions of the right leg.

The trial of subject 2 of Hamner and Delp 2013, as OpenSim's public models have it: `hamner_run_ik.mot`,
`hamner_run_grf.mot` and `hamner_subject02_scaled.osim` in the folder that the environment variable
OSIM_MODELS names. The belt runs at 4 m/s (docs/running.md).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import dynamics
from problems.human.motions.motion_file import read_motion
from problems.human.opensim.storage import read_storage
from trajopt.base.errors import ProblemError

SPEED = 4.0  # m/s
STANDS = 20.0  # N, of the vertical reaction, above which the foot stands
SAMPLES = 101
ANGLES = {"hip angle": ("hip_flexion_r", 1.0), "knee angle": ("knee_angle_r", -1.0),
          "ankle angle": ("ankle_angle_r", 1.0)}  # fmt: skip
REACTIONS = {"vertical reaction": "ground_force_vy", "fore-aft reaction": "ground_force_vx"}


@dataclass(frozen=True, eq=False)
class Trial:
    """Means over strides: curves (101,) in degrees and body weights, events in s and body weights."""

    curves: dict[str, np.ndarray]
    stride: float
    contact: float
    peak: float

    @property
    def duty_factor(self) -> float:
        return self.contact / self.stride

    @property
    def flight(self) -> float:
        return 0.5 * self.stride - self.contact

    @property
    def step_length(self) -> float:
        """Length of a step at the belt's speed, m."""
        return 0.5 * self.stride * SPEED


def trial() -> Trial:
    """Read the three files; ProblemError where OSIM_MODELS names no folder with them."""
    folder = Path(os.environ.get("OSIM_MODELS", ""))
    if not (folder / "hamner_run_ik.mot").is_file():
        raise ProblemError("OSIM_MODELS names no folder with hamner_run_ik.mot: set it to that of the models")
    model = dynamics.load_osim(folder / "hamner_subject02_scaled.osim").robot
    weight = model.total_mass * float(np.linalg.norm(model.gravity))
    angles, ground = read_motion(folder / "hamner_run_ik.mot"), read_storage(folder / "hamner_run_grf.mot")
    fine = np.arange(0.0, float(angles.time[-1]), 1e-3)
    force = {name: np.interp(fine, ground.time, ground.columns[key]) for name, key in REACTIONS.items()}
    stands = force["vertical reaction"] > STANDS
    strikes, leaves = (fine[1:][way] for way in (stands[1:] & ~stands[:-1], ~stands[1:] & stands[:-1]))
    begins = strikes[:-1]
    parts = np.linspace(0.0, 1.0, SAMPLES)
    times = begins[:, None] + np.diff(strikes)[:, None] * parts
    curves = {
        name: np.rad2deg(sign * np.interp(times, angles.time, angles.columns[key])).mean(axis=0)
        for name, (key, sign) in ANGLES.items()
    }
    pushes = {name: np.interp(times, fine, values) / weight for name, values in force.items()}
    contact = float(np.mean([leaves[leaves > start][0] - start for start in begins]))
    peak = float(pushes["vertical reaction"].max(axis=1).mean())
    means = {name: each.mean(axis=0) for name, each in pushes.items()}
    return Trial(curves | means, float(np.diff(strikes).mean()), contact, peak)
