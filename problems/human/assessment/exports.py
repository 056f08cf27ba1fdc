"""Files of a whole gait cycle for other programs: OpenSim's and CSV."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from problems.human.assessment.whole_body import WholeBody, whole_body
from problems.human.gait.cycle import gait_cycle
from problems.human.opensim.storage import DIGITS, write_storage
from problems.human.opensim.tables import coordinates, ground_reactions, joint_forces, once_each, torques

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution


def export(solution: Solution, folder: str | os.PathLike[str], samples: int = 101) -> list[str]:
    """Write coordinates.mot, ground_reactions.mot, torques.sto, joint_forces.sto and cycle.csv; their names.

    `samples` times in each half of the cycle, of the whole skeleton. Torques are N m (N), joint forces
    [force; moment] on the link about the joint in axes of the link.
    """
    body = whole_body(gait_cycle(solution, samples))
    tables = {
        "coordinates.mot": coordinates(body),
        "ground_reactions.mot": ground_reactions(body),
        "torques.sto": torques(body),
        "joint_forces.sto": joint_forces(body),
    }
    for name, table in tables.items():
        write_storage(Path(folder) / name, table)
    write_csv(Path(folder) / "cycle.csv", summary(body))
    return [*tables, "cycle.csv"]


def summary(body: WholeBody) -> dict[str, np.ndarray]:
    """The curves of the figures, right leg: percent, degrees, N m/kg, and body weights."""
    cycle, once = body.cycle, once_each(body)
    found = {"percent_gait_cycle": cycle.percent, "time_s": cycle.time}
    joints = {"hip": "hip_r_flex", "knee": "knee_r_flex", "ankle": "ankle_r_dorsi"}
    found |= {f"{name}_angle_deg": cycle.angle(joint) for name, joint in joints.items()}
    found |= {f"{name}_torque_Nm_per_kg": body.torque(joint) / cycle.mass for name, joint in joints.items()}
    names = ("anterior", "vertical", "lateral")
    found |= {f"reaction_{n}_bw": cycle.reaction("r")[:, 3 + i] / cycle.weight for i, n in enumerate(names)}
    found |= {f"{name}_force_bw": body.force(joint) for name, joint in joints.items()}
    return {label: values[once] for label, values in found.items()}


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, np.ndarray]) -> None:
    """Write columns under their names, which carry the units."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(
            [format(value, DIGITS) for value in row] for row in zip(*columns.values(), strict=True)
        )
