"""Measured motions: positions and torques of a robot's joints at a fixed rate, from arrays or a table."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arguments import check_positive, finite_numbers, list_names, number, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError, UnknownNameError, near_matches

if TYPE_CHECKING:
    from collections.abc import Sequence

UTF_8 = "utf-8-sig"  # with the mark in front that spreadsheets write, or without
JITTER = 0.1  # of a sample, that times may be off a fixed rate
FEWEST = 20  # samples


@dataclass(frozen=True, eq=False)
class Measurements:
    """Joint positions and torques at a fixed rate, what `estimate` takes.

    rate : Hz; q : (k, n) rad or m; tau : (k, n) N m or N, what the motors give to the joints
    joint_names : (n,) in the order of the columns
    Made by `measurements` and `read_measurements`, which check them.
    """

    rate: float
    q: Array
    tau: Array
    joint_names: tuple[str, ...]

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the last."""
        return (len(self.q) - 1) / self.rate

    @property
    def t(self) -> Array:
        """Times of the samples, (k,) s, from 0."""
        return np.arange(len(self.q)) / self.rate

    def __repr__(self) -> str:
        return (
            f"Measurements of {len(self.joint_names)} joints, {len(self.q)} samples in {self.duration:.4g} s"
        )


def measurements(joint_names: Sequence[str], q: Any, tau: Any, rate: float) -> Measurements:
    """Measured positions and torques, (k, n) each, in the order of `joint_names`, at `rate` Hz.

    Raises ShapeError for arrays that do not fit or fewer than 20 samples, NotFiniteError for NaN with its
    place, OptionError for a rate that is not positive.
    """
    names = tuple(joint_names)
    check_positive("rate", rate)
    arrays = {"q": finite_numbers(q, "q"), "tau": finite_numbers(tau, "tau")}
    for what, array in arrays.items():
        if array.ndim != 2 or array.shape[1] != len(names) or array.shape != arrays["q"].shape:
            raise ShapeError(
                f"{what} has shape {array.shape}: give ({len(arrays['q'])}, {len(names)}), a row per sample "
                f"and a column for each of {list_names(names)}"
            )
    if len(arrays["q"]) < FEWEST:
        raise ShapeError(f"{len(arrays['q'])} samples are too few: give at least {FEWEST}")
    return Measurements(float(rate), arrays["q"], arrays["tau"], names)


def recordings(data: Any, joint_names: Sequence[str]) -> list[Measurements]:
    """One measurement or several, checked to be of these joints."""
    if not isinstance(data, Measurements | list | tuple):
        raise OptionError(f"the data are {short_repr(data)}: give measurements, or a list of them")
    found = [data] if isinstance(data, Measurements) else list(data)
    for each in found:
        if not isinstance(each, Measurements):
            raise OptionError(
                f"the data hold {short_repr(each)}: give what read_measurements or measurements return"
            )
        if each.joint_names != tuple(joint_names):
            raise ShapeError(
                f"the measurements are of {list_names(each.joint_names)}, the robot has "
                f"{list_names(joint_names)}"
            )
    if not found:
        raise OptionError("the data are an empty list: give measurements")
    return found


def read_measurements(
    path: str | os.PathLike[str], joint_names: Sequence[str], rate: float | None = None
) -> Measurements:
    """Measurements from comma-separated values, whose first line names the columns.

    Columns "q elbow" and "tau elbow" for every joint, in any order, and "t", s; a unit may follow in
    brackets, "q elbow [rad]", as in the tables of `motion.to_csv`. Other columns are not read.
    rate : Hz; None: that of the column "t"; where both are given they must agree
    Raises UnknownNameError for columns that are missing, OptionError for text, lines that are too short and
    times that are not those of a fixed rate, and what `measurements` raises.
    """
    file, names = Path(path), tuple(joint_names)
    head, rows = _table(file)
    places = {what: [_place(file, head, f"{what} {name}") for name in names] for what in ("q", "tau")}
    found = rate if "t" not in head else _rate_of(file, rows[:, head.index("t")], rate)
    if found is None:
        raise OptionError(f"{file} has no column 't': give rate=, the samples per second")
    return measurements(names, rows[:, places["q"]], rows[:, places["tau"]], found)


def _table(file: Path) -> tuple[list[str], Array]:
    """Names of the columns without units, and the numbers."""
    with file.open(newline="", encoding=UTF_8) as stream:
        lines = [(i, row) for i, row in enumerate(csv.reader(stream), 1) if any(map(str.strip, row))]
    if len(lines) < 2:
        raise ShapeError(f"{file} has {len(lines)} lines: expected names of columns, and a line per sample")
    head = [cell.partition("[")[0].strip() for cell in lines[0][1]]
    rows = np.empty((len(lines) - 1, len(head)))
    for values, (number_of_line, row) in zip(rows, lines[1:], strict=True):
        if len(row) != len(head):
            raise ShapeError(f"{file}, line {number_of_line} has {len(row)} values: expected {len(head)}")
        values[:] = [_number(file, number_of_line, cell) for cell in row]
    return head, rows


def _number(file: Path, line: int, cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        raise OptionError(f"{file}, line {line} holds {cell!r}: give numbers") from None
    if not np.isfinite(value):
        raise NotFiniteError(f"{file}, line {line} holds {cell.strip()}: leave out what was not measured")
    return value


def _place(file: Path, head: list[str], name: str) -> int:
    if head.count(name) != 1:
        many = f"{head.count(name)} columns" if name in head else "no column"
        raise UnknownNameError(
            f"{file} has {many} {name!r}{near_matches(name, head)}: there are {list_names(head)}"
        )
    return head.index(name)


def _rate_of(file: Path, t: Array, stated: float | None) -> float:
    """Hz of the times, which must be even; and the stated one where there is one."""
    steps = np.diff(t)
    step = float(np.median(steps)) if steps.size else 0.0
    if not step > 0.0:
        raise OptionError(f"the times in {file} do not increase: give seconds, a line per sample")
    off = np.abs(t - t[0] - step_of(t) * np.arange(len(t)))
    if np.any(np.abs(steps - step) > JITTER * step) or off.max() > JITTER * step:
        worst = int(np.argmax(np.abs(steps - step)))
        raise OptionError(
            f"the times in {file} are not even: {steps[worst]:.6g} s after sample {worst}, {step:.6g} s "
            "elsewhere; give samples at a fixed rate"
        )
    rate = 1.0 / step_of(t)
    if stated is not None and abs(number(stated, "rate") - rate) > 1e-3 * rate:
        raise OptionError(
            f"rate is {stated:g} Hz, the times in {file} have {rate:.6g} Hz: give the one that is true"
        )
    return rate


def step_of(t: Array) -> float:
    """Seconds between samples."""
    return float((t[-1] - t[0]) / (len(t) - 1))
