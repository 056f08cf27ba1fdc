"""The line search of an interior-point step: a filter of violation and barrier function.

Wachter and Biegler, Math. Program. 106 (2006), algorithm A, without its restoration phase.
"""

from __future__ import annotations

import numpy as np

from trajopt.solvers.interior.centrality import CORRECTIONS
from trajopt.solvers.interior.newton_step import Direction, NewtonStep
from trajopt.solvers.interior.slack_program import Point
from trajopt.solvers.monitor import Refusal
from trajopt.solvers.solver_constants import SUM_ROUNDING

LESS_VIOLATION, LESS_BARRIER = 1e-5, 1e-8  # gamma_theta; gamma_phi and eta_phi
SWITCH_BARRIER, SWITCH_VIOLATION = 2.3, 1.1  # s_phi, s_theta; delta is 1
# Of the violation at the beginning, or of 1; the largest ones are as much above it. Shorter steps, of the
# longest one, are not tried.
SMALL = 1e-4


class LineSearch:
    """Steps along directions at one iterate, for one barrier parameter.

    entries : (violation, barrier function) pairs that no accepted point may exceed both of
    first : violation where the filter was begun
    """

    def __init__(
        self, newton: NewtonStep, barrier: float, entries: list[tuple[float, float]], first: float
    ) -> None:
        self.newton, self.barrier, self.entries = newton, barrier, entries
        self.program, self.point = newton.program, newton.at.point
        self.violation = self.point.violation
        self.value = self._barrier_function(self.point)
        self.slope = 0.0  # of the barrier function along the step
        self.small, self.large = SMALL * max(1.0, first), max(1.0, first) / SMALL

    def found(self, step: Direction, target: np.ndarray | float) -> tuple[Point, float] | None:
        """An acceptable point on the way, and the length of the step; None where there is none.

        target : of z t, for corrections of second order
        """
        longest_step = length = self.newton.lengths(step)[0]
        self.slope = float(self.newton.at.slopes.g @ step.dx)
        self.slope -= self.barrier * float((step.dt / self.point.t).sum())
        while length >= SMALL * longest_step:
            trial = self._trial(step, length)
            if trial is not None and self._accepts(trial, length):
                return trial, length
            if trial is not None and length == longest_step and trial.violation >= self.violation:
                corrected = self._corrected(trial, length, target)
                if corrected is not None:
                    return corrected
            length *= 0.5
        return None

    @property
    def entry(self) -> tuple[float, float]:
        """Entry of the filter against later points when this step was not one of descent."""
        return (1.0 - LESS_VIOLATION) * self.violation, self.value - LESS_BARRIER * self.violation

    def descends(self, length: float) -> bool:
        """True if the step that `found` went along lowers the barrier function enough to be judged by it."""
        return (
            self.violation <= self.small
            and self.slope < 0.0
            and length * (-self.slope) ** SWITCH_BARRIER > self.violation**SWITCH_VIOLATION
        )

    def _barrier_function(self, point: Point) -> float:
        return point.f - self.barrier * float(np.log(point.t).sum())

    def _trial(self, step: Direction, length: float) -> Point | None:
        """The point at a length of the step; None where it cannot be evaluated."""
        try:
            point = self.program.point(self.point.x + length * step.dx, self.point.s + length * step.ds)
        except Refusal:
            if self.program.monitor.reason is not None:
                raise
            return None
        return point if (point.t > 0.0).all() else None

    def _accepts(self, trial: Point, length: float) -> bool:
        violation, value = trial.violation, self._barrier_function(trial)
        slack = SUM_ROUNDING * abs(self.value)
        if not violation <= self.large:
            return False
        if any(violation >= worse and value - slack >= higher for worse, higher in self.entries):
            return False
        if self.descends(length):
            return value <= self.value + LESS_BARRIER * length * self.slope + slack
        return (
            violation <= (1.0 - LESS_VIOLATION) * self.violation
            or value - slack <= self.value - LESS_BARRIER * self.violation
        )

    def _corrected(
        self, trial: Point, length: float, target: np.ndarray | float
    ) -> tuple[Point, float] | None:
        """The point after corrections of second order, for constraints that curve away from the step."""
        apart, before = self.point.apart, trial.violation
        own = length
        for _ in range(CORRECTIONS):
            apart = own * apart + trial.apart
            step = self.newton.direction(target, apart)
            own = self.newton.lengths(step)[0]
            found = self._trial(step, own)
            if found is None:
                return None
            if self._accepts(found, length):
                return found, own
            if found.violation > before:
                return None
            trial, before = found, found.violation
        return None
