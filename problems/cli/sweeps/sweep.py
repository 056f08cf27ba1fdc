"""Solves all points of a grid, neighbours from each other, on any executor of `concurrent.futures`.

The way through the grid is cut into chains. The points of a chain are solved in turn, each from the last one
that converged and once more from its own guess where that fails; chains run side by side. Every point is one
call (`point.solved`) that writes its own file, so that an executor of another library needs a common folder
and nothing else.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from problems.cli.problem_file import build_named
from problems.cli.summary import write_text
from problems.cli.sweeps.grid import grid
from problems.cli.sweeps.point import Point, Task, failed, solved, table
from problems.cli.sweeps.worker_processes import ThisProcess, WorkerProcesses
from trajopt.errors import OptionError, UnknownNameError
from trajopt.files.run_folder import locked
from trajopt.phases.phases import Phases

if TYPE_CHECKING:
    from trajopt.solvers.solver import Solver

TABLE = "table.csv"


def sweep(
    problem: str,
    axes: Mapping[str, Sequence[Any]],
    folder: Path,
    solver: Solver | None = None,
    processes: int = 1,
    warm: bool = True,
    executor: Executor | None = None,
) -> Iterator[Point]:
    """Solve every point and write `table.csv` and `NUMBER.npz` into a folder; rows come as they are done.

    processes : chains that are solved side by side; each in a process of its own, this one where it is 1
    executor : what makes the calls instead, of `concurrent.futures` or another library; it stays open
    Ctrl-C ends all processes at once; files and rows of the points that were done stay. A process that dies
    costs its point one more try. Raises UnknownNameError for a problem or parameter that does not exist,
    OptionError for a wrong number of processes, ResultFolderError for a folder that another process writes or
    that has no room, before anything is solved; what a point raises stands in its row.
    """
    chains = _chains(problem, axes, folder, solver, processes, warm)
    question = None
    try:
        question = build_named(problem, chains[0].tasks[0].parameters)
    except UnknownNameError:
        raise
    except Exception:  # a value that this point cannot take, others may: it stands in its row
        pass
    if isinstance(question, Phases):
        raise OptionError(
            f"{problem} has phases, but points of a sweep are single problems: solve each by itself"
        )
    own: AbstractContextManager[Executor]
    own = nullcontext(executor) if executor else _own_executor(len(chains))
    found: list[Point] = []
    with locked(folder), own as workers:
        try:
            for point in _solved_chains(chains, workers):
                found.append(point)
                _write_table(found, folder)
                yield point
        except KeyboardInterrupt:
            _write_table(found, folder)  # Ctrl-C may have come before the last row
            raise


def written_rows(folder: Path) -> list[dict[str, str]]:
    """Rows of the table of a folder; none where there is no table."""
    try:
        with (folder / TABLE).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        return []


def _write_table(points: Sequence[Point], folder: Path) -> None:
    if points:
        write_text(folder / TABLE, table(sorted(points, key=lambda each: each.number)))


class _Chain:
    """Points that are solved in turn."""

    def __init__(self, tasks: Sequence[Task], warm: bool) -> None:
        self.tasks, self._warm, self._next = tasks, warm, 0
        self._before: tuple[int, Mapping[str, Any]] | None = None

    def next_task(self) -> Task | None:
        """The next point, with the one that it starts from; None behind the last."""
        if self._next == len(self.tasks):
            return None
        task = self.tasks[self._next]
        self._next += 1
        return Task(task.problem, task.number, task.parameters, task.folder, task.solver, self._before)

    def learn(self, point: Point) -> None:
        """What followed from a point."""
        if point.converged and self._warm:
            self._before = point.number, point.parameters


def _solved_chains(chains: Sequence[_Chain], executor: Executor) -> Iterator[Point]:
    """Points as they are done; ends after one that was interrupted."""
    running: dict[Future, tuple[_Chain, Task]] = {}
    try:
        for chain in chains:
            _submit_next(chain, executor, running)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                chain, task = running.pop(future)
                point = _outcome(future, task)
                chain.learn(point)
                yield point
                if point.interrupted:
                    return
                _submit_next(chain, executor, running)
    except KeyboardInterrupt:
        _stop(executor, running)
        for future in [each for each in running if each.done() and not each.cancelled()]:
            if future.exception() is None:
                yield future.result()
        raise
    finally:
        if running:
            _stop(executor, running)


def _submit_next(chain: _Chain, executor: Executor, running: dict[Future, tuple[_Chain, Task]]) -> None:
    task = chain.next_task()
    if task is not None:
        running[executor.submit(solved, task)] = chain, task


def _outcome(future: Future, task: Task) -> Point:
    try:
        return future.result()
    except Exception as error:  # its process died, or the executor could not send the call
        return failed(task, error)


def _stop(executor: Executor, running: Mapping[Future, tuple[_Chain, Task]]) -> None:
    """End what runs: own processes at once, another's where it has not begun; no half-written file stays."""
    if isinstance(executor, WorkerProcesses):
        executor.stop()
    for future, (_, task) in running.items():
        future.cancel()
        for part in task.folder.glob(f".{task.file}.*.part"):
            with suppress(OSError):
                part.unlink()


def _own_executor(count: int) -> Executor:
    return ThisProcess() if count == 1 else WorkerProcesses(count)


def _chains(
    problem: str,
    axes: Mapping[str, Sequence[Any]],
    folder: Path,
    solver: Solver | None,
    count: int,
    warm: bool,
) -> list[_Chain]:
    """The way through the grid cut into so many pieces, as even as can be."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise OptionError(f"processes is {count!r}: give a whole number of at least 1")
    tasks = [Task(problem, number, point, folder, solver) for number, point in enumerate(grid(axes))]
    count = min(count, len(tasks))
    edges = [round(i * len(tasks) / count) for i in range(count + 1)]
    return [_Chain(tasks[edges[i] : edges[i + 1]], warm) for i in range(count)]
