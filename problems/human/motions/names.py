"""Names and signs by which columns of a measured motion are angles of the skeleton: an editable table.

angle of the joint = sign * column + zero
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dynamics import OwnCoordinate
from problems.human.body.tables import checked_rows, number
from problems.human.motions.motion_file import MotionTable
from problems.human.opensim.coordinates import PELVIS, coordinates
from problems.human.opensim.storage import text_of
from trajopt.base.arguments import list_names
from trajopt.base.errors import ProblemError
from trajopt.base.files import write_text

COLUMNS = ["column", "joint", "sign", "zero_deg"]
ONE_BACK = "lumbar"  # one joint of OpenSim's models stands for several of ours: left out unless mapped


@dataclass(frozen=True)
class Name:
    """A column, the joint that it measures, and angle = sign * column + zero, rad or m."""

    column: str
    joint: str
    sign: float
    zero: float


def opensim_names() -> tuple[Name, ...]:
    """The names of OpenSim's full-body models, without pelvis and back."""
    return names_of({
        own.name: OwnCoordinate(joint, own.sign, own.zero) for joint, own in coordinates().items()
    })  # fmt: skip


def names_of(coordinates: Mapping[str, OwnCoordinate]) -> tuple[Name, ...]:
    """The names of a file's coordinates, value = sign q + zero, without pelvis and back."""
    return tuple(
        Name(column, own.name, own.sign, -own.sign * own.zero)
        for column, own in coordinates.items()
        if column not in PELVIS and not column.startswith(ONE_BACK)
    )


def read_frames(path: str | os.PathLike[str]) -> dict[str, str]:
    """Marker of a measured file -> marker of the model, from a table with the columns marker and frame."""
    file = Path(path)
    if not file.is_file():
        raise ProblemError(f"there is no table of markers '{file}': write one with the columns marker,frame")
    return {
        row["marker"]: row["frame"] for row in checked_rows(text_of(file), file.name, ["marker", "frame"])
    }


def write_names(path: str | os.PathLike[str]) -> None:
    """Write the table of `opensim_names`, to be edited."""
    rows = [
        f"{named.column},{named.joint},{named.sign:g},{np.rad2deg(named.zero):g}" for named in opensim_names()
    ]
    write_text(path, "\n".join([",".join(COLUMNS), *rows]) + "\n")


def read_names(path: str | os.PathLike[str]) -> tuple[Name, ...]:
    """Read a table as `write_names` writes it; ProblemError with line and column for what is wrong."""
    file, found = Path(path), list[Name]()
    if not file.is_file():
        raise ProblemError(f"there is no table of names '{file}': write one by write_names, and edit it")
    for row in checked_rows(text_of(file), file.name, COLUMNS):
        joint, sign = row["joint"], number(row, "sign")
        if joint not in coordinates():
            raise ProblemError(f"{row.where} has '{joint}' in column joint: the skeleton has no such joint")
        if abs(sign) != 1.0:
            raise ProblemError(f"{row.where} has {sign:g} in column sign: write 1 or -1")
        if any(joint == each.joint for each in found):
            raise ProblemError(f"{row.where} has '{joint}' in column joint a second time: leave one line out")
        found.append(Name(row["column"], joint, sign, float(np.deg2rad(number(row, "zero_deg")))))
    return tuple(found)


def joint_angles(
    table: MotionTable, names: tuple[Name, ...], moving: tuple[str, ...]
) -> Mapping[str, np.ndarray]:
    """Joint -> measured angle (K,) of those that move and have a column; ProblemError where there is none."""
    known = {name.joint: name for name in names if name.joint in moving and name.column in table.columns}
    if not known:
        raise ProblemError(
            f"no column of the measured motion is a joint that moves: it has {list_names(table.columns)}, "
            f"the table of names {list_names(name.column for name in names)}"
        )
    return {joint: each.sign * table.columns[each.column] + each.zero for joint, each in known.items()}
