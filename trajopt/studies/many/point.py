"""One point of a study: its solve by a worker, and its row in the table.

The table is a file: a row is appended when its point is done, and all are sorted at the end.
"""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec

from trajopt.api.solve import solve
from trajopt.base.errors import OptionError, TrajoptError, printable_name
from trajopt.base.files import finite, whole_file, words, write_text
from trajopt.problem.phases import Asked
from trajopt.studies.many.portable import AnySolution, file_of, unpacked, with_problem, without_problem
from trajopt.studies.many.provenance import check_same, inputs, recorded, versions

OWN_GUESS = "its own guess"
FAILED, INTERRUPTED = "failed", "interrupted"


Parameters: TypeAlias = Mapping[str, Any]  # of a point, by name


@dataclass(frozen=True, eq=False)
class StudyPoint:
    """One row of the table: what was solved, how it ended, or the error that it ended in.

    parameters : those that distinguish it from the other points
    status : of the solver in lower case, "failed" or "interrupted"; numbers are None where unknown
    start : what the solve started from;  tries : how many workers had it
    file : name of its solution in the folder; empty without one
    error : name of the exception and its message
    Attributes are the columns of a study's table, in their order.
    """

    number: int
    parameters: Parameters
    status: str
    converged: bool = False
    duration: float | None = None
    objective: float | None = None
    iterations: int | None = None
    seconds: float | None = None
    kkt_error: float | None = None
    start: str = ""
    tries: int = 1
    file: str = ""
    error: str = ""
    _loaded: Any = field(default=None, repr=False)  # a function, called where the solution is asked for

    @property
    def solution(self) -> Any:
        """Its solution, or that of phases, read from its file where it is in one; None without one."""
        return None if self._loaded is None else self._loaded()

    def with_solution(self, loaded: Callable[[], AnySolution | None]) -> StudyPoint:
        """The point with a way to its solution, which is taken once."""
        return replace(self, _loaded=cache(loaded))

    @property
    def interrupted(self) -> bool:
        return self.status == INTERRUPTED

    def __str__(self) -> str:
        where = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        head = f"{self.number:>4}  {where}: " if where else f"{self.number:>4}  "
        if self.error:
            return printable_name(f"{head}{self.error}")
        return printable_name(
            f"{head}{self.status}, objective {_digits(self.objective)}, duration {_digits(self.duration)} s, "
            f"{self.iterations} iterations from {self.start}"
        )


@dataclass(frozen=True)
class Before:
    """A solved point that another one starts from: number, packed problem, solution without its problem."""

    number: int
    source: bytes
    solution: AnySolution


@dataclass(frozen=True)
class Task:
    """The input of a worker that solves a point.

    source : the packed problem;  settings : pickled solver and options of `solve`
    keep, archive : whether the solution and the bytes of its file are sent back
    versions : of the process that asks, which the worker's must equal
    is_recipe : whether the source is a recipe, built by the code of the library
    """

    number: int
    parameters: Parameters
    source: bytes
    settings: bytes
    keep: bool
    archive: bool
    versions: Mapping[str, str]
    before: Before | None = None
    is_recipe: bool = False


@dataclass(frozen=True)
class StudyAnswer:
    """The result of a worker: the row, and the solution without its problem and as a file, if asked for.

    inputs : files and variables that were read to build the problem -> digests of what they held
    """

    point: StudyPoint
    solution: AnySolution | None = None
    archive: bytes = b""
    inputs: Mapping[str, str] = field(default_factory=dict)


def answered(task: Task) -> StudyAnswer:
    """Solve a point; what the problem or the solve raises stands in its row. ClusterError for versions."""
    check_same(task.versions, versions(), "a worker")
    try:
        solution, start = _solved(task)
        archive = file_of(solution) if task.archive else b""
    except Exception as error:
        return StudyAnswer(failed(task.number, task.parameters, error))
    point = StudyPoint(task.number, task.parameters, start=start, **columns_of(solution))
    return StudyAnswer(point, without_problem(solution) if task.keep else None, archive, inputs())


def columns_of(solution: AnySolution) -> Row:
    """The columns of a row that its solution determines."""
    return {
        "status": solution.status.name.lower(),
        "converged": solution.converged,
        "duration": finite(solution.duration),
        "objective": finite(solution.objective),
        "iterations": solution.iterations,
        "seconds": finite(solution.seconds),
        "kkt_error": finite(solution.kkt.error),
    }


def failed(number: int, parameters: Parameters, error: BaseException) -> StudyPoint:
    """The row of a point without a solution."""
    kind, *rest = traceback.format_exception_only(type(error), error)[-1].strip().partition(": ")
    text = "".join([kind.rpartition(".")[2], *rest])  # without the module of the error's class
    return StudyPoint(number, parameters, FAILED, error=" ".join(text.split()))


def _solved(task: Task) -> tuple[AnySolution, str]:
    """The solution from the neighbour's where there is one, from the problem's own guess where that fails."""
    solver, options = pickle.loads(task.settings)
    if task.before is not None:
        question = _built(task.source)
        try:
            question.guess(with_problem(task.before.solution, unpacked(task.before.source)))
            solution = solve(question, solver, **options)
        except TrajoptError:
            solution = None  # of another robot, or not finite there
        if solution is not None and solution.converged:
            return solution, f"point {task.before.number}"
    return solve(_built(task.source), solver, **options), OWN_GUESS


def _built(source: bytes) -> Asked:
    """The problem of a point; what is read meanwhile is recorded."""
    with recorded():
        return unpacked(source)


def _digits(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.9g}"


IDENTITY, FILE_DIGEST, INPUTS = "identity", "file_digest", "inputs"

#: The attributes of a point beside its number, its parameters and its solution.
COLUMNS = tuple(column.name for column in fields(StudyPoint)[2:-1])

Row = dict[str, Any]  # column -> value
NO_INPUTS: Mapping[str, str] = MappingProxyType({})


def row_of(
    point: StudyPoint, identity: str = "", file_digest: str = "", inputs: Mapping[str, str] = NO_INPUTS
) -> Row:
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


def point_of(row: Mapping[str, str], parameters: Parameters) -> StudyPoint:
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
    else:
        raise OptionError(f"{path} ends in '{path.suffix}': give a name that ends in .csv or .parquet")


def has_parquet() -> bool:
    """True if pyarrow, which writes Parquet, is installed."""
    return find_spec("pyarrow") is not None


def _column(values: Sequence[Any]) -> Sequence[object]:
    """Values of one kind, as columns of Parquet are; text where they differ, as lists and numbers may."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and len(kinds) > 1:
        return [None if value is None else float(value) for value in values]
    plain = len(kinds) <= 1 and kinds <= {int, float, bool, str}
    return values if plain else [None if value is None else str(value) for value in values]


def _names(rows: Iterable[Row]) -> list[str]:
    """All columns, those of the first row first."""
    return list(dict.fromkeys(name for row in rows for name in row))
