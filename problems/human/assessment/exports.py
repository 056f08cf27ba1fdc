"""Files for other programs: OpenSim's storage (.mot, .sto) and CSV, of a whole gait cycle.

A storage is a header (name, version, nRows, nColumns, inDegrees, endheader), a line of column labels that
begins with time, and tab-separated rows. Coordinates keep the names of the skeleton; translations are metres
whatever inDegrees says, as OpenSim reads them.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from problems.human.assessment.whole_body import WholeBody, centre_of_pressure, whole_body
from problems.human.body.tables import freedoms
from problems.human.gait.cycle import gait_cycle
from trajopt.errors import ProblemError

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

DIGITS = ".12g"
JOINTS = ("hip", "knee", "ankle")
COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")


@dataclass(frozen=True, eq=False)
class Storage:
    """A table over time (K,) in s: columns by label, (K,) each."""

    name: str
    time: np.ndarray
    columns: Mapping[str, np.ndarray]
    in_degrees: bool = False


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


def coordinates(body: WholeBody) -> Storage:
    """All 55 coordinates, degrees and metres."""
    once, columns = once_each(body), {}
    for name, values in zip(body.model.joint_names, body.q.T, strict=True):
        unit = 1.0 if freedoms()[name].kind == "prismatic" else 180.0 / np.pi
        columns[name] = unit * values[once]
    return Storage("Coordinates", body.cycle.time[once], columns, in_degrees=True)


def ground_reactions(body: WholeBody) -> Storage:
    """Force, centre of pressure and free moment of both feet, world axes; zeros while a foot is unloaded.

    At every time place x force + free moment is the whole moment about the world origin, also where a foot is
    hardly loaded: dropping the place there left 20 N m that inverse dynamics had to find elsewhere.
    """
    once, columns = once_each(body), {}
    for side in "rl":
        load, place = body.cycle.reaction(side), np.nan_to_num(centre_of_pressure(body.cycle, side))
        x, z = place.T
        free = load[:, 1] - (z * load[:, 3] - x * load[:, 5])
        parts = {
            **{f"ground_force_{side}_v{axis}": load[:, 3 + i] for i, axis in enumerate("xyz")},
            **dict(zip((f"ground_force_{side}_p{axis}" for axis in "xyz"), (x, 0.0 * x, z), strict=True)),
            **dict(zip((f"ground_torque_{side}_{a}" for a in "xyz"), (0.0 * x, free, 0.0 * x), strict=True)),
        }
        columns |= {label: values[once] for label, values in parts.items()}
    return Storage("Ground reactions", body.cycle.time[once], columns)


def torques(body: WholeBody) -> Storage:
    """Torques of all joints, those that are held rigidly too."""
    once = once_each(body)
    columns = {
        f"{name}_moment": tau[once] for name, tau in zip(body.model.joint_names, body.tau.T, strict=True)
    }
    return Storage("Torques", body.cycle.time[once], columns)


def joint_forces(body: WholeBody) -> Storage:
    """[force; moment] that every joint transmits to its link."""
    once, columns = once_each(body), {}
    for joint in body.model.joint_names:
        wrench = body.wrenches[once, body.model.joint_link_index(joint)]
        forces_first = np.concatenate([wrench[:, 3:], wrench[:, :3]], axis=1)
        columns |= dict(zip((f"{joint}_{part}" for part in COMPONENTS), forces_first.T, strict=True))
    return Storage("Joint forces", body.cycle.time[once], columns)


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


def once_each(body: WholeBody) -> np.ndarray:
    """Mask that leaves out the second copy of the middle of the cycle: times must rise in these files."""
    return np.append(True, np.diff(body.cycle.time) > 0.0)


def write_storage(path: str | os.PathLike[str], table: Storage) -> None:
    """Write one table as OpenSim reads it."""
    values = np.column_stack([table.time, *table.columns.values()])
    header = [
        table.name, "version=1", f"nRows={values.shape[0]}", f"nColumns={values.shape[1]}",
        f"inDegrees={'yes' if table.in_degrees else 'no'}", "endheader",
    ]  # fmt: skip
    rows = ["\t".join(format(value, DIGITS) for value in row) for row in values]
    text = "\n".join([*header, "\t".join(["time", *table.columns]), *rows]) + "\n"
    Path(path).write_text(text, encoding="utf-8")


def read_storage(path: str | os.PathLike[str]) -> Storage:
    """Read a .mot or .sto file; ProblemError where header, labels and numbers do not agree."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    if "endheader" not in lines:
        raise ProblemError(f"{path} has no line 'endheader': it is no OpenSim storage")
    end = lines.index("endheader")
    entries = dict(line.split("=", 1) for line in lines[1:end] if "=" in line)
    labels = "".join(lines[end + 1 : end + 2]).split("\t")
    try:
        told = (int(entries.get("nRows", -1)), int(entries.get("nColumns", -1)))
        values = np.array([[float(cell) for cell in line.split()] for line in lines[end + 2 :]])
    except ValueError as error:
        raise ProblemError(
            f"{path}: {error}: the rows below the labels must be equally many numbers"
        ) from None
    if values.shape != told or len(labels) != told[1] or labels[0] != "time":
        raise ProblemError(
            f"{path} has {values.shape} numbers under {len(labels)} labels from '{labels[0]}', but its "
            f"header says {told}, and the first label must be time"
        )
    columns = dict(zip(labels[1:], values[:, 1:].T, strict=True))
    return Storage(lines[0], values[:, 0], columns, entries.get("inDegrees", "no") == "yes")


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, np.ndarray]) -> None:
    """Write columns under their names, which carry the units."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(
            [format(value, DIGITS) for value in row] for row in zip(*columns.values(), strict=True)
        )
