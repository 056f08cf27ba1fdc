"""Joint axes and body motion in link axes, shared by the regressor and its gradient.

The wrench of a body is linear in its mass, first moments and inertia about the origin of its frame. With S
the twist of a joint further in, (s, u) in link axes about that origin, w and al the angular velocity and
acceleration, and g the acceleration of the origin less gravity, the torque of that joint is

    S' wrench = m u.g + h.(u x al + w x (w x u) + g x s) + s.J al + (s x w).J w
"""

from __future__ import annotations

from dynamics.kernels.compile import inlined
from dynamics.kernels.outward_sweep import ACCELERATION, FRAME, ORIGIN, VELOCITY, accelerate, move, place
from dynamics.kernels.pose import rotated_frame
from dynamics.kernels.simd import gather
from dynamics.kernels.spatial_algebra import (
    add,
    constant_frame,
    cross,
    load3,
    load6,
    load_frame,
    rotate_back,
    scale,
)
from dynamics.model.packed_model import BASIS, COORDINATE, LINK, PARENT


@inlined
def sweep_motion(work, slots, tree, numbers, body, q, v, a, node):
    """Pose, axis, velocity and acceleration of one body with `slots` slots, after its parent's."""
    i, at, parent = tree[body, COORDINATE], body * slots, tree[body, PARENT] * slots
    rate = gather(v, node, i)
    place(work, tree, numbers, body, at, parent, gather(q, node, i))
    move(work, at, parent, rate)
    accelerate(work, at, parent, rate, gather(a, node, i))


@inlined
def link_frame(work, at, tree, numbers, body):
    """World axes of a link's frame; of a rotor those of its body, whose axis is z."""
    frame = load_frame(work, at + FRAME)
    if tree[body, LINK] < 0:
        return frame
    return rotated_frame(frame, constant_frame(numbers, body, BASIS))


@inlined
def in_link(frame, origin, motion):
    """A world twist about the world origin -> along the axes of the link, about its origin."""
    return rotate_back(frame, motion[0]), rotate_back(frame, add(motion[1], cross(motion[0], origin)))


@inlined
def in_world(frame, origin, motion):
    """The inverse of `in_link`."""
    x, y, z = frame
    angular = _along(x, y, z, motion[0])
    return angular, add(_along(x, y, z, motion[1]), cross(origin, angular))


@inlined
def _along(x, y, z, a):
    return add(scale(a[0], x), add(scale(a[1], y), scale(a[2], z)))


@inlined
def classical_motion(work, at, frame):
    """(w, al, g): angular velocity and acceleration, acceleration of the origin less gravity; link axes."""
    origin = load3(work, at + ORIGIN)
    w, velocity = in_link(frame, origin, load6(work, at + VELOCITY))
    al, linear = in_link(frame, origin, load6(work, at + ACCELERATION))
    return w, al, add(linear, cross(w, velocity))
