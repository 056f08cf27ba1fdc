"""Multistart: one problem solved from many starting points side by side, and a table of the results.

A start is a seed. Seed 0 is the problem's own guess; every other one perturbs the guessed curve smoothly
(random sums of sines that vanish at both ends) and scales the guessed duration.
"""

from __future__ import annotations

import pickle
import traceback
from dataclasses import dataclass

import numpy as np

from trajopt.api.phases_solution import PhasesSolution
from trajopt.api.problem import Problem
from trajopt.api.solution import Solution
from trajopt.api.solve import solve
from trajopt.base.arguments import MOST_STARTS, check_count, number, short_repr
from trajopt.base.errors import ClusterError, OptionError
from trajopt.problem.links.phases import Phases
from trajopt.refinement.starts.perturbed_guess import perturbed_guess
from trajopt.refinement.starts.several_starts import EQUAL
from trajopt.refinement.starts.starts_of_phases import perturbed
from trajopt.solvers.solver import Solver
from trajopt.studies.many.portable import Source, packed, packed_settings, unpacked
from trajopt.studies.many.sent_solution import with_problem, without_problem
from trajopt.studies.workers.calls import Call, Outcome, outcomes_of, single
from trajopt.studies.workers.workers import Where, opened
from trajopt.transcription.transcribe import transcribe


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
            if not found or value - found[-1] > EQUAL * max(abs(value), 1e-300):
                found.append(value)
        return tuple(found)

    def __str__(self) -> str:
        header = f"{'seed':>5} {'objective':>16} {'duration [s]':>13} {'iter.':>6} {'seconds':>9}  outcome"
        converged = sum(start.converged for start in self.starts)
        last = f"{converged} of {len(self.starts)} starts converged, to {len(self.optima)} different optima"
        return "\n".join([header, *map(str, self.starts), last])


def multistart(
    source: Source,
    starts: int = 8,
    solver: Solver | None = None,
    *,
    processes: int | None = None,
    executor: Where | None = None,
    spread: float = 0.3,
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
    content, settings = packed(source), packed_settings(solver, {})
    count = 2 if processes is None and executor is None else processes
    calls = [Call(i, _one, (content, i, seed, spread, settings)) for i in range(starts)]
    with opened(executor, count) as workers:
        outcomes = [_found(outcome) for outcome in outcomes_of(map(single, calls), workers)]
    outcomes.sort(key=lambda outcome: outcome[0].seed)
    best = min(
        (o for o in outcomes if o[0].converged), key=lambda o: (o[0].objective, o[0].seed), default=None
    )
    problem = source if isinstance(source, Problem | Phases) else None
    winner = None if best is None or best[1] is None else with_problem(best[1], problem or unpacked(content))
    return MultiStart(tuple(start for start, _ in outcomes), winner)


def _found(outcome: Outcome) -> tuple[Start, Solution | PhasesSolution | None]:
    """A row and its solution; a start whose worker died, or whose answer could not be sent, failed."""
    if isinstance(outcome.error, ClusterError):
        raise outcome.error
    return (_failed(outcome.call.key, outcome.error), None) if outcome.error is not None else outcome.value


def _one(
    content: bytes, number: int, seed: int, spread: float, settings: bytes
) -> tuple[Start, Solution | PhasesSolution | None]:
    """Solve from one start; whatever it raises becomes a row of the table."""
    try:
        question, (solver, _) = unpacked(content), pickle.loads(settings)
        if number and isinstance(question, Phases):
            question = perturbed(question, [seed, number], spread)
        elif number:
            perturb(question, np.random.default_rng([seed, number]), spread)
        solution = solve(question, solver, starts=1)
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
    return start, without_problem(solution)


def perturb(problem: Problem, rng: np.random.Generator, spread: float) -> None:
    """Move the problem's guess: sines that vanish at both ends, and a duration from half to twice as long."""
    nlp = transcribe(problem)
    problem.guess(*perturbed_guess(nlp.unknowns.curve(nlp.start), problem.dynamics.n, rng, spread))


def _failed(number: int, error: BaseException) -> Start:
    text = traceback.format_exception_only(type(error), error)[-1].strip()
    return Start(number, "failed", False, float("nan"), float("nan"), 0, float("nan"), text)
