"""Poses that reach a goal: damped Newton steps on the frame's error from several starts at once.

With the error e(q) of position and rotation vector, and the geometric Jacobian J,

    dq = J' (J J' + (|e|^2 + DAMPING) I)^-1 e,

joints clipped to their limits; a joint that a step would push beyond its limit is left out of it. Source:
Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method", IEEE Transactions on
Robotics 27(5), 2011.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import dynamics
from dynamics.formats.mesh_files import LARGEST
from problems.moves.obstacles import poses_around
from problems.moves.tasks.frame_target import FrameTarget
from problems.moves.tasks.goal import Goal
from problems.moves.tasks.orientation import rotation_vectors
from problems.moves.tasks.robot import Robot
from trajopt.base.arguments import list_names
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.base.tolerances import AGREEMENT

if TYPE_CHECKING:
    from dynamics.rigid_body_model import RigidBodyModel

STARTS = 48  # poses drawn within the joints' ranges, beside the one before
STEPS = 60
DAMPING = 1e-6
REACHED = 1e-9  # m and rad
LONGEST_STEP = 0.5  # rad or m, of a joint
LINEAR_FIRST = [3, 4, 5, 0, 1, 2]  # of rows of a Jacobian, whose angular ones come first
SAME_POSE = 1e-4  # rad or m between joints of solutions that count once


def poses_that_reach(robot: Robot, goal: Goal, near: Array, starts: int = STARTS) -> Array:
    """Poses (k, n) that meet a goal exactly, else within its tolerance, the nearest to `near` (n,) first.

    Free joints that nothing decides stay where the start had them. Raises InfeasibleBoundsError with the
    nearest pose where none is found.
    """
    q = np.concatenate([near[None], poses_around(robot.model, near, starts)])
    q[:, goal.fixed] = goal.joints[goal.fixed]
    if not goal.targets:
        return q[:1]
    q = _newton(robot.model, goal, q)
    error = pose_errors(robot.model, goal, q)
    exact = np.abs(error).max(axis=1) <= REACHED
    reached = q[exact if exact.any() else _within_tolerance(goal, error)]
    if not len(reached):
        raise InfeasibleBoundsError(_unreachable(robot, goal, q, error))
    found: list[Array] = []
    for each in reached[np.argsort(np.abs(reached - near).max(axis=1), kind="stable")]:
        if all(np.abs(each - other).max() > SAME_POSE for other in found):
            found.append(each)
    return np.array(found)


def _within_tolerance(goal: Goal, error: Array) -> Array:
    """Mask of errors (k, 6 targets) that a goal allows: five joints reach few orientations exactly."""
    distance, angle = np.moveaxis(np.linalg.norm(error.reshape(len(error), -1, 2, 3), axis=3), 2, 0)
    far = np.array([max(target.distance, REACHED) for target in goal.targets])
    turned = np.array([max(target.angle, REACHED) for target in goal.targets])
    return np.all((distance <= far) & (angle <= turned), axis=1)


def pose_errors(model: RigidBodyModel, goal: Goal, q: Array) -> Array:
    """The errors of all frames of a goal, (k, 6 targets); see `target_errors`."""
    every = [target_errors(model, target, q) for target in goal.targets]
    return np.concatenate([np.zeros((len(q), 0)), *every], axis=1)


def target_errors(model: RigidBodyModel, target: FrameTarget, q: Array) -> Array:
    """Position minus target, m, and the rotation vector from the target, rad, (k, 6); zero where free."""
    error, poses = np.zeros((len(q), 6)), dynamics.forward_kinematics(model, q, [target.frame])
    if target.position is not None:
        error[:, :3] = np.nan_to_num(poses.position[:, 0] - target.position)
    if target.rotation is not None:
        error[:, 3:] = rotation_vectors(poses.rotation[:, 0] @ target.rotation.T)
    return error


def _newton(model: RigidBodyModel, goal: Goal, q: Array) -> Array:
    """Damped Newton steps of all starts (k, n) together, none beyond the limits of joints."""
    given = np.concatenate([_given(target) for target in goal.targets])
    lower, upper = model.limits.q_lower, model.limits.q_upper
    for _ in range(STEPS):
        error = pose_errors(model, goal, q)
        if np.abs(error).max() <= REACHED:
            break
        every = [dynamics.frame_jacobian(model, q, target.frame)[:, LINEAR_FIRST] for target in goal.targets]
        J = np.concatenate(every, axis=1) * given[:, None]
        J[:, :, goal.fixed] = 0.0
        step = _damped(J, error)
        blocked = ((q <= lower) & (step < 0.0)) | ((q >= upper) & (step > 0.0))
        step = _damped(J * ~blocked[:, None, :], error)
        q = np.clip(q + step, lower, upper)
    return q


def _given(target: FrameTarget) -> Array:
    """Mask of a target's six components that are given."""
    place = np.zeros(3, dtype=bool) if target.position is None else np.isfinite(target.position)
    return np.concatenate([place, np.full(3, target.rotation is not None)])


def _damped(J: Array, error: Array) -> Array:
    """The step of every start (k, n)."""
    one = np.eye(error.shape[1])
    damping = (np.sum(error**2, axis=1) + DAMPING * REACHED)[:, None, None] * one
    lifted = J @ J.transpose(0, 2, 1) + damping + AGREEMENT * one
    step = -np.einsum("kij,ki->kj", J, np.linalg.solve(lifted, error[..., None])[..., 0])
    longest = np.abs(step).max(axis=1, keepdims=True)
    return step * np.minimum(1.0, LONGEST_STEP / np.maximum(longest, LONGEST_STEP))


def _unreachable(robot: Robot, goal: Goal, q: Array, error: Array) -> str:
    # A rad counts as much as a metre: arms are about that long.
    best = int(np.argmin(np.linalg.norm(error, axis=1)))
    sizes = np.linalg.norm(error[best].reshape(-1, 2, 3), axis=2)
    worst = int(np.argmax(sizes.max(axis=1)))
    target, (distance, angle) = goal.targets[worst], sizes[worst]
    place = dynamics.forward_kinematics(robot.model, q[best], [target.frame]).position[0]
    pose = list_names(f"{name} {value:.4g}" for name, value in zip(robot.joint_names, q[best], strict=True))
    return (
        f"{goal.name}: frame {target.frame!r} cannot reach it within the joints' limits. The nearest pose "
        f"that was found misses it by {distance:.4g} m and {angle:.4g} rad (tolerance: "
        f"{target.distance:.4g} m and {target.angle:.4g} rad), with the frame at "
        f"({', '.join(f'{x:.4g}' for x in place)}): {pose}"
        f"{'; lengths are in m, 500 mm are 0.5' * bool(distance > LARGEST)}"
    )
