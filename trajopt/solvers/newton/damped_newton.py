"""Newton's method on the optimality conditions from afar, damped, and on programs that equations determine.

Each step solves the quadratic program of `newton.py` with a convex Hessian: along the active
constraints, negative eigenvalues of the Hessian of the Lagrangian are replaced by their sizes, and delta
times the identity is added, as Levenberg and Marquardt do. A step is taken where the merit function

    f(y) + sum_i sigma_i d_i(y)

falls by a tenth of what the quadratic program promises, d_i the distance of row or unknown i from its bounds
and sigma_i at least the size of its multiplier (Powell, Lecture Notes in Mathematics 630, 1978). Where it
does not, the step is corrected by the curvature of the constraints, which their values at its end show
(second-order correction, Nocedal and Wright, Numerical Optimization, 2006, section 18.3), and where that does
not help either, delta grows.

On programs with as many equations as unknowns nothing is left to minimize where the equations are met, and
the multipliers follow from one system of linear equations.

    y+ = y + d,   J(y) d = b - g(y),   and at the end   J(y)' multipliers = -grad f(y),

with the rows g = b that are equations and their Jacobian J. Every step must be shorter than the one before,
a test that unlike the size of g does not depend on how rows are scaled (Deuflhard, Newton Methods for
Nonlinear Problems, 2011, section 2.1: ordinary monotonicity).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trajopt.solvers.kkt import KKT, bound_violation
from trajopt.solvers.matrices import Matrices, largest_entry, shifted
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.newton.newton import (
    FINER,
    ActiveSetNewton,
    NewtonIterates,
    Values,
    dense_steps_fit,
)
from trajopt.solvers.newton.quadratic_program import POOR, Damping, QuadraticProgram, QuadraticSolution
from trajopt.solvers.solver import (
    FLAT,
    MOST_STEPS,
    RANKED,
    ROUNDING,
    SHARE,
    Program,
    Result,
    Run,
    Status,
    WarmStart,
)


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
        steps = SquareIterates(nlp, monitor, at, rows.acceptable, rows.rows, matrices)
        if run.max_iterations is not None:
            steps.most_steps = min(steps.most_steps, run.max_iterations)
        with monitor.interruptible(), np.errstate(all="ignore"):
            return steps.solved()


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
