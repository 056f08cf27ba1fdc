"""`Goal`: what a robot's pose is to be at one instant, and how it moves then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import trajopt
from dynamics.model.shape import rotation_of
from problems.moves.tasks.frame_target import FrameTarget, Row
from problems.moves.tasks.orientation import vector
from problems.moves.tasks.robot import Robot
from trajopt.base.arguments import check_flag, numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import (
    InfeasibleBoundsError,
    OptionError,
    ShapeError,
    UnknownNameError,
    in_radians,
    near_matches,
)


@dataclass(frozen=True, eq=False)
class Goal:
    """A pose of the robot at one instant, or a part of one.

    name : in reports and messages
    joints : (n,) rad or m, NaN of free joints; targets : of frames, all at once
    v, a : (n,) rates of the joints, NaN where free; None: not given
    """

    name: str
    joints: Array
    targets: tuple[FrameTarget, ...] = ()
    v: Array | None = None
    a: Array | None = None

    @property
    def fixed(self) -> Array:
        """Mask of the joints that have a value, (n,)."""
        return np.isfinite(self.joints)

    @property
    def in_motion(self) -> bool:
        """True if it says how the robot moves there."""
        rates = (self.v, self.a, *(target.velocity for target in self.targets))
        return any(rate is not None for rate in rates)

    def at(self, time: float) -> Goal:
        """The same with targets that stand still where they are at a time, s."""
        return replace(self, targets=tuple(target.at(time) for target in self.targets))

    def target(self, frame: str) -> FrameTarget | None:
        """The target that is given for a frame."""
        return next((target for target in self.targets if target.frame == frame), None)

    def rows(self) -> Iterator[Row]:
        """The constraints at its instant: those of joints, and of `FrameTarget.rows`."""
        given = ((trajopt.q, self.joints), (trajopt.v, self.v), (trajopt.a, self.a))
        for (term, values), label in zip(given, ("joints", "velocities", "accelerations"), strict=True):
            if values is not None and np.any(np.isfinite(values)):
                free = np.isnan(values)
                lower, upper = np.where(free, -np.inf, values), np.where(free, np.inf, values)
                yield term, lower, upper, f"{self.name}: {label}"
        for target in self.targets:
            yield from target.rows(self.name)


def goal_of(
    robot: Robot, name: str, frame: Any, position: Any, rotation: Any, tolerance: Any, q: Any
) -> Goal:
    """The goal of what users give; see `Task.to` for the meaning and the errors."""
    joints = joints_of(robot, q, f"{name}: q")
    if frame is not None:
        return Goal(name, joints, (target_of(robot, name, frame, position, rotation, tolerance),))
    if position is not None or rotation is not None:
        raise OptionError(f"{name}: a position or a rotation is that of a frame: give the frame first")
    if not np.any(np.isfinite(joints)):
        raise OptionError(f"{name} says nothing: give a frame with a position or a rotation, or q")
    return Goal(name, joints)


def target_of(
    robot: Robot, name: str, frame: Any, position: Any, rotation: Any, tolerance: Any
) -> FrameTarget:
    """The target of a frame; arguments and errors as of `Task.to`."""
    called = frame_name(robot, frame)
    if position is None and rotation is None:
        raise OptionError(f"{name}: frame {called!r} is given without a position or a rotation: give one")
    place = None if position is None else _place(position, f"{name}: position")
    turn = None if rotation is None else rotation_of(rotation, f"{name}: rotation")
    return FrameTarget(called, place, turn, *_tolerances(tolerance, name))


def with_rates(goal: Goal, robot: Robot, v: Any, a: Any, rest: float) -> Goal:
    """A goal at which joints move; `rest`: the value of what is left out beside others, NaN: free."""
    if v is None and a is None:
        return goal
    v, a = (joint_values(robot, each, f"{goal.name}: {x}") for each, x in ((v, "v"), (a, "a")))
    return replace(goal, v=np.where(np.isnan(v), rest, v), a=np.where(np.isnan(a), rest, a))


def with_velocity(goal: Goal, velocity: Any, moving: Any) -> Goal:
    """A goal at which the frame it is given for moves, or which moves itself."""
    check_flag("moving", moving)
    if velocity is None:
        if moving:
            raise OptionError(
                f"{goal.name}: a goal that moves has a velocity: give velocity=(x, y, z) in m/s"
            )
        return goal
    rate = vector(velocity, f"{goal.name}: velocity")
    if goal.v is not None:
        raise OptionError(f"{goal.name}: v and a of the joints decide the frame's velocity: give one of both")
    if not goal.targets:
        raise OptionError(f"{goal.name}: a velocity is that of a frame: give the frame first")
    (target,) = goal.targets
    if moving and (target.position is None or not np.all(np.isfinite(target.position))):
        raise OptionError(f"{goal.name}: a goal that moves has a position: give all of it")
    return replace(goal, targets=(replace(target, velocity=rate, moving=bool(moving)),))


def frame_name(robot: Robot, frame: Any) -> str:
    """The name of a frame that the robot has; UnknownNameError otherwise."""
    return robot.frame(getattr(frame, "name", frame)).name


def joints_of(robot: Robot, q: Any, what: str) -> Array:
    """`joint_values` within the joints' ranges; InfeasibleBoundsError otherwise, naming the joint."""
    names, found = robot.joint_names, joint_values(robot, q, what)
    limits = robot.model.limits
    beyond = (found < limits.q_lower - 1e-9) | (found > limits.q_upper + 1e-9)
    if beyond.any():
        i = int(np.argmax(beyond))
        turns = {joint.name: joint.kind for joint in robot.model.joints}[names[i]] == "revolute"
        raise InfeasibleBoundsError(
            f"{what}: joint {names[i]!r} is {found[i]:.6g}, beyond its limits {limits.q_lower[i]:.6g} to "
            f"{limits.q_upper[i]:.6g}{in_radians(found[i]) * turns}"
        )
    return found


