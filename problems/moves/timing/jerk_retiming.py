"""Least time on a given path within limits of jerk: the squared rate of the path's coordinate is a spline.

    minimize T   subject to   q = P(w(t)),  |v|, |a| and |jerk| within limits,  lower <= tau <= upper

with P the path over a coordinate that goes with time (`smooth_path`) and w'^2 a quadratic spline of w
(`smooth_speed`), whose spans take about the same time. Limits hold at both ends and in the middle of every
span, narrower where a sample between them exceeds one. What is left is removed by more time for everything,
of a motion from rest to rest; bounds prove the result for all times (`smooth_motion`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from problems.moves.certificate import TOLERANCE, MotionCertificate
from problems.moves.motion_limits import MotionLimits
from problems.moves.spline_path import SplinePath, jump_of
from problems.moves.timing.end_states import EndStates
from problems.moves.timing.limit_rows import LimitRows
from problems.moves.timing.smooth_motion import SmoothMotion
from problems.moves.timing.smooth_path import SmoothPath
from problems.moves.timing.smooth_speed import SmoothSpeed
from problems.moves.timing.speed_search import fastest
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, ProblemError
from trajopt.base.tolerances import AGREEMENT, NOT_ZERO

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

COARSE, FEWEST, MOST = 100, 200, 400  # spans, at first and then
FINER = 1, 2, 4  # times as many, between ends in motion, until there is a motion within the limits
EVENLY = 0.02  # of spans, that take the same part of w
RAMPS = 1.0  # ramps of acceleration in a span, where there are not too many
AT_ENDS = 4  # parts of the first and the last span, where the jerk changes most
ROUNDS, MOST_ROUNDS = 3, 8  # searches, each within narrower limits where the one before left too little room
ROUGHLY = 0.2  # of a limit, by which the first searches may exceed it between ends in motion
ASIDE = 1e-3  # of w, from its ends
ENOUGH = 0.2 * TOLERANCE  # excess that stays at ends in motion, where they are at a limit
NEAR = 2e-4  # excess that more time for everything removes as well
LEFT = 0.5  # of the room, which is enough where nothing is removed by more time
SHORTER = 0.8 ** np.arange(30.0)  # periods tried, relative to a duration
SCALINGS, AGAIN = 40, 4.0  # slower motions tried; of the excess of a bound, once more


def jerk_limited(
    model: RigidBodyModel, path: SplinePath, limits: MotionLimits, ends: EndStates
) -> SmoothMotion:
    """The motion of least time on a path, between its ends, within limits with those of jerk.

    Raises ProblemError where the path's second or third derivative jumps, InfeasibleBoundsError where a
    torque does not suffice to hold still, or the ends in motion allow no motion, UnboundedError where nothing
    limits the speed.
    """
    _check_smooth(path, model.joint_names)
    rows = LimitRows(model, SmoothPath(path), limits)
    knots = rows.along.knots(np.linspace(0.0, 1.0, COARSE + 1), COARSE)
    if not np.any(ends.in_motion):
        return _proved(_with_room(_on_even_times(rows, _fastest(rows, knots, {}, None), 1)))
    along = SmoothPath(path, ends.rates(path.at_ends(1), path.at_ends(2), path.length))
    in_passing = 2.0 * path.length / max(along.rates[:, 0].sum(), NOT_ZERO)
    at_rest = rows.on(knots, {}).highest_constant ** -0.5
    rows = _with_period(replace(rows, along=along), float(min(at_rest, in_passing)))
    for finer in FINER[:-1]:  # ends at limits leave little room, which takes short spans
        with suppress(InfeasibleBoundsError):
            motion = replace(_in_motion(rows, finer), ends=ends).certified()
            if motion.converged:
                return motion
    return replace(_in_motion(rows, FINER[-1]), ends=ends).certified()


def _in_motion(rows: LimitRows, finer: int) -> SmoothMotion:
    """The motion on a mesh so many times as fine, where w goes with the time of a first search."""
    even = np.linspace(0.0, 1.0, finer * COARSE + 1)
    first = _fastest(rows, rows.along.knots(even, finer * COARSE), {}, None, ROUGHLY)
    other = _with_period(rows, float(first.times[-1]))
    near = _over(other.along, rows.along, first)
    coarse = _fastest(other, other.along.knots(even, finer * COARSE), {}, near, ROUGHLY)
    return _on_even_times(other, coarse, finer)


def _on_even_times(rows: LimitRows, coarse: SmoothSpeed, finer: int) -> SmoothMotion:
    """The fastest motion on spans that take about the same time in a motion before."""
    duration, place = float(coarse.times[-1]), np.linspace(0.0, 1.0, finer * COARSE + 1)
    even = coarse.w(duration * place)
    if any(rows.along.held):  # what a first search left lacking may stand nearly still
        even = (1.0 - EVENLY) * even + EVENLY * place
    knots = rows.along.knots(even, finer * _span_count(duration, rows.limits))
    return _narrowed(rows, _divided(knots, np.array([0, len(knots) - 2]), AT_ENDS), coarse)


def _with_period(rows: LimitRows, duration: float) -> LimitRows:
    """The same with the longest period up to a duration with which the path goes ahead all the time."""
    for period in (duration * SHORTER).tolist():
        along = replace(rows.along, period=period)
        if along.is_increasing:
            return replace(rows, along=along)
    raise InfeasibleBoundsError(
        "the motion begins or ends at a speed along the path which its acceleration would turn back at once: "
        "give another acceleration, or a higher speed"
    )


def _over(along: SmoothPath, other: SmoothPath, speed: SmoothSpeed) -> Callable[[Array], Array]:
    """The squared rate of the coordinate of a path, from that of another one over the same."""

    def squared(w: Array) -> Array:
        inner = np.clip(w, ASIDE, 1.0 - ASIDE)  # at rest both slopes are zero
        there = other.w(along.s(inner))
        return speed(there) * (other.s(there, 1) / along.s(inner, 1)) ** 2

    return squared


def _fastest(
    rows: LimitRows,
    knots: Array,
    margins: Mapping[str, Array],
    near: Callable[[Array], Array] | None,
    lacking: float = 0.0,
) -> SmoothSpeed:
    along = rows.along
    return fastest(knots, rows.on(knots, margins), near, along.held, along.period**-2, lacking)


def _divided(knots: Array, chosen: Array, parts: int) -> Array:
    """The knots, chosen spans cut into equal parts."""
    inner = np.linspace(knots[chosen], knots[chosen + 1], parts + 1)[1:-1]
    return np.sort(np.concatenate([knots, inner.ravel()]))


def _with_room(motion: SmoothMotion) -> SmoothMotion:
    """The motion, slowed until samples leave the room that bounds need."""
    for _ in range(SCALINGS):
        factor = motion.time_scale(motion.excess_on_spans())
        if not factor > 1.0:  # NaN, where nothing is known
            break
        # Again and again, as viscous friction falls less.
        motion = replace(motion, speed=motion.speed.slower(factor + AGREEMENT))
    return motion


def _proved(motion: SmoothMotion) -> SmoothMotion:
    """The motion with its certificate, slowed once more where that does not hold."""
    found = motion.certified()
    if not found.certificate.excess > TOLERANCE:  # NaN, where nothing is known, is left as it is
        return found
    return motion.slower(1.0 + AGAIN * found.certificate.excess)


def _span_count(duration: float, limits: MotionLimits) -> int:
    """So many that a span takes about as long as an acceleration takes to reach its limit."""
    with np.errstate(invalid="ignore"):  # where neither is limited
        ramp = np.min(
            [np.where(np.isfinite(each.jerk), each.acceleration / each.jerk, np.inf) for each in limits.parts]
        )
    if not np.isfinite(ramp):
        return MOST
    return int(np.clip(np.ceil(duration / (RAMPS * ramp)), FEWEST, MOST))


def _narrowed(rows: LimitRows, knots: Array, near: SmoothSpeed) -> SmoothMotion:
    """The fastest within limits at points of the spans, narrower where it exceeds one between them."""
    margins: dict[str, Array] = {}
    moves, spans = any(rows.along.held), np.arange(len(knots) - 1.0)
    room = np.minimum(rows.room(spans, len(spans)), rows.room(spans + 1.0, len(spans)))[:, None]
    enough = LEFT * room + ENOUGH if moves else NEAR
    for _ in range(MOST_ROUNDS if moves else ROUNDS):
        near = _fastest(rows, knots, margins, near)
        excess = _made(rows, near).excess_on_spans()
        beyond = {name: np.maximum(each + room, 0.0) for name, each in excess.items()}
        if not any(np.any(each > enough) for each in beyond.values()):
            break
        margins = {name: margins.get(name, 0.0) + each for name, each in beyond.items()}
    return _made(rows, near)


def _made(rows: LimitRows, speed: SmoothSpeed) -> SmoothMotion:
    return SmoothMotion(rows.model, rows.along, rows.limits, speed, MotionCertificate(()))


def _check_smooth(path: SplinePath, names: tuple[str, ...]) -> None:
    slope, shortest = np.abs(path.bernstein(path.breakpoints, 1)).max(), np.diff(path.waypoints).min()
    for order, what in ((2, "second"), (3, "third")):
        place = jump_of(path, order, names, slope / shortest ** (order - 1))
        if place:
            raise ProblemError(
                f"the {what} derivative of the path jumps at {place}, and so would its jerk: give waypoints, "
                "or a spline of degree four or more"
            )
