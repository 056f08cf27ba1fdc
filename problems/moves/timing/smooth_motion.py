"""A motion along a given path whose coordinate follows a spline in time, and the proof of its limits.

On every span of both splines, that of the path and s(t), positions, speeds, accelerations, jerks and torques
are bounded by Taylor models (`trajopt.taylor_models`), spans being halved where that is not sharp enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import trajopt
from problems.moves.certificate import LimitLine, MotionCertificate
from problems.moves.limit_excess import limit_size, relative_excess
from problems.moves.motion_limits import MotionLimits
from problems.moves.path_quantities import coulomb_friction
from problems.moves.spline_path import SplinePath
from problems.moves.timing.path_motion import PathMotion
from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.graph.protocols.block import AnyArithmeticBlock
from trajopt.problem.problem_graph import graph_of
from trajopt.splines.curve import Curve
from trajopt.taylor_models.leaf_pieces import graph_models, leaf_pieces
from trajopt.taylor_models.suprema import Supremum, find_suprema

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

SAMPLES = 12  # in every interval of s(t)
SHARP = 2e-4  # of a limit: by how much a bound may exceed what is reached
QUANTITIES = {
    "position": "joint_position",
    "speed": "joint_velocity",
    "acceleration": "joint_acceleration",
    "jerk": "joint_jerk",
    "torque": "motor_torque",
}


@dataclass(frozen=True, eq=False)
class SmoothMotion(PathMotion):
    """q(t) = p(s(t)) with a continuous acceleration, rest to rest, made by `moves.retime` with `jerk=`.

    curve : s(t), a spline; problem : of which it is the solution, with the path's quantities
    certificate : of all limits for all times, where the path has models; else at samples
    """

    model: RigidBodyModel
    path: SplinePath
    limits: MotionLimits
    curve: Curve
    problem: trajopt.Problem
    certificate: MotionCertificate

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.curve.duration

    @property
    def breakpoints(self) -> Array:
        """Those of s(t)."""
        return self.curve.knot_times

    def s(self, t: Any, order: int = 0) -> Array:
        """The path's coordinate, or a rate of it, at times in [0, duration]."""
        found = self.curve(t, order)[..., 0]
        return np.clip(found, *self.path.breakpoints[[0, -1]]) if order == 0 else found

    @property
    def bounds(self) -> Mapping[str, tuple[Array, Array]]:
        """Lower and upper limits of every kind that has one, (n,) each."""
        limits, own = self.limits, self.model.limits
        every = {
            "position": (own.q_lower, own.q_upper),
            "speed": (-limits.velocity, limits.velocity),
            "acceleration": (-limits.acceleration, limits.acceleration),
            "jerk": (-limits.jerk, limits.jerk),
            "torque": friction_free(self.model, limits),
        }
        return {name: ends for name, ends in every.items() if np.any(np.isfinite(ends))}

    def slower(self, factor: float) -> SmoothMotion:
        """The same with all times multiplied by a factor."""
        return replace(self, curve=replace(self.curve, durations=factor * self.curve.durations))

    def verify(self) -> MotionCertificate:
        """All limits again, at samples, from q(t), v(t), a(t), jerk(t) and tau(t) alone."""
        return MotionCertificate(tuple(self.sampled_limits(self.sample_times(SAMPLES + 3))))

    def sample_times(self, count: int) -> Array:
        """`count` times in every interval of s(t), both ends among them."""
        knots = self.curve.knot_times
        return np.clip(np.linspace(knots[:-1], knots[1:], count, axis=1).ravel(), 0.0, self.duration)

    def excess_at(self, t: Array) -> Array:
        """Of every limit but those of position, relative to it, at times (k,), the largest, (k,)."""
        curves = {"speed": self.v, "acceleration": self.a, "jerk": self.jerk, "torque": self.tau_without_dry}
        found = [
            relative_excess(curves[name](t), *ends).max(axis=1)
            for name, ends in self.bounds.items()
            if name in curves
        ]
        return np.max(found, axis=0)

    def tau_without_dry(self, t: Any) -> Array:
        """Torques without Coulomb friction, whose size is taken from their limits."""
        return self.tau(t) - coulomb_friction(self.model) * np.sign(self.path(self.s(t), 1))

    def certified(self) -> SmoothMotion:
        """The same motion with its certificate."""
        found = self._suprema()
        lines = [self._proved(name, found[name]) for name in self.bounds] if found else self._sampled()
        return replace(self, certificate=MotionCertificate(tuple(lines)))

    def _sampled(self) -> list[LimitLine]:
        return self.sampled_limits(self.sample_times(SAMPLES))

    def _proved(self, name: str, suprema: list[Supremum]) -> LimitLine:
        size = limit_size(*self.bounds[name])
        excess = [each.value / size[each.component] for each in suprema]
        worst = suprema[int(np.argmax(excess))]  # NaN where one has no bound
        return LimitLine(name, "proved", max(excess), self.joint_names[worst.component], worst.time)

    def _suprema(self) -> dict[str, list[Supremum]] | None:
        """Bounds of every kind and joint; None where a block of the path or the robot has no models."""
        terms = [trajopt.Quantity(QUANTITIES[name]) for name in self.bounds]
        graph = graph_of(self.problem, terms)
        if not all(implements(block, AnyArithmeticBlock) for block in graph.blocks):
            return None
        used = {name for block in graph.blocks for name in block.inputs} & graph.leaves.keys()
        pieces = leaf_pieces(self.curve, self.problem.spline_leaves, {}, used, 0.0, self.duration)
        asked = {name: self._asked(name) for name in self.bounds}
        try:
            find_suprema(
                pieces, partial(graph_models, graph), [each for kind in asked.values() for each in kind]
            )
        except NotImplementedError:
            return None
        return asked

    def _asked(self, name: str) -> list[Supremum]:
        """The suprema of a kind; those of joints without a limit are of no interest."""
        lower, upper = self.bounds[name]
        size, quantity = limit_size(lower, upper), QUANTITIES[name]
        return [
            Supremum(
                quantity, joint, lower[joint], upper[joint], -np.inf, 0.5 * SHARP * size[joint], np.inf, 0.0
            )
            for joint in range(self.model.n)
            if np.any(np.isfinite([lower[joint], upper[joint]]))
        ]

    def __repr__(self) -> str:
        return f"SmoothMotion of {self.duration:.6g} s\n{self.certificate}"


def friction_free(model: Any, limits: MotionLimits) -> tuple[Array, Array]:
    """Limits of torque narrowed by Coulomb friction, whose sign is that of the speed."""
    dry = coulomb_friction(model)
    return limits.torque_lower + dry, limits.torque_upper - dry
