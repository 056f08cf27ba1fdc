"""Waypoints from a file: a CSV table with a row per waypoint, or a list of lists as JSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trajopt.base.arguments import numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError, UnknownNameError, near_matches

UTF_8 = "utf-8-sig"  # with the mark in front that spreadsheets write, or without


def read_waypoints(file: Path, joint_names: Sequence[str]) -> Array:
    """Joint positions (k, n) in the order of `joint_names`.

    file : .csv, comma-separated, with the joints' names in its first line or columns in their order; or .json
    Raises OptionError for another ending or a text that is neither, ShapeError and UnknownNameError naming
    the line or column.
    """
    try:
        return _read(file, tuple(joint_names))
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"the waypoints in {file} cannot be read as text: {error}") from error


def _read(file: Path, names: tuple[str, ...]) -> Array:
    if file.suffix == ".json":
        try:
            return numbers(json.loads(file.read_text(encoding=UTF_8)), f"the waypoints in {file}")
        except json.JSONDecodeError as error:
            raise OptionError(f"{file} is no JSON: {error}; give a list of lists of numbers") from error
    if file.suffix != ".csv":
        raise OptionError(f"{file} has the ending {file.suffix!r}: give waypoints as .csv or .json")
    return _of_table(file, names)


def _of_table(file: Path, names: tuple[str, ...]) -> Array:
    with file.open(newline="", encoding=UTF_8) as stream:
        lines = [(i, row) for i, row in enumerate(csv.reader(stream), 1) if any(map(str.strip, row))]
    if lines and len(names) > 1 and len(lines[0][1]) == 1:
        raise ShapeError(
            f"{file}, line {lines[0][0]} has no comma: give {len(names)} columns with commas between"
        )
    columns = list(range(len(names)))
    if lines and not _is_number(lines[0][1][0]):
        columns = _columns(file, [cell.strip() for cell in lines.pop(0)[1]], names)
    found = []
    for number, row in lines:
        if len(row) != len(names):
            raise ShapeError(f"{file}, line {number} has {len(row)} values: expected {len(names)}")
        wrong = [cell for cell in row if not _is_number(cell)]
        if wrong:
            raise OptionError(f"{file}, line {number} holds {short_repr(wrong[0])}: give numbers")
        found.append([float(row[column]) for column in columns])
    return np.array(found).reshape(len(found), len(names))


def _columns(file: Path, head: list[str], names: tuple[str, ...]) -> list[int]:
    """Columns of the joints."""
    for name in head:
        if name not in names:
            raise UnknownNameError(
                f"{file} has a column {name!r}, which is no joint{near_matches(name, names)}: the joints are "
                f"{', '.join(names)}"
            )
    missing = [name for name in names if head.count(name) != 1]
    if missing:
        raise ShapeError(f"{file} has {head.count(missing[0])} columns of joint {missing[0]!r}: expected one")
    return [head.index(name) for name in names]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
