"""OpenSim's storage files (.mot, .sto): tables over time.

A storage is a header (name, version, nRows, nColumns, inDegrees, endheader), a line of column labels that
begins with time, and tab-separated rows. Translations are metres whatever inDegrees is, as OpenSim reads
them.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from trajopt.base.arguments import list_names
from trajopt.base.errors import ProblemError, printable_name, warn_user
from trajopt.base.files import write_text

DIGITS = ".12g"

TABLE = "save it as a .csv of coordinates with a column time, or as .mot or .sto"
OTHER_FORMATS = {  # ending -> what to do
    ".c3d": "convert it first, by the C3DFileAdapter of the application OpenSim or its conda package (PyPI"
    "'s has none): markers to .trc by TRCFileAdapter, forces to .sto by STOFileAdapter",
    ".bvh": "its angles are those of a skeleton of its own: write places of its joints as markers, .trc, or "
    "angles of OpenSim's coordinates as .csv with a column time",
} | dict.fromkeys((".xlsx", ".xls", ".ods", ".mat", ".h5", ".hdf5", ".parquet"), TABLE)


@dataclass(frozen=True, eq=False)
class Storage:
    """A table over time (K,) in s: columns by label, (K,) each.

    in_degrees : whether angles are degrees, None: the file does not say
    """

    name: str
    time: np.ndarray
    columns: Mapping[str, np.ndarray]
    in_degrees: bool | None = False


def write_storage(
    path: str | os.PathLike[str], table: Storage, more: Mapping[str, object] = MappingProxyType({})
) -> None:
    """Write one table as OpenSim reads it; more : further entries of its header."""
    values = np.column_stack([table.time, *table.columns.values()])
    header = [
        table.name, "version=1", f"nRows={values.shape[0]}", f"nColumns={values.shape[1]}",
        f"inDegrees={'yes' if table.in_degrees else 'no'}",
        *(f"{key}={value}" for key, value in more.items()), "endheader",
    ]  # fmt: skip
    rows = ["\t".join(format(value, DIGITS) for value in row) for row in values]
    text = "\n".join([*header, "\t".join(["time", *map(_label, table.columns)]), *rows]) + "\n"
    write_text(path, text)


def _label(name: str) -> str:
    """A name as the label of a column, which ends at white space."""
    return "_".join(printable_name(name).split())


def read_storage(path: str | os.PathLike[str]) -> Storage:
    """Read a .mot or .sto file.

    The labels say how many columns there are, whatever nColumns is, as OpenSim's tables are read. Raises
    ProblemError where labels and numbers do not agree, with the line where there is one: a label without a
    column, a row that is too short, text, NaN, or a file that ends within a row. Another number of whole rows
    than the header's is a warning. Columns of one label, as old files have of several force plates, are left
    out with a warning.
    """
    text = text_of(path)
    lines = text.splitlines()
    ends = [i for i, line in enumerate(lines) if line.strip() == "endheader"]
    if not ends:
        raise ProblemError(_without_header_end(path, lines))
    end = ends[0]
    entries = {key.strip(): value.strip() for key, _, value in (x.partition("=") for x in lines[1:end])}
    labels = " ".join(lines[end + 1 : end + 2]).split()
    if labels[:1] != ["time"]:
        raise ProblemError(f"{path}, line {end + 2} begins with {labels[:1]}: the first label must be time")
    rows = [(i, line.split()) for i, line in enumerate(lines[end + 2 :], end + 3) if line.strip()]
    values = np.array([numbers_of_line(cells, labels, path, i) for i, cells in rows])
    check_row_count(path, text, "nRows", entries.get("nRows"), len(values))
    again = {label for label, count in Counter(labels).items() if count > 1}
    kept = [label for label in labels[1:] if label not in again]
    if len(values) < 2 or (again and not kept):
        raise ProblemError(
            f"{path} has {len(values)} rows under {list_names(labels[1:])}: give two or more, and each label "
            "once"
        )
    if again:
        warn_user(
            f"{path}: several columns have the same label and are left out: {list_names(sorted(again))}"
        )
    columns = {label: values[:, labels.index(label)] for label in kept}
    written = entries.get("inDegrees")
    if written is not None and written.lower() not in ("yes", "no"):
        raise ProblemError(f"{path} has inDegrees={written} in its header: write yes or no")
    return Storage(lines[0], values[:, 0], columns, None if written is None else written.lower() == "yes")


def _without_header_end(path: object, lines: Sequence[str]) -> str:
    """The message on a file without the line that ends a header, as tables of spreadsheets are."""
    for i, line in enumerate(lines, 1):
        if line.strip(' ,;"') == "endheader":
            return (
                f"{path}, line {i} is {line[:20]!r}, not 'endheader': save the table with tabs between its "
                "cells, and nothing behind those of the header"
            )
    return (
        f"{path} has no line 'endheader': write a name, version=1, inDegrees=yes or no, and endheader, a "
        "line each, above the line of labels, which begins with time"
    )


def check_row_count(
    path: object, text: str, key: str, stated: str | None, count: int, whole: bool = True
) -> None:
    """A warning for a file of another number of rows than its header states under `key`.

    ProblemError where the file ends within its last row: it is not `whole`, or no line break follows it.
    """
    if stated is None or stated == str(count):
        return
    found = f"{path} has {count} as {key}, but its header says {stated}"
    if not whole or not text.endswith(("\n", "\r")):
        raise ProblemError(
            f"{found}, and it ends within a row or right behind it: delete this row where it is cut, end the "
            f"file with a line break and write {key}"
        )
    warn_user(f"{found}: the {count} are read")


def conversion(path: str | os.PathLike[str]) -> str:
    """The way to files that are read from one of a known other format; empty for any other file."""
    return OTHER_FORMATS.get(Path(path).suffix.lower(), "")


def text_of(path: str | os.PathLike[str]) -> str:
    """The text of a file; ProblemError where it is none, or one of `OTHER_FORMATS`."""
    if advice := conversion(path):
        raise ProblemError(f"{path} is not read: {advice}")
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProblemError(f"{path} is no text in UTF-8 ({error}): save it as such") from None


def numbers_of_line(cells: Sequence[str], labels: Sequence[str], path: object, line: int) -> list[float]:
    """The cells of a line as finite numbers; ProblemError with line and label for others, or too few."""
    if len(cells) != len(labels):
        raise ProblemError(
            f"{path}, line {line} has {len(cells)} numbers: {len(labels)} labels are above it; fill gaps "
            "before"
        )
    values = list[float]()
    for cell, label in zip(cells, labels, strict=True):
        try:
            values.append(float(cell))
        except ValueError as error:
            raise ProblemError(
                f"{path}, line {line}: {error} in '{label}': give numbers, and fill gaps before"
            ) from None
        if not math.isfinite(values[-1]):
            raise ProblemError(f"{path}, line {line} has a gap ({cell}) in '{label}': fill it before")
    return values
