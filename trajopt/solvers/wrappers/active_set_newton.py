"""Newton's method on the optimality conditions, from a start whose active set is nearly that of the optimum.

Each step solves the quadratic program of sequential quadratic programming, with the exact Hessian of the
Lagrangian, by a parametric active-set method that starts from the active set of the step before. The first
step from the optimum of a program with other values is the tangential predictor: the optimum's derivative by
the values, times their change, with all changes of the active set on the way. Diehl, Bock, Schloeder et al.,
J. Process Control 12 (2002) 577, "initial value embedding".
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trajopt.arguments import shown
from trajopt.errors import OptionError
from trajopt.solvers.capabilities import ToleranceSolver, unscaled_objective, with_options, with_time_limit
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.kkt import KKT, kkt_residuals
from trajopt.solvers.parametric_qp import QuadraticProgram, QuadraticSolution, followed
from trajopt.solvers.solver import NLP, Callback, Iteration, Result, Solver, Status, WarmStart
from trajopt.solvers.violation import bound_violation

__all__ = ["ActiveSetNewton", "active_sides"]

MOST_STEPS = 12
MOST_CHANGES = 60  # of the active set in one step
# Of the largest entry of the Hessian, added to its diagonal: the first holds what the objective does not
# decide where it is, the others make up for directions in which the Lagrangian is concave on the way.
SHIFTS = (1e-6, 1e-2, 1e-1, 1.0)
ENOUGH = 0.9  # of a step
GROWTH = 1e3  # of the KKT error over a step: above, the steps lead away


@dataclass(frozen=True)
class ActiveSetNewton:
    """Newton's method from a start with multipliers, else `solver`, which also goes on where it fails.

    The conditions of an optimum are checked at the solver's `tol`, as for the solver itself, and the Hessian
    must be positive definite along the active constraints. Dense: for hundreds of unknowns.

    Raises OptionError for a solver without a tolerance.
    """

    solver: ToleranceSolver = field(default_factory=Ipopt)

    def __post_init__(self) -> None:
        if not isinstance(self.solver, ToleranceSolver) or isinstance(self.solver, type):
            raise OptionError(
                f"ActiveSetNewton needs a solver with a tol to fall back on, not {shown(self.solver)}: "
                "try Ipopt()"
            )

    @property
    def tol(self) -> float:
        return self.solver.tol

    def with_tolerance(self, tol: float) -> Solver:
        return replace(self, solver=self.solver.with_tolerance(tol))

    def with_time_limit(self, seconds: float) -> Solver:
        """The same around the solver with this limit; Newton's steps are few and end by themselves."""
        return replace(self, solver=with_time_limit(self.solver, seconds))

    def with_options(self, options: Mapping[str, Any]) -> ActiveSetNewton:
        """The same around the solver with these options."""
        return replace(self, solver=with_options(self.solver, options))

    def solve(self, nlp: NLP, callback: Callback | None = None, start: WarmStart | None = None) -> Result:
        """Solve `nlp` from `start`; `detail` of the result says how many steps and changes it took."""
        if start is not None and start.has_multipliers and nlp.has_hessian:
            found = _Newton(nlp, start.check(nlp), self.solver.tol, callback).result()
            if found is not None:
                return found
        return self.solver.solve(nlp, callback, start)


def active_sides(nlp: NLP, multipliers: np.ndarray, tol: float) -> np.ndarray:
    """The active set that multipliers of rows, then of bounds, tell: -1, 0 or 1 for each, (m + n,).

    An interior-point method leaves small multipliers for all limits; equations are always active.
    """
    lower = np.concatenate([nlp.row_lower, nlp.lower])
    upper = np.concatenate([nlp.row_upper, nlp.upper])
    size = np.abs(multipliers)
    strong = size > np.sqrt(tol) * max(1.0, float(size.max(initial=0.0)))
    at_upper = strong & np.isfinite(upper) & (multipliers > 0.0)
    at_lower = strong & np.isfinite(lower) & (multipliers < 0.0)
    side = np.where(at_upper, 1, np.where(at_lower, -1, 0))
    side[(lower == upper) & (side == 0)] = 1
    return side


