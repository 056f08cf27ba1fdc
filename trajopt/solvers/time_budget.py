"""A solver with one deadline over many solves, for refinements that solve again and again."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from trajopt.solvers import capabilities
from trajopt.solvers.capabilities import RowTolerances, StartPreset
from trajopt.solvers.solver import NLP, Callback, Result, Solver, Status, WarmStart

__all__ = ["OUT_OF_TIME", "SolvesStopped", "TimeBudget"]

OUT_OF_TIME = "the time limit of the refinement was reached"


class SolvesStopped(Exception):
    """The deadline passed or the user pressed Ctrl-C: no further solve, the last solution stays."""


@dataclass(frozen=True)
class TimeBudget:
    """`solver` until `deadline`, in seconds of `time.monotonic`; a solve after it raises SolvesStopped.

    callback : called with every iteration of every solve
    The `with_...` methods change `solver` where it has that capability.
    """

    solver: Solver
    deadline: float
    callback: Callback | None = None

    @staticmethod
    def of(solver: Solver, seconds: float, callback: Callback | None = None) -> TimeBudget:
        """The solver with a deadline so many seconds from now."""
        return TimeBudget(solver, time.monotonic() + seconds, callback)

    def with_max_iterations(self, count: int) -> TimeBudget:
        """With at most so many iterations in each solve."""
        return replace(self, solver=capabilities.with_max_iterations(self.solver, count))

    def with_start_preset(self, preset: StartPreset) -> TimeBudget:
        return replace(self, solver=capabilities.with_start_preset(self.solver, preset))

    def with_row_tolerances(self, tolerances: RowTolerances) -> TimeBudget:
        return replace(self, solver=capabilities.with_row_tolerances(self.solver, tolerances))

    def solve(self, nlp: NLP, callback: Callback | None = None, start: WarmStart | None = None) -> Result:
        """Solve in what is left of the time."""
        left = self.deadline - time.monotonic()
        if left <= 0.0:
            raise SolvesStopped(OUT_OF_TIME)
        limited = capabilities.with_time_limit(self.solver, left)
        result = limited.solve(nlp, callback or self.callback, start)
        if result.status is Status.INTERRUPTED:
            raise SolvesStopped("the refinement was interrupted")
        return result
