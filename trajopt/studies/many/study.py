"""A study: runs its tasks in chains on workers, writes files and rows, and holds the results in order.

Progress has an estimate of the remaining time.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Literal

from trajopt.base.arguments import check_flag, check_known, check_positive, short_repr
from trajopt.base.errors import ClusterError, OptionError
from trajopt.base.facts import Facts
from trajopt.base.files import file_path, locked
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.phases import Phases
from trajopt.problem.problem import Problem
from trajopt.solvers.run import check_solver
from trajopt.solvers.solver import Solver
from trajopt.studies.many.point import (
    INTERRUPTED,
    Before,
    Parameters,
    StudyAnswer,
    StudyPoint,
    Task,
    answered,
    csv_of,
    failed,
    row_of,
    save_table,
)
from trajopt.studies.many.point_folder import PointFolder
from trajopt.studies.many.portable import (
    AnySolution,
    Source,
    packed,
    packed_settings,
    unpacked,
    with_problem,
    without_problem,
)
from trajopt.studies.many.provenance import versions
from trajopt.studies.workers.calls import Call, Chain, Outcome, Outcomes, interrupts_deferred, outcomes_of
from trajopt.studies.workers.workers import Where, Workers, opened

EVERY = 1.0  # seconds between lines that report no failure


@dataclass(frozen=True)
class StudyProgress:
    """A point that was just done, how many of all are, and the seconds that the others will take.

    seconds_left : from the rate of the later half of what was done, by wall clock; None before the second one
    """

    point: StudyPoint
    done: int
    total: int
    seconds_left: float | None

    def __str__(self) -> str:
        if self.done == self.total:
            return f"{self.done} of {self.total}"
        left = "" if self.seconds_left is None else f", about {duration_in_words(self.seconds_left)} left"
        return f"{self.done} of {self.total}{left}"


Report = Callable[[StudyProgress], None]


class Meter:
    """Counts points of a study as they are done.

    known : how many were done before; they do not count for the rate
    """

    def __init__(self, total: int, known: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._done, self._clock = total, known, clock
        self._times = [clock()]

    def counted(self, point: StudyPoint) -> StudyProgress:
        self._done += 1
        self._times.append(self._clock())
        left, count = None, len(self._times)
        if count > 2 or self._done == self._total:
            recent = self._times[(count - 1) // 2 :]  # the first points also start processes and load kernels
            left = (self._total - self._done) * (recent[-1] - recent[0]) / (len(recent) - 1)
        return StudyProgress(point, self._done, self._total, left)


class Lines:
    """Writes a line for a point at most once a second, for every failure, and for the last one."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._last = -EVERY

    def __call__(self, progress: StudyProgress) -> None:
        now = time.monotonic()
        if now - self._last >= EVERY or progress.point.error or progress.done == progress.total:
            self._last = now
            print(f"{progress.point}  [{progress}]", file=self._stream, flush=True)


def report_of(progress: Literal["auto", "silent"] | Report) -> Report:
    """The function that is called with every point; OptionError for another word."""
    if callable(progress) and not isinstance(progress, type):
        return progress
    if progress == "auto":
        return Lines()
    if progress == "silent":
        return lambda _: None
    raise OptionError(f"progress is {short_repr(progress)}: use 'auto', 'silent' or a function")


def duration_in_words(seconds: float) -> str:
    """12 s, 4 min, 2 h 5 min: as exact as an estimate is."""
    if seconds < 90.0:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