class _Newton:
    """The iterates: unknowns y, multipliers and active sides of rows, then of bounds of the unknowns."""

    def __init__(self, nlp: NLP, start: WarmStart, tol: float, callback: Callback | None) -> None:
        self.nlp, self.tol, self.callback = nlp, tol, callback
        self.began = time.perf_counter()
        n, m = nlp.variable_count, nlp.row_count
        self.lower = np.concatenate([nlp.row_lower, nlp.lower])
        self.upper = np.concatenate([nlp.row_upper, nlp.upper])
        self.jacobian_places = np.asarray(nlp.jacobian_rows) * n + nlp.jacobian_columns
        self.hessian_places = np.asarray(nlp.hessian_rows) * n + nlp.hessian_columns
        self.identity = np.eye(n)
        self.y = np.array(start.y, dtype=float)
        rows, low, high = start.row_multipliers, start.lower_multipliers, start.upper_multipliers
        assert rows is not None and low is not None and high is not None
        self.multipliers = np.concatenate([rows, high - low])
        self.m, self.n, self.is_strict = m, n, False
        self.history: list[tuple[float, float, float]] = []

    def result(self) -> Result | None:
        """The optimum; None where the steps do not lead to one."""
        side, changes, error = active_sides(self.nlp, self.multipliers, self.tol), 0, np.inf
        for step in range(MOST_STEPS + 1):
            residuals = kkt_residuals(self.nlp, self._point())
            if not np.isfinite(residuals.error) or residuals.error > GROWTH * error:
                return None
            self._report(step, residuals)
            if step and residuals.error <= self.tol:
                return self._found(step, changes) if self.is_strict else None
            error = residuals.error
            found = self._step(side)
            if found is None:
                return None
            self.y, self.multipliers, side = self.y + found.d, found.multipliers, found.side
            changes += found.changes
            self.is_strict = found.is_strict
        return None

    def _values(self) -> np.ndarray:
        return np.concatenate([self.nlp.rows(self.y), self.y])

    def _step(self, side: np.ndarray) -> QuadraticSolution | None:
        """The step from an active set, with the least of some shifts of the Hessian that lets it pass."""
        program, best = self._program(), None
        size = max(1.0, float(np.abs(program.H).max(initial=0.0)))
        for shift in SHIFTS:
            shifted = replace(program, H=program.H + shift * size * self.identity)
            found = followed(shifted, self.multipliers, side, MOST_CHANGES)
            if found is not None and (best is None or found.tau > best.tau):
                best = found
            if best is not None and best.tau > ENOUGH:
                break
        return best

    def _program(self) -> QuadraticProgram:
        nlp, n, m = self.nlp, self.n, self.m
        values = self._values()
        A = np.bincount(self.jacobian_places, nlp.jacobian(self.y), minlength=m * n).reshape(m, n)
        entries = nlp.hessian(self.y, self.multipliers[:m], 1.0)
        H = np.bincount(self.hessian_places, entries, minlength=n * n).reshape(n, n)
        H += np.tril(H, -1).T
        g = np.asarray(nlp.gradient(self.y), dtype=float)
        return QuadraticProgram(
            H, g, np.concatenate([A, self.identity]), self.lower - values, self.upper - values
        )

    def _point(self) -> WarmStart:
        bounds = self.multipliers[self.m :]
        return WarmStart(
            self.y, self.multipliers[: self.m], np.maximum(-bounds, 0.0), np.maximum(bounds, 0.0)
        )

    def _report(self, step: int, residuals: KKT) -> None:
        objective = float(self.nlp.objective(self.y))
        self.history.append((float(step), objective, residuals.primal))
        if self.callback is not None:
            seconds = time.perf_counter() - self.began
            unscaled = unscaled_objective(self.nlp, objective)
            self.callback(
                Iteration(step, unscaled, residuals.primal, residuals.stationarity, np.nan, seconds)
            )

    def _found(self, steps: int, changes: int) -> Result:
        at = self._point()
        assert at.row_multipliers is not None
        assert at.lower_multipliers is not None and at.upper_multipliers is not None
        violation = bound_violation(self._values(), self.lower, self.upper)
        return Result(
            status=Status.CONVERGED,
            y=at.y,
            row_multipliers=at.row_multipliers,
            lower_multipliers=at.lower_multipliers,
            upper_multipliers=at.upper_multipliers,
            objective=self.history[-1][1],
            infeasibility=float(violation.max(initial=0.0)),
            iterations=steps,
            seconds=time.perf_counter() - self.began,
            history=np.array(self.history),
            detail=f"{steps} Newton steps, {changes} changes of the active set",
        )
