"""`Goal`: what a robot's pose is to be at one instant, and segments that its tool follows, as constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import trajopt
from dynamics.model.shape import rotation_of
from problems.moves.tasks.robot import Robot
from trajopt.base.arguments import numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, OptionError, ShapeError, UnknownNameError, near_matches

Row = tuple[Any, Any, Any, str]  # term, lower and upper bounds, name


@dataclass(frozen=True, eq=False)
class Goal:
    """A pose of the robot at one instant, or a part of one.

    name : in reports and messages
    frame, position, rotation : what frame is to be where, (3,) m, NaN in free components, and (3, 3); or None
    distance, angle : by how much both may be missed, m and rad; zero: exactly
    joints : (n,) rad or m, NaN of free joints
    """

    name: str
    joints: Array
    frame: str | None = None
    position: Array | None = None
    rotation: Array | None = None
    distance: float = 0.0
    angle: float = 0.0

    @property
    def fixed(self) -> Array:
        """Which joints have a value, (n,)."""
        return np.isfinite(self.joints)

    def rows(self) -> Iterator[Row]:
        """The constraints, with `frame` at an instant.

            p = p_d                          or   |p - p_d|^2 <= distance^2
            skew part of R_d' R = 0          or   2 (1 - cos) <= 2 (1 - cos(angle))

        Both squares are divided by their tolerance, so that their slope at the tolerance is about two.
        """
        if self.fixed.any():
            free = ~self.fixed
            lower, upper = np.where(free, -np.inf, self.joints), np.where(free, np.inf, self.joints)
            yield trajopt.q, lower, upper, f"{self.name}: joints"
        if self.frame is None:
            return
        if self.position is not None:
            yield self._position()
        if self.rotation is not None:
            yield self._rotation()

    def _position(self) -> Row:
        assert self.position is not None and self.frame is not None
        given, label = np.flatnonzero(np.isfinite(self.position)), f"{self.name}: position of {self.frame}"
        frame, wanted, size = self.frame, self.position.tolist(), self.distance

        def error(node: Any) -> list[Any]:
            place = node.position(frame)
            return [place[i] - wanted[i] for i in given]

        if size == 0.0:
            return trajopt.term(name=label, unit="m")(error), 0.0, 0.0, label
        squared = trajopt.term(name=label, unit="m")(lambda node: sum(e**2 for e in error(node)) / size)
        return squared, None, size, label

    def _rotation(self) -> Row:
        assert self.rotation is not None and self.frame is not None
        label = f"{self.name}: orientation of {self.frame}"
        if self.angle == 0.0:
            return trajopt.library.orientation_error(self.frame, self.rotation), 0.0, 0.0, label
        frame, size, wanted = self.frame, self.angle, self.rotation.ravel().tolist()

        def turned(node: Any) -> Any:
            rows = node.orientation(frame)
            trace = sum(wanted[i] * rows[i] for i in range(9))  # of R_d' R: 1 + 2 cos of the angle
            return (3.0 - trace) / size

        return trajopt.term(name=label)(turned), None, chord_bound(size), label


def chord_bound(angle: float) -> float:
    """2 (1 - cos(angle)) / angle: the squared chord of an angle, over the angle."""
    return 4.0 * float(np.sin(0.5 * angle)) ** 2 / angle


def goal_of(
    robot: Robot, name: str, frame: Any, position: Any, rotation: Any, tolerance: Any, q: Any
) -> Goal:
    """The goal of what users give; see `Task.to` for the meaning and the errors."""
    joints = joints_of(robot, q, f"{name}: q")
    if frame is None:
        if position is not None or rotation is not None:
            raise OptionError(f"{name}: a position or a rotation is that of a frame: give the frame first")
        if not np.any(np.isfinite(joints)):
            raise OptionError(f"{name} says nothing: give a frame with a position or a rotation, or q")
        return Goal(name, joints)
    called = frame_name(robot, frame)
    if position is None and rotation is None:
        raise OptionError(f"{name}: frame {called!r} is given without a position or a rotation: give one")
    distance, angle = _tolerances(tolerance, name)
    return Goal(
        name,
        joints,
        called,
        None if position is None else _place(position, f"{name}: position"),
        None if rotation is None else rotation_of(rotation, f"{name}: rotation"),
        distance,
        angle,
    )


def frame_name(robot: Robot, frame: Any) -> str:
    """The name of a frame that the robot has; UnknownNameError otherwise."""
    return robot.frame(getattr(frame, "name", frame)).name


def joints_of(robot: Robot, q: Any, what: str) -> Array:
    """Joint values (n,), NaN where free, of a list with None, or of a dictionary; within their limits.

    Raises ShapeError, UnknownNameError or InfeasibleBoundsError, naming `what` and the joint.
    """
    names = robot.joint_names
    found = np.full(len(names), np.nan)
    if q is None:
        return found
    if isinstance(q, dict):
        for name, value in q.items():
            if name not in names:
                raise UnknownNameError(
                    f"{what} has a joint {short_repr(name)}{near_matches(name, names)}: the joints are "
                    f"{', '.join(names)}"
                )
            found[names.index(name)] = _joint_value(value, what)
    else:
        values = list(q) if isinstance(q, list | tuple) or np.ndim(q) else [q] * len(names)
        if len(values) != len(names):
            raise ShapeError(f"{what} has {len(values)} values: the robot has {len(names)} joints")
        found[:] = [np.nan if value is None else _joint_value(value, what) for value in values]
    limits = robot.model.limits
    beyond = (found < limits.q_lower - 1e-9) | (found > limits.q_upper + 1e-9)
    if beyond.any():
        i = int(np.argmax(beyond))
        raise InfeasibleBoundsError(
            f"{what}: joint {names[i]!r} is {found[i]:.6g}, beyond its limits {limits.q_lower[i]:.6g} to "
            f"{limits.q_upper[i]:.6g}"
        )
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
