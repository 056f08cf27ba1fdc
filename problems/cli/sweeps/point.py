"""One point of a sweep: its solve, the file of its solution and its row in the table."""

from __future__ import annotations

import csv
import io
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from problems.cli.problem_file import build_named
from problems.cli.summary import finite, words
from trajopt.errors import TrajoptError

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution
    from trajopt.solvers.solver import Solver

RESULTS = ("status", "converged", "duration", "objective", "iterations", "seconds", "kkt_error")
INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Point:
    """One row of the table; a failure keeps its message."""

    number: int
    parameters: Mapping[str, Any]
    results: Mapping[str, Any]
    start: str
    file: str
    error: str = ""

    @property
    def converged(self) -> bool:
        return bool(self.results.get("converged"))

    @property
    def interrupted(self) -> bool:
        return self.results.get("status") == INTERRUPTED

    def __str__(self) -> str:
        where = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        if self.error:
            return f"{self.number:>4}  {where}: {self.error}"
        results = self.results
        return (
            f"{self.number:>4}  {where}: {results['status']}, objective {_digits(results['objective'])}, "
            f"duration {_digits(results['duration'])} s, {results['iterations']} iterations from {self.start}"
        )


@dataclass(frozen=True)
class Task:
    """What one call of a sweep needs to know; plain values, so that any executor can send it anywhere.

    problem : name or file; solver : None for what the problem recommends
    before : number and parameters of the point whose solution, in `folder`, this one starts from
    """

    problem: str
    number: int
    parameters: Mapping[str, Any]
    folder: Path
    solver: Solver | None = None
    before: tuple[int, Mapping[str, Any]] | None = None

    @property
    def file(self) -> str:
        """Name of the file of this point's solution."""
        return file_of(self.number)


def file_of(number: int) -> str:
    return f"{number:04d}.npz"


def solved(task: Task) -> Point:
    """Solve a point and write its file; what it raises stands in its row."""
    try:
        solution, start = _solution(task)
        solution.save(task.folder / task.file)
    except Exception as error:
        return failed(task, error)
    results = {
        "status": solution.status.name.lower(),
        "converged": solution.converged,
        "duration": finite(solution.duration),
        "objective": finite(solution.objective),
        "iterations": solution.iterations,
        "seconds": finite(solution.seconds),
        "kkt_error": finite(solution.kkt.error),
    }
    return Point(task.number, task.parameters, results, start, task.file)


def failed(task: Task, error: BaseException) -> Point:
    """The row of a point that has no solution."""
    text = traceback.format_exception_only(type(error), error)[-1].strip()
    return Point(task.number, task.parameters, {"status": "failed", "converged": False}, "", "", text)


def _solution(task: Task) -> tuple[Solution, str]:
    """The solution from the neighbour's where there is one, from the problem's own guess where that fails."""
    import trajopt

    if task.before is not None:
        number, parameters = task.before
        question = build_named(task.problem, task.parameters)
        try:
            known = build_named(task.problem, parameters)
            question.guess(trajopt.Solution.load(task.folder / file_of(number), problem=known))
            solution = trajopt.solve(question, task.solver)
        except TrajoptError:
            solution = None  # of another robot, or not finite there
        if solution is not None and solution.converged:
            return solution, f"point {number}"
    return trajopt.solve(build_named(task.problem, task.parameters), task.solver), "its own guess"


def table(points: Sequence[Point]) -> str:
    """The rows as comma-separated values with a header."""
    text = io.StringIO()
    names = list(points[0].parameters)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["number", *names, *RESULTS, "start", "file", "error"])
    for point in points:
        given = [words(point.parameters[name]) for name in names]
        results = [point.results.get(key, "") for key in RESULTS]
        writer.writerow([point.number, *given, *results, point.start, point.file, point.error])
    return text.getvalue()


def _digits(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.9g}"
