"""Changes of axes and reference point for twists, wrenches and frames: body axes, link axes, world axes."""

from __future__ import annotations

from dynamics.kernels.compile import inlined
from dynamics.kernels.spatial_algebra import add, constant_frame, cross, rotate, rotate_back, same3, sub
from dynamics.model.packed_model import BASIS


@inlined
def rotated_frame(frame, axes):
    """The axes given within a frame, seen from where that frame is given."""
    return rotate(frame, axes[0]), rotate(frame, axes[1]), rotate(frame, axes[2])


@inlined
def ground_frame(array):
    """The world axes."""
    return same3(array, (1.0, 0.0, 0.0)), same3(array, (0.0, 1.0, 0.0)), same3(array, (0.0, 0.0, 1.0))


@inlined
def local_force(frame, origin, wrench):
    """A world wrench about the world origin -> along the frame's axes about its origin."""
    moment = sub(wrench[0], cross(origin, wrench[1]))
    return rotate_back(frame, moment), rotate_back(frame, wrench[1])


@inlined
def world_motion(frame, origin, twist):
    """A twist along the frame's axes about its origin -> world axes about the world origin."""
    angular = rotate(frame, twist[0])
    return angular, add(rotate(frame, twist[1]), cross(origin, angular))


@inlined
def link_axes(numbers, body, wrench):
    """A wrench along the body's axes -> along the axes of its link frame."""
    basis = constant_frame(numbers, body, BASIS)
    return rotate_back(basis, wrench[0]), rotate_back(basis, wrench[1])


@inlined
def body_axes(numbers, body, wrench):
    """The inverse of `link_axes`."""
    basis = constant_frame(numbers, body, BASIS)
    return rotate(basis, wrench[0]), rotate(basis, wrench[1])
