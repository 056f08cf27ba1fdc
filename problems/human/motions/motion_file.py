"""Measured angles of joints over time, from .mot and .sto files of OpenSim or comma-separated values.

A .mot or .sto says in its header whether angles are degrees; translations are metres. In a .csv the first
line has "time" and the labels, each with its unit in brackets: "knee_angle_r [deg]", "pelvis_ty [mm]".
"""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from problems.human.opensim.coordinates import coordinates
from problems.human.opensim.storage import Storage, conversion, numbers_of_line, read_storage, text_of
from trajopt.base.arguments import list_names
from trajopt.base.errors import OptionError, ProblemError

UNITS = {"deg": np.pi / 180.0, "rad": 1.0, "m": 1.0, "mm": 1e-3, "cm": 1e-2}  # to rad and m
LENGTHS = ("m", "mm", "cm")
TRANSLATIONS = ("_tx", "_ty", "_tz")
#: What labels of other files of OpenSim have in them -> what such a file holds.
OTHER_KINDS = {
    re.compile(
        r"force|torque|moment|grf|grm|(^|_)cop|_[vp][xyz]$|(^|_)[fmp][xyz]\d*$", re.IGNORECASE
    ): "forces",
    re.compile(
        r"emg|activation|excitation|(^|_)(gas(troc|med|lat|_)|sol(eus|_)|tib_?(ant|post)|peron|per_?(long|brev)|"
        r"vas(tus|_?(lat|med|int))|rect?(us)?_?fem|bi(ceps)?_?fem|bf_?[ls]h|semi_?[tm]|gl(ut)?_?(max|med|min)|"
        r"tfl|add_?(mag|long|brev)|iliacus|psoas|sart|grac)",
        re.IGNORECASE,
    ): "muscle activity",
}
JUMP = 1.5  # times the usual time between rows: a longer one is a gap
MOST_RADIANS, MOST_METRES = 7.0, 100.0  # beyond: degrees, millimetres


@dataclass(frozen=True, eq=False)
class MotionTable:
    """Measured coordinates over time: time (K,) s, and columns (K,) in rad or m by OpenSim's names."""

    time: np.ndarray
    columns: Mapping[str, np.ndarray]

    def window(self, start: float, end: float) -> MotionTable:
        """The rows from `start` to `end`, s, both ends interpolated; ProblemError where there are none."""
        if not self.time[0] <= start < end <= self.time[-1]:
            raise ProblemError(
                f"the window is {start:g} to {end:g} s: the file has {self.time[0]:g} to {self.time[-1]:g} s"
            )
        inside = self.time[(self.time > start) & (self.time < end)]
        time = np.concatenate([[start], inside, [end]])
        return MotionTable(time, {k: np.interp(time, self.time, x) for k, x in self.columns.items()})


def read_motion(path: str | os.PathLike[str], names: Collection[str] | None = None) -> MotionTable:
    """Read a .mot, .sto or .csv file; of its columns those of `names`, or all if it has none of them.

    Raises OptionError for another kind of file, also one of forces or of muscle activity by its labels,
    ProblemError with the line for gaps, times that do not increase and numbers that are none, and where
    radians or metres look like degrees or millimetres.
    """
    file = Path(path)
    if not file.is_file():
        raise ProblemError(f"there is no file '{file}': give the path of a .mot, .sto or .csv")
    if file.suffix.lower() in (".mot", ".sto"):
        found, lines = _stored(file), 0
    elif file.suffix.lower() == ".csv":
        found, lines = _comma_separated(file)
    else:
        advice = conversion(file)
        raise OptionError(
            f"'{file}' is a {file.suffix or 'file without ending'}: give a .mot, .sto or .csv"
            f"{'; ' if advice else ''}{advice}"
        )
    if names is not None:
        wanted = {k: x for k, x in found.columns.items() if k in names}
        found = replace(found, columns=wanted or found.columns)
    check_times(found.time, file, lines)
    check_units(found, file)
    return found


def refuse_other_kind(labels: Iterable[str], file: Path) -> None:
    """OptionError where no label is a coordinate of OpenSim and most are forces, or muscles.

    labels : but for those of coordinates that never change, which files of forces may have, too
    """
    given = list(labels)
    if {own.name for own in coordinates().values()} & set(given):
        return
    for pattern, kind in OTHER_KINDS.items():
        found = [label for label in given if pattern.search(label)]
        if 2 * len(found) > len(given):
            raise OptionError(
                f"'{file}' has {kind}, {list_names(found)}: give the file of the motion, whose columns are "
                "coordinates such as knee_angle_r"
            )


def check_times(time: np.ndarray, file: Path, lines: int = 0) -> None:
    """ProblemError for times that do not increase, or a row that is missing; lines before the first row."""
    if len(time) < 2:
        raise ProblemError(f"{file} has {len(time)} rows of numbers: give two or more")
    check_increase(time, file, lines)
    steps = np.diff(time)
    usual = float(np.median(steps))
    for i in np.flatnonzero(steps > JUMP * usual)[:1]:
        raise ProblemError(
            f"{_row_name(file, lines, int(i) + 2)}: {steps[i]:.4g} s without a row, where rows are "
            f"{usual:.4g} s apart: fill the gap"
        )


