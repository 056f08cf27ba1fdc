"""Newton's method on the optimality conditions from afar: sequential quadratic programming, damped.

Each step solves the quadratic program of `active_set_newton` with a convex Hessian: along the active
constraints, negative eigenvalues of the Hessian of the Lagrangian are replaced by their sizes, and delta
times the identity is added, as Levenberg and Marquardt do. A step is taken where the merit function

    f(y) + sum_i sigma_i d_i(y)

falls by a tenth of what the quadratic program promises, d_i the distance of row or unknown i from its bounds
and sigma_i at least the size of its multiplier (Powell, Lecture Notes in Mathematics 630, 1978). Where it
does not, the step is corrected by the curvature of the constraints, which their values at its end tell
(second-order correction, Nocedal and Wright, Numerical Optimization, 2006, section 18.3), and where that does
not help either, delta grows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.solvers.monitor import monitor_of
from trajopt.solvers.newton.matrices import largest_entry
from trajopt.solvers.newton.newton import (
    FINER,
    MOST_CHANGES,
    NewtonIterates,
    Values,
    active_sides,
)
from trajopt.solvers.newton.quadratic_program import QuadraticProgram, QuadraticSolution, followed
from trajopt.solvers.optimality.multipliers import least_squares_multipliers
from trajopt.solvers.optimality.violation import bound_violation
from trajopt.solvers.solver import Program, Result, Run, Status, WarmStart

__all__ = ["DampedNewton"]

MOST_STEPS = 80
# delta, of the largest entry of the Hessian: the first one, the least but none, and the most
FIRST, LEAST, NONE, MOST = 1e-6, 1e-9, 1e-12, 1e4
# factors of delta after a step that is not taken, of 1 / delta after a good one, of delta after a poor one
SHORTER, LONGER, BARELY = 8.0, 8.0, 3.0
POOR, FAIR, GOOD = 0.1, 0.3, 0.75  # of the decrease of the merit function that was promised
FLAT = 1e-10  # of the largest entry of the Hessian: its least eigenvalue along the active constraints
HALF = 0.5  # of the way to the minimum of the quadratic program: one that ends before is no step
BESIDE = 10  # steps beside a point that meets the tolerance and is no minimum
ROUNDING = 1e-12  # of the merit function


@dataclass(frozen=True)
class DampedNewton:
    """Damped Newton steps to `tol`, from a start with multipliers or without: a solver that may give up."""

    tol: float

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """The result of the steps; STEP_TOO_SMALL where they find no optimum, and a solver has to go on.

        start : without multipliers, least squares over the constraints that it meets or violates give them
        """
        monitor = monitor_of(nlp, start, run, self.tol)
        with monitor.interruptible():
            at = monitor.start
            if not at.has_multipliers:
                at = least_squares_multipliers(nlp, at.y, signed=False)
            found = _DampedIterates(nlp, monitor, at, self.tol, NONE, FINER).result()
        return monitor.result(Status.STEP_TOO_SMALL, None, 0, "") if found is None else found


class _DampedIterates(NewtonIterates):
    """Iterates of Newton's method with damping delta and weights sigma (m + n,) of violations."""

    may_be_sparse = False

    def result(self) -> Result | None:
        """The optimum, or the best iterate where the time limit, Ctrl-C or the callback ends the steps.

        None where the steps do not lead to an optimum.
        """
        nlp, monitor = self.nlp, self.monitor
        self.delta, self.sigma = FIRST, np.abs(self.multipliers)
        here, changes, beside = self._values(), 0, 0
        side = self._independent(here, active_sides(nlp, self.multipliers, self.finest))
        for step in range(MOST_STEPS + 1):
            at = self._point()
            residuals = self._residuals(at, here)
            if not np.isfinite(residuals.error):
                return None
            goes_on = monitor.iterate(step, at, here.rows, here.f, residuals.stationarity, np.nan)
            detail = f"{step} damped Newton steps, {changes} changes of the active set"
            optimal = residuals.error <= self.tol and residuals.primal <= self.finest
            if optimal and self._is_minimum(here, side) and monitor.reason is not Status.INTERRUPTED:
                return monitor.result(Status.CONVERGED, at, step, detail)
            beside = beside + 1 if optimal else 0
            found = self._damped_step(here, side) if goes_on and beside <= BESIDE else None
            if found is None:
                return monitor.result(Status.SOLVER_ERROR, None, step, detail) if monitor.stopped else None
            self.y, self.multipliers, side = self.y + found.d, found.multipliers, found.side
            here, changes = self._values(), changes + found.changes
        return None

    def _damped_step(self, here: Values, side: np.ndarray) -> QuadraticSolution | None:
        """The step that is taken from an active set; None where there is none with any damping.

        Where the quadratic program cannot be solved from the active set, it is once more from the equations.
        """
        program = self._program(here)
        if not np.isfinite(program.H).all():
            return None
        size = largest_entry(program.H)
        equations = np.where(self.lower == self.upper, 1, 0)
        for multipliers, active in ((self.multipliers, side), (np.zeros(side.size), equations)):
            H = _convex(program, active, FLAT * size)
            while self.delta <= MOST and not self.monitor.stopped:
                damped = replace(program, H=self.matrices.shifted(H, self.delta * size))
                found = self._solved(damped, multipliers, active)
                taken = None if found is None else self._taken(damped, found, here)
                if taken is not None:
                    return taken
                self.delta = max(SHORTER * self.delta, LEAST)
            self.delta = FIRST
        return None

    def _solved(
        self, program: QuadraticProgram, multipliers: np.ndarray, side: np.ndarray
    ) -> QuadraticSolution | None:
        most = max(MOST_CHANGES, self.n)
        found = followed(program, multipliers, side, most, lambda: self.monitor.stopped)
        return None if found is None or found.tau < HALF else found

    def _taken(
        self, program: QuadraticProgram, found: QuadraticSolution, here: Values
    ) -> QuadraticSolution | None:
        """The step, or what a second-order correction makes of it; None where neither is good enough."""
        size, d = np.abs(found.multipliers), found.d
        self.sigma = np.where(size > self.sigma, 1.1 * size, 0.5 * (self.sigma + size))
        values, change = np.concatenate([here.rows, self.y]), program.A @ d
        merit = here.f + self.sigma @ self._violation(values)
        quadratic = here.f + here.g @ d + 0.5 * d @ program.H @ d
        promised = merit - quadratic - self.sigma @ self._violation(values + change)
        rounding = ROUNDING * max(1.0, abs(merit))
        if not promised >= -rounding:
            return None

        def gain(step: np.ndarray, after: np.ndarray) -> float:
            f = float(self.nlp.objective(self.y + step))
            return float(merit - f - self.sigma @ self._violation(after))

        after = self._after(d)
        gained = gain(d, after)
        if not gained >= POOR * promised - rounding:
            curved = after - change
            if not np.isfinite(curved).all():
                return None
            nearer = replace(program, lower=self.lower - curved, upper=self.upper - curved)
            corrected = self._solved(nearer, found.multipliers, found.side)
            gained = -np.inf if corrected is None else gain(corrected.d, self._after(corrected.d))
            if corrected is None or not gained >= POOR * promised:
                return None
            found = replace(corrected, changes=found.changes + corrected.changes)
        if gained > GOOD * promised:
            self.delta = self.delta / LONGER if self.delta >= LONGER * LEAST else NONE
        elif gained < FAIR * promised:
            self.delta = max(BARELY * self.delta, LEAST)
        return found

    def _after(self, d: np.ndarray) -> np.ndarray:
        """Rows and unknowns (m + n,) at the end of a step."""
        return np.concatenate([self.nlp.rows(self.y + d), self.y + d])

    def _violation(self, values: np.ndarray) -> np.ndarray:
        """By how much rows and unknowns (m + n,) leave their bounds."""
        return np.maximum(bound_violation(values, self.lower, self.upper), 0.0)


def _convex(program: QuadraticProgram, side: np.ndarray, least: float) -> np.ndarray:
    """H whose eigenvalues along the active constraints are replaced by their sizes, or by `least`."""
    held = program.A[side != 0]
    Z = np.linalg.qr(held.T, mode="complete")[0][:, len(held) :]
    eigenvalues, vectors = np.linalg.eigh(Z.T @ program.H @ Z)
    low = eigenvalues < least
    bent = Z @ vectors[:, low]
    return program.H + (bent * (np.maximum(np.abs(eigenvalues[low]), least) - eigenvalues[low])) @ bent.T