def joint_values(robot: Robot, given: Any, what: str) -> Array:
    """Values of joints (n,), NaN where free, of a list with None, or of a dictionary.

    Raises ShapeError or UnknownNameError, naming `what` and the joint.
    """
    names = robot.joint_names
    found = np.full(len(names), np.nan)
    if given is None:
        return found
    if isinstance(given, dict):
        for name, value in given.items():
            if name not in names:
                raise UnknownNameError(
                    f"{what} has a joint {short_repr(name)}{near_matches(name, names)}: the joints are "
                    f"{', '.join(names)}"
                )
            found[names.index(name)] = _joint_value(value, what)
        return found
    values = list(given) if isinstance(given, list | tuple) or np.ndim(given) else [given] * len(names)
    if len(values) != len(names):
        raise ShapeError(f"{what} has {len(values)} values: the robot has {len(names)} joints")
    found[:] = [np.nan if value is None else _joint_value(value, what) for value in values]
    return found


def _joint_value(value: Any, what: str) -> float:
    found = numbers(value, what)
    if found.shape != () or not np.isfinite(found):
        raise ShapeError(f"{what} has the value {short_repr(value)}: give a number, or None for a free joint")
    return float(found)


def _place(given: Any, what: str) -> Array:
    """(3,) m, NaN where a component is None."""
    values = list(given) if isinstance(given, list | tuple | np.ndarray) else []
    if len(values) != 3 or all(value is None for value in values):
        raise ShapeError(f"{what} is {short_repr(given)}: give x, y and z in m, None for a free one")
    return np.array([np.nan if value is None else _joint_value(value, what) for value in values])


def _tolerances(given: Any, name: str) -> tuple[float, float]:
    found = numbers(given, f"{name}: tolerance")
    if found.shape not in ((), (2,)) or not np.all(np.isfinite(found) & (found >= 0.0)):
        raise OptionError(f"{name}: tolerance is {short_repr(given)}: give m, or m and rad, from zero")
    distance, angle = np.broadcast_to(found, (2,)).tolist() if found.shape else (float(found), 0.0)
    if angle >= np.pi:
        raise OptionError(f"{name}: a tolerance of {angle:.6g} rad allows all turns: leave the rotation out")
    return distance, angle
