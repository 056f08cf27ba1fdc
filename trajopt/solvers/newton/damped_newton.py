"""Newton's method on the optimality conditions from afar: sequential quadratic programming, damped.

Each step solves the quadratic program of `newton.py` with a convex Hessian: along the active
constraints, negative eigenvalues of the Hessian of the Lagrangian are replaced by their sizes, and delta
times the identity is added, as Levenberg and Marquardt do. A step is taken where the merit function

    f(y) + sum_i sigma_i d_i(y)

falls by a tenth of what the quadratic program promises, d_i the distance of row or unknown i from its bounds
and sigma_i at least the size of its multiplier (Powell, Lecture Notes in Mathematics 630, 1978). Where it
does not, the step is corrected by the curvature of the constraints, which their values at its end show
(second-order correction, Nocedal and Wright, Numerical Optimization, 2006, section 18.3), and where that does
not help either, delta grows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trajopt.solvers.matrices import largest_entry, shifted
from trajopt.solvers.newton.damping import POOR, Damping
from trajopt.solvers.newton.newton import (
    FINER,
    ActiveSetNewton,
    NewtonIterates,
    Values,
    dense_steps_fit,
)
from trajopt.solvers.newton.quadratic_program import QuadraticProgram, QuadraticSolution
from trajopt.solvers.optimality.kkt import KKT, bound_violation
from trajopt.solvers.solver import Program, Run, WarmStart
from trajopt.solvers.solver_constants import FLAT, MOST_STEPS, ROUNDING


@dataclass(frozen=True)
class DampedNewton(ActiveSetNewton):
    """Newton's method with damped steps, from a start with multipliers or without."""

    finer: float = FINER

    @property
    def iterates(self) -> type[NewtonIterates]:
        return DampedIterates

    def suits(self, nlp: Program, start: WarmStart | None, run: Run) -> bool:
        return dense_steps_fit(nlp)


class DampedIterates(NewtonIterates):
    """Iterates of Newton's method with damping and weights sigma (m + n,) of violations."""

    may_be_sparse, most_steps, steps = False, MOST_STEPS, "damped Newton steps"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.damping, self.sigma = Damping(), np.abs(self.multipliers)

    def _is_near(self, number: int, residuals: KKT) -> bool:
        return residuals.error <= self.tol and residuals.primal <= self.finest

    def _step(self, here: Values, side: np.ndarray, near: bool) -> QuadraticSolution | None:
        """The step that is taken from an active set; None where there is none with any damping.

        Where the quadratic program cannot be solved from the active set, it is once more from the equations.
        """
        program = self._program_at(here)
        if not np.isfinite(program.H).all():
            return None
        size = largest_entry(program.H)
        equations = np.where(self.lower == self.upper, 1, 0)
        for multipliers, active in ((self.multipliers, side), (np.zeros(side.size), equations)):
            H = _convex(program, active, FLAT * size)
            while not self.damping.is_hopeless and not self.monitor.stopped:
                damped = replace(program, H=shifted(H, self.damping.amount * size))
                found = self._quadratic_step(damped, multipliers, active)
                taken = None if found is None else self._taken(damped, found, here)
                if taken is not None:
                    return taken
                self.damping.increase()
            self.damping = Damping()
        return None

    def _quadratic_step(
        self, program: QuadraticProgram, multipliers: np.ndarray, side: np.ndarray
    ) -> QuadraticSolution | None:
        found = super()._quadratic_step(program, multipliers, side)
        return None if found is None or found.tau < 0.5 else found

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
            corrected = self._quadratic_step(nearer, found.multipliers, found.side)
            gained = -np.inf if corrected is None else gain(corrected.d, self._after(corrected.d))
            if corrected is None or not gained >= POOR * promised:
                return None
            found = replace(corrected, changes=found.changes + corrected.changes)
        self.damping.follow(gained, promised)
        return found

    def _after(self, d: np.ndarray) -> np.ndarray:
        """Rows and unknowns (m + n,) at the end of a step."""
        return np.concatenate([self.nlp.rows(self.y + d), self.y + d])

    def _violation(self, values: np.ndarray) -> np.ndarray:
        """Amounts by which rows and unknowns (m + n,) leave their bounds."""
        return np.maximum(bound_violation(values, self.lower, self.upper), 0.0)


def _convex(program: QuadraticProgram, side: np.ndarray, least: float) -> np.ndarray:
    """H whose eigenvalues along the active constraints are replaced by their sizes, or by `least`."""
    held = program.A[side != 0]
    Z = np.linalg.qr(held.T, mode="complete")[0][:, len(held) :]
    eigenvalues, vectors = np.linalg.eigh(Z.T @ program.H @ Z)
    low = eigenvalues < least
    bent = Z @ vectors[:, low]
    return program.H + (bent * (np.maximum(np.abs(eigenvalues[low]), least) - eigenvalues[low])) @ bent.T
