"""One point of a study: its solve by a worker, and its row in the table."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from trajopt.api.solve import solve
from trajopt.base.errors import TrajoptError
from trajopt.base.files.plain_values import finite
from trajopt.base.printable_text import printable_name
from trajopt.studies.many.build_inputs import inputs, recorded
from trajopt.studies.many.portable import unpacked
from trajopt.studies.many.sent_solution import AnySolution, file_of, with_problem, without_problem
from trajopt.studies.workers.worker_versions import check_same, versions

OWN_GUESS = "its own guess"
FAILED, INTERRUPTED = "failed", "interrupted"


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
    parameters: Mapping[str, Any]
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
    parameters: Mapping[str, Any]
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


def columns_of(solution: AnySolution) -> dict[str, Any]:
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


def failed(number: int, parameters: Mapping[str, Any], error: BaseException) -> StudyPoint:
    """The row of a point without a solution."""
    text = traceback.format_exception_only(type(error), error)[-1].strip()
    return StudyPoint(number, parameters, FAILED, error=" ".join(_short_name(text).split()))


def _solved(task: Task) -> tuple[Any, str]:
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


def _built(source: bytes) -> Any:
    """The problem of a point; what is read meanwhile is recorded."""
    with recorded():
        return unpacked(source)


def _short_name(text: str) -> str:
    """`trajopt.base.errors.OptionError: ...` without the module's name."""
    kind, colon, message = text.partition(": ")
    return f"{kind.rpartition('.')[2]}{colon}{message}"


def _digits(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.9g}"
