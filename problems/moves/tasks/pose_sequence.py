"""The first guess of a task: one pose for every goal, chosen so that the way through all of them is short."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import dynamics
from problems.moves.motion_limits import MotionLimits
from problems.moves.tasks.frame_target import FrameTarget
from problems.moves.tasks.goal import Goal
from problems.moves.tasks.reaching import poses_that_reach
from problems.moves.tasks.robot import Payload, Robot
from problems.moves.tasks.stated_task import StatedTask
from problems.moves.tasks.task_problem import eased, runs
from problems.moves.tasks.tool_path import Arc, Line
from trajopt.api.inverse_kinematics import without_turns
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError

MOST_POSES = 12  # of a goal, the nearest ones to the pose before
BETWEEN = np.linspace(0.0, 1.0, 10)[1:-1]  # of a way between two poses: where its clearance is looked at
DETOUR = 0.05  # m/s: a sample that is so many m too near to something counts as so many seconds
MEETINGS = 0.0, 0.5, 1.0, 2.0, 4.0  # s: when a goal that moves is thought to be met at first
MEETING_STEPS = 4
ON_SEGMENT = np.linspace(0.0, 1.0, 6)[1:-1]  # of a line or an arc: where poses are sought between its ends


def first_guess(task: StatedTask) -> list[Array]:
    """Poses (k, n) from goal to goal, both ends among them; at goals that move, where these are met."""
    if not any(target.moving for goal in task.goals for target in goal.targets):
        return _guess(task)
    refused = []
    for begin in MEETINGS:
        times = np.full(len(task.steps), begin)
        try:
            for _ in range(MEETING_STEPS - 1):
                times = _arrivals(task, _guess(task.at(times)))
            return _guess(task.at(times))
        except InfeasibleBoundsError as error:
            refused.append(error)
    raise refused[0]


def _arrivals(task: StatedTask, guess: list[Array]) -> Array:
    """About when every goal is reached, (steps,) s."""
    every = runs(list(range(len(guess))), task.steps)
    parts = [part for run in every for part in eased([guess[k] for k in run], task.limits)]
    return np.cumsum([times[-1] for times, _ in parts])


def _guess(task: StatedTask) -> list[Array]:
    robot, speed = task.robot, np.where(np.isfinite(task.limits.velocity), task.limits.velocity, 1.0)
    poses = [
        _candidates(task, 0, task.origin, _middle(robot), _payloads_at(task, 0), not task.origin.in_motion)
    ]
    costs, origin = [np.zeros(len(poses[0]))], []
    for number, step in enumerate(task.steps):
        near = poses[-1][int(np.argmin(costs[-1]))]
        held = (*step.payloads, *_payloads_at(task, number + 1))
        found = _candidates(task, number + 1, step.goal, near, tuple(dict.fromkeys(held)), step.rests)
        found = np.array([without_turns(each, near, robot.model) for each in found])
        apart = np.abs(found[:, None] - poses[-1][None]) / speed
        total = costs[-1][None] + apart.max(axis=2) + 1e-3 * apart.sum(axis=2)
        total += _detours(task, step.payloads, poses[-1], found)
        origin.append(np.argmin(total, axis=1))
        costs.append(total.min(axis=1))
        poses.append(found)
    chosen = [int(np.argmin(costs[-1]))]
    for before in reversed(origin):
        chosen.append(int(before[chosen[-1]]))
    way = [each[k] for each, k in zip(poses, reversed(chosen), strict=True)]
    return [_segment(task, k, way[k], way[k + 1]) for k in range(len(task.steps))]


def _payloads_at(task: StatedTask, number: int) -> tuple[Payload, ...]:
    """The payloads carried away from the start, or from the goal before step `number`."""
    return task.steps[number].payloads if number < len(task.steps) else ()


def _segment(task: StatedTask, number: int, first: Array, last: Array) -> Array:
    """Both ends, and on a line or an arc the poses near the straight way that put the frame on it."""
    step = task.steps[number]
    rules = [rule for rule in step.rules if isinstance(rule, Line | Arc)]
    if not rules:
        return np.stack([first, last])
    way, places = [first], rules[0].at(ON_SEGMENT)
    for s, place in zip(ON_SEGMENT, places, strict=True):
        near = way[-1] + (last - way[-1]) / (1.0 + len(ON_SEGMENT) * (1.0 - s))
        goal = Goal(step.goal.name, np.full(len(first), np.nan), (FrameTarget(rules[0].frame, place),))
        try:
            way.append(poses_that_reach(task.robot, goal, near, starts=0)[0])
        except InfeasibleBoundsError:
            way.append(near)
    return np.array([*way, last])


def _candidates(
    task: StatedTask, number: int, goal: Goal, near: Array, payloads: tuple[Payload, ...], rests: bool
) -> Array:
    """Poses (k, n) that meet a goal, clear of obstacles, and held by the motors where the robot rests.

    number : of the goal, 0 of the start
    """
    found = poses_that_reach(task.robot, goal, near)
    model = task.loaded(payloads)
    found = _clear(task, goal, model, found)[:MOST_POSES]
    sides = {max(number - 1, 0), min(number, len(task.steps) - 1)}  # the ways to it and from it
    limits = [task.limits.of(each) for each in sides]
    return _held(limits, goal, model, found, payloads) if rests else found


def _clear(task: StatedTask, goal: Goal, model: dynamics.RigidBodyModel, found: Array) -> Array:
    """The poses in which no shapes come too near to each other; InfeasibleBoundsError where there is none."""
    clearances = task.clearances(model)
    if clearances is None:
        return found
    distances = clearances.distances(found, task.clearance)
    least = distances.min(axis=1)
    if np.any(least >= task.clearance):
        return found[least >= task.clearance]
    best = int(np.argmax(least))
    pair = clearances.pair_name(int(np.argmin(distances[best])))
    how = f"overlap by {-least[best]:.4g} m" if least[best] < 0.0 else f"are {least[best]:.4g} m apart"
    raise InfeasibleBoundsError(
        f"{goal.name}: {pair} {how} in the best of {len(found)} poses that were found, and a clearance of "
        f"{task.clearance:.4g} m is asked for: move it or the obstacle, or allow the pair to touch"
    )


def _held(
    limits: Sequence[MotionLimits],
    goal: Goal,
    model: dynamics.RigidBodyModel,
    found: Array,
    payloads: tuple[Payload, ...],
) -> Array:
    """The poses in which the motors hold the robot still; InfeasibleBoundsError where there is none."""
    zero = np.zeros_like(found)
    lower = np.max([each.torque_lower for each in limits], axis=0)
    upper = np.min([each.torque_upper for each in limits], axis=0)
    if not np.any(np.isfinite([lower, upper])):
        return found
    torque = dynamics.rnea(model, found, zero, zero)
    excess = np.maximum(torque - upper, lower - torque)
    holds = np.all(excess <= 0.0, axis=1)
    if holds.any():
        return found[holds]
    best = int(np.argmin(excess.max(axis=1)))
    joint = int(np.argmax(excess[best]))
    carried = f" with {', '.join(repr(each.name) for each in payloads)}" if payloads else ""
    name = model.joint_names[joint]
    unit = "N" if any(each.kind == "prismatic" for each in model.joints if each.name == name) else "N m"
    raise InfeasibleBoundsError(
        f"{goal.name}: joint {name!r} needs {torque[best, joint]:.4g} {unit} to stand "
        f"still{carried}, and its torque is limited to {lower[joint]:.4g} to {upper[joint]:.4g} {unit}: "
        "carry less, choose another pose, or raise the limit"
    )


def _detours(task: StatedTask, payloads: tuple[Payload, ...], first: Array, last: Array) -> Array:
    """Further costs of straight ways from poses (i, n) to (j, n) on which shapes are too near, (j, i) s."""
    clearances = task.clearances(task.loaded(payloads))
    if clearances is None:
        return np.zeros((len(last), len(first)))
    way = first[None, :, None] + (last[:, None] - first[None])[:, :, None] * BETWEEN[:, None]
    least = clearances.distances(way, task.clearance).min(axis=-1)
    return np.sum(task.clearance - least, axis=-1) / DETOUR


def _middle(robot: Robot) -> Array:
    """The middle of the joints' ranges, zero of those without."""
    lower, upper = robot.model.limits.q_lower, robot.model.limits.q_upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    middle = np.where(bounded, 0.5 * (np.where(bounded, lower, 0.0) + np.where(bounded, upper, 0.0)), 0.0)
    return np.clip(middle, lower, upper)
