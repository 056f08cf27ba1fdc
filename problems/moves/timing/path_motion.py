"""A motion along a given path of the joints, q(t) = p(s(t))."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from problems.moves.certificate import LimitLine
from problems.moves.motion import Motion
from problems.moves.motion_limits import MotionLimits
from problems.moves.path_quantities import motor_torques
from problems.moves.spline_path import SplinePath
from problems.moves.timing.end_states import EndStates
from problems.moves.timing.tube import Tube
from trajopt.base.arrays import Array

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel


class PathMotion(Motion):
    """q = p(s) of a path, s by time; made by `moves.retime`."""

    model: RigidBodyModel
    path: SplinePath
    ends: EndStates | None
    tube: Tube | None

    @abstractmethod
    def s(self, t: Any, order: int = 0) -> Array:
        """The path's coordinate, or a rate of it up to the third, at times in [0, duration], (...,)."""

    def limits_at(self, t: ArrayLike) -> MotionLimits:
        return self.limits.at(self.s(t))

    def end_errors(self, curve: Callable[[Any], Array], wanted: Array | None) -> Array:
        """Errors of a curve at both ends, (2, n), relative to its largest value at breakpoints.

        wanted : (2, n), NaN where it is free; None: zero
        """
        t = self.breakpoints
        value = curve(t[[0, -1]])
        wanted = np.zeros_like(value) if wanted is None else np.where(np.isnan(wanted), value, wanted)
        return np.abs(value - wanted) / np.abs(curve(t)).max()

    def tube_lines(self) -> tuple[LimitLine, ...]:
        """Lines of the tube that the motion uses, for all times; empty without one."""
        if self.tube is None:
            return ()
        t = self.breakpoints
        of_s = self.tube.lines(self.path)
        return tuple(replace(line, time=float(np.interp(line.time, self.s(t), t))) for line in of_s)

    def q(self, t: Any) -> Array:
        """Positions of the joints, (..., n) rad or m."""
        return self.path(self.s(t))

    def v(self, t: Any) -> Array:
        """v = p' s', (..., n) rad/s or m/s."""
        return self.path(self.s(t), 1) * self.s(t, 1)[..., None]

    def a(self, t: Any) -> Array:
        """a = p' s'' + p'' s'^2, (..., n); it jumps where s'' does."""
        s, rate, second = (self.s(t, order)[..., None] for order in range(3))
        return self.path(s[..., 0], 1) * second + self.path(s[..., 0], 2) * rate**2

    def jerk(self, t: Any) -> Array:
        """p' s''' + 3 p'' s' s'' + p''' s'^3, (..., n), where the acceleration does not jump."""
        s, rate, second, third = (self.s(t, order)[..., None] for order in range(4))
        p = [self.path(s[..., 0], order) for order in range(4)]
        return p[1] * third + 3.0 * p[2] * rate * second + p[3] * rate**3

    def tau(self, t: Any) -> Array:
        """Torques of the motors, (..., n) N m or N: `dynamics.rnea`, and the joints' springs and friction.

        Coulomb friction opposes the motion along the path, at both rests too.
        """
        s = self.s(t)
        return motor_torques(self.model, self.path(s), self.path(s, 1), self.s(t, 1)[..., None], self.a(t))
