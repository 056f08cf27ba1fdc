"""A solver tried first, and another one that goes on where it gives up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from trajopt.solvers.run import run_solver
from trajopt.solvers.solver import Iteration, Program, Result, Run, Solver, Status, WarmStart

__all__ = ["Fallback", "FirstSolver", "continued"]


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
    """What `solver` finds from `start`, with the iterations, the seconds and the history of both.

    before : of the first solver. The second one's start is an iterate of its own, whose number, which the
        callback sees, follows that of the first one's last
    """
    count, callback = len(before.history), run.callback

    def seen(iteration: Iteration) -> object:
        number, seconds = count + iteration.iteration, before.seconds + iteration.seconds
        assert callback is not None
        return callback(replace(iteration, iteration=number, seconds=seconds))

    found = run_solver(solver, nlp, start, replace(run, callback=None if callback is None else seen))
    return replace(
        found,
        iterations=count + found.iterations,
        seconds=before.seconds + found.seconds,
        timings={kind: before.timings.get(kind, 0.0) + spent for kind, spent in found.timings.items()},
        history=np.concatenate([before.history, found.history + np.array([count, 0.0, 0.0])]),
    )