NOT_AT_HAND: Mapping[int, Problem | Phases] = MappingProxyType({})


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """The points of a list or a sweep, in the order given, those that failed with their error.

    folder : where their files are, None where nothing was written
    interrupted : whether Ctrl-C ended it; points that were not done then have the status "interrupted"
    recalled : number of points that were read from the folder, where an earlier run had solved them
    """

    points: tuple[StudyPoint, ...]
    folder: Path | None = None
    interrupted: bool = False
    recalled: int = 0

    @property
    def solutions(self) -> tuple[AnySolution | None, ...]:
        """The solution of every point, None where there is none."""
        return tuple(point.solution for point in self.points)

    @property
    def converged_count(self) -> int:
        """Number of points that converged."""
        return sum(point.converged for point in self.points)

    @property
    def outcome(self) -> str:
        """Number of points that converged, and of those solved by an earlier run, as a text."""
        recalled = f", {self.recalled} of them solved before" if self.recalled else ""
        return f"{self.converged_count} of {len(self.points)} converged{recalled}"

    def to_csv(self) -> str:
        """The table as comma-separated values."""
        return csv_of([row_of(point) for point in self.points])

    def save_table(self, path: str | Path) -> None:
        """Write the table as .csv or, where pyarrow is installed, as .parquet."""
        save_table([row_of(point) for point in self.points], Path(path))

    def __str__(self) -> str:
        failures = [("", str(point)) for point in self.points if not point.converged]
        where = "" if self.folder is None else f"; written to {self.folder}"
        return str(Facts(f"{self.outcome}{where}", failures))

    __repr__ = __str__


@dataclass(frozen=True)
class Settings:
    """Settings by which the points of a study are solved and stored; see `solve_many`."""

    executor: Where | None = None
    processes: int | None = None
    folder: Any = None  # a path, or text that becomes one
    anew: bool = False
    warm: bool = False  # whether a point starts from the last one before it that converged
    progress: Literal["auto", "silent"] | Report = "silent"

    def __post_init__(self) -> None:
        check_flag("anew", self.anew)
        check_flag("warm", self.warm)
        if self.folder is not None:
            object.__setattr__(self, "folder", file_path(self.folder))


def solve_points(
    points: Iterable[tuple[Parameters, Source]],
    solver: Solver | None,
    options: Mapping[str, object],
    settings: Settings,
    at_hand: Mapping[int, Problem | Phases] = NOT_AT_HAND,
) -> Study:
    """Solve points, each by its parameters and its source, with options of `solve`; see `solve_many`.

    at_hand : problems of this process by number; others are built where a solution is asked for
    At Ctrl-C the finished points are kept and the study is marked as interrupted. Raises ResultFolderError,
    OptionError or ClusterError before anything is solved, and ClusterError where the connection to a cluster
    is lost; what was done is in the folder then.
    """
    known = ("refine", "starts", "coarse_to_fine", "time_limit")
    for name in options:
        check_known("option of solve", name, known, OptionError)
    check_positive("time_limit", options.get("time_limit"), optional=True)
    if solver is not None:
        check_solver(solver)
    report = report_of(settings.progress)
    sent, own, archive = packed_settings(solver, options), versions(), settings.folder is not None
    keep = settings.warm or not archive
    tasks = [
        Task(i, parameters, packed(source), sent, keep, archive, own, is_recipe=isinstance(source, Recipe))
        for i, (parameters, source) in enumerate(points)
    ]
    with ExitStack() as stack:
        if settings.folder is not None:
            stack.enter_context(locked(settings.folder))
        workers = stack.enter_context(opened(settings.executor, settings.processes))
        record = _Record(tasks, settings, at_hand)
        stack.callback(record.finish)
        recalled = len(record.points)
        meter = Meter(len(tasks), recalled)
        pieces = workers.count if settings.warm else len(tasks)
        chains = (_chain(chain, settings.warm, record) for chain in _cut(tasks, pieces))
        interrupted = _recorded(chains, workers, record, lambda point: report(meter.counted(point)))
    return Study(record.in_order(), settings.folder, interrupted, recalled)


