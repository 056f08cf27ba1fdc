"""A primal-dual interior-point method for small programs: dense, exact Hessian, one factorization per step.

Barrier problem, filter, inertia correction and the scaling of errors are IPOPT's (Wachter and Biegler, Math.
Program. 106, 2006). Slacks are eliminated, so that the matrix of a step has the size of the unknowns and the
equations: with a hundred unknowns and ten times as many limits most of IPOPT's time goes into the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.base.arguments import check_positive
from trajopt.solvers.capabilities import RunSettings
from trajopt.solvers.dense.run import InteriorPointRun
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.solver import NLP, Callback, Result, Status, WarmStart
from trajopt.solvers.wrappers.continuation import continued

__all__ = ["DenseInteriorPoint"]

LARGEST = 400  # unknowns and equations together: above, sparse algebra is faster


@dataclass(frozen=True)
class DenseInteriorPoint(RunSettings):
    """The settings of one run of the dense interior-point method.

    tol             largest scaled KKT error at which the solve counts as converged
    max_iterations  iterations allowed
    time_limit      wall seconds allowed, None: no limit; checked at every evaluation
    feasibility     largest violation at which an iterate counts as feasible when the best one is chosen

    IPOPT takes over, from the start, where the method gets stuck or takes more than 80 steps: it has a phase
    that restores feasibility and says why there is no solution. It also solves what this method is not made
    for: programs without second derivatives, of more than 400 unknowns and equations, or with as many
    equations as unknowns. What such a solve ends with is IPOPT's, and its `detail` says so.

    Raises OptionError on construction for a value out of range.
    """

    feasibility: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("feasibility", self.feasibility)

    @staticmethod
    def version() -> str:
        """Version of SciPy, whose LAPACK it uses; the method itself is a part of trajopt."""
        import scipy

        return f"own, LAPACK of scipy {scipy.__version__}"

    def solve(self, nlp: NLP, callback: Callback | None = None, start: WarmStart | None = None) -> Result:
        """Solve `nlp` from `nlp.start`, or from `start` and its multipliers.

        Raises what a function of the problem or the callback raised, and EvaluationError where the problem is
        not finite at the start; every other outcome is a status of the Result.
        """
        if not _is_small(nlp):
            return self._ipopt(self.max_iterations, self.time_limit).solve(nlp, callback, start)
        monitor = Monitor(
            nlp,
            start,
            feasibility=self.feasibility,
            time_limit=self.time_limit,
            callback=callback,
            shorten=True,
        )
        with monitor.interruptible(), np.errstate(all="ignore"):
            found = InteriorPointRun(monitor, self.tol).result(self.max_iterations)
        if found.status is not Status.STEP_TOO_SMALL:
            return found
        return self._taken_over(found, nlp, callback, start)

    def _taken_over(
        self, before: Result, nlp: NLP, callback: Callback | None, start: WarmStart | None
    ) -> Result:
        """IPOPT's result, with the iterations and seconds of both."""
        count = before.iterations + 1
        if self.max_iterations < count:
            return replace(before, status=Status.ITERATION_LIMIT, detail="")
        left = None if self.time_limit is None else max(self.time_limit - before.seconds, 1e-3)

        found = continued(before, self._ipopt(self.max_iterations - count, left), nlp, callback, start)
        told = f"by IPOPT after {before.iterations} dense steps"
        return replace(found, detail=f"{found.detail}; {told}" if found.detail else told)

    def _ipopt(self, iterations: int, seconds: float | None) -> Ipopt:
        return Ipopt(self.tol, iterations, seconds, feasibility=self.feasibility)


def _is_small(nlp: NLP) -> bool:
    free = np.count_nonzero(np.asarray(nlp.lower) != nlp.upper)
    equations = np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper)
    return bool(nlp.has_hessian and equations < free and free + equations <= LARGEST)
