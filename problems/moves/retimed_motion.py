"""A motion along a given path of the joints, with the path's squared speed linear between grid points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from problems.moves.certificate import MotionCertificate
from problems.moves.limit_excess import worst_line
from problems.moves.motion_limits import MotionLimits
from problems.moves.spline_path import SplinePath
from problems.moves.timing.end_states import EndStates
from problems.moves.timing.path_motion import PathMotion
from problems.moves.timing.tube import Tube
from trajopt.base.arguments import numbers
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.base.tolerances import AGREEMENT

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

SAMPLES = 8  # of the limits of every segment, at the middles of equal parts


@dataclass(frozen=True, eq=False)
class RetimedMotion(PathMotion):
    """q(t) = p(s(t)), made by `moves.retime`.

    grid : (segments + 1,) s; speeds : (segments + 1,) s'^2 there, linear in s between: s'' is constant
    ends : how it was to begin and to end; None: at rest
    tube : around the path that was given, where there is one
    converged : whether the certificate holds
    """

    model: RigidBodyModel
    path: SplinePath
    limits: MotionLimits
    grid: Array
    speeds: Array
    certificate: MotionCertificate
    ends: EndStates | None = None
    tube: Tube | None = None

    @property
    def duration(self) -> float:
        """Seconds."""
        return float(self.times[-1])

    @cached_property
    def times(self) -> Array:
        """Seconds at which the motion is at the grid points, (segments + 1,)."""
        rate = np.sqrt(self.speeds)
        return np.concatenate([[0.0], np.cumsum(2.0 * np.diff(self.grid) / (rate[1:] + rate[:-1]))])

    @property
    def breakpoints(self) -> Array:
        """The same: s'' jumps at grid points."""
        return self.times

    @cached_property
    def path_acceleration(self) -> Array:
        """s'' on every segment, (segments,)."""
        return 0.5 * np.diff(self.speeds) / np.diff(self.grid)

    def s(self, t: Any, order: int = 0) -> Array:
        """The path's coordinate, or a rate of it, at times in [0, duration]; the third is zero."""
        at = numbers(t, "t")
        if not np.all((at >= 0.0) & (at <= self.duration * (1.0 + AGREEMENT))):
            raise OptionError(f"t = {t} is not within the motion: give times from 0 to {self.duration:.6g} s")
        segment = np.clip(np.searchsorted(self.times, at, side="right") - 1, 0, len(self.grid) - 2)
        second, rate = self.path_acceleration[segment], np.sqrt(self.speeds[segment])
        since = at - self.times[segment]
        if order > 2:
            return np.zeros_like(since)
        if order == 2:
            return second
        if order == 1:
            return np.maximum(rate + second * since, 0.0)
        s = self.grid[segment] + (rate + 0.5 * second * since) * since
        return np.clip(s, self.grid[segment], self.grid[segment + 1])

    def verify(self) -> MotionCertificate:
        """All limits again, at times between the grid points, from q(t), v(t), a(t) and tau(t) alone.

        Beside the limits: "path" is the largest distance of a joint between q(t) and the integral of v(t)
        over a segment, "ends" the largest error of its speed at both ends; both relative to
        the largest position or speed.
        """
        names = self.joint_names
        part = (np.arange(SAMPLES) + 0.5) / SAMPLES
        t = (self.times[:-1, None] + np.diff(self.times)[:, None] * part).ravel()
        lines = self.sampled_limits(t)
        # |q(t_(i+1)) - q(t_i) - integral of v|
        nodes, weights = np.polynomial.legendre.leggauss(len(self.path.coefficients))  # exact on a segment
        length = np.diff(self.times)
        v = self.v(self.times[:-1, None] + length[:, None] * 0.5 * (1.0 + nodes))
        integral = np.einsum("k,skn->sn", 0.5 * weights, v) * length[:, None]
        drift = np.abs(np.diff(self.q(self.times), axis=0) - integral)
        lines.append(worst_line("path", names, drift / np.abs(self.q(t)).max(), self.times[1:]))
        ends = self.end_errors(self.v, None if self.ends is None else self.ends.v)
        lines.append(worst_line("ends", names, ends, self.times[[0, -1]]))
        return MotionCertificate((*lines, *self.tube_lines()))

    def __repr__(self) -> str:
        text = f"RetimedMotion of {self.duration:.6g} s on {len(self.grid) - 1} segments\n{self.certificate}"
        return text + self.jumps()
