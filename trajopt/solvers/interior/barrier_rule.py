"""The barrier parameter mu: predicted in every step while the errors fall, else held until it is solved for.

Predicted: (mean of z t after the longest step towards mu = 0, over the mean now)^3 times the mean now, but
not far below the other errors where the functions are far from a quadratic program, as a shifted H shows; the
products of that step's changes correct the direction (Mehrotra, SIAM J. Optim. 2, 1992, 575). Held: as in
Wachter and Biegler, Math. Program. 106 (2006), eq. 7. It is free again when the errors are below those at
which it was held, as with IPOPT's option adaptive_mu_globalization=kkt-error (Nocedal, Wachter and Waltz,
SIAM J. Optim. 19, 2009, 1674).
"""

from __future__ import annotations

import numpy as np

from trajopt.solvers.interior.newton_step import NewtonStep, Residuals
from trajopt.solvers.solver import LEAST_BARRIER

# Of the other errors, where H is shifted: a parameter far below them stops steps at limits that do not bind.
BEHIND = 1e-2
MEMORY = 4  # iterates, below whose errors the next ones must fall
RESTART = 0.8  # of the mean of z t, where the parameter begins to be held
SOLVED, LINEAR, SUPERLINEAR = 10.0, 0.2, 1.5  # kappa_epsilon, kappa_mu, theta_mu
LAST = 1.0 / 11.0  # of the tolerance: no parameter that is held need be smaller


class BarrierRule:
    """The parameter of a run and how it is chosen; `is_new`: whether its filter begins anew."""

    def __init__(self, barrier: float, tol: float, is_free: bool) -> None:
        self.barrier, self.tol, self.is_free, self.is_new = barrier, tol, is_free, True
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
            self._memory = [*self._memory, size][-MEMORY:]
        elif self.is_free:
            self.hold(residuals)
        else:
            self._lower(residuals)

    def hold(self, residuals: Residuals) -> None:
        """Hold the parameter from here on."""
        self._memory = self._memory or [residuals.mean_square]
        self.is_free, self.is_new = False, True
        self.barrier = max(RESTART * residuals.complementarity, self._least)

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
