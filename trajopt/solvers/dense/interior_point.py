"""A primal-dual interior-point method for small programs: dense, exact Hessian, one factorization per step.

Barrier problem, filter, inertia correction and the scaling of errors are IPOPT's (Wachter and Biegler, Math.
Program. 106, 2006). Slacks are eliminated, so that the matrix of a step has the size of the unknowns and the
equations: with a hundred unknowns and ten times as many limits most of IPOPT's time goes into the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.base.arguments import check_positive
from trajopt.solvers.dense.run import InteriorPointRun
from trajopt.solvers.fallback import continued
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.run import FEASIBILITY, SolverSettings, run_of
from trajopt.solvers.solver import Callback, Program, Result, Run, Status, WarmStart

__all__ = ["DenseInteriorPoint"]

LARGEST = 400  # unknowns and equations together: above, sparse algebra is faster


@dataclass(frozen=True)
class DenseInteriorPoint(SolverSettings):
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

    feasibility: float = FEASIBILITY

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("feasibility", self.feasibility)

    @staticmethod
    def version() -> str:
        """Version of SciPy, whose LAPACK it uses; the method itself is a part of trajopt."""
        import scipy

        return f"own, LAPACK of scipy {scipy.__version__}"

    def solve(
        self,
        nlp: Program,
        start: WarmStart | None = None,
        run: Run | None = None,
        callback: Callback | None = None,
    ) -> Result:
        """Solve `nlp` from `nlp.start`, or from `start` and its multipliers.

        Raises what a function of the problem or the callback raised, and EvaluationError where the problem is
        not finite at the start; every other outcome is a status of the Result.
        """
        start, run = run_of(start, run, callback)
        limits = self.within(run)
        run = Run(callback=run.callback).within(limits.time_limit)
        ipopt = Ipopt(limits.tol, limits.max_iterations, feasibility=self.feasibility)
        if not _is_small(nlp):
            return ipopt.solve(nlp, start, run)
        monitor = Monitor(
            nlp,
            start,
            feasibility=self.feasibility,
            time_limit=limits.time_limit,
            callback=run.callback,
            shorten=True,
        )
        with monitor.interruptible(), np.errstate(all="ignore"):
            found = InteriorPointRun(monitor, limits.tol).result(limits.max_iterations)
        if found.status is not Status.STEP_TOO_SMALL:
            return found
        left = limits.max_iterations - found.iterations - 1
        if left < 0:
            return replace(found, status=Status.ITERATION_LIMIT, detail="")
        note = f"by IPOPT after {found.iterations} dense steps"
        found = continued(found, replace(ipopt, max_iterations=left), nlp, start, run)
        return replace(found, detail=f"{found.detail}; {note}" if found.detail else note)


def _is_small(nlp: Program) -> bool:
    free = np.count_nonzero(np.asarray(nlp.lower) != nlp.upper)
    equations = np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper)
    return bool(nlp.has_hessian and equations < free and free + equations <= LARGEST)
