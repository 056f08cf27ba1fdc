"""Vectors and poses of bodies in any arithmetic: components are numbers that know + - * sin and cos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dynamics.model.packed_model import OFFSET, POSITION, RATIO, ROTATION, SLIDE, TURN

Vector = Sequence[Any]  # three numbers
Frame = Sequence[Vector]  # three axes

ZERO: Vector = (0.0, 0.0, 0.0)
GROUND: Frame = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class GivenRotation:
    """The whole rotation of a body in its joint's frame, given in place of an angle of a joint about z.

    axes : columns of the rotation, None where the body does not turn
    """

    axes: Frame | None


def local_pose(row: Sequence[Any], q: Any) -> tuple[Frame, Vector]:
    """Axes and origin of a body in the axes of its parent."""
    if isinstance(q, GivenRotation):
        frame = row[ROTATION : ROTATION + 3], row[ROTATION + 3 : ROTATION + 6], row[ROTATION + 6 : POSITION]
        turned = frame if q.axes is None else tuple(rotate(frame, axis) for axis in q.axes)
        return turned, row[POSITION : POSITION + 3]
    displacement = row[RATIO] * q + row[OFFSET]
    x, y, z = (row[first : first + 3] for first in (ROTATION, ROTATION + 3, ROTATION + 6))
    origin = add(row[POSITION : POSITION + 3], scale(row[SLIDE] * displacement, z))
    if row[TURN] == 0.0:
        return (x, y, z), origin
    angle = row[TURN] * displacement
    if isinstance(angle, float):  # the whole path of the joint is one number
        if angle != 0.0:
            raise NotImplementedError(f"cosine and sine of the constant {angle} are not folded")
        return (x, y, z), origin
    c, s = angle.cos(), angle.sin()
    return (add(scale(c, x), scale(s, y)), add(scale(c, y), scale(-s, x)), z), origin


def world_pose(frame: Frame, origin: Vector, above: Frame, origin_above: Vector) -> tuple[Frame, Vector]:
    """World axes and origin of a body, from those in the axes of its parent and the parent's."""
    x, y, z = (rotate(above, axis) for axis in frame)
    return (x, y, z), add(origin_above, rotate(above, origin))


def add(a: Vector, b: Vector) -> Vector:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def scale(s: Any, a: Vector) -> Vector:
    return s * a[0], s * a[1], s * a[2]


def dot(a: Vector, b: Vector) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def rotate(frame: Frame, a: Vector) -> Vector:
    """Components along the frame's axes -> components along the axes in which these are given."""
    x, y, z = frame
    return add(add(scale(a[0], x), scale(a[1], y)), scale(a[2], z))


def rotate_back(frame: Frame, a: Vector) -> Vector:
    return dot(frame[0], a), dot(frame[1], a), dot(frame[2], a)


def symmetric_times(J: Sequence[Any], a: Vector) -> Vector:
    return (
        J[0] * a[0] + J[1] * a[1] + J[2] * a[2],
        J[1] * a[0] + J[3] * a[1] + J[4] * a[2],
        J[2] * a[0] + J[4] * a[1] + J[5] * a[2],
    )
