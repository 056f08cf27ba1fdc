"""The folder of a study: a file for every solution, and the table, both written as soon as a point is done.

What was done before a study ended, by Ctrl-C or a power cut, is known again when the same study is begun in
the same folder: every row carries the digest of what was asked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trajopt.base.errors import ResultFolderError
from trajopt.base.files.atomic_file import whole_file
from trajopt.studies.many import point_table
from trajopt.studies.many.point import Answer, Point, Task
from trajopt.studies.many.sent_solution import read_solution

TABLE, PARQUET = "table.csv", "table.parquet"


def identity_of(task: Task) -> str:
    """Twelve hexadecimal digits of what a point asks: its problem and parameters, solver and options."""
    return hashlib.sha256(task.source + b"\0" + task.settings).hexdigest()[:12]


class PointFolder:
    """Files and rows of the points of a study; `known` are those of an earlier run of the same study.

    A folder that holds the points of another study is refused, ResultFolderError, unless it is begun anew.
    """

    def __init__(self, folder: Path, tasks: Sequence[Task], anew: bool = False) -> None:
        self.folder = folder
        self._identities = {task.number: identity_of(task) for task in tasks}
        self._rows: dict[int, Mapping[str, Any]] = {}
        self.known: dict[int, Point] = {}
        if anew:
            self._clear()
        else:
            self._recall({task.number: task for task in tasks})
        if self._rows or (folder / TABLE).exists():
            self.finish()  # without rows that are tried again, or that a power cut has damaged

    def add(self, answer: Answer) -> Point:
        """Write the file and the row of a point that is done."""
        point = answer.point
        if answer.archive:
            point = replace(point, file=name_of_file(point.number))
            with whole_file(self.folder / point.file) as stream:
                stream.write(answer.archive)
        row = point_table.row_of(point, self._identities[point.number])
        self._rows[point.number] = row
        point_table.append(self.folder / TABLE, row)
        return point

    def finish(self) -> None:
        """Sort the table; with pyarrow it is also written as Parquet."""
        rows = list(self._rows.values())
        if not rows:
            (self.folder / TABLE).unlink(missing_ok=True)
            return
        point_table.rewrite(self.folder / TABLE, rows)
        if point_table.has_parquet():
            point_table.save_table(rows, self.folder / PARQUET)

    def _clear(self) -> None:
        """Remove the table and the files that it names; what a user made stays."""
        for row in point_table.read(self.folder / TABLE):
            number = row.get("number", "")
            if number.isdecimal() and row.get("file") == name_of_file(int(number)):
                (self.folder / row["file"]).unlink(missing_ok=True)
        for name in (TABLE, PARQUET):
            (self.folder / name).unlink(missing_ok=True)

    def _recall(self, tasks: Mapping[int, Task]) -> None:
        """Keep the rows of points that have a solution; those that failed are tried again."""
        for row in point_table.read(self.folder / TABLE):
            point = self._point_of(row, tasks)
            if point is None:
                raise ResultFolderError(
                    f"{self.folder} holds the points of another study (row {row.get('number')} of {TABLE} "
                    "asks something else): give another folder, or begin anew (anew=True, --anew)"
                )
            whole = point.file == name_of_file(point.number) and not point.error and not point.interrupted
            if whole and read_solution(self.folder / point.file) is not None:
                self.known[point.number] = point
                self._rows[point.number] = point_table.row_of(point, self._identities[point.number])

    def _point_of(self, row: Mapping[str, str], tasks: Mapping[int, Task]) -> Point | None:
        """The point of a row of this study; None for a row of another one."""
        try:
            task = tasks[int(row["number"])]
            same = row[point_table.IDENTITY] == self._identities[task.number]
            return point_table.point_of(row, task.parameters) if same else None
        except (KeyError, ValueError):
            return None


def name_of_file(number: int) -> str:
    """Name of the file of a point's solution."""
    return f"{number:04d}.npz"
