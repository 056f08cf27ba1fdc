"""A state of motion q, v, a: rates that no motion within the limits has are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from problems.moves.limit_excess import relative_excess
from problems.moves.motion_limits import MotionLimits
from problems.moves.path_quantities import motor_torques
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.base.tolerances import AGREEMENT

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

AFTER, BEFORE = 1.0, -1.0  # the motion that a state begins, and the one that it ends


def check_state(
    name: str,
    model: RigidBodyModel,
    every: MotionLimits,
    number: int,
    state: tuple[Array, Array, Array],
    side: float,
) -> None:
    """Raise InfeasibleBoundsError for rates beyond limits, or that lead beyond them, with the state's name.

    number : of the segment of the limits that the state is on
    state : q, v and a, (n,) each, NaN where free; side : AFTER or BEFORE
    With a limit of jerk a joint goes on to a speed of v + a |a| / (2 jerk), with one of acceleration from
    there to a stop at q + v |v| / (2 acceleration) at least; before a state likewise. That may be on other
    segments: the widest limits count.
    """
    (q, v, a), limits = state, every.of(number)

    def check(kind: str, value: Array, upper: Array, where: str = "") -> None:
        with np.errstate(invalid="ignore"):
            beyond = value - upper > AGREEMENT * np.maximum(np.abs(upper), 1.0)
        if beyond.any():
            joint = int(np.argmax(beyond))
            raise InfeasibleBoundsError(
                f"{name}: the {kind} of joint {model.joint_names[joint]!r} is {abs(value[joint]):.6g}"
                f"{where}, and its limit is {abs(upper[joint]):.6g}: give lower rates, or raise the limit"
            )

    check("speed", np.abs(v), limits.velocity)
    check("acceleration", np.abs(a), limits.acceleration)
    which = "after it" if side == AFTER else "before it"
    with np.errstate(invalid="ignore"):
        extreme = v + side * np.nan_to_num(a) * np.abs(np.nan_to_num(a)) / (2.0 * every.jerk)
        stop = q + side * v * np.abs(v) / (2.0 * every.acceleration)
    check("speed", np.abs(extreme), every.velocity, f" {which}, as the jerk is limited")
    check("position", stop, model.limits.q_upper, f" {which}, where it can stop first")
    check("position", -stop, -model.limits.q_lower, f" {which}, where it can stop first")
    if limits.has_torque and np.all(np.isfinite(state)):
        tau = motor_torques(model, q, v, np.array(1.0), a)
        excess = relative_excess(tau, limits.torque_lower, limits.torque_upper)
        joint = int(np.argmax(excess))
        if excess[joint] > AGREEMENT:
            raise InfeasibleBoundsError(
                f"{name}: joint {model.joint_names[joint]!r} needs {tau[joint]:.6g} for q, v and a there, "
                f"and its torque is limited to {limits.torque_lower[joint]:.6g} to "
                f"{limits.torque_upper[joint]:.6g}: give lower rates, or raise the limit"
            )
