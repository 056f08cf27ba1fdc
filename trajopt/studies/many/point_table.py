"""The table of a study as a file: a row is appended when its point is done, and all are sorted at the end."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from trajopt.base.errors import OptionError
from trajopt.base.files.atomic_file import whole_file, write_text
from trajopt.base.files.plain_values import words
from trajopt.studies.many.point import StudyPoint

IDENTITY, FILE_DIGEST, INPUTS = "identity", "file_digest", "inputs"

#: The attributes of a point beside its number, its parameters and its solution.
COLUMNS = tuple(column.name for column in fields(StudyPoint)[2:-1])

Row = Mapping[str, Any]
NO_INPUTS: Mapping[str, str] = MappingProxyType({})


def row_of(
    point: StudyPoint, identity: str = "", file_digest: str = "", inputs: Mapping[str, str] = NO_INPUTS
) -> dict[str, Any]:
    """A point as a row: column -> value; parameters of the same name as a column begin with "parameter ".

    identity, file_digest : digests of what was asked and of the solution's file, columns of tables in folders
    inputs : what was read to build the problem, and the digests of its content; a column, too
    """
    own = ("number", *COLUMNS, IDENTITY, FILE_DIGEST, INPUTS)
    given = {
        f"parameter {name}" if name in own else name: words(value) for name, value in point.parameters.items()
    }
    values = {name: getattr(point, name) for name in COLUMNS}
    row = {"number": point.number, **given, **values}
    if not identity:
        return row
    return row | {IDENTITY: identity, FILE_DIGEST: file_digest, INPUTS: json.dumps(dict(inputs))}


def csv_of(rows: Sequence[Row]) -> str:
    """Rows as comma-separated values with a header, by number."""
    text = io.StringIO()
    names = _names(rows)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=lambda row: int(row["number"])))
    return text.getvalue()


def append(path: Path, row: Row) -> None:
    """Add a row to the file, which is made with a header where it is not there; OSError on a full disk.

    One write of whole lines, so that a process that is killed leaves the row or none; what a full disk cut is
    taken away again.
    """
    line = csv_of([row])
    with path.open("ab") as stream:
        length = stream.tell()
        text = line if length == 0 else line.partition("\n")[2]
        try:
            stream.write(text.encode())
            stream.flush()
            os.fsync(stream.fileno())
        except OSError:
            stream.truncate(length)
            raise


def rewrite(path: Path, rows: Sequence[Row]) -> None:
    """Write all rows in the order of their numbers, whole or not at all."""
    write_text(path, csv_of(rows))


def read_rows(path: Path) -> list[dict[str, str]]:
    """Rows of the file as text; none where there is no file. A last row that is cut is left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    whole = text[: text.rfind("\n") + 1]
    return [
        row for row in csv.DictReader(io.StringIO(whole, newline="")) if None not in (*row, *row.values())
    ]


def point_of(row: Mapping[str, str], parameters: Mapping[str, Any]) -> StudyPoint:
    """The point of a row that was read; ValueError or KeyError for a row that is none."""
    values = {name: row[name] for name in ("number", *COLUMNS) if row[name]}  # the others are the defaults
    point = msgspec.convert({**values, "parameters": {}}, StudyPoint, strict=False)
    return replace(point, parameters=parameters)


def recorded_inputs(row: Mapping[str, str]) -> dict[str, str] | None:
    """Files and digests read to build the problem of a row; None where the row does not say."""
    try:
        return msgspec.json.decode(row[INPUTS], type=dict[str, str])
    except (KeyError, ValueError, msgspec.DecodeError):
        return None


def save_table(rows: Sequence[Row], path: Path) -> None:
    """Write rows as .csv or, with pyarrow, as .parquet; OptionError for another ending or without pyarrow."""
    if path.suffix == ".csv":
        rewrite(path, rows)
    elif path.suffix == ".parquet":
        _write_parquet(rows, path)
    else:
        raise OptionError(f"{path} ends in '{path.suffix}': give a name that ends in .csv or .parquet")


def has_parquet() -> bool:
    """True if pyarrow, which writes Parquet, is installed."""
    return find_spec("pyarrow") is not None


def _write_parquet(rows: Sequence[Row], path: Path) -> None:
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise OptionError(
            f"{path} needs the package pyarrow: pip install pyarrow, or write a .csv"
        ) from error
    ordered = sorted(rows, key=lambda row: int(row["number"]))
    columns = {name: _column([row.get(name) for row in ordered]) for name in _names(ordered)}
    with whole_file(path) as stream:
        parquet.write_table(pyarrow.table(columns), stream)


def _column(values: list[Any]) -> list[Any]:
    """Values of one kind, as columns of Parquet are; text where they differ, as lists and numbers may."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and len(kinds) > 1:
        return [None if value is None else float(value) for value in values]
    plain = len(kinds) <= 1 and kinds <= {int, float, bool, str}
    return values if plain else [None if value is None else str(value) for value in values]


def _names(rows: Iterable[Row]) -> list[str]:
    """All columns, those of the first row first."""
    return list(dict.fromkeys(name for row in rows for name in row))
