"""One step outward along the tree: the frame, origin and axis of a body from those of its parent."""

from __future__ import annotations

from dynamics.kernels.compile import lane
from dynamics.kernels.packed_model import BASIS, OFFSET, POSITION, PRISMATIC, RATIO, ROTATION
from dynamics.kernels.sincos import sincos
from dynamics.kernels.spatial_algebra import (
    add,
    add_scaled,
    constant3,
    constant_frame,
    cross,
    rotate,
    rotate_back,
    same3,
    scale,
    sub,
    zero3,
)


@lane
def local_pose(array, tree, numbers, body, q):
    """Axes and origin of a body in the axes of its parent."""
    displacement = numbers[body, RATIO] * q + numbers[body, OFFSET]
    x = same3(array, constant3(numbers, body, ROTATION))
    y = same3(array, constant3(numbers, body, ROTATION + 3))
    z = same3(array, constant3(numbers, body, ROTATION + 6))
    origin = same3(array, constant3(numbers, body, POSITION))
    if tree[body, PRISMATIC]:
        return (x, y, z), add_scaled(origin, displacement, z)
    s, c = sincos(displacement)
    return (add_scaled(scale(c, x), s, y), add_scaled(scale(c, y), -s, x), z), origin


@lane
def rotated_frame(frame, axes):
    """The axes given within a frame, seen from where that frame is given."""
    return rotate(frame, axes[0]), rotate(frame, axes[1]), rotate(frame, axes[2])


@lane
def world_pose(array, tree, numbers, body, q, frame, origin):
    """World axes and origin of a body, given those of its parent."""
    axes, position = local_pose(array, tree, numbers, body, q)
    return rotated_frame(frame, axes), add(origin, rotate(frame, position))


@lane
def ground_frame(array):
    """The world axes."""
    return same3(array, (1.0, 0.0, 0.0)), same3(array, (0.0, 1.0, 0.0)), same3(array, (0.0, 0.0, 1.0))


@lane
def joint_axis(array, tree, numbers, body, frame, origin):
    """S, the motion of a body per rate of its coordinate: world axes, about the world origin."""
    z = scale(numbers[body, RATIO], frame[2])
    if tree[body, PRISMATIC]:
        return zero3(array), z
    return z, cross(origin, z)


@lane
def local_force(frame, origin, wrench):
    """A world wrench about the world origin -> along the frame's axes about its origin."""
    moment = sub(wrench[0], cross(origin, wrench[1]))
    return rotate_back(frame, moment), rotate_back(frame, wrench[1])


@lane
def world_motion(frame, origin, twist):
    """A twist along the frame's axes about its origin -> world axes about the world origin."""
    angular = rotate(frame, twist[0])
    return angular, add(rotate(frame, twist[1]), cross(origin, angular))


@lane
def link_axes(numbers, body, wrench):
    """A wrench along the body's axes -> along the axes of its link frame."""
    basis = constant_frame(numbers, body, BASIS)
    return rotate_back(basis, wrench[0]), rotate_back(basis, wrench[1])


@lane
def body_axes(numbers, body, wrench):
    """The inverse of `link_axes`."""
    basis = constant_frame(numbers, body, BASIS)
    return rotate(basis, wrench[0]), rotate(basis, wrench[1])
