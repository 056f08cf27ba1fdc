"""Points of a joint trajectory for a controller, and what its interpolation between them does."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from problems.moves.certificate import LimitLine, MotionCertificate
from problems.moves.controller import files
from problems.moves.controller.segments import Segments, interpolant
from problems.moves.controller.source import Bounds, MotionSource
from problems.moves.limit_excess import relative_excess, with_peaks, worst_line
from problems.moves.motion_limits import ORDERS, TOOL_SPEED
from problems.moves.motion_table import motion_table
from problems.moves.spline_path import SplinePath
from problems.moves.timing.followed_curve import FollowedCurve
from problems.moves.tool_speed import squared_tool_speeds
from trajopt.base.arguments import numbers
from trajopt.base.arrays import Array
from trajopt.base.errors import warn_user
from trajopt.base.tolerances import AGREEMENT
from trajopt.display.curves import Samples

PARTS = 8  # of every segment


@dataclass(frozen=True, eq=False)
class HandOver(FollowedCurve):
    """Points at times (k,) s, with positions, velocities and accelerations (k, n) of the joints.

    segments : how the controller interpolates; q(t), v(t), a(t) and tau(t) are those of its interpolant
    certificate : the limits of the interpolant; torque is sampled, the others are proved
    deviation : rad or m, the largest distance of a joint from the motion at the same, scaled time
    time_scale : duration of the points divided by that of the motion at full speed
    """

    source: MotionSource
    segments: Segments
    times: Array
    positions: Array
    velocities: Array
    accelerations: Array
    deviation: float
    time_scale: float

    @cached_property
    def curve(self) -> SplinePath:
        """Curve that the controller follows."""
        return interpolant(self.segments, self.times, self.positions, self.velocities, self.accelerations)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints in the order of the columns."""
        return self.source.model.joint_names

    @property
    def duration(self) -> float:
        """Seconds."""
        return float(self.times[-1])

    @property
    def converged(self) -> bool:
        """True if the interpolant keeps every limit within the tolerance of the certificate."""
        return self.certificate.holds

    @property
    def stretch(self) -> float:
        """`time_scale` by a former name, with a FutureWarning."""
        warn_user("HandOver.stretch is HandOver.time_scale", FutureWarning)
        return self.time_scale

    def tau(self, t: Any) -> Array:
        """Torques of the motors that the interpolant needs, (..., n) N m or N."""
        at = numbers(t, "t") * (self.source.duration / self.duration)
        return self.source.torque(at, self.q(t), self.v(t), self.a(t))

    @cached_property
    def certificate(self) -> MotionCertificate:
        """Position, speed, acceleration and the jerk of quintics, proved; others, sampled."""
        lines: list[LimitLine] = []
        for name, excess in self.excess.items():
            proved = name in ORDERS
            start = self.grid[:-1] if proved else self.times[:-1]
            columns = self.source.frames if name == TOOL_SPEED else self.joint_names
            line = worst_line(name, columns, excess, start, proved)
            lines.append(replace(line, samples=(PARTS + 1) * len(start)))
        return MotionCertificate(tuple(lines))

    @cached_property
    def grid(self) -> Array:
        """Times that divide every segment into equal parts, (parts + 1,) s."""
        part, width = np.arange(PARTS) / PARTS, np.diff(self.times)[:, None]
        return np.append((self.times[:-1, None] + width * part).ravel(), self.times[-1])

    @cached_property
    def excess(self) -> dict[str, Array]:
        """Excess of limited quantities on every part of the grid, (parts, n).

        Of torques and of frames' speeds it is that of samples on every segment.
        """
        bounds = self._bounds_on(self.grid)
        found = {
            name: relative_excess(self.curve.bernstein(self.grid, order), *bounds[name]).max(axis=1)
            for order, name in enumerate(ORDERS)
            if name in bounds and not (name == "jerk" and self.segments == "cubic")
        }
        part = np.linspace(0.0, 1.0 - AGREEMENT, PARTS + 1)  # before a point, as a cubic's a jumps there
        t = self.times[:-1, None] + np.diff(self.times)[:, None] * part
        for name, curve in (("torque", self.tau), (TOOL_SPEED, self.tool_speeds)):
            if name in bounds:
                ends = self._bounds_on(self.times)[name]
                found[name] = with_peaks(np.maximum(relative_excess(curve(t), *ends), -1.0))
        return found

    def tool_speeds(self, t: ArrayLike) -> Array:
        """Speeds of the frames that have a limit, (..., frames) m/s."""
        return np.sqrt(squared_tool_speeds(self.source.model, self.source.frames, self.q(t), self.v(t)))

    def _bounds_on(self, grid: Array) -> Bounds:
        """The narrowest limits met on each part of a grid, (parts or 1, 1, n)."""
        t = grid * (self.source.duration / self.duration)
        every = np.union1d(t, self.source.borders)
        first, found = np.searchsorted(every, t[:-1]), dict[str, tuple[Array, Array]]()
        for name, (lower, upper) in self.source.bounds_at(0.5 * (every[:-1] + every[1:])).items():
            if lower.ndim > 1:  # else the same everywhere
                lower, upper = np.maximum.reduceat(lower, first), np.minimum.reduceat(upper, first)
            found[name] = np.atleast_2d(lower)[:, None], np.atleast_2d(upper)[:, None]
        return found

    def sample(self, rate: float) -> Samples:
        """The interpolant at `rate` Hz and at its end, with columns as of `RetimedMotion.sample`."""
        return motion_table(self, self.source.model, self.duration, rate)

    def to_ros(self, path: str | os.PathLike[str]) -> None:
        """Write a trajectory_msgs/JointTrajectory of ROS 2 as .json or .yaml; ROS is not needed.

        Cubic segments leave the accelerations out. Raises OptionError for another ending.
        """
        accelerations = self.accelerations if self.segments == "quintic" else None
        files.write_ros(path, self.joint_names, self.times, self.positions, self.velocities, accelerations)

    def to_csv(self, path: str | os.PathLike[str], rate: float = 500.0) -> None:
        """Write `sample(rate)` as comma-separated values, units in the first line, "q elbow [rad]"."""
        self.sample(rate).to_csv(path)

    def to_urscript(self, path: str | os.PathLike[str], rate: float = 500.0) -> None:
        """Write a program for robots of Universal Robots: `servoj` at every cycle, 1/rate seconds.

        rate : Hz, 500 of the e-Series, 125 of the CB3. Raises OptionError for other than six joints, and
        where the duration is no whole number of cycles: hand over with cycle=1/rate.
        """
        files.write_urscript(path, self.joint_names, self.q, self.duration, rate)

    def to_c_header(self, path: str | os.PathLike[str], name: str = "trajectory") -> None:
        """Write the points as constant arrays of doubles in C: NAME_time, NAME_q, NAME_v and NAME_a."""
        files.write_c_header(path, name, self.joint_names, self._rows())

    def to_binary(self, path: str | os.PathLike[str]) -> None:
        """Write the points as a table of little-endian doubles.

        Eight bytes "TRAJOPT1", the number of joints and of points as unsigned 32-bit integers, then for each
        point its time, positions, velocities and accelerations.
        """
        files.write_binary(path, len(self.joint_names), self._rows())

    def _rows(self) -> Array:
        return np.column_stack([self.times, self.positions, self.velocities, self.accelerations])

    def __repr__(self) -> str:
        return (
            f"HandOver of {self.duration:.6g} s, {len(self.times)} points with {self.segments} segments, "
            f"{self.deviation:.1e} from the motion at most, {self.time_scale:.6g} times its duration\n"
            f"{self.certificate}"
        )
