"""`retime`: the fastest motion of a robot on a given path within limits of speed, acceleration and torque."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from problems.moves.certificate import TOLERANCE, LimitLine, MotionCertificate
from problems.moves.limit_excess import limit_size, relative_excess, with_peaks, worst_line
from problems.moves.motion_limits import TOOL_SPEED, MotionLimits, OverSegments, limits_of
from problems.moves.path_quantities import (
    SegmentQuantity,
    acceleration_on,
    limits_on,
    motor_torques,
    squared_speed_on,
    torque_on,
    viscous_friction,
    with_viscous_friction,
)
from problems.moves.retimed_motion import SAMPLES, RetimedMotion
from problems.moves.speed_profile import fastest_profile
from problems.moves.spline_path import SplinePath, path_of
from problems.moves.state_limits import AFTER, BEFORE, check_state
from problems.moves.timing.end_states import EndStates, end_states_of
from problems.moves.timing.jerk_retiming import jerk_limited
from problems.moves.timing.smooth_motion import SmoothMotion
from problems.moves.timing.tube import tube_of
from problems.moves.timing.tube_search import faster_path
from problems.moves.tool_speed import squared_speeds_on, squared_tool_speeds
from trajopt.base.arguments import check_count
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, OptionError, UnboundedError
from trajopt.base.tolerances import AGREEMENT, NOT_ZERO

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

CHECKED = 200  # segments on which limits without those of jerk are checked, before a search with them
MOST_PASSES = 30  # of solving and checking the torques
STEEPEST = 2.0  # quotient of bounds of s'^2 at neighbouring grid points
FASTEST = 1e9  # lengths of the path in s, per second: the bound of s' where no limit has lowered it


def retime(
    model: RigidBodyModel,
    waypoints: Any,
    velocity: Any = None,
    acceleration: Any = None,
    torque: Any = None,
    jerk: Any = None,
    *,
    tool_speed: Mapping[str, float | OverSegments] | None = None,
    tube: Any = None,
    tool_tube: Any = None,
    start_velocity: ArrayLike | None = None,
    end_velocity: ArrayLike | None = None,
    start_acceleration: ArrayLike | None = None,
    end_acceleration: ArrayLike | None = None,
    intervals: int = 2000,
) -> RetimedMotion | SmoothMotion:
    """The motion of least time on a path of the joints, from rest to rest, or from and to states of motion.

    minimize T   subject to   q(t) = p(s(t)),  |v| <= velocity,  |a| <= acceleration,  lower <= tau <= upper

    waypoints : (k, n) joint positions, joined by a cubic spline over the length of the chords between them;
        or the path itself, a CubicSpline, PPoly or BSpline of SciPy with n columns and continuous slope
    velocity, acceleration : a number or (n,), rad/s or m/s and per second; torque : a number, (n,), or (n, 2)
        lower and upper, N m or N. None: the model's own limits; acceleration has none there.
        Each of them, and the jerk, may be `over_segments`, between waypoints or shares of the path
    jerk : a number or (n,), rad/s^3 or m/s^3; None: not limited. With it waypoints are joined by a spline of
        degree five, a path has a continuous third derivative, and the torques hold for all times, too: see
        `jerk_retiming`
    tool_speed : frame -> m/s, of the frame's origin, a number or `over_segments`. Not in a tube
    tube : a number or (n,), rad or m: how far each joint may leave the path between its ends; the motion is
        then that on a faster path, a local optimum (`timing/tube_search`), within it for all times. Obstacles
        are not looked at
    tool_tube : frame -> m, with `tube`: how far positions of frames may leave the path, too
    start_velocity, end_velocity : (n,) rad/s or m/s, along the path, which takes their directions where
        waypoints are joined; None: at rest. Not in a tube
    start_acceleration, end_acceleration : (n,) rad/s^2 or m/s^2, with `jerk`: a = p' s'' + p'' s'^2, whose
        part across the path waypoints take, too; None: s'' = 0
    intervals : about how many segments the path is divided into, without a limit of jerk

    s'^2 is linear on every segment. Speed and acceleration hold for all times: Bernstein coefficients of the
    segments' polynomials are what is limited. Torques, with the springs and the friction of the model's
    joints, are limited by polynomials that interpolate them, then sampled in between, which is no proof;
    limits are narrowed where a sample exceeds one, until none does by more than 1e-6 of it; `converged` is
    False where thirty passes are not enough. The time tends to the least one of all profiles in proportion to
    the width of the segments.

    Raises ShapeError, NotFiniteError or OptionError for what is no path, no limit or no tube,
    UnknownNameError for a frame that the robot does not have, InfeasibleBoundsError
    for a path beyond the joints' ranges, a torque that does not suffice to hold still on it, or a speed or an
    acceleration at an end that is not one on the path, or with which no motion keeps the limits,
    ProblemError where the direction of the path jumps, UnboundedError where nothing limits the speed.
    Source: Pham and Pham (2018), see `speed_profile`.
    """
    from dynamics.model.kinematic_tree import checked_model

    checked_model(model)
    check_count("intervals", intervals, least=2)
    accelerations = start_acceleration, end_acceleration
    if jerk is None and any(each is not None for each in accelerations):
        raise OptionError(
            "an acceleration is given at an end, and without a limit of jerk it may jump there: give jerk=, "
            "or leave start_acceleration and end_acceleration out"
        )
    ends = end_states_of(model, (start_velocity, end_velocity), accelerations)
    if np.any(ends.in_motion) and (tube is not None or tool_tube is not None):
        raise OptionError(
            "in a tube a motion begins and ends at rest: leave start_velocity and end_velocity out, or the "
            "tube, or use moves.Task with start(q=..., v=..., a=...)"
        )
    path = path_of(model, waypoints, jerk is not None, ends)
    limits = limits_of(model, velocity, acceleration, torque, jerk, path.waypoints, tool_speed)
    if limits.frames and (tube is not None or tool_tube is not None):
        raise OptionError("tool_speed is for a path that is kept: leave it or the tube out")
    path = path.divided(limits.borders)
    if tube is None and tool_tube is None:
        return _on(model, path, limits, intervals, jerk is not None, ends)
    around = tube_of(model, path, tube, tool_tube)
    every = [_on(model, path, limits, intervals, jerk is not None, ends)]
    with suppress(InfeasibleBoundsError):  # where the motors cannot hold the robot, it stays on the path
        every.append(_on(model, faster_path(around, limits), limits, intervals, jerk is not None, ends))
    best = min(every, key=lambda motion: (not motion.converged, motion.duration))
    best = replace(best, tube=around)
    return replace(best, certificate=MotionCertificate((*best.certificate.lines, *best.tube_lines())))


def _on(
    model: RigidBodyModel,
    path: SplinePath,
    limits: MotionLimits,
    intervals: int,
    smooth: bool,
    ends: EndStates,
) -> RetimedMotion | SmoothMotion:
    """The motion on a path as it is; smooth : with limits of jerk."""
    if not smooth:
        return Retiming(model, path, limits, path.grid(intervals), ends).motion()
    Retiming(model, path, limits, path.grid(CHECKED)).check()
    q = path.at_ends()
    for end, (name, side) in enumerate((("start", AFTER), ("end", BEFORE))):
        check_state(name, model, limits, -end, (q[end], ends.v[end], ends.a[end]), side)
    try:
        return jerk_limited(model, path, limits, ends)
    except InfeasibleBoundsError:  # which part of a speed would be possible, if that is the reason
        Retiming(model, path, limits, path.grid(CHECKED), ends).check()
        raise


@dataclass(frozen=True, eq=False)
class Retiming:
    """The search for the greatest squared path speeds on a grid (segments + 1,) of s.

    ends : speeds of the joints at both ends; None: at rest
    """

    model: RigidBodyModel
    path: SplinePath
    limits: MotionLimits
    grid: Array
    ends: EndStates | None = None

    @cached_property
    def proved(self) -> Mapping[str, SegmentQuantity]:
        """Speed, squared, and acceleration, where they are limited."""
        found = {
            "speed": squared_speed_on(self.path, self.grid, self.limits),
            "acceleration": acceleration_on(self.path, self.grid, self.limits),
        }
        return {name: quantity for name, quantity in found.items() if np.any(np.isfinite(quantity.upper))}

    @cached_property
    def torque_limits(self) -> tuple[Array, Array]:
        """Lower and upper ones on the segments, (segments or 1, 1, n) each, friction included."""
        here = limits_on(self.grid, self.limits)
        return here.torque_lower, here.torque_upper

    @property
    def highest_rate(self) -> float:
        """A bound of s' that stands for no limit."""
        return FASTEST * float(self.grid[-1] - self.grid[0])

    @cached_property
    def ceilings(self) -> Array:
        """Bounds of s'^2 at the grid points; below them joints and frames keep their speeds between, too.

        A bound that is exact at the points is divided, at both ends of a segment, by what bounds of the
        squared speeds exceed their limits there. Neighbours differ by a factor of `STEEPEST` at most: without
        a peak where everything that is limited turns back little is divided.
        """
        bounds, speed = np.full(len(self.grid), self.highest_rate**2), self.proved.get("speed")
        if not speed and not self.limits.frames:
            return bounds
        q, slope = self.path(self.grid), self.path(self.grid, 1)
        if speed:
            limit = at_ends_of(np.broadcast_to(speed.upper[:, 0], (len(self.grid) - 1, self.model.n)))
            bounds = np.minimum(bounds, (limit / np.maximum(slope**2, NOT_ZERO)).min(axis=1))
        if self.limits.frames:
            squared = squared_tool_speeds(self.model, self.limits.frames, q, slope)
            limit = at_ends_of(np.broadcast_to(self.tool_limits**2, (len(self.grid) - 1, squared.shape[1])))
            bounds = np.minimum(bounds, (limit / np.maximum(squared, NOT_ZERO)).min(axis=1))
        place = np.log(STEEPEST) * np.arange(len(bounds))
        rising = np.minimum.accumulate(np.log(bounds) - place) + place
        falling = np.minimum.accumulate((np.log(bounds) + place)[::-1])[::-1] - place
        bounds, beyond = np.exp(np.minimum(rising, falling)), np.ones(len(self.grid) - 1)
        if speed:
            beyond = np.maximum(beyond, 1.0 + speed.relative_excess(bounds).max(axis=1))
        if self.limits.frames:
            beyond = np.maximum(beyond, (self.squared_tool_speeds(bounds) / self.tool_limits**2).max(axis=1))
        return bounds / np.maximum(np.append(beyond, 1.0), np.append(1.0, beyond))

    def squared_tool_speeds(self, speeds: Array) -> Array:
        """Upper bounds of the squared speeds of frames on the segments, (segments, frames) m^2/s^2."""
        return squared_speeds_on(self.model, self.limits.frames, self.path, self.grid, speeds)

    @property
    def tool_limits(self) -> Array:
        """Limits of the frames' speeds on the segments, (segments or 1, frames)."""
        return np.atleast_2d(self.limits.at(0.5 * (self.grid[1:] + self.grid[:-1])).tool_speed)

    @cached_property
    def end_speeds(self) -> tuple[float, float]:
        """s'^2 at both ends; InfeasibleBoundsError for speeds that are not along the path."""
        if self.ends is None:
            return 0.0, 0.0
        rates = self.ends.rates(self.path.at_ends(1), self.path.at_ends(2), self.path.length)
        return float(rates[0, 0] ** 2), float(rates[1, 0] ** 2)

    def motion(self) -> RetimedMotion:
        """The motion of least time, with its certificate."""
        exact = [quantity.rows() for name, quantity in self.proved.items() if name != "speed"]
        speeds = self._torque_limited(exact) if self.limits.has_torque else self._fastest(exact)
        known = MotionCertificate(())
        motion = RetimedMotion(self.model, self.path, self.limits, self.grid, speeds, known, self.ends)
        return replace(motion, certificate=self.certificate(motion))

    def check(self) -> None:
        """Raise InfeasibleBoundsError or UnboundedError where there is no least time; see `retime`."""
        rows = [quantity.rows() for name, quantity in self.proved.items() if name != "speed"]
        if self.limits.has_torque:
            torque = torque_on(self.model, self.path, self.grid, self.limits)
            self._check_rest(torque)
            rows.append(torque.rows())
        if self.ends is not None:
            self._profile(rows)
        elif not np.all(np.isfinite(self.limits.jerk)):  # else jerks limit the speed everywhere
            self._fastest(rows)

    def _fastest(self, rows: list[Array]) -> Array:
        speeds = self._profile(rows)
        if np.any(speeds >= (1.0 - AGREEMENT) * self.highest_rate**2):
            s = self.grid[int(np.argmax(speeds))]
            moving = [self.model.joint_names[joint] for joint in np.flatnonzero(self.path(s, 1))]
            raise UnboundedError(
                f"nothing limits the speed along the path at s = {s:.6g}: give velocity=, acceleration= or "
                f"torque= of the joints that move there ({', '.join(moving) or 'none: leave this part out'})"
            )
        return speeds

    def _profile(self, rows: list[Array]) -> Array:
        """The fastest s'^2 within rows; InfeasibleBoundsError for ends that are too fast."""
        always = np.zeros((len(self.grid) - 1, 1, 3))  # 0 <= 0, where speed alone is limited
        asked = self.end_speeds
        speeds = fastest_profile(np.concatenate([always, *rows], axis=1), self.ceilings, *asked)
        for place, name, which in ((0, "start_velocity", "begins"), (-1, "end_velocity", "ends")):
            if speeds[place] < asked[place] * (1.0 - AGREEMENT):
                share = float(np.sqrt(speeds[place] / asked[place]))
                raise InfeasibleBoundsError(
                    f"no motion within the limits {which} with {name}: {share:.4g} of it is the most on this "
                    "path; give a lower speed, higher limits, or a longer way"
                )
        return speeds

    def _torque_limited(self, exact: list[Array]) -> Array:
        """The same within limits of torque: narrowed and solved again while a sample exceeds them."""
        torque = torque_on(self.model, self.path, self.grid, self.limits)
        self._check_rest(torque)
        damping, margin = viscous_friction(self.model), np.zeros((len(self.grid) - 1, self.model.n))
        speeds, before, current = self._fastest([*exact, torque.rows()]), np.inf, torque
        size, is_damped = limit_size(*self.torque_limits)[:, 0], np.any(damping)
        for _ in range(MOST_PASSES):
            settled = not is_damped or np.all(np.abs(speeds - before) <= TOLERANCE * speeds.max())
            if settled:
                excess = self._torque_excess(speeds)
                if not np.any(excess > TOLERANCE):
                    break
                margin = margin + np.maximum(excess, 0.0) * size
            if is_damped:
                current = with_viscous_friction(torque, damping, self.path, self.grid, speeds)
            before = speeds
            speeds = self._fastest([*exact, current.narrowed(margin).rows()])
        return speeds

    def _torque_excess(self, speeds: Array) -> Array:
        """The largest excess of torques relative to their limits, at equally spaced times."""
        part = np.linspace(0.0, 1.0 - AGREEMENT, SAMPLES)  # before a breakpoint, as p'' may jump there
        width, first = np.diff(self.grid)[:, None], np.sqrt(speeds[:-1, None])
        change = np.sqrt(speeds[1:, None]) - first
        s = self.grid[:-1, None] + width * part * (first + 0.5 * change * part) / (first + 0.5 * change)
        rate = (first + change * part)[..., None]
        second = (0.5 * np.diff(speeds)[:, None] / width)[..., None]
        slope = self.path(s, 1)
        a = slope * second + self.path(s, 2) * rate**2
        tau = motor_torques(self.model, self.path(s), slope, rate, a)
        excess = relative_excess(tau, *self.torque_limits)
        return with_peaks(np.maximum(excess, -1.0))  # of joints without a limit, too

    def _check_rest(self, torque: SegmentQuantity) -> None:
        """Raise InfeasibleBoundsError where a joint has no torque left that could begin a motion."""
        slack = torque.slack()
        if np.all(slack > 0.0):
            return
        row, joint = (int(place) for place in np.unravel_index(int(np.argmin(slack)), slack.shape))
        lower, upper = (np.broadcast_to(end[:, 0], slack.shape)[row, joint] for end in self.torque_limits)
        waypoint = max(int(np.searchsorted(self.path.waypoints, float(self.grid[row]), side="right")) - 1, 0)
        raise InfeasibleBoundsError(
            f"joint {self.model.joint_names[joint]!r} needs {torque.constant[row, 0, joint]:.6g} to hold "
            f"still after waypoint {waypoint} (s = {self.grid[row]:.6g}), and its torque is limited to "
            f"{lower:.6g} to {upper:.6g}, friction "
            "included, which leaves none to move it: raise the limit, or move the path"
        )

    def certificate(self, motion: RetimedMotion) -> MotionCertificate:
        """Bounds of speed, acceleration and position for all times, and samples of the torques."""
        names, own, start = self.model.joint_names, self.model.limits, motion.times[:-1]
        lines: list[LimitLine] = []
        for name, quantity in self.proved.items():
            excess = quantity.relative_excess(motion.speeds)
            excess = np.sqrt(np.maximum(1.0 + excess, 0.0)) - 1.0 if name == "speed" else excess
            lines.append(worst_line(name, names, excess, start, proved=True))
        if np.any(np.isfinite(self.tool_limits)):
            excess = np.sqrt(self.squared_tool_speeds(motion.speeds)) / self.tool_limits - 1.0
            lines.append(worst_line(TOOL_SPEED, self.limits.frames, excess, start, proved=True))
        if np.any(np.isfinite([own.q_lower, own.q_upper])):
            position = self.path.bernstein(self.grid, 0)
            excess = relative_excess(position, own.q_lower, own.q_upper).max(axis=1)
            lines.append(worst_line("position", names, excess, start, proved=True))
        if self.limits.has_torque:
            excess = self._torque_excess(motion.speeds)
            line = worst_line("torque", names, excess, start)
            lines.append(replace(line, samples=SAMPLES * len(start)))
        return MotionCertificate(tuple(lines))


def at_ends_of(segments: Array) -> Array:
    """The smaller of both neighbours at every end of segments (k, ...), (k + 1, ...)."""
    return np.minimum(np.concatenate([segments[:1], segments]), np.concatenate([segments, segments[-1:]]))
