"""The directions of one iterate: all of them share one factorized matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trajopt.solvers.interior.band_kernels import newton_direction
from trajopt.solvers.interior.condensed_system import (
    DOUBTFUL,
    EXACT,
    MOST_APPLICATIONS,
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
    """Changes of x, slacks, gaps and z, and the new multipliers y.

    of_gaps, of_multipliers : the largest shares of gaps and of z that the whole step takes
    """

    dx: np.ndarray
    ds: np.ndarray
    dt: np.ndarray
    dz: np.ndarray
    y: np.ndarray
    of_gaps: float
    of_multipliers: float


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

    def direction(self, target: np.ndarray | float, apart: np.ndarray | None = None) -> Direction:
        """Towards z t = target, from G - s, that of the iterate if none is given.

        Where equations depend on each other, those of the system are softened before.
        """
        program, (point, slopes, multipliers), shifts = self.program, self.at, self._shifts
        apart = point.apart if apart is None else apart
        aimed = np.full(point.t.size, target) if np.ndim(target) == 0 else target
        gaps = program.slack_count, program.side, program.sign, point.t, multipliers.z
        dx, ds, dt, dz, y, of_gaps, of_multipliers, _, left = newton_direction(
            self.system.factors, EXACT, MOST_APPLICATIONS, slopes.g, apart, *gaps, aimed
        )
        if left > DOUBTFUL and shifts.dependent is None and program.equations.size:
            shifts.dependent = depend_on_each_other(program.layout, slopes.values, program.slack_count)
            if shifts.dependent:
                self._condense()
                return self.direction(target, apart)
        return Direction(dx, ds, dt, dz, y, of_gaps, of_multipliers)

    def lengths(self, step: Direction, share: float = SHARE) -> tuple[float, float]:
        """The longest steps of the gaps and of their multipliers that take no more than a share of them."""
        one, other = (1.0 if most <= share else share / most for most in (step.of_gaps, step.of_multipliers))
        return one, other


def longest(values: np.ndarray, changes: np.ndarray, share: float = SHARE) -> float:
    """The longest step up to 1 over which positive values lose no more than a share of themselves."""
    if not values.size:
        return 1.0
    most = float((-changes / values).max())
    return 1.0 if most <= share else share / most
