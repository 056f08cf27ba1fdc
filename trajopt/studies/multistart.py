"""Multistart: one problem solved from many starting points side by side, and a table of the results.

A start is a seed. Seed 0 is the problem's own guess; every other one perturbs the guessed curve smoothly
(random sums of sines that vanish at both ends) and scales the guessed duration.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from trajopt.base.arguments import MOST_STARTS, check_count, number, short_repr
from trajopt.base.errors import OptionError
from trajopt.problem.phases import Phases
from trajopt.problem.problem import Problem
from trajopt.refinement.guess_search import perturbed
from trajopt.refinement.several_starts import NEAR
from trajopt.solution.journal import same_optimum
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.solution import Solution
from trajopt.solvers.solver import Solver, Status
from trajopt.studies.many.point import StudyPoint
from trajopt.studies.many.portable import Source, packed, unpacked, with_problem
from trajopt.studies.many.study import Settings, solve_points
from trajopt.studies.workers.workers import Where


@dataclass(frozen=True)
class Start:
    """One row of the table: the result from one start, or the message of its failure."""

    seed: int
    status: str
    converged: bool
    objective: float
    duration: float
    iterations: int
    seconds: float
    error: str = ""

    def __str__(self) -> str:
        outcome = self.error or self.status
        return (
            f"{self.seed:>5} {self.objective:>16.9g} {self.duration:>13.7g} {self.iterations:>6} "
            f"{self.seconds:>9.3f}  {outcome}"
        )


@dataclass(frozen=True, eq=False)
class MultiStart:
    """The results by seed, failures included, and the best solution (None if none converged)."""

    starts: tuple[Start, ...]
    best: Solution | PhasesSolution | None

    @property
    def optima(self) -> tuple[float, ...]:
        """Different objectives of converged starts, the lowest first."""
        found: list[float] = []
        for value in sorted(start.objective for start in self.starts if start.converged):
            if not found or not same_optimum(value, found[-1]):
                found.append(value)
        return tuple(found)

    def __str__(self) -> str:
        header = f"{'seed':>5} {'objective':>16} {'duration [s]':>13} {'iter.':>6} {'seconds':>9}  outcome"
        converged = sum(start.converged for start in self.starts)
        count = len(self.optima)
        ends = "one optimum" if count == 1 else f"{count} different optima"
        last = f"{converged} of {len(self.starts)} starts converged, to {ends}"
        return "\n".join([header, *map(str, self.starts), last])


def multistart(
    source: Source,
    starts: int = 8,
    solver: Solver | None = None,
    *,
    processes: int | None = None,
    executor: Where | None = None,
    spread: float = NEAR,
    seed: int = 0,
) -> MultiStart:
    """Solve from `starts` starting points; the table is the same wherever the starts are solved.

    source : a problem, phases, a recipe, or a function without arguments that builds one, as in `solve_many`
    processes, executor : where they are solved, as in `solve_many`; two processes by default
    spread : size of the perturbation, as a part of each joint's travel (or of 1 rad or m where it has none)
    solver : what `solve` takes
    Raises OptionError for a problem that another process could not build, and ClusterError.
    """
    check_count("starts", starts, 1, MOST_STARTS)
    if not number(spread, "spread") >= 0.0:
        raise OptionError(f"spread is {short_repr(spread)}: give a part of the travel, 0 or more")
    content = packed(source)
    sources = [(dict[str, object](), partial(_perturbed, content, seed, spread, i)) for i in range(starts)]
    settings = Settings(executor, 2 if processes is None and executor is None else processes)
    study = solve_points(sources, solver, {"starts": 1}, settings)
    if study.interrupted:
        raise KeyboardInterrupt
    rows = tuple(map(_start, study.points))
    converged = [row for row in rows if row.converged]
    best = min(converged, key=lambda row: (row.objective, row.seed), default=None)
    if best is None:
        return MultiStart(rows, None)
    problem = source if isinstance(source, Problem | Phases) else unpacked(content)
    return MultiStart(rows, with_problem(study.points[best.seed].solution, problem))


def _perturbed(content: bytes, seed: int, spread: float, number: int) -> Problem | Phases:
    """The problem of a packed source with the guess of a start; 0 is the problem's own guess."""
    question = unpacked(content)
    return perturbed(question, [seed, number], spread) if number else question


def _start(point: StudyPoint) -> Start:
    """A row of the table; numbers that are not known are NaN."""
    known = (point.objective, point.duration, point.seconds)
    objective, duration, seconds = (float("nan") if value is None else value for value in known)
    status = point.status if point.error else str(Status[point.status.upper()].value)
    count, converged = point.iterations or 0, point.converged
    return Start(point.number, status, converged, objective, duration, count, seconds, point.error)
