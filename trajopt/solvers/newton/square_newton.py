"""Newton's method on programs with as many equations as unknowns: where the equations are met nothing is left
to minimize, and the multipliers follow from one system of linear equations.

    y+ = y + d,   J(y) d = b - g(y),   and at the end   J(y)' multipliers = -grad f(y),

with the rows g = b that are equations and their Jacobian J. Every step must be shorter than the one before,
a test that unlike the size of g does not depend on how rows are scaled (Deuflhard, Newton Methods for
Nonlinear Problems, 2011, section 2.1: ordinary monotonicity).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trajopt.base.arguments import pluralize
from trajopt.base.arrays import Array
from trajopt.solvers.monitor import Monitor, Refusal, monitor_of
from trajopt.solvers.optimality.kkt import kkt_residuals
from trajopt.solvers.solver import Program, Result, RowTolerances, Run, Status, WarmStart
from trajopt.solvers.tolerances import MOST_STEPS

if TYPE_CHECKING:
    from scipy.sparse.linalg import SuperLU

__all__ = ["SquareNewton"]

TO_BOUNDS = 0.9  # of the way to a bound: the most that a step may go
UNDECIDED = 1e-3  # of the objective, scaled: the most that the tolerance of the rows may leave open


@dataclass(frozen=True)
class SquareNewton:
    """Newton's method where there are as many equations as unknowns: the first solver of a `Fallback`.

    It gives up where steps do not become shorter, the equations depend on each other, or a bound or another
    row is not met at the end. A run must have `row_tolerances`: how exactly rows must hold, `acceptable`
    where rounding ends the steps before.
    """

    def suits(self, nlp: Program, start: WarmStart | None, run: Run) -> bool:
        """Whether there are as many equations as unknowns, no unknown is fixed, and tolerances are given."""
        equations = np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper)
        square = equations == nlp.variable_count and bool(np.all(np.asarray(nlp.lower) < nlp.upper))
        return square and run.row_tolerances is not None

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """The result of the steps from a start, whose multipliers are not used; else STEP_TOO_SMALL."""
        assert run is not None and run.row_tolerances is not None
        equations = np.flatnonzero(np.asarray(nlp.row_lower) == nlp.row_upper)
        monitor = monitor_of(nlp, start, run, run.row_tolerances.acceptable)
        most = MOST_STEPS if run.max_iterations is None else min(MOST_STEPS, run.max_iterations)
        with monitor.interruptible(), np.errstate(all="ignore"):
            found = _Steps(monitor, equations, run.row_tolerances).result(most)
        return monitor.result(Status.STEP_TOO_SMALL, None, 0, "") if found is None else found


class _Steps:
    """Newton's steps on the equations of one program, given by the numbers of their rows."""

    def __init__(self, monitor: Monitor, equations: Array, tolerances: RowTolerances) -> None:
        self.monitor, self.nlp, nlp = monitor, monitor.nlp, monitor.nlp
        self.number = 0  # of the steps that were taken
        self.equations, self.tolerances = equations, tolerances
        self.targets = np.asarray(nlp.row_upper)[equations]
        # Where the entries of the program's Jacobian belong in that of the equations, column by column.
        rows, columns, n = np.asarray(nlp.jacobian_rows), np.asarray(nlp.jacobian_columns), nlp.variable_count
        self._mine = np.flatnonzero(np.isin(rows, equations))
        keys = columns[self._mine].astype(np.int64) * n + np.searchsorted(equations, rows[self._mine])
        keys, self._place = np.unique(keys, return_inverse=True)
        self._rows = (keys % n).astype(np.intc)
        self._starts = np.searchsorted(keys, n * np.arange(n + 1)).astype(np.intc)

    def result(self, most: int) -> Result | None:
        """The optimum, or the best iterate where the time limit, Ctrl-C or the callback ends the steps.

        None where the steps do not lead to an optimum.
        """
        try:
            return self._found(most)
        except Refusal:
            stopped = self.monitor.reason is not Status.EVALUATION_ERROR
            return self.monitor.result(Status.SOLVER_ERROR, None, self.number, "") if stopped else None

    def _found(self, most: int) -> Result | None:
        monitor, y, length = self.monitor, np.array(self.monitor.start.y, dtype=float), np.inf
        for number in range(most + 1):
            self.number = number
            rows = monitor.rows(y)
            if not monitor.iterate(number, WarmStart(y), rows, monitor.objective(y), np.nan, length):
                return monitor.result(Status.SOLVER_ERROR, None, number, "")
            missed = self.targets - rows[self.equations]
            factors = self._factors(y)
            if factors is None:
                return None
            if np.abs(missed).max() <= self.tolerances.rows:
                return self._optimum(y, factors, number, Status.CONVERGED)
            step = factors.solve(missed)
            before, length = length, float(np.abs(step).max())
            if not length < before:
                exact = np.abs(missed).max() <= self.tolerances.acceptable
                return self._optimum(y, factors, number, Status.ACCEPTABLE) if exact else None
            y = y + self._part(y, step) * step
        return None

    def _factors(self, y: Array) -> SuperLU | None:
        """Those of the equations' Jacobian; None where it is singular."""
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        values = np.bincount(self._place, np.asarray(self.monitor.jacobian(y))[self._mine], self._rows.size)
        try:
            return splu(csc_array((values, self._rows, self._starts), shape=(y.size, y.size)))
        except RuntimeError:
            return None

    def _part(self, y: Array, step: Array) -> float:
        """The part of a step that leaves all unknowns within their bounds, 1 at most."""
        room, moving = np.where(step < 0.0, y - self.nlp.lower, self.nlp.upper - y), step != 0.0
        parts = TO_BOUNDS * room[moving] / np.abs(step[moving])
        return max(0.0, float(parts.min(initial=1.0)))

    def _optimum(self, y: Array, factors: SuperLU, steps: int, status: Status) -> Result | None:
        """The result with the multipliers of the equations, if it meets all conditions of an optimum."""
        multipliers = np.zeros(self.nlp.row_count)
        multipliers[self.equations] = factors.solve(-self.monitor.gradient(y), trans="T")
        # Rows that are off by r change the objective by multipliers . r: without bound, where the equations
        # depend on each other up to rounding, which no exact zero among the pivots tells.
        if not np.abs(multipliers).sum() * self.tolerances.rows <= UNDECIDED:
            return None
        at = WarmStart(y, multipliers, np.zeros(y.size), np.zeros(y.size))
        if not kkt_residuals(self.nlp, at).error <= self.tolerances.acceptable:
            return None
        return self.monitor.result(status, at, steps, pluralize(steps, "Newton step"))
