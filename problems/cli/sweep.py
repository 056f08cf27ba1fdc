"""Parameter sweeps: a problem solved at every point of a grid, with a table and a solution of each point.

Points are visited so that neighbours differ in one parameter by one step, back and forth through the grid;
each starts from the solution of the one before it, and once more from its own guess where that fails.
"""

from __future__ import annotations

import csv
import io
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from problems.cli.literal import literal
from problems.cli.problem_file import build_named
from problems.cli.summary import finite, words, write_text
from trajopt.errors import OptionError, TrajoptError, UnknownNameError
from trajopt.solvers.solver import Status

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution
    from trajopt.solvers.solver import Solver

RESULTS = ("status", "converged", "duration", "objective", "iterations", "seconds", "kkt_error")
OPENING, CLOSING, QUOTES = "([{", ")]}", "'\""


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

    def __str__(self) -> str:
        where = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        if self.error:
            return f"{self.number:>4}  {where}: {self.error}"
        results = self.results
        return (
            f"{self.number:>4}  {where}: {results['status']}, objective {_digits(results['objective'])}, "
            f"duration {_digits(results['duration'])} s, {results['iterations']} iterations from {self.start}"
        )


def values_of(text: str) -> tuple[str, list[Any]]:
    """Name and values of "name=1,2,3"; commas in brackets or quotes stay. OptionError otherwise."""
    name, equals, listed = text.partition("=")
    parts = list(_split(listed))
    if not (equals and name.strip().isidentifier() and parts and all(part.strip() for part in parts)):
        raise OptionError(
            f"'{text}' is no list of values: write NAME=VALUE,VALUE,..., such as mass=1,2,3 or "
            "'q_end=[1, -1],[1, 0]'"
        )
    return name.strip(), [literal(part.strip()) for part in parts]


def axes_of(texts: Sequence[str]) -> dict[str, list[Any]]:
    """The values of every parameter; OptionError for one that is named twice."""
    axes: dict[str, list[Any]] = {}
    for name, values in map(values_of, texts):
        if name in axes:
            raise OptionError(f"'{name}' is set twice: give all its values at once, {name}=1,2 for instance")
        axes[name] = values
    return axes


def grid(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """All combinations, the last parameter fastest, back and forth so that neighbours are one step apart."""
    points: list[dict[str, Any]] = [{}]
    for name, values in axes.items():
        turns = (values if number % 2 == 0 else values[::-1] for number in range(len(points)))
        points = [point | {name: value} for point, turn in zip(points, turns, strict=True) for value in turn]
    return points


def sweep(
    problem: str,
    axes: Mapping[str, Sequence[Any]],
    folder: Path,
    solver: Solver | None = None,
    processes: int = 1,
    warm: bool = True,
) -> Iterator[Point]:
    """Solve every point and write `table.csv` and `NUMBER.npz` into a folder; rows come as they are done.

    With several processes each takes a part of the way through the grid. Raises UnknownNameError for a
    problem or parameter that does not exist, OptionError for a wrong number of processes, before anything is
    solved; what a point raises stands in its row.
    """
    points = list(enumerate(grid(axes)))
    parts = _parts(points, processes)
    try:
        build_named(problem, points[0][1])
    except UnknownNameError:
        raise
    except Exception:  # a value that this point cannot take, others may: it stands in its row
        pass
    folder.mkdir(parents=True, exist_ok=True)
    found: list[Point] = []
    for rows in _rows(problem, parts, folder, solver, warm):
        for row in rows:
            found.append(row)
            write_text(folder / "table.csv", table(sorted(found, key=lambda point: point.number)))
            yield row


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


def _rows(
    problem: str, parts: Sequence, folder: Path, solver: Solver | None, warm: bool
) -> Iterator[Iterator[Point]]:
    if len(parts) == 1:
        yield _in_order(problem, parts[0], folder, solver, warm)
        return
    with ProcessPoolExecutor(len(parts), mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(_solved_part, problem, part, folder, solver, warm) for part in parts]
        for job, part in zip(jobs, parts, strict=True):
            try:
                yield iter(job.result())
            except Exception as error:  # the process died: its points are in the table all the same
                yield iter([_failed(number, point, error) for number, point in part])


def _solved_part(*arguments: Any) -> list[Point]:
    return list(_in_order(*arguments))


def _in_order(
    problem: str, part: Sequence, folder: Path, solver: Solver | None, warm: bool
) -> Iterator[Point]:
    """Solve points in order, each from the one before where that converged."""
    before: tuple[int, Solution] | None = None
    for number, parameters in part:
        try:
            solution, start = _solved(problem, parameters, solver, before if warm else None)
            name = f"{number:04d}.npz"
            solution.save(folder / name)
        except Exception as error:
            yield _failed(number, parameters, error)
            continue
        if solution.converged:
            before = number, solution
        results = {
            "status": solution.status.name.lower(),
            "converged": solution.converged,
            "duration": finite(solution.duration),
            "objective": finite(solution.objective),
            "iterations": solution.iterations,
            "seconds": finite(solution.seconds),
            "kkt_error": finite(solution.kkt.error),
        }
        yield Point(number, parameters, results, start, name)
        if solution.status is Status.INTERRUPTED:
            return


def _solved(problem: str, parameters: Mapping, solver: Solver | None, before: Any) -> tuple[Solution, str]:
    """The solution from the neighbour's where there is one, from the problem's own guess where that fails."""
    import trajopt

    if before is not None:
        question = build_named(problem, parameters)
        try:
            question.guess(before[1])
            solution = trajopt.solve(question, solver)
        except TrajoptError:
            solution = None  # of another robot, or not finite there
        if solution is not None and solution.converged:
            return solution, f"point {before[0]}"
    return trajopt.solve(build_named(problem, parameters), solver), "its own guess"


def _parts(points: list, processes: int) -> list[list]:
    """The way through the grid cut into as many pieces as processes, as even as can be."""
    if not isinstance(processes, int) or processes < 1:
        raise OptionError(f"processes is {processes!r}: give a whole number of at least 1")
    count = min(processes, len(points))
    edges = [round(i * len(points) / count) for i in range(count + 1)]
    return [points[edges[i] : edges[i + 1]] for i in range(count)]


def _digits(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.9g}"


def _failed(number: int, parameters: Mapping[str, Any], error: BaseException) -> Point:
    text = traceback.format_exception_only(type(error), error)[-1].strip()
    return Point(number, parameters, {"status": "failed", "converged": False}, "", "", text)


def _split(text: str) -> Iterator[str]:
    """Parts between commas that stand outside of brackets and quotes."""
    depth, start, quote = 0, 0, ""
    for place, letter in enumerate(text):
        if letter in QUOTES and quote in ("", letter):
            quote = "" if quote else letter
        depth += 0 if quote else (letter in OPENING) - (letter in CLOSING)
        if letter == "," and depth == 0 and not quote:
            yield text[start:place]
            start = place + 1
    yield text[start:]
