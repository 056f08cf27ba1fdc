"""Common parts of all motions: curves in time, samples and tables of them, and limits at given times."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import dynamics
from problems.moves.certificate import TOLERANCE, LimitLine, MotionCertificate
from problems.moves.controller.hand_over import hand_over
from problems.moves.controller.points import HandOver
from problems.moves.controller.segments import Segments
from problems.moves.limit_excess import relative_excess, worst_line
from problems.moves.motion_limits import TOOL_SPEED, MotionLimits
from problems.moves.motion_table import motion_table
from problems.moves.timing.followed_curve import FollowedCurve
from problems.moves.tool_speed import squared_tool_speeds
from problems.moves.view.surroundings import MotionSegment, Surroundings
from problems.moves.view.view import View, view
from trajopt.base.arrays import Array
from trajopt.display.curves import Samples
from trajopt.splines.basis import Curve

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

JUMPS = (
    "nothing limits how fast speeds change where no torque is limited, nor the acceleration of a joint that "
    "moves: no robot follows the motion; give a limit of acceleration or torque"
)


class Motion(ABC):
    """A motion of a robot's joints, from rest to rest.

    model : of the robot; limits : that it was computed for
    certificate : what is known of the limits
    """

    model: RigidBodyModel
    limits: MotionLimits
    certificate: MotionCertificate

    @property
    @abstractmethod
    def duration(self) -> float:
        """Seconds."""

    @abstractmethod
    def q(self, t: Any) -> Array:
        """Positions of the joints at times in [0, duration], (..., n) rad or m."""

    @abstractmethod
    def v(self, t: Any) -> Array:
        """Velocities, (..., n) rad/s or m/s."""

    @abstractmethod
    def a(self, t: Any) -> Array:
        """Accelerations, (..., n) rad/s^2 or m/s^2."""

    @abstractmethod
    def jerk(self, t: Any) -> Array:
        """Rates of the accelerations, (..., n) rad/s^3 or m/s^3."""

    @abstractmethod
    def tau(self, t: Any) -> Array:
        """Torques of the motors, (..., n) N m or N, with springs and friction of the joints."""

    @abstractmethod
    def verify(self) -> MotionCertificate:
        """All limits again, sampled from the curves alone."""

    @property
    @abstractmethod
    def breakpoints(self) -> Array:
        """Times from 0 to the duration, (k,) s, where the acceleration or a derivative of it may jump."""

    @property
    def converged(self) -> bool:
        """True if every limit holds within the tolerance of the certificate."""
        return self.certificate.holds

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints in the order of q."""
        return tuple(self.model.joint_names)

    def sampled_limits(self, t: Array) -> list[LimitLine]:
        """The largest excess at times (k,) of every kind of limit that there is."""
        curves = {"position": self.q, "speed": self.v, "acceleration": self.a}
        curves |= {"jerk": self.jerk, "torque": self.tau, TOOL_SPEED: self.tool_speeds}
        found: list[LimitLine] = []
        for name, ends in self.limits_at(t).by_name(self.position_limits).items():
            columns = self.limits.columns(name, self.joint_names)
            found.append(worst_line(name, columns, relative_excess(curves[name](t), *ends), t))
        return found

    def jumps(self) -> str:
        """A line of the report, in case nothing limits how fast speeds change on some part; else empty.

        Such a part has no limit of torque, and none of acceleration or jerk of a joint that moves on it.
        """
        part = (np.arange(4) + 0.5) / 4
        t = self.breakpoints[:-1, None] + np.diff(self.breakpoints)[:, None] * part
        speeds = np.abs(self.v(t)).max(axis=1)  # (parts, n)
        fastest = speeds.max(axis=1, keepdims=True)
        limits = self.limits_at(t[:, 1])
        rates = np.isfinite(limits.acceleration) | np.isfinite(limits.jerk)
        torques = np.any(np.isfinite([limits.torque_lower, limits.torque_upper]), axis=(0, -1))
        held = torques | np.any(rates & (speeds > TOLERANCE * fastest), axis=-1) | (fastest[:, 0] == 0.0)
        return "" if np.all(held) else f"\n{JUMPS}"

    def tool_speeds(self, t: ArrayLike) -> Array:
        """Speeds of the frames that have a limit, (..., frames) m/s."""
        return np.sqrt(squared_tool_speeds(self.model, self.limits.frames, self.q(t), self.v(t)))

    @property
    def position_limits(self) -> tuple[Array, Array]:
        """Lower and upper limits of the joints, (n,) rad or m."""
        return self.model.limits.q_lower, self.model.limits.q_upper

    def limits_at(self, t: ArrayLike) -> MotionLimits:
        """The limits at times (...,), see `MotionLimits.at`."""
        return self.limits

    def sample(self, rate: float) -> Samples:
        """The motion at `rate` Hz and at its end: columns "q elbow", "v elbow", "a elbow" and "tau elbow".

        A robot without mass has no torques.
        """
        return motion_table(self, self.model, self.duration, rate)

    @property
    def surroundings(self) -> Surroundings:
        """Objects and paths that `view` shows beside the motion."""
        return Surroundings((MotionSegment(self.model, 0.0, self.duration),), dynamics.Scene())

    def view(self, path: str | os.PathLike[str], **options: Any) -> View:
        """Write `moves.view(motion, path)`, a page for browsers in three dimensions, with these options."""
        return view(self, path, **options)

    def to_csv(self, path: str | os.PathLike[str], rate: float = 100.0) -> None:
        """Write `sample(rate)` as comma-separated values, units in the first line, "q elbow [rad]"."""
        self.sample(rate).to_csv(path)

    def to_ros(
        self, path: str | os.PathLike[str], segments: Segments = "quintic", **options: Any
    ) -> HandOver:
        """`hand_over` with these options; its answer is written as a JointTrajectory of ROS 2, too."""
        points = hand_over(self, segments, **options)
        points.to_ros(path)
        return points


class SplineMotion(FollowedCurve, Motion):
    """A motion whose joints follow a spline, `curve`, of one arc or several."""

    curve: Curve

    @property
    def duration(self) -> float:
        return self.curve.duration

    @property
    def breakpoints(self) -> Array:
        return self.curve.knot_times

    def times_of_intervals(self, count: int) -> tuple[Array, Array]:
        """`count` times in every interval of the spline, both ends among them, and the arc of each."""
        times: list[Array] = []
        arcs: list[Array] = []
        for arc, knots in enumerate(self.curve.knot_times_of_arcs):
            inner = np.linspace(knots[:-1], knots[1:], count, axis=1).ravel()
            times.append(np.clip(inner, 0.0, self.duration))
            arcs.append(np.full(inner.size, arc))
        return np.concatenate(times), np.concatenate(arcs)
