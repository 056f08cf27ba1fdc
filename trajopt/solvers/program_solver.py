"""What IPOPT, SLSQP and the dense method share: the arguments of `solve`, and the monitor."""

from __future__ import annotations

from typing import Any

from trajopt.base.arguments import check_positive
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.run import SolverSettings, run_of
from trajopt.solvers.solver import Callback, Program, Result, Run, WarmStart

__all__ = ["ProgramSolver"]


class ProgramSolver(SolverSettings):
    """Settings that solve a program; a subclass has a field `feasibility`."""

    feasibility: float

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("feasibility", self.feasibility)

    def solve(
        self,
        nlp: Program,
        start: WarmStart | None = None,
        run: Run | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Solve `nlp` from `nlp.start`, or from `start`, whose multipliers SLSQP does not use.

        Raises what a function of the problem or the callback raised, and EvaluationError where the problem is
        not finite at the start; every other outcome is a status of the Result.
        """
        start, run = run_of(start, run, callback)
        return self.within(run)._solved(nlp, start, run)

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        """The result with these settings, which are within the run."""
        raise NotImplementedError

    def _monitor(self, nlp: Program, start: WarmStart | None, run: Run, **how: Any) -> Monitor:
        limits = {"feasibility": self.feasibility, "time_limit": self.time_limit}
        return Monitor(nlp, start, callback=run.callback, **limits, **how)
