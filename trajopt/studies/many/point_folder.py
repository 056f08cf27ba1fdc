"""The folder of a study: a file for every solution, and the table, both written as soon as a point is done.

A study that ended early, by Ctrl-C or a power cut, resumes when it is begun again in the same folder: every
row holds the digest of what was asked, the code of the problem included, and that of its solution's file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trajopt.base.arguments import list_names
from trajopt.base.errors import ResultFolderError, SolutionFileError
from trajopt.base.files import whole_file
from trajopt.studies.many import point as point_table
from trajopt.studies.many.point import StudyAnswer, StudyPoint, Task, columns_of
from trajopt.studies.many.portable import read_solution
from trajopt.studies.many.provenance import changed, code_of_names, names_in_pickle, short_digest

if TYPE_CHECKING:
    from trajopt.studies.many.portable import AnySolution

TABLE, PARQUET = "table.csv", "table.parquet"


def identities(tasks: Iterable[Task]) -> dict[int, str]:
    """Number -> digest of what a point asks: problem and its code, parameters, solver, options."""
    codes: dict[frozenset[str], str] = {}  # points of a sweep name the same modules, which are read once
    found = {}
    for task in tasks:
        names = names_in_pickle(task.source) | names_in_pickle(task.settings)
        if names not in codes:
            codes[names] = code_of_names(names)
        code = codes[names] + task.versions["sources"] * task.is_recipe
        found[task.number] = short_digest(b"\0".join([task.source, task.settings, code.encode()]))
    return found


class PointFolder:
    """Files and rows of the points of a study; `known` are those of an earlier run of the same study.

    A folder that holds the points of another study is refused, ResultFolderError, unless it is begun anew.
    """

    def __init__(self, folder: Path, tasks: Sequence[Task], anew: bool = False) -> None:
        self.folder = folder
        self._identities = identities(tasks)
        self._rows: dict[int, point_table.Row] = {}
        self.known: dict[int, StudyPoint] = {}
        if anew:
            self._clear()
        elif (folder / TABLE).exists():
            self._recall({task.number: task for task in tasks})
        self._check_free(tasks)
        if self._rows or (folder / TABLE).exists():
            self.finish()  # without rows that are tried again, or that a power cut has damaged

    def add(self, answer: StudyAnswer) -> StudyPoint:
        """Write the file and the row of a point that is done."""
        point = answer.point
        if answer.archive:
            point = replace(point, file=name_of_file(point.number))
            with whole_file(self.folder / point.file) as stream:
                stream.write(answer.archive)
        row = self._row(point, short_digest(answer.archive) if answer.archive else "", answer.inputs)
        self._rows[point.number] = row
        point_table.append(self.folder / TABLE, row)
        return point

    def solution(self, point: StudyPoint) -> AnySolution | None:
        """The solution of a point from its file; None where the file is missing or damaged.

        Raises SolutionFileError for a solution that is not the one of the row.
        """
        path = self.folder / point.file
        found = read_solution(path)
        if (
            found is not None
            and short_digest(path.read_bytes()) != self._rows[point.number][point_table.FILE_DIGEST]
        ):
            raise SolutionFileError(
                f"{path} is not the solution that row {point.number} of {TABLE} describes: it was replaced; "
                "remove it to have the point solved again"
            )
        return found

    def _row(self, point: StudyPoint, file_digest: str, inputs: Mapping[str, str]) -> point_table.Row:
        return point_table.row_of(point, self._identities[point.number], file_digest, inputs)

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
        for row in point_table.read_rows(self.folder / TABLE):
            number = row.get("number", "")
            if number.isdecimal() and row.get("file") == name_of_file(int(number)):
                (self.folder / row["file"]).unlink(missing_ok=True)
        for name in (TABLE, PARQUET):
            (self.folder / name).unlink(missing_ok=True)

    def _check_free(self, tasks: Sequence[Task]) -> None:
        """ResultFolderError for a file of a point's name in a folder that has no table: it is a user's."""
        names = [] if (self.folder / TABLE).exists() else [name_of_file(task.number) for task in tasks]
        taken = [name for name in names if (self.folder / name).exists()]
        if taken:
            raise ResultFolderError(
                f"{self.folder} holds {list_names(taken)} and no {TABLE}: the study would overwrite them; "
                "move them, or give another folder"
            )
        (self.folder / TABLE).touch()

    def _recall(self, tasks: Mapping[int, Task]) -> None:
        """Keep the rows of points that have a solution; those that failed, or were built from files or
        variables that have changed, are solved again."""
        for row in point_table.read_rows(self.folder / TABLE):
            point = self._point_of(row, tasks)
            if point is None:
                raise ResultFolderError(
                    f"{self.folder} holds the points of another study (row {row.get('number')} of {TABLE} "
                    "has other parameters, solver or options, or the code of its problem has changed): give "
                    "another folder, or begin anew (anew=True, --anew)"
                )
            inputs = point_table.recorded_inputs(row)
            is_done = point.file == name_of_file(point.number) and not point.error and not point.interrupted
            if is_done and inputs is not None and not changed(inputs):
                self._rows[point.number] = self._row(point, row[point_table.FILE_DIGEST], inputs)
                solution = self.solution(point)
                if solution is None:
                    del self._rows[point.number]
                else:
                    self._check_row(point, solution)
                    self.known[point.number] = point

    def _check_row(self, point: StudyPoint, solution: AnySolution) -> None:
        """ResultFolderError where a row has other numbers than its solution."""
        for name, value in columns_of(solution).items():
            if getattr(point, name) != value:
                raise ResultFolderError(
                    f"row {point.number} of {self.folder / TABLE} was changed: {name} is "
                    f"{getattr(point, name)} there and {value} in {point.file}; correct the row, remove the "
                    "file to have the point solved again, or begin anew (anew=True, --anew)"
                )

    def _point_of(self, row: Mapping[str, str], tasks: Mapping[int, Task]) -> StudyPoint | None:
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
