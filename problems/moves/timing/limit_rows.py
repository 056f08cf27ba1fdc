"""The limits of a motion on a path over w, as rows of `SpeedBounds` in x = w'^2.

v^2 = P'^2 x            a = P'' x + P' x' / 2
|J v|^2 = |J P'|^2 x of frames
tau = A x' / 2 + B x + C            jerk = sqrt(x) (P''' x + 3 P'' x' / 2 + P' x'' / 2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from problems.moves.limit_excess import limit_size
from problems.moves.motion_limits import TOOL_SPEED, MotionLimits
from problems.moves.path_quantities import spring_torques, viscous_friction
from problems.moves.timing.smooth_motion import SHARP, friction_free
from problems.moves.timing.smooth_path import SmoothPath
from problems.moves.timing.speed_search import SpeedBounds
from problems.moves.tool_speed import squared_tool_speeds
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

KINDS = "speed", "acceleration", "torque", "jerk"
PARTS = np.array([0.0, 0.5, 1.0])  # of a span: where limits are imposed
RAMP = 12.0  # spans from an end in motion, over which the room that limits leave grows to `SHARP`


@dataclass(frozen=True, eq=False)
class LimitRows:
    """The limits of a motion on a path, as bounds of the squared rate of its coordinate."""

    model: RigidBodyModel
    along: SmoothPath
    limits: MotionLimits

    def on(self, knots: Array, margins: Mapping[str, Array]) -> SpeedBounds:
        """At `PARTS` of the spans between knots, narrower by margins (spans, n) relative to the limits."""
        p = self.along.derivatives(knots[:-1] + PARTS[:, None] * np.diff(knots))
        limits = self._limits_on(knots)
        room = self.room(np.arange(len(knots) - 1) + PARTS[:, None], len(knots) - 1)[..., None]
        zero, kinds = np.zeros_like(p[0]), (*KINDS, TOOL_SPEED)
        inside = {name: 1.0 - margins.get(name, 0.0) - room for name in kinds}
        v = inside["speed"] ** 2 * limits.velocity**2
        a, jerk = inside["acceleration"] * limits.acceleration, inside["jerk"] * limits.jerk
        every = [
            *_sides([p[1] ** 2, zero, zero], -np.inf, v, zero),
            *_sides([p[2], 0.5 * p[1], zero], -a, a, zero),
            *self._torques(p, zero, 1.0 - inside["torque"], friction_free(self.model, limits)),
            *self._tool_speeds(p, inside[TOOL_SPEED], limits),
        ]
        jerks = _sides([p[3], 1.5 * p[2], 0.5 * p[1]], -jerk, jerk, zero)
        factors, bounds, friction = map(_joined, zip(*every, *jerks, strict=True))
        count = sum(bound.shape[-1] for _, bound, _ in jerks)
        is_jerk = np.arange(bounds.shape[-1]) >= bounds.shape[-1] - count
        for end, held in zip((0, -1), self.along.held, strict=True):
            if held:  # all but the jerk is given there
                bounds[end, end, ~is_jerk] = np.inf
        return SpeedBounds(PARTS, factors, bounds, friction, is_jerk)

    def _tool_speeds(self, p: Sequence[Array], inside: Array, limits: MotionLimits) -> list[Rows]:
        """|J p'|^2 x of frames; margins and room are those of squares."""
        if not limits.frames:
            return []
        squared = squared_tool_speeds(self.model, limits.frames, p[0], p[1])
        zero = np.zeros_like(squared)
        return _sides([squared, zero, zero], -np.inf, inside * limits.tool_speed**2, zero)

    def room(self, place: Array, count: int) -> Array:
        """Relative room that limits leave at places, in spans from the start: none at ends in motion."""
        first, last = self.along.held
        nearest = np.full_like(place, RAMP)
        nearest = np.minimum(nearest, place) if first else nearest
        nearest = np.minimum(nearest, count - place) if last else nearest
        return SHARP * (nearest / RAMP) ** 2

    def _limits_on(self, knots: Array) -> MotionLimits:
        """The limits of every span."""
        return self.limits.at(self.along.s(0.5 * (knots[1:] + knots[:-1])))

    def _torques(self, p: Sequence[Array], zero: Array, margin: Any, ends: tuple[Array, Array]) -> list[Rows]:
        """A x' / 2 + B x + C and viscous friction, with limits `ends` that are narrower by Coulomb friction.

        Standing still keeps half of its slack.
        """
        from dynamics.algorithms.rnea import rnea

        if not self.limits.has_torque:
            return []
        model, q = self.model, p[0]
        rest = rnea(model, q, zero, zero)
        inertia, coriolis = rnea(model, q, zero, p[1]) - rest, rnea(model, q, p[1], p[2]) - rest
        rest = rest + spring_torques(model, q)
        lower, upper = (bound - rest for bound in ends)
        self._check_rest(lower, upper)
        amount = margin * limit_size(*ends)
        lower, upper = lower + np.minimum(amount, -0.5 * lower), upper - np.minimum(amount, 0.5 * upper)
        return _sides([coriolis, 0.5 * inertia, zero], lower, upper, viscous_friction(model) * p[1])

    def slopes(self, knots: Array, x: Array, multipliers: Array) -> tuple[Array, Array, Array, Array]:
        """Derivatives of multipliers . rows by p(s) and its first three derivatives, (parts, spans, n) each.

        x : (3, parts, spans), x and its derivatives; multipliers : as the bounds of `on`
        """
        w = knots[:-1] + PARTS[:, None] * np.diff(knots)
        p, of = self.along.derivatives(w), self._by_joint(multipliers, self._limits_on(knots))
        x, slope, bend = x[..., None]
        root = np.sqrt(x)
        by = [
            np.zeros_like(p[0]),
            2.0 * of["speed"] * p[1] * x + 0.5 * of["acceleration"] * slope + 0.5 * of["jerk"] * root * bend,
            of["acceleration"] * x + 1.5 * of["jerk"] * root * slope,
            of["jerk"] * root * x,
        ]
        if self.limits.has_torque:
            q, v, a = self._torque_slopes(of["torque"], p, root, p[2] * x + 0.5 * p[1] * slope)
            by[0] += q
            by[1] += v * root + 0.5 * a * slope
            by[2] += a * x
        first, second, third = (self.along.s(w, order)[..., None] for order in (1, 2, 3))
        return (
            by[0],
            by[1] * first + by[2] * second + by[3] * third,
            by[2] * first**2 + 3.0 * by[3] * first * second,
            by[3] * first**3,
        )

    def _torque_slopes(self, of: Array, p: Sequence[Array], root: Array, a: Array) -> list[Array]:
        """of . tau by q, v and a."""
        from dynamics.algorithms.rnea_derivatives import rnea_derivatives

        found = rnea_derivatives(self.model, p[0], p[1] * root, a)
        parts = (found.dtau_dq, found.dtau_dv, found.dtau_da)
        q, v, a = (np.einsum("...i,...ij->...j", of, part) for part in parts)
        stiffness = spring_torques(self.model, np.ones_like(p[0])) - spring_torques(
            self.model, np.zeros_like(p[0])
        )
        return [q + stiffness * of, v + viscous_friction(self.model) * of, a]

    def _by_joint(self, multipliers: Array, limits: MotionLimits) -> dict[str, Array]:
        """Multipliers of upper limits minus lower ones, zero for joints without: kind -> (..., n)."""
        lower, upper = friction_free(self.model, limits)
        sides = {
            "speed": (limits.velocity, -np.inf),
            "acceleration": (limits.acceleration,) * 2,
            "torque": (upper, lower),
            "jerk": (limits.jerk,) * 2,
        }
        place = 0
        found = {kind: np.zeros((*multipliers.shape[:-1], self.model.n)) for kind in KINDS}
        for kind in KINDS:
            for sign, limit in zip((1.0, -1.0), sides[kind], strict=True):
                kept = _is_limited(np.broadcast_to(limit, (*multipliers.shape[:-1], self.model.n)))
                found[kind][..., kept] += sign * multipliers[..., place : place + kept.sum()]
                place += int(kept.sum())
        return found

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
        kept = _is_limited(bound)
        found.append((sign * np.stack(factors)[..., kept], bound[..., kept], sign * friction[..., kept]))
    return found


def _is_limited(bound: Array) -> Array:
    """Mask (n,) of the joints with a finite bound (parts, spans, n) anywhere."""
    return np.any(np.isfinite(bound), axis=(0, 1))


def _joined(parts: Sequence[Array]) -> Array:
    return np.concatenate(parts, axis=-1)