def check_increase(time: np.ndarray, file: Path, lines: int = 0) -> None:
    """ProblemError for times that do not increase; lines before the first row."""
    for i in np.flatnonzero(np.diff(time) <= 0.0)[:1]:
        raise ProblemError(
            f"{_row_name(file, lines, int(i) + 2)}: time goes from {time[i]:g} to {time[i + 1]:g} s, it must "
            "increase"
        )


def _row_name(file: Path, lines: int, row: int) -> str:
    return f"{file}, line {lines + row}" if lines else f"{file}, row {row}"


def check_units(table: MotionTable, file: Path) -> None:
    """ProblemError where angles in rad or lengths in m are too large to be any."""
    for name, values in table.columns.items():
        most, unit, other = (MOST_METRES, "m", "mm") if name.endswith(TRANSLATIONS) else (
            MOST_RADIANS, "rad", "degrees"
        )  # fmt: skip
        largest = float(np.abs(values).max())
        if largest > most:
            raise ProblemError(
                f"{file}: '{name}' reaches {largest:.4g} {unit}, which looks like {other}: set inDegrees=yes "
                "in the header, or write the unit behind the label in a .csv, 'knee_angle_r [deg]'"
            )


def _stored(file: Path) -> MotionTable:
    table = _coordinates_of_states(read_storage(file))
    known = {own.name for own in coordinates().values()}
    refuse_other_kind(
        (name for name, x in table.columns.items() if name not in known or np.ptp(x) > 0.0), file
    )
    angles = [name for name in table.columns if not name.endswith(TRANSLATIONS)]
    if table.in_degrees is None and angles:
        raise ProblemError(
            f"{file} does not say in which unit '{angles[0]}' is: write inDegrees=yes, or no for rad, above "
            "'endheader'"
        )
    factor = UNITS["deg"] if table.in_degrees else 1.0
    return MotionTable(
        table.time, {k: (factor if k in angles else 1.0) * x for k, x in table.columns.items()}
    )


def _coordinates_of_states(table: Storage) -> Storage:
    """A table of states, /jointset/knee_r/knee_angle_r/value, as one of coordinates; another as it is.

    Coordinates whose name comes twice are JOINT/NAME, as `dynamics.load_osim` calls them.
    """
    paths = {label: label.split("/") for label in table.columns if label.endswith("/value")}
    uses = Counter(path[-2] for path in paths.values())
    values = {
        "/".join(path[-3 if uses[path[-2]] > 1 else -2 : -1]): table.columns[label]
        for label, path in paths.items()
    }
    return replace(table, columns=values) if values else table


def _comma_separated(file: Path) -> tuple[MotionTable, int]:
    try:
        rows = list(csv.reader(text_of(file).splitlines()))
    except csv.Error as error:
        raise ProblemError(f"{file} is no table of comma-separated values: {error}") from None
    lines = [(i, row) for i, row in enumerate(rows, 1) if any(cell.strip() for cell in row)]
    if len(lines) < 3:
        raise ProblemError(f"{file} has {len(lines)} lines: give labels, then two rows or more")
    if lines[0][1][0].partition("[")[0].strip() != "time":
        raise ProblemError(f"{file}, line 1 begins with '{lines[0][1][0]}': the first label must be time")
    refuse_other_kind((cell.partition("[")[0].strip() for cell in lines[0][1][1:]), file)
    labels = [_label(cell, file) for cell in lines[0][1]]
    names = [name for name, _ in labels]
    if "" in names or len(set(names)) < len(names):
        raise ProblemError(f"{file}, line {lines[0][0]} has the labels {names}: give each label, and once")
    values = np.array([numbers_of_line(row, names, file, i) for i, row in lines[1:]])
    columns = {name: unit * x for (name, unit), x in zip(labels[1:], values[:, 1:].T, strict=True)}
    return MotionTable(values[:, 0], columns), lines[0][0]


def _label(cell: str, file: Path) -> tuple[str, float]:
    """Name and factor to rad or m of a label."""
    name, _, unit = cell.strip().partition("[")
    unit = unit.rstrip("] ").strip()
    name = name.strip()
    known = ("s",) if name == "time" else LENGTHS if name.endswith(TRANSLATIONS) else tuple(UNITS)
    if not unit and name != "time":
        raise ProblemError(
            f"{file}, line 1: '{name}' has no unit: write one behind it, '{name} [{known[0]}]'"
        )
    if unit and unit not in known:
        raise ProblemError(f"{file}, line 1: '{cell.strip()}' has unit '{unit}': write {', '.join(known)}")
    return name, UNITS.get(unit, 1.0)
