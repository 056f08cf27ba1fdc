"""Real-time iteration: so many steps of Newton's method from the solution before, and no more.

Each is the step of sequential quadratic programming with the exact Hessian; from the optimum for another
state the first one is the derivative of the optimum by the state times its change, with the changes of active
limits on the way. Diehl, Bock and Schloeder, SIAM J. Control and Optimization 43 (2005) 1714.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.solvers.matrices import Matrices, sparse_steps_pay
from trajopt.solvers.monitor import Monitor, Refusal
from trajopt.solvers.newton.newton import ActiveSetNewton, NewtonIterates, active_sides
from trajopt.solvers.optimality.kkt import largest_violation
from trajopt.solvers.optimality.multipliers import least_squares_multipliers
from trajopt.solvers.solver import Program, Result, Run, Status, WarmStart

FURTHER = 8  # steps after a large disturbance


@dataclass(frozen=True)
class RealTimeIteration(ActiveSetNewton):
    """The point to which some full steps lead, from an optimum that of other values to second order in these.

    steps : of Newton's method; fewer where the tolerance is met before, and more, up to `FURTHER` of them,
        as long as rows are violated by more than `worst` of their scale
    Its result is the last iterate, of status ITERATION_LIMIT where it is none within `tol`; STEP_FAILED where
    there is no step, TIME_LIMIT where the deadline passes.
    """

    steps: int = 1
    worst: float = np.inf

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        monitor = Monitor(nlp, start, run, feasibility=self.tol)
        at = monitor.start
        if not at.has_multipliers:
            at = least_squares_multipliers(nlp, at.y, signed=False)
        if not (self.matrices and self.matrices[0].fits(nlp)):
            self.matrices[:] = [Matrices(nlp, sparse_steps_pay(nlp))]
        iterates = NewtonIterates(nlp, monitor, at, self.tol, self.tol, self.matrices[0], self.shift)
        try:
            return self._stepped(iterates)
        except Refusal:
            return monitor.result(monitor.reason or Status.SOLVER_ERROR, None, 0, "")

    def _stepped(self, iterates: NewtonIterates) -> Result:
        monitor, nlp, number, status = iterates.monitor, iterates.nlp, 0, Status.ITERATION_LIMIT
        side = active_sides(nlp, iterates.multipliers, self.tol)
        here = iterates.values()
        violation = np.inf
        while number < self.steps or (violation > self.worst and number < self.steps + FURTHER):
            step = iterates.full_step(here, side)
            if step is None or monitor.stopped:
                status = monitor.reason or Status.STEP_FAILED
                break
            iterates.y, iterates.multipliers, side = iterates.y + step.d, step.multipliers, step.side
            number, violation = number + 1, largest_violation(nlp, iterates.y, nlp.rows(iterates.y))
            if number >= self.steps and violation <= self.worst:
                break
            here = iterates.values()
            if iterates.residuals(iterates.point(), here).error <= self.tol:
                status = Status.CONVERGED
                break
        point = iterates.point()
        found = monitor.result(Status.CONVERGED if number else status, point, number, "")
        return replace(found, status=status) if found.converged else found
