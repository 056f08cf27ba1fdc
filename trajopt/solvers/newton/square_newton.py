"""Newton's method on programs that equations determine.

Where there are as many equations as unknowns, nothing is left to minimize once they are met, and the
multipliers follow from one system of linear equations:

    y+ = y + d,   J(y) d = b - g(y),   and at the end   J(y)' multipliers = -grad f(y),

with the rows g = b that are equations and their Jacobian J. Every step must be shorter than the one before,
a test that unlike the size of g does not depend on how rows are scaled (Deuflhard, Newton Methods for
Nonlinear Problems, 2011, section 2.1: ordinary monotonicity).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.solvers.kkt import KKT
from trajopt.solvers.matrices import Matrices
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.newton.newton import NewtonIterates, Values
from trajopt.solvers.newton.quadratic_program import QuadraticSolution
from trajopt.solvers.solver import MOST_STEPS, RANKED, SHARE, Program, Result, Run, Status, WarmStart


@dataclass(frozen=True)
class SquareNewton:
    """Newton's method where there are as many equations as unknowns: the first solver of a `Fallback`.

    It gives up where steps do not become shorter, the equations depend on each other, or a bound or another
    row is not met at the end. A run must have `row_tolerances`: how exactly rows must hold, `acceptable`
    where rounding ends the steps before.
    """

    def suits(self, nlp: Program, start: WarmStart | None, run: Run) -> bool:
        """True if there are as many equations as unknowns, no unknown is fixed, and tolerances are given."""
        equations = np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper)
        square = equations == nlp.variable_count and bool(np.all(np.asarray(nlp.lower) < nlp.upper))
        return square and run.row_tolerances is not None

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """The result of the steps from a start, whose multipliers are not used; else STEP_TOO_SMALL."""
        assert run is not None and run.row_tolerances is not None
        rows = run.row_tolerances
        monitor = Monitor(nlp, start, run, feasibility=rows.acceptable)
        at, matrices = WarmStart(monitor.start.y), Matrices(nlp, is_sparse=True)
        steps = SquareIterates(nlp, lambda: monitor.stopped, at, rows.acceptable, rows.rows, matrices)
        if run.max_iterations is not None:
            steps.most_steps = min(steps.most_steps, run.max_iterations)
        with monitor.interruptible(), np.errstate(all="ignore"):
            return steps.solved(monitor)


class SquareIterates(NewtonIterates):
    """Iterates that the equations alone determine, with the multipliers that follow from them."""

    most_steps = MOST_STEPS

    def __init__(self, nlp: Program, *arguments: Any) -> None:
        super().__init__(nlp, *arguments)
        self.equations = np.flatnonzero(self.lower[: self.m] == self.upper[: self.m])
        self.length = np.inf  # of the last step

    def values(self) -> Values:
        from scipy.sparse.linalg import splu

        here, equations = super().values(), self.equations
        self.missed = self.upper[equations] - here.rows[equations]
        try:
            factors = splu(here.A[equations].tocsc())
        except RuntimeError:  # singular
            self.step = np.full(self.n, np.nan)
        else:
            self.step = factors.solve(self.missed)
            self.multipliers = np.zeros(self.m + self.n)
            self.multipliers[equations] = factors.solve(-here.g, trans="T")
        return here

    def _is_near(self, number: int, residuals: KKT) -> bool:
        """True if the equations hold, or hold up to rounding, and the other conditions do as well.

        Rows that are off by r change the objective by multipliers . r: without bound, where the equations
        depend on each other up to rounding, which no exact zero among the pivots shows.
        """
        missed, before = np.abs(self.missed).max(), self.length
        self.length = float(np.abs(self.step).max())
        is_exact = missed <= self.finest
        self.ends = bool(is_exact or not self.length < before)
        self.status = Status.CONVERGED if is_exact else Status.ACCEPTABLE
        is_decided = np.abs(self.multipliers).sum() * self.finest <= RANKED
        return bool(self.ends and missed <= self.tol and is_decided and residuals.error <= self.tol)

    def _is_minimum(self, here: Values, side: np.ndarray) -> bool:
        return True

    def _step(self, here: Values, side: np.ndarray, near: bool) -> QuadraticSolution | None:
        """The step, cut off before bounds of the unknowns."""
        if self.ends:
            return None
        room = np.where(self.step < 0.0, self.y - self.nlp.lower, self.nlp.upper - self.y)
        moving = self.step != 0.0
        parts = SHARE * room[moving] / np.abs(self.step[moving])
        d = max(0.0, float(parts.min(initial=1.0))) * self.step
        return QuadraticSolution(d, self.multipliers, side, 1.0, 0)
