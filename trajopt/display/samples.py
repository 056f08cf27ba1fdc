"""A motion sampled at a fixed rate, as columns with names and units: CSV files and data frames."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from trajopt.base.arguments import check_known, check_positive, list_names
from trajopt.base.errors import OptionError, printable_name
from trajopt.base.files.array_file import check_ending
from trajopt.base.files.atomic_file import write_text
from trajopt.base.tolerances import AGREEMENT
from trajopt.display.curves import curves_of, kinds_of, problem_of
from trajopt.graph.quantities import EXTRA, SPLINE_LEAVES
from trajopt.problem.systems.system import System
from trajopt.solution.solution import Answer, SolutionData

MOST_SAMPLES = 10_000_000


@dataclass(frozen=True, eq=False)
class Samples:
    """Times and curves of a motion: `samples["q elbow"]` is an array, one value per time.

    columns : name -> (K,), "t" first, then "q JOINT", "v JOINT", "a JOINT", "tau JOINT", then every
        additional curve, then "quaternion LINK x", y, z, w of links that a rotation vector turns; of a system
        x' = f(x, u) its states and controls by their own names; of phases "phase" behind "t"
    units : name -> unit; "" where none is known
    """

    columns: Mapping[str, NDArray[np.float64]]
    units: Mapping[str, str]

    @property
    def t(self) -> NDArray[np.float64]:
        """Times in seconds, (K,)."""
        return self.columns["t"]

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        check_known("column", name, self.columns)
        return self.columns[name]

    def __len__(self) -> int:
        return self.t.size

    def __repr__(self) -> str:
        last = float(self.t[-1])
        return f"Samples: {len(self)} rows from 0 to {last:g} s; columns {list_names(self.columns)}"

    def csv(self) -> str:
        """Comma-separated values: a line of names with units in brackets, then a line per time."""
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names = (f"{name} [{self.units[name]}]" if self.units[name] else name for name in self.columns)
        writer.writerow(map(printable_name, names))
        rows = np.column_stack(list(self.columns.values())).tolist()  # Python's floats print all their digits
        writer.writerows(rows)
        return text.getvalue()

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write `csv()`; the file appears whole or not at all."""
        check_ending(Path(path), ".csv", "a table")
        write_text(path, self.csv())

    def to_dataframe(self) -> Any:
        """A `pandas.DataFrame` with the same columns; `frame.attrs["units"]` has the units.

        Raises OptionError where pandas is not installed.
        """
        try:
            pandas: Any = import_module("pandas")
        except ImportError as error:
            raise OptionError(
                "a data frame needs pandas, which is not installed: pip install 'trajopt-splines[pandas]', "
                "or write a file, solution.to_csv(path)"
            ) from error
        frame = pandas.DataFrame(dict(self.columns))
        frame.attrs["units"] = dict(self.units)
        return frame


def samples_of(answer: Answer, rate: float) -> Samples:
    """The motion at 0, 1/rate, 2/rate, ... and at its end, whatever is left of the last step.

    Every phase is sampled so from its own start; "t" goes on from phase to phase, the column "phase" has the
    phase's number, and what a phase does not have is NaN in it. Where phases meet there are two rows.

    Torques, additional curves and units need the problem: of a solution read from a file without it there
    are q, v and a alone. Raises OptionError for a rate that is no positive number, or too high a one.
    """
    check_positive("rate", rate)
    if answer.duration * rate > MOST_SAMPLES:
        raise OptionError(
            f"rate is {rate:g} Hz, which makes more than {MOST_SAMPLES:.0e} samples of "
            f"{answer.duration:.3g} s: give a lower one"
        )
    named = answer.named_parts
    tables = [_samples_of_one(part, rate) for _, part in named]
    if len(named) == 1 and not named[0][0]:
        return tables[0]
    joined = _joined([name for name, _ in named], tables)
    columns = dict(joined.columns)
    links = [_quaternion_columns(part) for _, part in named]
    for names in dict(item for link in links for item in link.items()).values():
        each = np.stack([columns[name] for name in names], axis=1)
        columns |= zip(names, _of_one_sign(each).T, strict=True)
    return Samples(columns, joined.units)


def _samples_of_one(solution: SolutionData, rate: float) -> Samples:
    t = times_at_rate(solution.duration, rate)
    columns, units = {"t": t}, {"t": "s"}
    problem = problem_of(solution)
    is_system = problem is not None and isinstance(problem.dynamics, System)
    quantities = SPLINE_LEAVES[:-1] if problem is None else tuple(kinds_of(problem))
    for quantity, curves in curves_of(solution, quantities, t).items():
        prefix = "" if is_system or quantity.startswith(EXTRA) else f"{quantity} "
        for curve in curves:
            columns[f"{prefix}{curve.name}"], units[f"{prefix}{curve.name}"] = curve.values, curve.unit
    for link, named in _quaternion_columns(solution).items():
        columns |= zip(named, quaternions(solution.rotation(link)(t)).T, strict=True)
        units |= dict.fromkeys(named, "")
    return Samples(columns, units)


def _quaternion_columns(solution: SolutionData) -> dict[str, list[str]]:
    """Links that a rotation vector turns, and the columns of their quaternions."""
    problem = problem_of(solution)
    links = [joint.link for joint in getattr(problem and problem.dynamics, "rotation_joints", ())]
    return {link: [f"quaternion {link} {axis}" for axis in "xyzw"] for link in links}


def quaternions(rotations: NDArray) -> NDArray:
    """Unit quaternions x, y, z, w (K, 4) of rotation matrices over time, without changes of sign."""
    return _of_one_sign(Rotation.from_matrix(rotations).as_quat())


def _of_one_sign(each: NDArray) -> NDArray:
    """Quaternions over time (K, 4) without changes of sign; Q and -Q are one rotation."""
    turned = np.sum(each[1:] * each[:-1], axis=1) < 0.0
    return each * np.cumprod(np.append(1.0, np.where(turned, -1.0, 1.0)))[:, None]


def _joined(names: Sequence[str], tables: Sequence[Samples]) -> Samples:
    """The tables of phases below each other; a column with other units than before begins with its phase."""
    start, units = 0.0, {"t": "s", "phase": ""}
    parts = []
    for number, (name, table) in enumerate(zip(names, tables, strict=True)):
        own = {"t": table.t + start, "phase": np.full(len(table), float(number))}
        for column, values in list(table.columns.items())[1:]:
            unit = table.units[column]
            new = column if units.setdefault(column, unit) == unit else f"{name}: {column}"
            own[new], units[new] = values, unit
        parts.append(own)
        start += table.t[-1]
    columns = dict.fromkeys(column for own in parts for column in own)
    missing = [np.full(len(table), np.nan) for table in tables]
    joined = {
        column: np.concatenate([own.get(column, none) for own, none in zip(parts, missing, strict=True)])
        for column in columns
    }
    return Samples(joined, {column: units[column] for column in columns})


def times_at_rate(duration: float, rate: float) -> NDArray[np.float64]:
    """0, 1/rate, ... below the duration, and the duration itself."""
    whole = int(np.ceil(duration * rate * (1.0 - AGREEMENT)))  # the end is then a sample of the rate
    return np.append(np.arange(whole) / rate, duration)
