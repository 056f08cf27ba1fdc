"""Least time on a given path within limits of jerk: the squared rate of the path's coordinate is a spline.

    minimize T   subject to   q = P(w(t)),  |v|, |a| and |jerk| within limits,  lower <= tau <= upper

with P a path at rest at both ends (`smooth_path`) and w'^2 a quadratic spline of w (`smooth_speed`), whose
spans take about the same time. Limits hold at both ends and in the middle of every span, narrower where a
sample between them exceeds one. What is left is removed by more time for everything; bounds prove the result
for all times (`smooth_motion`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from problems.moves.certificate import TOLERANCE, MotionCertificate
from problems.moves.motion_limits import MotionLimits
from problems.moves.spline_path import SplinePath, jump_of
from problems.moves.timing.limit_rows import LimitRows
from problems.moves.timing.smooth_path import SmoothPath
from problems.moves.timing.smooth_motion import SHARP, SmoothMotion
from problems.moves.timing.smooth_speed import SmoothSpeed
from problems.moves.timing.speed_search import fastest
from trajopt.base.arrays import Array
from trajopt.base.errors import ProblemError
from trajopt.base.tolerances import AGREEMENT

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

COARSE, FEWEST, MOST = 100, 200, 400  # spans, at first and then
RAMPS = 1.0  # ramps of acceleration in a span, where there are not too many
AT_ENDS = 4  # parts of the first and the last span, where the jerk changes most
ROUNDS = 3  # searches, each within narrower limits where the one before left less than `SHARP`
NEAR = 2e-4  # excess that more time for everything removes as well
SCALINGS, AGAIN = 40, 4.0  # slower motions tried; of the excess of a bound, once more


def jerk_limited(model: RigidBodyModel, path: SplinePath, limits: MotionLimits) -> SmoothMotion:
    """The motion of least time on a path, from rest to rest, within limits with those of jerk.

    Raises ProblemError where the path's second or third derivative jumps, InfeasibleBoundsError where a
    torque does not suffice to hold still, UnboundedError where nothing limits the speed.
    """
    _check_smooth(path, model.joint_names)
    rows = LimitRows(model, SmoothPath(path), limits)
    knots = rows.along.knots(np.linspace(0.0, 1.0, COARSE + 1), COARSE)
    coarse = fastest(knots, rows.on(knots, {}))
    every = np.linspace(0.0, coarse.times[-1], COARSE + 1)
    knots = rows.along.knots(coarse.w(every), _span_count(float(coarse.times[-1]), limits))
    knots = _divided(knots, np.array([0, len(knots) - 2]), AT_ENDS)
    return _proved(_with_room(_narrowed(rows, knots, coarse)))


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
        motion = motion.slower(factor + AGREEMENT)  # again, as viscous friction falls less
    return motion


def _proved(motion: SmoothMotion) -> SmoothMotion:
    """The motion with its certificate, slowed once more where that does not hold."""
    found = motion.certified()
    if not found.certificate.excess > TOLERANCE:  # NaN, where nothing is known, is left as it is
        return found
    return motion.slower(1.0 + AGAIN * found.certificate.excess).certified()


def _span_count(duration: float, limits: MotionLimits) -> int:
    """So many that a span takes about as long as an acceleration takes to reach its limit."""
    ramp = np.min(
        [np.where(np.isfinite(each.jerk), each.acceleration / each.jerk, np.inf) for each in limits.parts]
    )
    if not np.isfinite(ramp):
        return MOST
    return int(np.clip(np.ceil(duration / (RAMPS * ramp)), FEWEST, MOST))


def _narrowed(rows: LimitRows, knots: Array, near: SmoothSpeed) -> SmoothMotion:
    """The fastest within limits at points of the spans, narrower where it exceeds one between them."""
    margins: dict[str, Array] = {}
    for _ in range(ROUNDS):
        near = fastest(knots, rows.on(knots, margins), near)
        excess = _made(rows, near).excess_on_spans()
        beyond = {name: np.maximum(each + SHARP, 0.0) for name, each in excess.items()}
        if not np.max([each.max() for each in beyond.values()]) > NEAR:  # NaN: nothing is known
            break
        margins = {name: margins.get(name, 0.0) + each for name, each in beyond.items()}
    return _made(rows, near)


def _made(rows: LimitRows, speed: SmoothSpeed) -> SmoothMotion:
    return SmoothMotion(rows.model, rows.along.path, rows.limits, speed, MotionCertificate(()))


def _check_smooth(path: SplinePath, names: tuple[str, ...]) -> None:
    slope, shortest = np.abs(path.bernstein(path.breakpoints, 1)).max(), np.diff(path.waypoints).min()
    for order, what in ((2, "second"), (3, "third")):
        place = jump_of(path, order, names, slope / shortest ** (order - 1))
        if place:
            raise ProblemError(
                f"the {what} derivative of the path jumps at {place}, and so would its jerk: give waypoints, "
                "or a spline of degree four or more"
            )
