"""Measured curves of human gait over the cycle, with their standard deviation where it is known.

0 % is the heel strike of the leg described. Angles are degrees (hip flexion, knee flexion and ankle
dorsiflexion positive), moments N m/kg (hip and knee extensors, hip abductors and plantarflexors positive),
forces parts of body weight (forward, upward and away from the other leg positive).
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from problems.human.body.tables import rows, vector
from trajopt.base.arguments import check_known

PERCENT = "percent_gait_cycle"
WINTER = "Winter, 1.33 m/s"
TRIAL = "Rajagopal et al., 1.25 m/s"

_WINTER = "winter1991_natural_angles_grf.csv"
_TRIAL = "rajagopal2016_adult_1p25ms_{}.csv"
_FORCES = "intersegmental_joint_force_1p25ms.csv"
# quantity -> (source, table, column of the mean, column of the standard deviation)
_COLUMNS: dict[str, list[tuple[str, str, str, str | None]]] = {
    "hip angle": [(TRIAL, _TRIAL.format("angles"), "hip_flexion_deg_r", None)],
    "thigh angle": [(WINTER, _WINTER, "hip_flexion_deg_mean", "hip_flexion_deg_sd")],
    "knee angle": [
        (WINTER, _WINTER, "knee_flexion_deg_mean", "knee_flexion_deg_sd"),
        (TRIAL, _TRIAL.format("angles"), "knee_flexion_deg_r", None),
    ],
    "ankle angle": [
        (WINTER, _WINTER, "ankle_dorsiflexion_deg_mean", "ankle_dorsiflexion_deg_sd"),
        (TRIAL, _TRIAL.format("angles"), "ankle_dorsiflexion_deg_r", None),
    ],
    "shoulder angle": [(TRIAL, _TRIAL.format("angles"), "shoulder_flexion_deg_r", None)],
    "elbow angle": [(TRIAL, _TRIAL.format("angles"), "elbow_flexion_deg_r", None)],
    "vertical reaction": [
        (WINTER, _WINTER, "grf_vertical_bw_mean", "grf_vertical_bw_sd"),
        (TRIAL, _TRIAL.format("grf"), "grf_vertical_bw_r", None),
    ],
    "fore-aft reaction": [
        (WINTER, _WINTER, "grf_anterior_bw_mean", "grf_anterior_bw_sd"),
        (TRIAL, _TRIAL.format("grf"), "grf_anterior_bw_r", None),
    ],
    "lateral reaction": [(TRIAL, _TRIAL.format("grf"), "grf_lateral_bw_r", None)],
    "hip moment": [(TRIAL, _TRIAL.format("moments"), "hip_extension_moment_Nm_per_kg_r", None)],
    "hip abduction moment": [(TRIAL, _TRIAL.format("moments"), "hip_abduction_moment_Nm_per_kg_r", None)],
    "knee moment": [(TRIAL, _TRIAL.format("moments"), "knee_extension_moment_Nm_per_kg_r", None)],
    "ankle moment": [(TRIAL, _TRIAL.format("moments"), "ankle_plantarflexion_moment_Nm_per_kg_r", None)],
    "hip force": [(TRIAL, _FORCES, "hip_intersegmental_force_bw", None)],
    "knee force": [(TRIAL, _FORCES, "knee_intersegmental_force_bw", None)],
    "ankle force": [(TRIAL, _FORCES, "ankle_intersegmental_force_bw", None)],
}


@dataclass(frozen=True, eq=False)
class Measured:
    """One curve, (K,) each: percent of the cycle, mean, and one standard deviation or None."""

    source: str
    percent: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray | None

    def at(self, percent: np.ndarray) -> np.ndarray:
        """The mean at other parts of the cycle, by linear interpolation."""
        return np.interp(percent, self.percent, self.mean)


def quantities() -> tuple[str, ...]:
    """Names of everything that was measured."""
    return tuple(_COLUMNS)


@functools.cache
def measured(quantity: str) -> tuple[Measured, ...]:
    """The curves of a quantity, one per source; UnknownNameError for another name.

    "thigh angle" is that of the thigh against the vertical, which is what Winter calls the hip angle. Joint
    forces are those of inverse dynamics, without muscles. Sources and licences: data/README.md beside this.
    """
    check_known("quantity that was measured", quantity, _COLUMNS)
    return tuple(_read(*columns) for columns in _COLUMNS[quantity])


def _read(source: str, table: str, mean: str, deviation: str | None) -> Measured:
    columns = [PERCENT, mean] + ([deviation] if deviation else [])
    values = np.array([vector(row, columns) for row in rows(table, columns)])
    values.setflags(write=False)
    return Measured(source, values[:, 0], values[:, 1], values[:, 2] if deviation else None)
