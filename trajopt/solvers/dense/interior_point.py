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
class DenseSteps(SolverSettings):
    """The method without IPOPT: STEP_TOO_SMALL where it gets stuck or takes too many steps."""

    feasibility: float = FEASIBILITY

    def suits(self, nlp: Program, start: WarmStart | None, run: Run) -> bool:
        """True if it is made for a program, which it solves from the multipliers of a start."""
        return start is not None and start.has_multipliers and _is_small(nlp)

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        monitor = self._monitor(nlp, start, run, shorten=True)
        with monitor.interruptible(), np.errstate(all="ignore"):
            return InteriorPointRun(monitor, self.tol, run.start_kind).result(self.max_iterations)


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

    @property
    def alone(self) -> DenseSteps:
        """These steps without IPOPT."""
        return DenseSteps(self.tol, self.max_iterations, self.time_limit, self.feasibility)

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        ipopt = Ipopt(self.tol, self.max_iterations, feasibility=self.feasibility)
        later = Run(callback=run.callback).within(self.time_limit)
        if not _is_small(nlp):
            return ipopt.solve(nlp, start, later)
        found = self.alone.solve(nlp, start, replace(later, start_kind=run.start_kind))
        if found.status is not Status.STEP_TOO_SMALL:
            return found
        left = self.max_iterations - found.iterations - 1
        if left < 0:
            return replace(found, status=Status.ITERATION_LIMIT, detail="")
        note = f"by IPOPT after {found.iterations} dense steps"
        found = continued(found, replace(ipopt, max_iterations=left), nlp, start, later)
        return replace(found, detail=f"{found.detail}; {note}" if found.detail else note)


def _is_small(nlp: Program) -> bool:
    free = np.count_nonzero(np.asarray(nlp.lower) != nlp.upper)
    equations = np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper)
    return bool(nlp.has_hessian and equations < free and free + equations <= LARGEST)
