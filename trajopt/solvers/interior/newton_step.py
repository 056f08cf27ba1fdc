"""The directions of one iterate: all of them share one factorized matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trajopt.solvers.interior.condensed_system import (
    DOUBTFUL,
    CondensedSystem,
    Shifts,
    depend_on_each_other,
)
from trajopt.solvers.interior.slack_program import Iterate, SlackProgram
from trajopt.solvers.optimality.kkt import kkt_scale, largest
from trajopt.solvers.solver import LEAST_BARRIER
from trajopt.solvers.solver_constants import DEPENDENT, SHARE


class Residuals:
    """Residuals of the optimality conditions at an iterate; `error(mu)` is the largest one, scaled.

    infeasibility : the largest one but for z t = mu, scaled
    """

    def __init__(self, program: SlackProgram, at: Iterate) -> None:
        point, slopes, (y, z) = at
        self.of_unknowns = program.lagrangian_gradient(slopes, y)
        self.of_slacks = y[: program.slack_count] + program.by_slack(program.sign * z)
        self.primal = point.apart
        self.products = point.t * z
        total = float(z.sum())
        self.dual_scale = kkt_scale(total + float(np.abs(y).sum()), y.size + z.size)
        self.product_scale = kkt_scale(total, z.size)
        self.dual = max(largest(self.of_unknowns), largest(self.of_slacks))
        self.violation = largest(self.primal)
        self.infeasibility = max(self.dual / self.dual_scale, self.violation)

    def error(self, barrier: float = 0.0) -> float:
        return max(self.infeasibility, largest(self.products - barrier) / self.product_scale)

    @property
    def complementarity(self) -> float:
        """The mean of z t."""
        return float(self.products.mean()) if self.products.size else 0.0

    @property
    def mean_square(self) -> float:
        """The mean squares of the conditions added up."""
        parts = (self.of_unknowns, self.of_slacks, self.primal, self.products)
        return sum(float(part @ part) / part.size for part in parts if part.size)


class Direction(NamedTuple):
    """Changes of x, slacks, gaps and z, and the new multipliers y."""

    dx: np.ndarray
    ds: np.ndarray
    dt: np.ndarray
    dz: np.ndarray
    y: np.ndarray


class NewtonStep:
    """Newton's directions at an iterate; `shift` as in `CondensedSystem`."""

    def __init__(self, program: SlackProgram, at: Iterate, barrier: float, shifts: Shifts) -> None:
        self.program, self.at, self._shifts = program, at, shifts
        self._softening = DEPENDENT * max(barrier, LEAST_BARRIER) ** 0.25
        self._H = program.hessian(at.point.x, at.multipliers)
        self._flexibility = 1.0 / program.by_slack(at.multipliers.z / at.point.t)
        self._condense()

    def _condense(self) -> None:
        program, count = self.program, self.program.slack_count
        flexibility = np.full(program.layout.row_count, self._softening if self._shifts.dependent else 0.0)
        flexibility[:count] = self._flexibility
        self.system = CondensedSystem(
            program.layout, self._H, self.at.slopes.values, flexibility, self._shifts
        )

    def _solved(self, of_unknowns: np.ndarray, of_rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The system's solution; where equations depend on each other, of one with softened equations."""
        found = self.system.solve(of_unknowns, of_rows)
        program, shifts = self.program, self._shifts
        if self.system.residual > DOUBTFUL and shifts.dependent is None and program.equations.size:
            shifts.dependent = depend_on_each_other(
                program.layout, self.at.slopes.values, program.slack_count
            )
            if shifts.dependent:
                self._condense()
                return self.system.solve(of_unknowns, of_rows)
        return found

    def direction(self, target: np.ndarray | float, apart: np.ndarray | None = None) -> Direction:
        """Towards z t = target, from G - s, that of the iterate if none is given."""
        program, (point, slopes, multipliers) = self.program, self.at
        apart, count = point.apart if apart is None else apart, program.slack_count
        b = program.by_slack(program.sign * (target / point.t))
        of_rows = -apart
        of_rows[:count] += self._flexibility * b
        dx, y = self._solved(-slopes.g, of_rows)
        # Changes of stiff rows follow from their multipliers: differences would lose them to rounding.
        ds = program.forward(slopes, dx)[:count] + apart[:count]
        ds = np.where(self._flexibility < 1.0, self._flexibility * (y[:count] + b), ds)
        dt = program.sign * ds[program.side]
        z = multipliers.z
        return Direction(dx, ds, dt, (target - z * dt) / point.t - z, y)

    def lengths(self, step: Direction, share: float = SHARE) -> tuple[float, float]:
        """The longest steps of the gaps and of their multipliers that take no more than a share of them."""
        point, z = self.at.point, self.at.multipliers.z
        return longest(point.t, step.dt, share), longest(z, step.dz, share)


def longest(values: np.ndarray, changes: np.ndarray, share: float = SHARE) -> float:
    """The longest step up to 1 over which positive values lose no more than a share of themselves."""
    if not values.size:
        return 1.0
    most = float((-changes / values).max())
    return 1.0 if most <= share else share / most
