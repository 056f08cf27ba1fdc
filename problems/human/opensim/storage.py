"""OpenSim's storage files (.mot, .sto): tables over time.

A storage is a header (name, version, nRows, nColumns, inDegrees, endheader), a line of column labels that
begins with time, and tab-separated rows. Translations are metres whatever inDegrees is, as OpenSim reads
them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trajopt.base.errors import ProblemError

DIGITS = ".12g"


@dataclass(frozen=True, eq=False)
class Storage:
    """A table over time (K,) in s: columns by label, (K,) each."""

    name: str
    time: np.ndarray
    columns: Mapping[str, np.ndarray]
    in_degrees: bool = False


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
        shape = (int(entries.get("nRows", -1)), int(entries.get("nColumns", -1)))
        values = np.array([[float(cell) for cell in line.split()] for line in lines[end + 2 :]])
    except ValueError as error:
        raise ProblemError(
            f"{path}: {error}: the rows below the labels must be equally many numbers"
        ) from None
    if values.shape != shape or len(labels) != shape[1] or labels[0] != "time":
        raise ProblemError(
            f"{path} has {values.shape} numbers under {len(labels)} labels from '{labels[0]}', but its "
            f"header says {shape}, and the first label must be time"
        )
    columns = dict(zip(labels[1:], values[:, 1:].T, strict=True))
    return Storage(lines[0], values[:, 0], columns, entries.get("inDegrees", "no") == "yes")
