"""Joints that move at the start or at a goal: rates that no motion within the limits has are refused."""

from __future__ import annotations

import numpy as np

from problems.moves.limit_excess import relative_excess
from problems.moves.path_quantities import motor_torques
from problems.moves.tasks.goal import Goal
from problems.moves.tasks.stated_task import StatedTask
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.base.tolerances import AGREEMENT

NO_RATE = np.array(np.nan)


def check_states(task: StatedTask) -> None:
    """Raise InfeasibleBoundsError for rates of a start or a goal beyond limits, or that lead beyond them.

    With a limit of jerk a joint goes on to a speed of v + a |a| / (2 jerk), with one of acceleration from
    there to a stop at q + v |v| / (2 acceleration) at least; before a goal likewise.
    """
    _check(task, task.origin, 0, 1.0)
    for number, step in enumerate(task.steps):
        _check(task, step.goal, number, -1.0)
        if number + 1 < len(task.steps):
            _check(task, step.goal, number + 1, 1.0)


def _check(task: StatedTask, goal: Goal, number: int, ahead: float) -> None:
    """number : of the step on whose way this is; ahead : 1 where it begins at the goal, -1 where it ends."""
    if goal.v is None and goal.a is None:
        return
    limits, model = task.limits.of(number), task.loaded(task.steps[number].payloads)
    v, a = (NO_RATE if rate is None else rate for rate in (goal.v, goal.a))
    _check_within(task, goal, "speed", np.abs(v), limits.velocity, "")
    _check_within(task, goal, "acceleration", np.abs(a), limits.acceleration, "")
    which = "after it" if ahead > 0.0 else "before it"
    with np.errstate(invalid="ignore"):
        extreme = v + ahead * np.nan_to_num(a) * np.abs(np.nan_to_num(a)) / (2.0 * limits.jerk)
        _check_within(
            task, goal, "speed", np.abs(extreme), limits.velocity, f" {which}, as the jerk is limited"
        )
        stop = goal.joints + ahead * v * np.abs(v) / (2.0 * limits.acceleration)
    stays = f" {which}, where it can stop first"
    _check_within(task, goal, "position", stop, model.limits.q_upper, stays)
    _check_within(task, goal, "position", -stop, -model.limits.q_lower, stays)
    if limits.has_torque and np.all(np.isfinite([goal.joints, v, a])):
        tau = motor_torques(model, goal.joints, v, np.array(1.0), a)
        excess = relative_excess(tau, limits.torque_lower, limits.torque_upper)
        joint = int(np.argmax(excess))
        if excess[joint] > AGREEMENT:
            raise InfeasibleBoundsError(
                f"{goal.name}: joint {task.robot.joint_names[joint]!r} needs {tau[joint]:.6g} for q, v and a "
                f"there, and its torque is limited to {limits.torque_lower[joint]:.6g} to "
                f"{limits.torque_upper[joint]:.6g}: give lower rates, or raise the limit"
            )


def _check_within(task: StatedTask, goal: Goal, name: str, value: Array, upper: Array, where: str) -> None:
    with np.errstate(invalid="ignore"):
        beyond = np.broadcast_to(value - upper > AGREEMENT * np.maximum(np.abs(upper), 1.0), upper.shape)
    if beyond.any():
        joint = int(np.argmax(beyond))
        raise InfeasibleBoundsError(
            f"{goal.name}: joint {task.robot.joint_names[joint]!r} has a {name} of {abs(value[joint]):.6g}"
            f"{where}, and its limit is {abs(upper[joint]):.6g}: give lower rates, or raise the limit"
        )
