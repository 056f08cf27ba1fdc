"""Tables of the human model, read from the package and checked column by column."""

from __future__ import annotations

import csv
import functools
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Literal

import numpy as np

from trajopt.base.arguments import short_repr
from trajopt.base.errors import ProblemError

AXES = ("x", "y", "z")
NUMBER = re.compile(r" *[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)? *")  # float() also takes 1_000


@dataclass(frozen=True, eq=False)
class Freedom:
    """One degree of freedom: parent None = ground, axis and offset (fractions of H) in the parent's axes.

    limits are radians, or metres for H = 1.75 m; torques N m; body is what the last axis of a joint carries.
    """

    name: str
    parent: str | None
    kind: Literal["revolute", "prismatic"]
    axis: np.ndarray
    offset: np.ndarray
    limits: tuple[float, float]
    torques: tuple[float, float]
    frozen: bool
    rule: str
    body: str


@dataclass(frozen=True, eq=False)
class Segment:
    """One body: fraction of the mass, centre (fractions of H), inertia in kg m^2 for 1.75 m and 75 kg."""

    fraction: float
    centre: np.ndarray
    inertia: np.ndarray


@functools.cache
def freedoms() -> Mapping[str, Freedom]:
    """The 55 degrees of freedom by name, parents first."""
    columns = ["name", "parent_dof", "type", "status", "symmetry_rule", "body_carried"]
    columns += ["limit_lo_deg_or_m", "limit_hi_deg_or_m", "torque_lo_Nm", "torque_hi_Nm"]
    columns += [f"axis_{axis}" for axis in AXES] + [f"offset_{axis}_frac_H" for axis in AXES]
    found = named(rows("model55_joints.csv", columns), "name")
    return MappingProxyType({name: _freedom(row) for name, row in found.items()})


@functools.cache
def segments() -> Mapping[str, Segment]:
    """The 23 bodies by name."""
    inertia = [f"I{axis}{axis}_kgm2_about_com" for axis in AXES]
    centre = [f"com_{axis}_frac_H" for axis in AXES]
    found = {}
    table = rows("model55_bodies.csv", ["body", "mass_fraction", *centre, *inertia])
    for body, row in named(table, "body").items():
        fraction, moments = number(row, "mass_fraction"), vector(row, inertia)
        if min(fraction, *moments) < 0.0:
            raise ProblemError(f"{row.where} has a negative mass or inertia: give the body positive ones")
        found[body] = Segment(fraction, vector(row, centre), np.diag(moments))
    return MappingProxyType(found)


@functools.cache
def contact_points() -> Mapping[str, tuple[str, np.ndarray]]:
    """Point -> (body, position in fractions of H from the origin of the body)."""
    position = [f"{axis}_frac_H" for axis in AXES]
    found = rows("model55_contact_points.csv", ["point", "body", *position])
    points = named(found, "point").items()
    return MappingProxyType({point: (row["body"], vector(row, position)) for point, row in points})


@functools.cache
def guessed_control_points() -> Mapping[str, np.ndarray]:
    """Curve -> six control points in rad or m: a measured gait, A the leading leg and B the trailing one."""
    points = [f"cp{i}" for i in range(1, 7)]
    found = {}
    for curve, row in named(
        rows("initial_guess_control_points.csv", ["dof", "unit", *points]), "dof"
    ).items():
        values = vector(row, points)
        found[curve] = np.deg2rad(values) if one_of(row, "unit", ("deg", "m")) == "deg" else values
    return MappingProxyType(found)


@dataclass(frozen=True)
class Row:
    """One line of a table: its cells by column, and where it stands."""

    where: str
    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells[column]


def rows(name: str, columns: list[str]) -> list[Row]:
    """The rows of a table; ProblemError where a column or a value is missing."""
    text = files("problems.human").joinpath("data").joinpath(name).read_text(encoding="utf-8")
    return checked_rows(text, name, columns)


def checked_rows(text: str, name: str, columns: list[str]) -> list[Row]:
    """The rows of CSV text with at least these columns; ProblemError naming table, line and column."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        head = list(reader.fieldnames or ())
        found = [Row(f"line {number} of table {name}", cells) for number, cells in enumerate(reader, start=2)]
    except csv.Error as error:
        raise ProblemError(f"line {reader.line_num} of table {name}: {error}: write it as CSV") from error
    missing = [column for column in columns if head.count(column) != 1]
    if missing:
        raise ProblemError(
            f"table {name} has no column {', '.join(missing)}: its first row must name it once"
        )
    for row in found:
        if None in row.cells:
            raise ProblemError(f"{row.where} has more cells than there are columns: leave out the last ones")
        short = [column for column in columns if row[column] is None]
        if short:
            raise ProblemError(f"{row.where} ends before column {short[0]}: complete it")
    return found


def named(table: list[Row], column: str) -> dict[str, Row]:
    """The rows by the name in a column; ProblemError for a name that comes twice."""
    found: dict[str, Row] = {}
    for row in table:
        if row[column] in found:
            raise ProblemError(
                f"{row.where} has {short_repr(row[column])} in column {column} again: name it once"
            )
        found[row[column]] = row
    return found


def one_of(row: Row, column: str, words: tuple[str, ...]) -> str:
    """A cell that is one of these words; ProblemError for another."""
    if row[column] not in words:
        expected = " or ".join(words)
        raise ProblemError(f"{row.where} has {short_repr(row[column])} in column {column}: write {expected}")
    return row[column]


def vector(row: Row, columns: list[str]) -> np.ndarray:
    """Columns of a row as numbers; ProblemError naming table, line and column of what is none."""
    return np.array([number(row, column) for column in columns])


def number(row: Row, column: str) -> float:
    """A cell as a finite number, written in digits as in 0.5 or -1e-3."""
    value = float(row[column]) if NUMBER.fullmatch(row[column]) else np.nan
    if not np.isfinite(value):
        raise ProblemError(f"{row.where} has {short_repr(row[column])} in column {column}: give a number")
    return value


def _freedom(row: Row) -> Freedom:
    kind = one_of(row, "type", ("revolute", "prismatic"))
    unit = 1.0 if kind == "prismatic" else np.pi / 180.0
    limits = unit * vector(row, ["limit_lo_deg_or_m", "limit_hi_deg_or_m"])
    torques, axis = vector(row, ["torque_lo_Nm", "torque_hi_Nm"]), vector(row, [f"axis_{x}" for x in AXES])
    if limits[0] > limits[1] or torques[0] > torques[1]:
        raise ProblemError(f"{row.where} has a lower limit above the upper one: swap them")
    if not np.any(axis):
        raise ProblemError(f"{row.where} has an axis without direction: give it one")
    return Freedom(
        name=row["name"],
        parent=None if row["parent_dof"] == "ground" else row["parent_dof"],
        kind="prismatic" if kind == "prismatic" else "revolute",
        axis=axis,
        offset=vector(row, [f"offset_{axis}_frac_H" for axis in AXES]),
        limits=(float(limits[0]), float(limits[1])),
        torques=(float(torques[0]), float(torques[1])),
        frozen=one_of(row, "status", ("active", "frozen")) == "frozen",
        rule=row["symmetry_rule"],
        body=row["body_carried"],
    )