def _recorded(
    chains: Iterable[Chain], workers: Workers, record: _Record, done: Callable[[StudyPoint], None]
) -> bool:
    """Keep and report points as they are done; whether Ctrl-C ended the study."""
    outcomes = outcomes_of(chains, workers)
    try:
        for outcome in outcomes:
            with interrupts_deferred():
                point = record.add(outcome)
            done(point)
            if point.interrupted:
                return True
    except KeyboardInterrupt:
        for outcome in _done_before(outcomes):
            record.add(outcome)
        return True
    finally:
        outcomes.close()
    return False


def _done_before(outcomes: Outcomes) -> Iterator[Outcome]:
    """Outcomes that were finished when Ctrl-C came."""
    with suppress(KeyboardInterrupt, StopIteration):
        outcome = outcomes.throw(KeyboardInterrupt())
        while True:
            yield outcome
            outcome = next(outcomes)


def _chain(tasks: Sequence[Task], warm: bool, record: _Record) -> Chain:
    """The tasks that are not done yet, each with the last one that converged to start from."""
    latest: Task | None = None
    before: Before | None = None
    for task in tasks:
        if task.number not in record.points:
            if latest is not None:
                before, latest = record.before(latest), None
            yield Call(task.number, answered, (replace(task, before=before),))
        if warm and record.points[task.number].converged:
            latest = task


def _cut(tasks: Sequence[Task], count: int) -> list[Sequence[Task]]:
    """So many pieces, as even as can be."""
    count = min(count, len(tasks))
    edges = [round(i * len(tasks) / count) for i in range(count + 1)]
    return [tasks[edges[i] : edges[i + 1]] for i in range(count)]


class _Record:
    """The points that are done, in memory and in the folder."""

    def __init__(
        self, tasks: Sequence[Task], settings: Settings, problems: Mapping[int, Problem | Phases]
    ) -> None:
        self._tasks = {task.number: task for task in tasks}
        self._problems, self._settings = problems, settings
        self._folder = None
        self._last: dict[int, AnySolution] = {}  # those that others of a chain start from
        self.points: dict[int, StudyPoint] = {}
        if settings.folder is not None:
            self._folder = PointFolder(settings.folder, tasks, settings.anew)
            self.points = {number: self._with_solution(point) for number, point in self._folder.known.items()}

    def add(self, outcome: Outcome) -> StudyPoint:
        """Keep what became of a task."""
        task, error = self._tasks[outcome.call.key], outcome.error
        if isinstance(error, ClusterError):
            raise error
        answer = outcome.value
        if not isinstance(answer, StudyAnswer):
            cause = error or TypeError(f"a worker answered {answer!r}")
            answer = StudyAnswer(failed(task.number, task.parameters, cause))
        answer = replace(answer, point=replace(answer.point, tries=outcome.tries))
        point = answer.point if self._folder is None else self._folder.add(answer)
        if answer.solution is not None and self._settings.warm:
            self._last[task.number] = answer.solution
        self.points[task.number] = self._with_solution(point, answer.solution)
        return self.points[task.number]

    def before(self, task: Task) -> Before | None:
        """The solution of a task that converged, for the next one to start from."""
        solution = self._last.pop(task.number, None) or self.points[task.number].solution
        return None if solution is None else Before(task.number, task.source, without_problem(solution))

    def finish(self) -> None:
        if self._folder is not None:
            self._folder.finish()

    def in_order(self) -> tuple[StudyPoint, ...]:
        """All points; those that Ctrl-C left out are marked as interrupted."""
        return tuple(
            self.points.get(number) or StudyPoint(number, task.parameters, INTERRUPTED)
            for number, task in self._tasks.items()
        )

    def _with_solution(self, point: StudyPoint, sent: AnySolution | None = None) -> StudyPoint:
        """The point with a way to its solution: of its file, or without a folder what a worker sent."""

        def loaded() -> AnySolution | None:
            found = sent if self._folder is None else self._folder.solution(point)
            if found is None:
                return None
            number = point.number
            return with_problem(found, self._problems.get(number) or unpacked(self._tasks[number].source))

        return point.with_solution(loaded) if point.file or sent is not None else point
