"""Data of a motion for a hand-over: its curves, limits and torques, and the jumps of its acceleration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from problems.moves.limit_excess import relative_excess
from problems.moves.motion_limits import TOOL_SPEED, MotionLimits
from problems.moves.path_quantities import motor_torques
from problems.moves.tool_speed import squared_tool_speeds
from trajopt.base.arguments import check_positive, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.base.tolerances import AGREEMENT
from trajopt.display.curves import bounds_of, problem_of
from trajopt.solution.solution import Solution

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

Curve = Callable[[Any], Array]
Bounds = Mapping[str, tuple[Array, Array]]
JUMP = 1e-3  # of the largest acceleration: a smaller change within an instant is no jump
OWN_SAMPLES = 4001
PANELS, NODES = 8, 3  # of the quadrature of a moving average


@dataclass(frozen=True, eq=False)
class MotionSource:
    """Curves q, v, a of times (k,), (k, n), and what bounds them.

    times : (m,) s, first 0 and last the duration, points where derivatives may jump
    bounds_at : times (...,) -> "position", "speed", "acceleration", "jerk", "torque" -> lower, upper (n,) or
        (..., n), of what is limited
    borders : (k,) s, first 0 and last the duration, between which `bounds_at` is constant
    torque : (t, q, v, a) -> those of the motors with what is carried at times t, (k, n)
    frames : whose speeds are limited, too, "tool speed"
    """

    model: KinematicTree
    times: Array
    q: Curve
    v: Curve
    a: Curve
    bounds_at: Callable[[Array], Bounds]
    borders: Array
    torque: Callable[[Array, Array, Array, Array], Array]
    frames: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """Seconds."""
        return float(self.times[-1])

    @property
    def has_jumps(self) -> bool:
        """True if the acceleration jumps somewhere within the motion."""
        inner, aside = self.times[1:-1], AGREEMENT * self.duration
        if not inner.size:
            return False
        jump = np.abs(self.a(inner + aside) - self.a(inner - aside)).max(axis=0)
        return bool(np.any(jump > JUMP * np.abs(self.a(self.times)).max()))

    def excess(self) -> dict[str, float]:
        """The largest excess of limits, that of jerk left out, relative to them, at samples of the motion."""
        t = np.linspace(0.0, self.duration, OWN_SAMPLES)
        q, v, a = self.q(t), self.v(t), self.a(t)
        values = {"position": q, "speed": v, "acceleration": a}
        bounds = self.bounds_at(t)
        if TOOL_SPEED in bounds:
            values[TOOL_SPEED] = np.sqrt(squared_tool_speeds(self.model, self.frames, q, v))
        if "torque" in bounds:
            values["torque"] = self.torque(t, q, v, a)
        return {
            name: float(relative_excess(values[name], *bounds[name]).max())
            for name in values.keys() & bounds.keys()
        }

    def smoothed(self, width: float) -> MotionSource:
        """The average of the motion over `width` seconds before each time, which is longer by that.

            q(t) -> (1/w) integral of q over [t - w, t],   v(t) -> (q(t) - q(t - w)) / w,   a likewise

        An average keeps limits of position, speed and acceleration, and has no jumps of acceleration. The
        joints leave the path by a w^2 / 24 where the acceleration is a. Raises OptionError for a motion that
        does not begin and end at rest.
        """
        check_positive("smoothing", width)
        ends = np.array([0.0, self.duration])
        if np.any(np.abs(self.v(ends)) > AGREEMENT * (1.0 + np.abs(self.v(self.times)).max())):
            raise OptionError(
                "the acceleration of this motion jumps and it does not begin and end at rest, so that it "
                'cannot be smoothed: give smoothing=0 and segments="cubic", or a motion from rest to rest'
            )
        x, weights = np.polynomial.legendre.leggauss(NODES)
        before = ((np.arange(PANELS)[:, None] + 0.5 * (1.0 + x)) * (width / PANELS)).ravel()
        share = np.tile(0.5 * weights / PANELS, PANELS)

        def held(curve: Curve) -> Curve:
            return lambda t: curve(np.clip(t, 0.0, self.duration))

        q, v = held(self.q), held(self.v)
        return replace(
            self,
            times=np.array([0.0, self.duration + width]),
            q=lambda t: np.einsum("p,...pn->...n", share, q(np.asarray(t)[..., None] - before)),
            v=lambda t: (q(t) - q(t - width)) / width,
            a=lambda t: (v(t) - v(t - width)) / width,
            bounds_at=lambda t: self.bounds_at(np.clip(t - 0.5 * width, 0.0, self.duration)),
            borders=np.array([0.0, *self.borders[1:-1] + 0.5 * width, self.duration + width]),
            torque=lambda t, *state: self.torque(np.clip(t - 0.5 * width, 0.0, self.duration), *state),
        )


def source_of(motion: Any) -> MotionSource:
    """The data for a hand-over of a `trajopt.Solution`, a `RetimedMotion` or what has the same members.

    These are model, limits, duration, q, v, a, and breakpoints (k,) s from 0 to the duration, where the
    acceleration or a derivative of it may jump. Raises OptionError for anything else.
    """
    if isinstance(motion, Solution):
        return _of_solution(motion)
    if not all(hasattr(motion, name) for name in ("model", "limits", "breakpoints", "q", "v", "a")):
        raise OptionError(
            f"the motion is {short_repr(motion)}: give a trajopt.Solution, or what moves.retime returns"
        )
    model, own = motion.model, motion.model.limits
    limits_at = getattr(motion, "limits_at", lambda _: motion.limits)
    times = np.asarray(motion.breakpoints)
    return MotionSource(
        model,
        times,
        motion.q,
        motion.v,
        motion.a,
        lambda t: limits_at(t).by_name((own.q_lower, own.q_upper)),
        times if motion.limits.segments else times[[0, -1]],
        getattr(motion, "torque_of", lambda _, q, v, a: motor_torques(model, q, v, np.array(1.0), a)),
        motion.limits.frames,
    )


def _of_solution(solution: Solution) -> MotionSource:
    """The data of a solution: limits stated over the whole motion, torques by `rnea`."""
    from dynamics.algorithms.rnea import rnea
    from dynamics.model.kinematic_tree import KinematicTree

    problem, n = problem_of(solution), len(solution.joint_names)
    robot = None if problem is None else problem.dynamics
    if problem is None or not isinstance(robot, KinematicTree):
        raise OptionError(
            "a controller takes joints of a robot, and this solution has none: its problem cannot be built "
            "again, or its dynamics is no RigidBodyModel"
        )
    bounds = {quantity: bounds_of(problem, quantity, n) for quantity in ("q", "v", "a", "jerk", "tau")}
    speed, acceleration, jerk = (np.minimum(-bounds[k][0], bounds[k][1]) for k in ("v", "a", "jerk"))
    limits = MotionLimits(speed, acceleration, *bounds["tau"], jerk).by_name(bounds["q"])
    times = np.unique(np.concatenate([[0.0], solution.knot_times, [solution.duration]]))
    return MotionSource(
        robot,
        times,
        solution.q,
        solution.v,
        solution.a,
        lambda _: limits,
        times[[0, -1]],
        lambda _, q, v, a: rnea(robot, q, v, a),
    )
