"""A solver tried first, and another one that goes on where it gives up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from trajopt.solvers.run import run_solver
from trajopt.solvers.solver import Callback, Iteration, Program, Result, Run, Solver, Status, WarmStart


class FirstSolver(Solver, Protocol):
    """A solver that is made for some programs, and says STEP_TOO_SMALL where it gives up."""

    def suits(self, nlp: Program, start: WarmStart | None, run: Run) -> bool: ...


@dataclass(frozen=True)
class Fallback:
    """`first` where it suits the program, `then`, from the same start, elsewhere and where `first` gives up.

    The time limit of `then` holds for both together, its limit of iterations for each, and the result counts
    the iterations of both.
    """

    first: FirstSolver
    then: Solver

    @property
    def time_limit(self) -> float | None:
        return getattr(self.then, "time_limit", None)

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """Solve `nlp` from its start or from `start`."""
        run = (run or Run()).within(self.time_limit)
        if not self.first.suits(nlp, start, run):
            return run_solver(self.then, nlp, start, run)
        counts = (run.max_iterations, getattr(self.then, "max_iterations", None))
        most = min((count for count in counts if count is not None), default=None)
        found = self.first.solve(nlp, start, replace(run, max_iterations=most))
        if found.status is not Status.STEP_TOO_SMALL:
            return found
        return continued(found, self.then, nlp, start, run)


def continued(before: Result, solver: Solver, nlp: Program, start: WarmStart | None, run: Run) -> Result:
    """The result of `solver` from `start`, with the iterations, the seconds and the history of both."""
    callback = counted_on(run.callback, [before])
    return joined_results([before, run_solver(solver, nlp, start, replace(run, callback=callback))])


def counted_on(callback: Callback | None, before: Sequence[Result]) -> Callback | None:
    """A callback that sees iterations and seconds counted through all solves, those before among them.

    The start of every solve is an iterate of its own, whose number follows that of the last one before.
    """
    if callback is None:
        return None
    count, spent = iterate_count(before), sum(each.seconds for each in before)

    def seen(iteration: Iteration) -> object:
        number, seconds = count + iteration.iteration, spent + iteration.seconds
        return callback(replace(iteration, iteration=number, seconds=seconds))

    return seen


def joined_results(results: Sequence[Result]) -> Result:
    """The last result, with the iterations, the seconds and the history of all."""
    counts = [iterate_count(results[:place]) for place in range(len(results))]
    timings: Counter[str] = Counter()
    for each in results:
        timings.update(each.timings)  # type: ignore[arg-type]  # seconds
    return replace(
        results[-1],
        iterations=counts[-1] + results[-1].iterations,
        seconds=sum(each.seconds for each in results),
        timings=timings,
        history=np.concatenate(
            [each.history + np.array([n, 0.0, 0.0]) for each, n in zip(results, counts, strict=True)]
        ),
    )


def iterate_count(results: Sequence[Result]) -> int:
    """Number of iterates of some solves, their starts among them; not every solver records its history."""
    return sum(max(len(each.history), each.iterations + 1) for each in results)
