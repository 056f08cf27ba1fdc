"""Least time on a given path within limits of jerk: the squared rate of the path's coordinate is a spline.

    minimize T   subject to   q = P(w(t)),  |v|, |a| and |jerk| within limits,  lower <= tau <= upper

with P a path at rest at both ends (`rest_path`) and w'^2 a quadratic spline of w (`smooth_speed`), whose
spans take about the same time. Limits hold at both ends and in the middle of every span, narrower where a
sample between them exceeds one. What is left is removed by more time for everything; bounds prove the result
for all times (`smooth_motion`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from problems.moves.certificate import TOLERANCE, MotionCertificate
from problems.moves.limit_excess import limit_size
from problems.moves.motion_limits import MotionLimits
from problems.moves.path_quantities import spring_torques, viscous_friction
from problems.moves.spline_path import SplinePath, jump_of
from problems.moves.timing.rest_path import RestPath
from problems.moves.timing.smooth_motion import SHARP, SmoothMotion, friction_free
from problems.moves.timing.smooth_speed import SmoothSpeed
from problems.moves.timing.speed_search import SpeedBounds, fastest
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, ProblemError
from trajopt.base.rounding import AGREEMENT

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

COARSE, FEWEST, MOST = 100, 200, 400  # spans, at first and then
RAMPS = 1.0  # ramps of acceleration in a span, where there are not too many
KINDS = "speed", "acceleration", "jerk", "torque"
PARTS = np.array([0.0, 0.5, 1.0])  # of a span: where limits are imposed
AT_ENDS = 4  # parts of the first and the last span, where the jerk changes most
ROUNDS = 3  # searches, each within narrower limits where the one before left less than `SHARP`
NEAR = 2e-4  # excess that more time for everything removes as well
STRETCHES, AGAIN = 40, 4.0  # slower motions tried; of the excess of a bound, once more


def jerk_limited(model: RigidBodyModel, path: SplinePath, limits: MotionLimits) -> SmoothMotion:
    """The motion of least time on a path, from rest to rest, within limits with those of jerk.

    Raises ProblemError where the path's second or third derivative jumps, InfeasibleBoundsError where a
    torque does not suffice to hold still, UnboundedError where nothing limits the speed.
    """
    _check_smooth(path, model.joint_names)
    rows = _Rows(model, RestPath(path), limits)
    knots = rows.along.knots(np.linspace(0.0, 1.0, COARSE + 1), COARSE)
    coarse = fastest(knots, rows.on(knots, {}))
    every = np.linspace(0.0, coarse.times[-1], COARSE + 1)
    knots = rows.along.knots(coarse.w(every), _span_count(float(coarse.times[-1]), limits))
    knots = _divided(knots, np.array([0, len(knots) - 2]), AT_ENDS)
    return _proved(_with_room(rows.motion(knots, coarse)))


def _divided(knots: Array, chosen: Array, parts: int) -> Array:
    """The knots, chosen spans cut into equal parts."""
    inner = np.linspace(knots[chosen], knots[chosen + 1], parts + 1)[1:-1]
    return np.sort(np.concatenate([knots, inner.ravel()]))


def _with_room(motion: SmoothMotion) -> SmoothMotion:
    """The motion, slowed until samples leave the room that bounds need."""
    for _ in range(STRETCHES):
        factor = motion.stretch(motion.excess_on_spans())
        if factor <= 1.0:
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
    ramp = np.min(np.where(np.isfinite(limits.jerk), limits.acceleration / limits.jerk, np.inf))
    if not np.isfinite(ramp):
        return MOST
    return int(np.clip(np.ceil(duration / (RAMPS * ramp)), FEWEST, MOST))


@dataclass(frozen=True, eq=False)
class _Rows:
    """The limits of a motion on a path, as bounds of the squared rate of its coordinate."""

    model: RigidBodyModel
    along: RestPath
    limits: MotionLimits

    def motion(self, knots: Array, near: SmoothSpeed) -> SmoothMotion:
        """The fastest within limits at points of the spans, narrower where it exceeds one between them."""
        margins: dict[str, Array] = {}
        for _ in range(ROUNDS):
            near = fastest(knots, self.on(knots, margins), near)
            excess = self._made(near).excess_on_spans()
            beyond = {name: np.maximum(each + SHARP, 0.0) for name, each in excess.items()}
            if max(float(each.max()) for each in beyond.values()) <= NEAR:
                break
            margins = {name: margins.get(name, 0.0) + each for name, each in beyond.items()}
        return self._made(near)

    def _made(self, speed: SmoothSpeed) -> SmoothMotion:
        return SmoothMotion(self.model, self.along.path, self.limits, speed, MotionCertificate(()))

    def on(self, knots: Array, margins: Mapping[str, Array]) -> SpeedBounds:
        """At `PARTS` of the spans between knots, narrower by margins (spans, n) relative to the limits."""
        p, limits = self.along.derivatives(knots[:-1] + PARTS[:, None] * np.diff(knots)), self.limits
        zero, inside = np.zeros_like(p[0]), {name: 1.0 - margins.get(name, 0.0) - SHARP for name in KINDS}
        v = inside["speed"] ** 2 * limits.velocity**2
        a, jerk = inside["acceleration"] * limits.acceleration, inside["jerk"] * limits.jerk
        every = [
            *_sides([p[1] ** 2, zero, zero], -np.inf, v, zero),
            *_sides([p[2], 0.5 * p[1], zero], -a, a, zero),
            *self._torques(p, zero, 1.0 - inside["torque"]),
        ]
        jerks = _sides([p[3], 1.5 * p[2], 0.5 * p[1]], -jerk, jerk, zero)
        factors, bounds, friction = map(_joined, zip(*every, *jerks, strict=True))
        count = sum(bound.shape[-1] for _, bound, _ in jerks)
        is_jerk = np.arange(bounds.shape[-1]) >= bounds.shape[-1] - count
        return SpeedBounds(PARTS, factors, bounds, friction, is_jerk)

    def _torques(self, p: Sequence[Array], zero: Array, margin: Any) -> list[Rows]:
        """A x' / 2 + B x + C and viscous friction, with limits that are narrower by Coulomb friction.

        Standing still keeps half of its slack.
        """
        from dynamics.algorithms.rnea import rnea

        if not self.limits.has_torque:
            return []
        model, q = self.model, p[0]
        rest = rnea(model, q, zero, zero)
        inertia, coriolis = rnea(model, q, zero, p[1]) - rest, rnea(model, q, p[1], p[2]) - rest
        rest = rest + spring_torques(model, q)
        ends = friction_free(model, self.limits)
        lower, upper = (bound - rest for bound in ends)
        self._check_rest(lower, upper)
        amount = margin * limit_size(*ends)
        lower, upper = lower + np.minimum(amount, -0.5 * lower), upper - np.minimum(amount, 0.5 * upper)
        return _sides([coriolis, 0.5 * inertia, zero], lower, upper, viscous_friction(model) * p[1])

    def _check_rest(self, lower: Array, upper: Array) -> None:
        """Raise InfeasibleBoundsError where friction, in whatever direction, leaves no torque to move."""
        slack = np.minimum(-lower, upper).min(axis=(0, 1))
        if not np.all(slack > 0.0):
            raise InfeasibleBoundsError(
                f"joint {self.model.joint_names[int(np.argmin(slack))]!r} has no torque left beside weight "
                "and Coulomb friction, which is taken from both limits: raise its limits"
            )


Rows = tuple[Array, Array, Array]  # factors (3, parts, spans, k), bounds and factors of friction


def _sides(factors: Sequence[Array], lower: Any, upper: Any, friction: Array) -> list[Rows]:
    """Rows of the finite ones among both limits of the joints; their bounds are those of every point."""
    found = []
    for sign, limit in ((1.0, upper), (-1.0, lower)):
        bound = np.broadcast_to(sign * limit, friction.shape)
        kept = np.all(np.isfinite(bound), axis=(0, 1))
        found.append((sign * np.stack(factors)[..., kept], bound[..., kept], sign * friction[..., kept]))
    return found


def _joined(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts, axis=-1)


def _check_smooth(path: SplinePath, names: tuple[str, ...]) -> None:
    slope, shortest = np.abs(path.bernstein(path.breakpoints, 1)).max(), np.diff(path.breakpoints).min()
    for order, what in ((2, "second"), (3, "third")):
        place = jump_of(path, order, names, slope / shortest ** (order - 1))
        if place:
            raise ProblemError(
                f"the {what} derivative of the path jumps at {place}, and so would its jerk: give waypoints, "
                "or a spline of degree four or more"
            )
