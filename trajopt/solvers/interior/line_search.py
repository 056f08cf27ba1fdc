"""The line search of an interior-point step, the barrier parameter, and corrections of the direction.

Wachter and Biegler, Math. Program. 106 (2006), algorithm A; `restoration` is its restoration phase.

The barrier parameter mu is predicted in every step while the errors fall, else held until it is solved for.

Predicted: (mean of z t after the longest step towards mu = 0, over the mean now)^3 times the mean now, but
not far below the other errors where the functions are far from a quadratic program, as a shifted H shows; the
products of that step's changes correct the direction (Mehrotra, SIAM J. Optim. 2, 1992, 575). Held: as in
Wachter and Biegler, Math. Program. 106 (2006), eq. 7. It is free again when the errors are below those at
which it was held, as with IPOPT's option adaptive_mu_globalization=kkt-error (Nocedal, Wachter and Waltz,
SIAM J. Optim. 19, 2009, 1674).

Corrections of a direction bring the products z t of its end nearer to their mean.

Products far below the barrier parameter stop later steps, those far above it take further steps. So the
direction is corrected for a step that is longer than the one it allows: products at its end that lie outside
of [mu / 10, 10 mu] are aimed at the nearer end of this interval, by at most 10 mu. All corrections share the
factorized matrix (Gondzio, Comput. Optim. Appl. 6, 1996, 137).
"""

from __future__ import annotations

import numpy as np

from trajopt.solvers.interior.newton_step import Direction, NewtonStep, Residuals
from trajopt.solvers.interior.slack_program import Point
from trajopt.solvers.solver import LEAST_BARRIER, SHARE, SUM_ROUNDING

LESS_VIOLATION, LESS_BARRIER = 1e-5, 1e-8  # gamma_theta; gamma_phi and eta_phi
SWITCH_BARRIER, SWITCH_VIOLATION = 2.3, 1.1  # s_phi, s_theta; delta is 1
# Of the violation at the beginning, or of 1; the largest ones are as much above it. Shorter steps, of the
# longest one, are not tried.
SMALL = 1e-4


def barrier_function(point: Point, barrier: float) -> float:
    """f - mu sum log t."""
    return point.f - barrier * float(np.log(point.t).sum())


def filter_entry(point: Point, barrier: float) -> tuple[float, float]:
    """Violation and barrier function that no later point may exceed both of, once this one was left."""
    value = barrier_function(point, barrier)
    return (1.0 - LESS_VIOLATION) * point.violation, value - LESS_BARRIER * point.violation


def takes(entries: list[tuple[float, float]], point: Point, barrier: float, slack: float = 0.0) -> bool:
    """True if a point, whose value counts as lower by `slack`, is better than each entry in one of both."""
    violation, value = point.violation, barrier_function(point, barrier) - slack
    return not any(violation >= worse and value >= higher for worse, higher in entries)


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
        self.value = barrier_function(self.point, barrier)
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
        return filter_entry(self.point, self.barrier)

    def descends(self, length: float) -> bool:
        """True if the step that `found` went along lowers the barrier function enough to be judged by it."""
        return (
            self.violation <= self.small
            and self.slope < 0.0
            and length * (-self.slope) ** SWITCH_BARRIER > self.violation**SWITCH_VIOLATION
        )

    def _trial(self, step: Direction, length: float) -> Point | None:
        return self.program.trial(self.point.x + length * step.dx, self.point.s + length * step.ds)

    def _accepts(self, trial: Point, length: float) -> bool:
        violation, value = trial.violation, barrier_function(trial, self.barrier)
        slack = SUM_ROUNDING * abs(self.value)
        if not violation <= self.large or not takes(self.entries, trial, self.barrier, slack):
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


# Of the other errors, where H is shifted: a parameter far below them stops steps at limits that do not bind.
BEHIND = 1e-2
SOLVED, LINEAR, SUPERLINEAR = 10.0, 0.2, 1.5  # kappa_epsilon, kappa_mu, theta_mu
LAST = 1.0 / 11.0  # of the tolerance: no parameter that is held need be smaller


class BarrierRule:
    """The parameter of a run and how it is chosen; `is_new`: whether its filter begins anew."""

    def __init__(self, barrier: float, tol: float) -> None:
        self.barrier, self.tol, self.is_free, self.is_new = barrier, tol, True, True
        self._least = min(LEAST_BARRIER, barrier)
        self._memory: list[float] = []

    def observe(self, residuals: Residuals) -> None:
        """Hold or free the parameter, or lower a held one, by the errors of the next iterate."""
        if not residuals.products.size:
            return
        size = residuals.mean_square
        falls = not self._memory or size < max(self._memory)
        if falls and (self.is_free or self._memory):
            self.is_new = self.is_new or not self.is_free
            self.is_free = True
            # The next errors must fall below those of the last four iterates
            self._memory = [*self._memory, size][-4:]
        elif self.is_free:
            self.hold(residuals)
        else:
            self._lower(residuals)

    def hold(self, residuals: Residuals) -> None:
        """Hold the parameter from here on."""
        self._memory = self._memory or [residuals.mean_square]
        self.is_free, self.is_new = False, True
        # The parameter begins to be held at 0.8 of the mean of z t
        self.barrier = max(0.8 * residuals.complementarity, self._least)

    def corrected(self, newton: NewtonStep, residuals: Residuals) -> np.ndarray | None:
        """Set a free parameter; what z t is aimed at by the corrected direction, None where there is none.

        The correction assumes that the functions are nearly linear; where H was shifted they are not.
        """
        point, z = newton.at.point, newton.at.multipliers.z
        affine = newton.direction(0.0)
        primal, dual = newton.lengths(affine, 1.0)
        after = float((point.t + primal * affine.dt) @ (z + dual * affine.dz)) / z.size
        mean, least = residuals.complementarity, self._least
        if newton.system.shift:
            least = max(least, min(mean, BEHIND * residuals.infeasibility))
        self.barrier = max(min(1.0, (after / mean) ** 3) * mean, least)
        self.is_new = True
        return None if newton.system.shift else self.barrier - affine.dt * affine.dz

    def _lower(self, residuals: Residuals) -> None:
        while residuals.error(self.barrier) <= SOLVED * self.barrier:
            lower = max(LAST * self.tol, min(LINEAR * self.barrier, self.barrier**SUPERLINEAR))
            if lower >= self.barrier:
                return
            self.barrier, self.is_new = lower, True


CORRECTIONS = 2  # of a direction, or of a step
LONGER = 0.3  # by how much the steps are longer for which a direction is corrected
# Of the barrier parameter: products; the most are as much above it. Of `LONGER`: what a correction brings.
LEAST = 0.1
MOST = 1.0 / LEAST


def centred(newton: NewtonStep, target: np.ndarray, barrier: float) -> tuple[np.ndarray, Direction]:
    """Corrected target of z t, and the direction to it.

    target : of z t (gaps,), before
    """
    step = newton.direction(target)
    primal, dual = newton.lengths(step)
    for _ in range(CORRECTIONS):
        if min(primal, dual) >= SHARE:
            break
        point, z = newton.at.point, newton.at.multipliers.z
        products = (point.t + min(1.0, primal + LONGER) * step.dt) * (z + min(1.0, dual + LONGER) * step.dz)
        nearest = np.clip(products, LEAST * barrier, MOST * barrier)
        other = target + np.maximum(nearest - products, -MOST * barrier)
        corrected = newton.direction(other)
        lengths = newton.lengths(corrected)
        if sum(lengths) < primal + dual + LEAST * LONGER:
            break
        target, step, (primal, dual) = other, corrected, lengths
    return target, step
