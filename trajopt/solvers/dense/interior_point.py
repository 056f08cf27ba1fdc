"""A primal-dual interior-point method for small programs: dense, exact Hessian, one factorization per step.

Barrier problem, filter, inertia correction and the scaling of errors are IPOPT's (Wachter and Biegler, Math.
Program. 106, 2006). Slacks are eliminated, so that the matrix of a step has the size of the unknowns and the
equations: with a hundred unknowns and ten times as many limits most of IPOPT's time goes into the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.solvers.dense.run import InteriorPointRun
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.run import SolverSettings, continued
from trajopt.solvers.solver import Program, Result, Run, Status, WarmStart
from trajopt.solvers.solver_constants import FEASIBILITY

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

    @staticmethod
    def version() -> str:
        """Version of SciPy, whose LAPACK it uses; the method itself is a part of trajopt."""
        import scipy

        return f"own, LAPACK of scipy {scipy.__version__}"

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        run = Run(callback=run.callback).within(self.time_limit)
        ipopt = Ipopt(self.tol, self.max_iterations, feasibility=self.feasibility)
        if not _is_small(nlp):
            return ipopt.solve(nlp, start, run)
        monitor = self._monitor(nlp, start, run, shorten=True)
        with monitor.interruptible(), np.errstate(all="ignore"):
            found = InteriorPointRun(monitor, self.tol).result(self.max_iterations)
        if found.status is not Status.STEP_TOO_SMALL:
            return found
        left = self.max_iterations - found.iterations - 1
        if left < 0:
            return replace(found, status=Status.ITERATION_LIMIT, detail="")
        note = f"by IPOPT after {found.iterations} dense steps"
        found = continued(found, replace(ipopt, max_iterations=left), nlp, start, run)
        return replace(found, detail=f"{found.detail}; {note}" if found.detail else note)


def _is_small(nlp: Program) -> bool:
    free = np.count_nonzero(np.asarray(nlp.lower) != nlp.upper)
    equations = np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper)
    return bool(nlp.has_hessian and equations < free and free + equations <= LARGEST)
