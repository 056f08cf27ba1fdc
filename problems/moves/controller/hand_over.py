"""`hand_over`: a motion as points for a robot's controller, whose own interpolation keeps the limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from problems.moves.certificate import TOLERANCE, MotionCertificate
from problems.moves.controller.points import PARTS, HandOver
from problems.moves.controller.segments import Segments
from problems.moves.controller.source import MotionSource, source_of
from problems.moves.motion_limits import TOOL_SPEED
from trajopt.base.arguments import check_positive, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.base.tolerances import AGREEMENT

FIRST_SEGMENTS = 8
SHORTEST = 2e-4  # s, of a segment: shorter ones are not divided
ROUNDING = 4.0 * float(np.finfo(float).eps)  # of the largest position, by which two positions err together
NARROWER = 0.25  # of the width below which rounding counts: tried too, as more points follow a motion closer
# The order k, and the largest k-th derivative of a quintic step, 10 x^3 - 15 x^4 + 6 x^5 in [0, 1]
HIGHEST = {"speed": (1, 1.875), "acceleration": (2, 5.774), "jerk": (3, 60.0)}
SMOOTHING = 8e-3  # s, of a motion whose acceleration jumps: four cycles of a controller of 500 Hz
NANOSECONDS = 9  # decimals of a time in seconds that a message holds
MOST_ROUNDS = 30  # of slowing down
POWERS = {
    "speed": 1.0,
    TOOL_SPEED: 1.0,
    "acceleration": 0.5,
    "jerk": 1.0 / 3.0,
    "torque": 1.0,
}  # of 1 + excess: by how much longer it takes


def hand_over(
    motion: Any,
    segments: Segments = "quintic",
    *,
    accuracy: float = 1e-3,
    deviation: float = 1e-4,
    cycle: float | None = None,
    speed: float = 1.0,
    smoothing: float | None = None,
) -> HandOver:
    """Points for a controller that interpolates between them, whose interpolant keeps the motion's limits.

    motion : of `moves.retime`, a `trajopt.Solution` of a robot, or an object with their curves and limits
    segments : "cubic", positions and velocities; "quintic", accelerations too: as the controller does it
    accuracy : of a limit; segments are halved while the interpolant exceeds one by more than this
    deviation : rad or m; segments are halved while a joint leaves the motion by more
    cycle : s, of the controller; the duration is rounded up to a whole number of them
    speed : override in (0, 1]: 0.5 takes twice the time
    smoothing : s, over which a motion is averaged whose acceleration jumps, as no quintic follows a jump;
        None: 8 ms where it jumps, else none. The joints leave the path by the acceleration times
        smoothing^2 / 24, and the motion is longer by it

    What the interpolant still exceeds is removed by a longer duration, so that all limits hold within
    1e-6 of them; `converged` is False where that does not help, at a limit of position for instance. Limits
    of position, speed, acceleration and, of quintic segments, jerk are proved for all times; torques and
    speeds of frames are sampled at nine times of every segment, with the peaks of parabolas. Raises
    OptionError for what is no motion or no such value.
    """
    if segments not in ("cubic", "quintic"):
        raise OptionError(f'segments = {short_repr(segments)}: give "cubic" or "quintic"')
    for name, value in (("accuracy", accuracy), ("deviation", deviation), ("speed", speed)):
        check_positive(name, value)
    check_positive("cycle", cycle, optional=True)
    if speed > 1.0:
        raise OptionError(f"speed = {speed}: an override is at most 1, which is the motion as it is")
    source = original = source_of(motion)
    if smoothing is None:
        smoothing = SMOOTHING if source.has_jumps else 0.0
    if smoothing != 0.0:
        source = source.smoothed(smoothing)
    narrowest = _narrowest(source, accuracy)
    found = _slowed(source, segments, _points(source, segments, accuracy, deviation, narrowest), cycle, speed)
    if len(_apart(source.times, NARROWER * narrowest)) > len(_apart(source.times, narrowest)):
        times = _points(source, segments, accuracy, deviation, NARROWER * narrowest)
        other = _slowed(source, segments, times, cycle, speed)
        found = min(found, other, key=lambda each: (not each.converged, each.duration))
    distance = _distance(found, original, 0.5 * smoothing).max()
    return replace(found, deviation=float(distance), time_scale=found.duration / original.duration)


def _slowed(
    source: MotionSource, segments: Segments, times: Array, cycle: float | None, speed: float
) -> HandOver:
    """Points at times of the motion, slowed down until their segments keep its limits, if that helps."""
    found = _points_at(source, segments, times, _whole_cycles(source.duration, 1.0 / speed, cycle))
    for _ in range(MOST_ROUNDS):
        factor = _slower(found.certificate)
        if found.converged or np.isnan(factor):
            break
        time_scale = _whole_cycles(source.duration, found.time_scale * factor, cycle)
        found = _points_at(source, segments, times, time_scale)
    return found


def _points(
    source: MotionSource, segments: Segments, accuracy: float, deviation: float, narrowest: float
) -> Array:
    """Times between which segments keep limits and stay at the motion; halved where they do not.

    narrowest : s, of a segment
    What the motion itself exceeds a limit by, between its nodes, is no fault of the segments.
    """
    own = source.excess()
    times = _apart(source.times, narrowest)
    while len(times) <= FIRST_SEGMENTS and np.diff(times).min() > 2.0 * narrowest:
        times = _halved(times, np.ones(len(times) - 1, dtype=bool))
    while True:
        found = _points_at(source, segments, times, 1.0)
        beyond = _distance(found, source) > deviation
        for name, excess in found.excess.items():
            beyond |= excess.reshape(len(beyond), -1).max(axis=1) > accuracy + max(own.get(name, 0.0), 0.0)
        divided = beyond & (np.diff(times) > 2.0 * max(SHORTEST, narrowest))
        if not np.any(divided):
            return times
        times = _halved(times, divided)


def _narrowest(source: MotionSource, accuracy: float) -> float:
    """Seconds of a segment on which rounded positions use up the accuracy of a limit; shorter ones miss it.

    A step r of a joint's position within T seconds takes c r / T of speed, acceleration likewise with T^2.
    """
    bounds = source.bounds_at(source.times)
    step = ROUNDING * np.abs(source.q(source.times)).max(axis=0)
    widths = [
        (factor * step / (accuracy * np.minimum(-lower, upper))) ** (1.0 / order)
        for name, (order, factor) in HIGHEST.items()
        if name in bounds
        for lower, upper in [bounds[name]]
    ]
    return float(np.max(widths, initial=0.0))


def _apart(times: Array, width: float) -> Array:
    """Times of which those nearer than a width to the one kept before, or to the last, are left out."""
    kept = [times[0]]
    for time in times[1:-1].tolist():
        if time - kept[-1] >= width and times[-1] - time >= width:
            kept.append(time)
    return np.array([*kept, times[-1]])


def _halved(times: Array, divided: Array) -> Array:
    middle = 0.5 * (times[:-1] + times[1:])
    return np.sort(np.concatenate([times, middle[divided]]))


def _points_at(source: MotionSource, segments: Segments, times: Array, time_scale: float) -> HandOver:
    """The points of the motion slowed down by a factor, at whole nanoseconds."""
    rounded = np.round(times * time_scale, NANOSECONDS)
    t = np.clip(rounded / time_scale, 0.0, source.duration)
    points = source.q(t), source.v(t) / time_scale, source.a(t) / time_scale**2
    return HandOver(source, segments, rounded, *points, deviation=0.0, time_scale=time_scale)


def _distance(found: HandOver, motion: MotionSource, delay: float = 0.0) -> Array:
    """The largest distance of a joint from a motion that is ahead by a delay, on each segment (segments,)."""
    t = found.grid[:-1]
    at = np.clip(t / found.time_scale - delay, 0.0, motion.duration)
    return np.abs(found.q(t) - motion.q(at)).max(axis=-1).reshape(-1, PARTS).max(axis=1)


def _whole_cycles(duration: float, time_scale: float, cycle: float | None) -> float:
    """The time scale, raised so that the duration is a whole number of cycles."""
    if cycle is None:
        return time_scale
    return float(np.ceil(duration * time_scale / cycle * (1.0 - AGREEMENT))) * cycle / duration


def _slower(certificate: MotionCertificate) -> float:
    """The factor of the duration that brings speed and acceleration to their limits, and torque nearer.

    NaN where an excess is.
    """
    excess = {line.name: np.maximum(line.excess, TOLERANCE) for line in certificate.lines}
    every = [(1.0 + excess[name]) ** POWERS[name] for name in POWERS.keys() & excess.keys()]
    return float(np.max([1.0, *every]))
