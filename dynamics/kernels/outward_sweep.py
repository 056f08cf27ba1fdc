"""The outward pass from the ground to the leaves: pose, joint axis, velocity and acceleration of each body.

Everything is in world axes about the world origin, so that quantities of a subtree (inertia, force) are
plain sums over its bodies, and those of the whole robot are the sums at body 0, the ground.
"""

from __future__ import annotations

from dynamics.kernels.compile import inlined
from dynamics.kernels.inertia import (
    body_factor,
    body_inertia,
    clear,
    factor_times,
    inertia_times,
    store_factor,
    store_inertia,
)
from dynamics.kernels.joint_motion import joint_axis, local_pose
from dynamics.kernels.pose import ground_frame, rotated_frame
from dynamics.kernels.spatial_algebra import (
    add,
    add6,
    add_scaled6,
    constant3,
    cross_motion,
    load3,
    load6,
    load_frame,
    rotate,
    same3,
    store3,
    store6,
    store_frame,
)
from dynamics.model.packed_model import PARENT, POSITION

# slots of a body in the workspace, in three stages; kernels add their own after the last stage they need
AXIS, FRAME, ORIGIN, POSED = 0, 6, 15, 18  # S
VELOCITY, AXIS_RATE, MOVED = 18, 24, 30  # V, Sd = V_p x S
ACCELERATION, AXIS_RATE_2 = 30, 36  # A, Sdd = A_p x S + V_p x Sd
SUMS = 42  # from here on summed over subtrees
INERTIA, FACTOR, FORCE = 42, 52, 64  # I, B[I, V], f = I A + V x* I V
SWEPT = 70


@inlined
def clear_pose(work, slots):
    """Body 0: at rest at the origin, with empty sums."""
    clear(work, 0, slots)
    store_frame(work, FRAME, ground_frame(work))


@inlined
def clear_ground(work, numbers, slots):
    """Body 0 as in `clear_pose`, with the acceleration -gravity."""
    clear_pose(work, slots)
    store3(work, ACCELERATION + 3, same3(work, constant3(numbers, 0, POSITION)))


@inlined
def pose(work, numbers, body, at, parent, q):
    """Pose of a body."""
    frame, origin = load_frame(work, parent + FRAME), load3(work, parent + ORIGIN)
    axes, position = local_pose(work, numbers, body, q)
    frame, origin = rotated_frame(frame, axes), add(origin, rotate(frame, position))
    store_frame(work, at + FRAME, frame)
    store3(work, at + ORIGIN, origin)
    return frame, origin


@inlined
def place(work, tree, numbers, body, at, parent, q):
    """Pose and axis of a body; the pose is returned."""
    frame, origin = pose(work, numbers, body, at, parent, q)
    store6(work, at + AXIS, joint_axis(numbers, body, frame, origin))
    return frame, origin


@inlined
def move(work, at, parent, rate):
    """Velocity of a body and the rate of its axis, from the velocity of the parent."""
    S, V = load6(work, at + AXIS), load6(work, parent + VELOCITY)
    Sd = cross_motion(V, S)
    store6(work, at + AXIS_RATE, Sd)
    moved = add_scaled6(V, rate, S)
    store6(work, at + VELOCITY, moved)
    return moved


@inlined
def accelerate(work, at, parent, rate, acceleration):
    """Acceleration of a body and the second rate of its axis, after `move`."""
    S, Sd, V = load6(work, at + AXIS), load6(work, at + AXIS_RATE), load6(work, parent + VELOCITY)
    A = load6(work, parent + ACCELERATION)
    store6(work, at + AXIS_RATE_2, add6(cross_motion(A, S), cross_motion(V, Sd)))
    A = add_scaled6(add_scaled6(A, acceleration, S), rate, Sd)
    store6(work, at + ACCELERATION, A)
    return A


@inlined
def sweep_body(work, slots, tree, numbers, body, q, v, a):
    """Everything up to SWEPT for one body with `slots` slots."""
    at, parent = body * slots, tree[body, PARENT] * slots
    place(work, tree, numbers, body, at, parent, q)
    move(work, at, parent, v)
    accelerate(work, at, parent, v, a)
    return store_sums(work, at, numbers, body)


@inlined
def store_sums(work, at, numbers, body):
    """Inertia, body factor and force of a body whose pose and motion are there; the inertia is returned."""
    frame, origin = load_frame(work, at + FRAME), load3(work, at + ORIGIN)
    V, A = load6(work, at + VELOCITY), load6(work, at + ACCELERATION)
    I = body_inertia(work, numbers, body, frame, origin)
    B = body_factor(I, V)
    store_inertia(work, at + INERTIA, I)
    store_factor(work, at + FACTOR, B)
    # B[I, V] V = V x* I V: the body factor is exact on its own twist.
    store6(work, at + FORCE, add6(inertia_times(I, A), factor_times(B, V)))
    return I
