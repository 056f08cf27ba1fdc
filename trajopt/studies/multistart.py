"""Multistart: one problem solved from many starting points in parallel processes, and a table of the results.

A start is a seed. Seed 0 is the problem's own guess; every other one perturbs the guessed curve smoothly
(random sums of sines that vanish at both ends) and scales the guessed duration. Processes are spawned, so the
problem is built in each of them: from its recipe, or by a function that can be pickled.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any, cast

import numpy as np

from trajopt.arguments import check_count, number, shown
from trajopt.errors import OptionError
from trajopt.problem.problem import Problem, Recipe
from trajopt.refinement.perturbed_guess import perturbed_guess
from trajopt.refinement.starts import EQUAL
from trajopt.solution.archive import built
from trajopt.solution.solution import Solution
from trajopt.solve import solve
from trajopt.solvers.solver import Solver
from trajopt.transcription.transcribe import transcribe

MOST_STARTS, MOST_PROCESSES = 10_000, 1024


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
    best: Solution | None

    @property
    def optima(self) -> tuple[float, ...]:
        """Different objectives of converged starts, the lowest first."""
        found: list[float] = []
        for value in sorted(start.objective for start in self.starts if start.converged):
            if not found or value - found[-1] > EQUAL * max(abs(value), 1e-300):
                found.append(value)
        return tuple(found)

    def __str__(self) -> str:
        header = f"{'seed':>5} {'objective':>16} {'duration [s]':>13} {'iter.':>6} {'seconds':>9}  outcome"
        converged = sum(start.converged for start in self.starts)
        last = f"{converged} of {len(self.starts)} starts converged, to {len(self.optima)} different optima"
        return "\n".join([header, *map(str, self.starts), last])


def multistart(
    source: Problem | Recipe | Callable[[], Problem],
    starts: int = 8,
    solver: Solver | None = None,
    *,
    processes: int = 2,
    spread: float = 0.3,
    seed: int = 0,
) -> MultiStart:
    """Solve from `starts` starting points; the table is the same for any number of processes.

    source : a problem with a recipe, a recipe, or a picklable function without arguments that builds one
    spread : size of the perturbation, as a part of each joint's travel (or of 1 rad or m where it has none)
    solver : what `solve` takes; with several processes it is pickled
    Raises OptionError for a problem that another process could not build.
    """
    check_count("starts", starts, 1, MOST_STARTS)
    check_count("processes", processes, 1, MOST_PROCESSES)
    if not number(spread, "spread") >= 0.0:
        raise OptionError(f"spread is {shown(spread)}: give a part of the travel, 0 or more")
    build = _builder(source)
    jobs = [(build, number, seed, spread, solver) for number in range(starts)]
    outcomes = [_one(*job) for job in jobs] if processes == 1 else _parallel(jobs, processes)
    best = min(
        (o for o in outcomes if o[0].converged), key=lambda o: (o[0].objective, o[0].seed), default=None
    )
    winner = None if best is None or best[1] is None else _restored(build, best[1])
    return MultiStart(tuple(start for start, _ in outcomes), winner)


def _parallel(jobs: Sequence[tuple], processes: int) -> list[tuple[Start, Any]]:
    """The starts in a pool of processes; a process that dies is the failure of its start."""
    found: dict[int, tuple[Start, Any]] = {}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(_one, *job): job[1] for job in jobs}
        for future in as_completed(futures):
            number = futures[future]
            try:
                found[number] = future.result()
            except Exception as error:  # the process died, or its answer could not be sent
                found[number] = (_failed(number, error), None)
    return [found[number] for number in sorted(found)]


def _one(
    build: Callable[[], Problem], number: int, seed: int, spread: float, solver: Solver | None
) -> tuple[Start, Any]:
    """Solve from one start; whatever it raises becomes a row of the table."""
    try:
        problem = build()
        if number:
            perturb(problem, np.random.default_rng([seed, number]), spread)
        solution = solve(problem, solver)
    except Exception as error:
        return _failed(number, error), None
    start = Start(
        number,
        str(solution.status.value),
        solution.converged,
        float(solution.objective),
        solution.duration,
        solution.iterations,
        solution.seconds,
    )
    return start, replace(solution, known_problem=None, recipe=None)


def perturb(problem: Problem, rng: np.random.Generator, spread: float) -> None:
    """Move the problem's guess: sines that vanish at both ends, and a duration from half to twice as long."""
    nlp = transcribe(problem)
    problem.guess(*perturbed_guess(nlp.unknowns.curve(nlp.start), problem.dynamics.n, rng, spread))


def _restored(build: Callable[[], Problem], sent: Solution) -> Solution:
    problem = build()
    return replace(sent, known_problem=problem, recipe=problem.recipe)


def _failed(number: int, error: BaseException) -> Start:
    text = traceback.format_exception_only(type(error), error)[-1].strip()
    return Start(number, "failed", False, float("nan"), float("nan"), 0, float("nan"), text)


@dataclass(frozen=True)
class _FromRecipe:
    """A recipe as a function that can be pickled."""

    problem: str
    parameters: tuple[tuple[str, Any], ...]

    def __call__(self) -> Problem:
        return built(Recipe(self.problem, dict(self.parameters)))


def _builder(source: Any) -> Callable[[], Problem]:
    recipe = source if isinstance(source, Recipe) else getattr(source, "recipe", None)
    if recipe is not None:
        return _FromRecipe(recipe.problem, tuple(recipe.parameters.items()))
    if isinstance(source, Problem) or not callable(source):
        raise OptionError(
            "multistart builds the problem in other processes: give a problem of the library, its recipe, "
            "or a function without arguments at the top of a module that returns the problem"
        )
    return cast("Callable[[], Problem]", source)
