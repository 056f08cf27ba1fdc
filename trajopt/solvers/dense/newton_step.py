"""The directions of one iterate: all of them share one factorized matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trajopt.solvers.dense.condensed_system import CondensedSystem, Shifts
from trajopt.solvers.dense.slack_program import Iterate, SlackProgram
from trajopt.solvers.optimality.kkt import kkt_scale, largest
from trajopt.solvers.solver_constants import SHARE


class Residuals:
    """Residuals of the optimality conditions at an iterate; `error(mu)` is the largest one, scaled.

    infeasibility : the largest one but for z t = mu, scaled
    """

    def __init__(self, program: SlackProgram, at: Iterate) -> None:
        (point, slopes, (y, of_equations, z)) = at
        self.of_unknowns = slopes.g + program.backward(slopes, y) + of_equations @ slopes.C
        self.of_slacks = y + program.by_slack(program.sign * z)
        self.primal = np.concatenate([point.apart, point.c])
        self.products = point.t * z
        total = float(z.sum())
        size = total + float(np.abs(y).sum() + np.abs(of_equations).sum())
        count = y.size + of_equations.size + z.size
        self.dual_scale = kkt_scale(size, count)
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
    """Changes of x, slacks, gaps and z; new multipliers y and of the equations."""

    dx: np.ndarray
    ds: np.ndarray
    dt: np.ndarray
    dz: np.ndarray
    y: np.ndarray
    of_equations: np.ndarray


class NewtonStep:
    """Newton's directions at an iterate; `shift` as in `CondensedSystem`."""

    def __init__(self, program: SlackProgram, at: Iterate, barrier: float, shifts: Shifts) -> None:
        self.program, self.at = program, at
        H = program.hessian(at.point.x, at.multipliers)
        self.S = program.by_slack(at.multipliers.z / at.point.t)
        self.system = CondensedSystem(program, H, at.slopes, self.S, barrier, shifts)

    def direction(
        self, target: np.ndarray | float, apart: np.ndarray | None = None, c: np.ndarray | None = None
    ) -> Direction:
        """Towards z t = target, from G - s and c, those of the iterate if none are given."""
        program, (point, slopes, multipliers) = self.program, self.at
        apart = point.apart if apart is None else apart
        c = point.c if c is None else c
        b = program.by_slack(program.sign * (target / point.t))
        right = -slopes.g - program.backward(slopes, self.S * apart - b)
        dx, of_equations = self.system.solve(right, -c)
        ds = program.forward(slopes, dx) + apart
        dt = program.sign * ds[program.side]
        z = multipliers.z
        return Direction(dx, ds, dt, (target - z * dt) / point.t - z, self.S * ds - b, of_equations)

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
