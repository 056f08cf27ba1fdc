"""A primal-dual interior-point method with exact Hessian whose matrix is a band in the order of time.

Barrier problem, filter, inertia correction and the scaling of errors are IPOPT's (Wachter and Biegler, Math.
Program. 106, 2006). Slacks and multipliers are eliminated, so that the matrix of a step has the size of the
unknowns, whose rows couple what is near in time: with a hundred unknowns and ten times as many limits most of
IPOPT's time goes into the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.solvers.interior.run import InteriorPointRun
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.run import SolverSettings, continued
from trajopt.solvers.solver import Program, Result, Run, Status, WarmStart
from trajopt.solvers.solver_constants import FEASIBILITY

LARGEST_DENSE = 1500  # unknowns of a program whose order in time is not known: its band is a full matrix

FAR = 1e6  # times the size of the start: IPOPT begins there rather than at a point as far as this


@dataclass(frozen=True)
class InteriorSteps(SolverSettings):
    """The method without IPOPT: STEP_TOO_SMALL where it gets stuck or takes too many steps."""

    feasibility: float = FEASIBILITY

    def suits(self, nlp: Program, start: WarmStart | None, run: Run) -> bool:
        """True if it is made for a program, which it solves from the multipliers of a start."""
        return start is not None and start.has_multipliers and _is_made_for(nlp)

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        monitor = self._monitor(nlp, start, run, shorten=True)
        with monitor.interruptible(), np.errstate(all="ignore"):
            return InteriorPointRun(monitor, self.tol, run.start_kind).result(self.max_iterations)


@dataclass(frozen=True)
class InteriorPoint(SolverSettings):
    """The settings of one run of the interior-point method.

    tol             largest scaled KKT error at which the solve counts as converged
    max_iterations  iterations allowed
    time_limit      wall seconds allowed, None: no limit; checked at every evaluation
    feasibility     largest violation at which an iterate counts as feasible when the best one is chosen

    The time of a step grows with the number of intervals, and with the cube of the unknowns of one, in
    arms, systems and robots on feet. IPOPT goes on from the best point where the method gets stuck or takes
    more than 150 steps: it restores feasibility and says why there is no solution. It also solves programs
    that this method is not made for, without second derivatives or with as many equations as unknowns. Such a
    solve ends with IPOPT's answer, and its `detail` says so.

    Raises OptionError on construction for a value out of range.
    """

    feasibility: float = FEASIBILITY

    @staticmethod
    def version() -> str:
        """Version of SciPy, whose LAPACK it uses; the method itself is a part of trajopt."""
        import scipy

        return f"own, LAPACK of scipy {scipy.__version__}"

    @property
    def alone(self) -> InteriorSteps:
        """These steps without IPOPT."""
        return InteriorSteps(self.tol, self.max_iterations, self.time_limit, self.feasibility)

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        ipopt = Ipopt(self.tol, self.max_iterations, feasibility=self.feasibility)
        later = Run(callback=run.callback).within(self.time_limit)
        if not _is_made_for(nlp):
            return ipopt.solve(nlp, start, later)
        first = self.alone.solve(nlp, start, replace(later, start_kind=run.start_kind))
        if first.status is not Status.STEP_TOO_SMALL:
            return first
        left = self.max_iterations - first.iterations - 1
        if left < 0:
            return replace(first, status=Status.ITERATION_LIMIT, detail="")
        note = f"by IPOPT after {first.iterations} steps"
        rest = replace(ipopt, max_iterations=left)
        size = max(1.0, float(np.abs(nlp.start if start is None else start.y).max(initial=0.0)))
        near = np.abs(first.y).max(initial=0.0) <= FAR * size
        result = continued(first, rest, nlp, WarmStart(first.y) if near else start, later)
        return replace(result, detail=f"{result.detail}; {note}" if result.detail else note)


DenseInteriorPoint = InteriorPoint  # the name that it had while its matrices were dense


def _is_made_for(nlp: Program) -> bool:
    free = np.count_nonzero(np.asarray(nlp.lower) != nlp.upper)
    equations = np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper)
    ordered = getattr(nlp, "unknown_spans", None) is not None
    return bool(nlp.has_hessian and equations < free and (ordered or free <= LARGEST_DENSE))
