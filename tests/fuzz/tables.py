"""Tables of the human model as CSV: each reader on a changed table.

Silently wrong is a reader whose numbers are not those of the cells, as Python's own CSV reader and an exact
decimal number tell them, or that takes a row, a column or a name twice without a word.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from importlib.resources import files
from typing import Any

import numpy as np

from problems.human.assessment import measured
from problems.human.body import tables
from tests.fuzz.mutations import NASTY_NUMBERS, NASTY_TEXTS, mutated_text, pick
from tests.fuzz.verdicts import Mismatch

PLAIN = re.compile(r"[ ]*[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?[ ]*")

# table -> its reader, and how it reads: name -> numbers
READERS: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "model55_bodies.csv": lambda: tables.segments.__wrapped__(),
    "model55_contact_points.csv": lambda: tables.contact_points.__wrapped__(),
    "initial_guess_control_points.csv": lambda: tables.guessed_control_points.__wrapped__(),
    "model55_joints.csv": lambda: tables.freedoms.__wrapped__(),
    "winter1991_natural_angles_grf.csv": lambda: {"curve": measured.measured.__wrapped__("knee angle")[0]},
}


class TableTarget:
    """CSV tables with cells, rows, columns and characters changed."""

    name, suffix = "tables", ".csv"

    def prepare(self) -> None:
        folder = files("problems.human").joinpath("data")
        self.seeds = {name: folder.joinpath(name).read_text(encoding="utf-8") for name in READERS}

    def mutant(self, rng: np.random.Generator) -> bytes:
        name = pick(rng, list(self.seeds))
        text = self.seeds[name]
        if rng.random() < 0.4:
            text = mutated_text(rng, text)
        else:
            rows = [line.split(",") for line in text.split("\n")]
            for _ in range(int(rng.integers(1, 3))):
                row = pick(rng, rows)
                row[int(rng.integers(len(row)))] = pick(rng, (*NASTY_NUMBERS, *NASTY_TEXTS, *row))
            text = "\n".join(",".join(row) for row in rows)
        return f"{name}\n{text}".encode("utf-8", "surrogatepass")

    def check(self, data: bytes) -> None:
        name, _, text = data.decode("utf-8", "replace").partition("\n")
        found = self._read(name, text)
        cells = list(csv.DictReader(io.StringIO(text, newline="")))
        keys = {"model55_bodies.csv": "body", "model55_contact_points.csv": "point"}
        keys |= {"initial_guess_control_points.csv": "dof", "model55_joints.csv": "name"}
        if name not in keys:
            columns = ["percent_gait_cycle", "knee_flexion_deg_mean", "knee_flexion_deg_sd"]
            curve = found["curve"]
            compare(np.array([curve.percent, curve.mean, curve.deviation]).T, cells, columns, 1.0)
            return
        if list(found) != [row[keys[name]] for row in cells]:
            raise Mismatch(f"{len(found)} names for {len(cells)} rows")
        for row, value in zip(cells, found.values(), strict=True):
            check_row(name, row, value)

    def _read(self, name: str, text: str) -> Mapping[str, Any]:
        """The reader's answer, with this text in place of its table."""
        rows = tables.rows

        def given(table: str, columns: list[str]) -> Any:
            return tables.checked_rows(text, table, columns) if table == name else rows(table, columns)

        tables.rows = measured.rows = given
        try:
            return READERS[name]()
        finally:
            tables.rows = measured.rows = rows


def check_row(name: str, row: Mapping[str, str], value: Any) -> None:
    """The numbers of a row are those of its cells."""
    if name == "model55_bodies.csv":
        found = [value.fraction, *value.centre, *np.diag(value.inertia)]
        columns = ["mass_fraction", *(f"com_{x}_frac_H" for x in "xyz")]
        columns += [f"I{x}{x}_kgm2_about_com" for x in "xyz"]
        compare(np.array([found]), [row], columns, 1.0)
        if min(value.fraction, *np.diag(value.inertia)) < 0.0:
            raise Mismatch("a body of negative mass or inertia")
    elif name == "model55_contact_points.csv":
        compare(np.array([value[1]]), [row], [f"{x}_frac_H" for x in "xyz"], 1.0)
    elif name == "initial_guess_control_points.csv":
        units = {"deg": np.pi / 180.0, "m": 1.0}
        if row["unit"] not in units:
            raise Mismatch(f"the unit {row['unit']!r} was taken")
        compare(np.array([value]), [row], [f"cp{i}" for i in range(1, 7)], units[row["unit"]])
    else:
        check_joint(row, value)


def check_joint(row: Mapping[str, str], value: Any) -> None:
    if row["type"] not in ("revolute", "prismatic") or value.kind != row["type"]:
        raise Mismatch(f"the type {row['type']!r} was taken as {value.kind}")
    angle = 1.0 if row["type"] == "prismatic" else np.pi / 180.0
    compare(np.array([value.limits]), [row], ["limit_lo_deg_or_m", "limit_hi_deg_or_m"], angle)
    compare(np.array([value.torques]), [row], ["torque_lo_Nm", "torque_hi_Nm"], 1.0)
    compare(np.array([value.axis]), [row], [f"axis_{x}" for x in "xyz"], 1.0)
    compare(np.array([value.offset]), [row], [f"offset_{x}_frac_H" for x in "xyz"], 1.0)
    if not (value.limits[0] <= value.limits[1] and value.torques[0] <= value.torques[1]):
        raise Mismatch("a lower limit above the upper one")
    if not np.any(value.axis):
        raise Mismatch("an axis without direction")


def compare(found: np.ndarray, rows: list[Any], columns: list[str], unit: float) -> None:
    """Numbers (k, columns) against the cells, which must be plain decimal numbers."""
    for numbers, row in zip(found, rows, strict=True):
        if None in row:
            raise Mismatch("cells behind the last column were dropped")
        for number, column in zip(numbers, columns, strict=True):
            cell = row[column]
            if not PLAIN.fullmatch(cell):
                raise Mismatch(f"{cell!r} was taken as the number {number}")
            if not np.isclose(number, unit * float(Decimal(cell.strip())), rtol=1e-12, atol=0.0):
                raise Mismatch(f"{cell!r} became {number}")
