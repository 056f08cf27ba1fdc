"""Files of a whole gait cycle for other programs: OpenSim's and CSV."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from problems.human.assessment.whole_body import WholeBody, whole_body
from problems.human.body.model import standing
from problems.human.gait.cycle import each_time_once, gait_cycle
from problems.human.opensim import setups
from problems.human.opensim.osim_model import osim_model
from problems.human.opensim.storage import DIGITS, write_storage
from problems.human.opensim.tables import coordinates, ground_reactions, joint_forces, loads, torques

if TYPE_CHECKING:
    from trajopt import Solution

SAMPLES = 301  # of a step: OpenSim differentiates the motion twice, and misses 2 N at the pelvis with 101


def export(solution: Solution, folder: str | os.PathLike[str], samples: int = SAMPLES) -> list[str]:
    """Write the gait cycle for OpenSim and as CSV to a folder, made where there is none; names of the files.

    `samples` times in each half of the cycle, of the whole skeleton, in OpenSim's names and signs
    (`problems.human.opensim.coordinates`). coordinates.mot is the motion, ground_reactions.mot the forces on
    the feet to be looked at, loads.mot all loads on the links on which they act, torques.sto N m (N),
    joint_forces.sto [force; moment] on the body about the joint in axes of the body. body.osim is the
    skeleton on which the motion plays; external_loads.xml and inverse_dynamics.xml are setups with which
    OpenSim finds the torques again. cycle.csv has the curves of the figures.
    """
    return export_body(whole_body(each_time_once(gait_cycle(solution, samples))), folder)


def export_body(body: WholeBody, folder: str | os.PathLike[str]) -> list[str]:
    """Write the files of `export` for a cycle that has one row for every time; their names."""
    place, model = Path(folder), body.model
    place.mkdir(parents=True, exist_ok=True)
    tables = {
        setups.MOTION: coordinates(body),
        setups.REACTIONS: ground_reactions(body),
        setups.LOADS: loads(body),
        "torques.sto": torques(body),
        "joint_forces.sto": joint_forces(body),
    }
    for name, table in tables.items():
        write_storage(place / name, table)
    height = standing(model.joint_names, body.cycle.height)[model.joint_names.index("global_ty")]
    documents = {
        setups.MODEL: osim_model(model, float(height)),
        setups.EXTERNAL_LOADS: setups.external_loads(body.cycle.loads),
        setups.INVERSE_DYNAMICS: setups.inverse_dynamics(body.cycle.duration),
    }
    for name, document in documents.items():
        document.write(place / name, encoding="UTF-8", xml_declaration=True)
    write_csv(place / "cycle.csv", summary(body))
    return [*tables, *documents, "cycle.csv"]


def summary(body: WholeBody) -> dict[str, np.ndarray]:
    """The curves of the figures, right leg: percent, degrees, N m/kg, and body weights.

    Where sides differ, right_ and left_, of either leg over its own cycle.
    """
    cycle = body.cycle
    found = {"percent_gait_cycle": cycle.percent, "time_s": cycle.time}
    if cycle.mirrored:
        return found | curves_of_leg(body)
    for leg, each in cycle.legs.items():
        for name, values in curves_of_leg(whole_body(each)).items():
            found[f"{leg}_{name}"] = np.interp(cycle.percent, each.percent, values)
    return found


def curves_of_leg(body: WholeBody) -> dict[str, np.ndarray]:
    """Angles, torques, reactions and joint forces of the right leg along its cycle."""
    cycle = body.cycle
    joints = {"hip": "hip_r_flex", "knee": "knee_r_flex", "ankle": "ankle_r_dorsi"}
    found = {f"{name}_angle_deg": cycle.angle(joint) for name, joint in joints.items()}
    found |= {f"{name}_torque_Nm_per_kg": body.torque(joint) / cycle.mass for name, joint in joints.items()}
    names = ("anterior", "vertical", "lateral")
    found |= {f"reaction_{n}_bw": cycle.reaction("r")[:, 3 + i] / cycle.weight for i, n in enumerate(names)}
    return found | {f"{name}_force_bw": body.force(joint) for name, joint in joints.items()}


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, np.ndarray]) -> None:
    """Write columns under their names, which carry the units."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(
            [format(value, DIGITS) for value in row] for row in zip(*columns.values(), strict=True)
        )
