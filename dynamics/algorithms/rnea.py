"""Inverse dynamics by the recursive Newton-Euler algorithm (RNEA): torques, joint and base wrenches.

Velocities and accelerations run outward in the axes of each body, forces inward, as in Luh, Walker and
Paul (1980) and Featherstone, Rigid Body Dynamics Algorithms, table 5.1. Gravity enters as the ground's
acceleration -g.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dynamics.kernels.compile import inlined, kernel, subroutine
from dynamics.kernels.joint_motion import add_joint_motion, joint_force, local_pose
from dynamics.kernels.node_batch import Batch, batch, batch_with
from dynamics.kernels.pose import ground_frame, link_axes, local_force, rotated_frame
from dynamics.kernels.rotation_vectors.stumpff import stumpff
from dynamics.kernels.rotation_vectors.turned_body import load_on, turned_pose, turned_rates, vector
from dynamics.kernels.simd import gather, load, scatter, store, width
from dynamics.kernels.spatial_algebra import (
    add,
    constant3,
    constant_symmetric,
    cross,
    dot,
    increase,
    increase3,
    load3,
    load_frame,
    rotate,
    rotate_back,
    same3,
    scale,
    scatter6,
    store3,
    store_frame,
    sub6,
    symmetric_times,
    workspace,
    zero3,
)
from dynamics.model.kinematic_tree import KinematicTree, packed_with_mass
from dynamics.model.packed_model import (
    ARMATURE,
    COORDINATE,
    INERTIA,
    LINK,
    MASS,
    MOMENT,
    PARENT,
    POSITION,
)

if TYPE_CHECKING:
    from dynamics.model.packed_model import PackedModel

# slots of a body in the workspace
FRAME, ORIGIN, OMEGA, ALPHA, ACCELERATION, MOMENT_OF_FORCE, FORCE, WORLD_FRAME, WORLD_ORIGIN = (
    0, 9, 12, 15, 18, 21, 24, 27, 36,
)  # fmt: skip
SLOTS = 39


@inlined
def newton_euler(numbers, body, omega, alpha, linear):
    """(moment, force) that this motion of the body's frame needs, about its origin."""
    h = constant3(numbers, body, MOMENT)
    J = constant_symmetric(numbers, body, INERTIA)
    force = scale(numbers[body, MASS], linear)
    force = add(force, add(cross(alpha, h), cross(omega, cross(omega, h))))
    moment = add(symmetric_times(J, alpha), cross(omega, symmetric_times(J, omega)))
    return add(moment, cross(h, linear)), force


@inlined
def carried_motion(work, parent, frame, origin):
    """Angular velocity and acceleration, and acceleration of the origin, of axes fixed to the parent."""
    omega, alpha = load3(work, parent + OMEGA), load3(work, parent + ALPHA)
    linear = add(cross(alpha, origin), cross(omega, cross(omega, origin)))
    linear = rotate_back(frame, add(load3(work, parent + ACCELERATION), linear))
    return rotate_back(frame, omega), rotate_back(frame, alpha), linear


@inlined
def move_outward(work, at, parent, numbers, body, q, v, a):
    """Pose, velocity, acceleration and needed force of one body, from its parent's motion."""
    frame, origin = local_pose(work, numbers, body, q)
    omega, alpha, linear = carried_motion(work, parent, frame, origin)
    omega, alpha, linear = add_joint_motion(numbers, body, v, a, omega, alpha, linear)
    store_moved(work, at, numbers, body, frame, origin, omega, alpha, linear)


@inlined
def store_moved(work, at, numbers, body, frame, origin, omega, alpha, linear):
    """The motion of a body, and the force that it needs."""
    moment, force = newton_euler(numbers, body, omega, alpha, linear)
    store_frame(work, at + FRAME, frame)
    store3(work, at + ORIGIN, origin)
    store3(work, at + OMEGA, omega)
    store3(work, at + ALPHA, alpha)
    store3(work, at + ACCELERATION, linear)
    store3(work, at + MOMENT_OF_FORCE, moment)
    store3(work, at + FORCE, force)


@inlined
def subtract_external(work, at, parent, tree, external, node, body):
    """Subtract the wrench that acts on the link, in world axes about the world origin, from the force."""
    frame, position = load_frame(work, at + FRAME), load3(work, at + ORIGIN)
    above, origin = load_frame(work, parent + WORLD_FRAME), load3(work, parent + WORLD_ORIGIN)
    origin, frame = add(origin, rotate(above, position)), rotated_frame(above, frame)
    store_frame(work, at + WORLD_FRAME, frame)
    store3(work, at + WORLD_ORIGIN, origin)
    if tree[body, LINK] < 0:  # a rotor
        return
    own = load3(work, at + MOMENT_OF_FORCE), load3(work, at + FORCE)
    own = sub6(own, local_force(frame, origin, load_on(tree, external, body, node)))
    store3(work, at + MOMENT_OF_FORCE, own[0])
    store3(work, at + FORCE, own[1])


@inlined
def carry_inward(work, at, parent, moment, force):
    """Add the wrench of a body to that of its parent."""
    frame = load_frame(work, at + FRAME)
    carried = rotate(frame, force)
    increase3(work, parent + FORCE, carried)
    lever = cross(load3(work, at + ORIGIN), carried)
    increase3(work, parent + MOMENT_OF_FORCE, add(rotate(frame, moment), lever))


@subroutine
def turn_outward(work, tree, numbers, body, q, v, a, external, node):
    """`move_outward` of a body that a rotation vector turns; J goes to slots of the first of its three."""
    first, at = body - 2, body * SLOTS
    parent = tree[first, PARENT] * SLOTS
    p, rate, second = vector(q, tree, first, node), vector(v, tree, first, node), vector(a, tree, first, node)
    c = stumpff(dot(p, p))
    frame, origin = turned_pose(numbers, first, c, p)
    J, turning, faster = turned_rates(c, p, rate, second)
    store_frame(work, first * SLOTS, J)
    omega, alpha, linear = carried_motion(work, parent, frame, same3(work, origin))
    alpha = add(alpha, add(cross(omega, turning), faster))
    store_moved(work, at, numbers, body, frame, same3(work, origin), add(omega, turning), alpha, linear)
    if external.shape[0] > 0:
        subtract_external(work, at, parent, tree, external, node, body)


@subroutine
def turn_inward(work, tree, numbers, body, torque, wrenches, node):
    """Torques J' moment of a rotation vector, the wrenches on its links, and what they add to the parent."""
    first, at = body - 2, body * SLOTS
    moment, force = load3(work, at + MOMENT_OF_FORCE), load3(work, at + FORCE)
    store3(work, torque - 2, rotate_back(load_frame(work, first * SLOTS), moment))
    if wrenches.shape[0] > 0:
        w = link_axes(numbers, body, (moment, force))
        for above in range(3):
            scatter6(wrenches, node, 6 * (tree[body, LINK] - above), w)
    carry_inward(work, at, tree[first, PARENT] * SLOTS, moment, force)


@kernel
def _rnea(tree, numbers, turned, q, v, a, external, tau, wrenches, base):
    bodies, n = tree.shape[0], q.shape[1]
    work = workspace(q, bodies * SLOTS + n)
    torque = bodies * SLOTS
    store_frame(work, WORLD_FRAME, ground_frame(work))
    for slot in (OMEGA, ALPHA, WORLD_ORIGIN):
        store3(work, slot, zero3(work))
    store3(work, ACCELERATION, same3(work, constant3(numbers, 0, POSITION)))
    for node in range(0, q.shape[0], width(q)):
        store3(work, MOMENT_OF_FORCE, zero3(work))
        store3(work, FORCE, zero3(work))
        for i in range(n):
            store(work, torque + i, zero3(work)[0])

        for body in range(1, bodies):
            i, at, parent = tree[body, COORDINATE], body * SLOTS, tree[body, PARENT] * SLOTS
            if turned is not None:
                if turned[body] == 3:
                    turn_outward(work, tree, numbers, body, q, v, a, external, node)
                if turned[body]:
                    continue
            rate, acceleration = gather(v, node, i), gather(a, node, i)
            move_outward(work, at, parent, numbers, body, gather(q, node, i), rate, acceleration)
            increase(work, torque + i, numbers[body, ARMATURE] * acceleration)
            if external.shape[0] > 0:
                subtract_external(work, at, parent, tree, external, node, body)

        for body in range(bodies - 1, 0, -1):
            i, at, parent = tree[body, COORDINATE], body * SLOTS, tree[body, PARENT] * SLOTS
            if turned is not None:
                if turned[body] == 3:
                    turn_inward(work, tree, numbers, body, torque + i, wrenches, node)
                if turned[body]:
                    continue
            moment, force = load3(work, at + MOMENT_OF_FORCE), load3(work, at + FORCE)
            increase(work, torque + i, joint_force(numbers, body, moment, force))
            if wrenches.shape[0] > 0 and tree[body, LINK] >= 0:
                w = link_axes(numbers, body, (moment, force))
                scatter6(wrenches, node, 6 * tree[body, LINK], w)
            carry_inward(work, at, parent, moment, force)

        for i in range(n):
            scatter(tau, node, i, load(work, torque + i))
        if base.shape[0] > 0:
            scatter6(base, node, 0, (load3(work, MOMENT_OF_FORCE), load3(work, FORCE)))


def rnea(
    model: KinematicTree, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: ArrayLike | None = None
) -> np.ndarray:
    """Inverse dynamics: tau = M(q) a + C(q, v) v + g(q) - sum over links of J' external, (..., n) N m or N.

    q, v, a : (..., n) rad or m, and first and second rates per s and s^2; leading axes broadcast
    external : None or (..., links, 6) N m and N, [moment; force] that acts on each link, in world axes about
        the world origin
    Friction and springs are not contained (`friction`, `joint_springs`). Raises ShapeError when an array does
    not fit the model. Source: Featherstone (2008), table 5.1.
    """
    nodes = motion_batch(packed_with_mass(model, "inverse dynamics"), q, v, a, external)
    tau, _, _ = inverse_dynamics(model, nodes)
    return nodes.unfold(tau, model.packed.n)


def base_wrench(
    model: KinematicTree, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: ArrayLike | None = None
) -> np.ndarray:
    """Wrench that the ground exerts on the robot, (..., 6) [moment; force] N m and N, world axes and origin.

    base_wrench = d momentum / dt - weight - sum of `external`. Arguments and errors as in `rnea`.
    """
    nodes = motion_batch(packed_with_mass(model, "inverse dynamics"), q, v, a, external)
    _, _, base = inverse_dynamics(model, nodes, base=True)
    return nodes.unfold(base, 6)


def joint_wrenches(
    model: KinematicTree, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: ArrayLike | None = None
) -> np.ndarray:
    """Wrench that each joint transmits to its link, (..., links, 6) [moment; force] N m and N.

    In link axes, about the joint frame's origin; its component along the joint axis, S' wrench, is the torque
    of the joint. Exact rotors and external wrenches on links further out are contained. Arguments and errors
    as in `rnea`.
    """
    nodes = motion_batch(packed_with_mass(model, "inverse dynamics"), q, v, a, external)
    _, wrenches, _ = inverse_dynamics(model, nodes, wrenches=True)
    return nodes.unfold(wrenches, model.packed.links, 6)


def motion_batch(
    packed: PackedModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    external: ArrayLike | None = None,
    extra: Mapping[str, tuple[ArrayLike, tuple[int, ...]]] | None = None,
) -> Batch:
    """q, v, a, then external when given, then `extra`: checked and brought to (nodes, width)."""
    if external is None and extra is None:
        return batch(packed, q=q, v=v, a=a)
    further: dict[str, tuple[ArrayLike, tuple[int, ...]]] = {}
    if external is not None:
        further["external"] = external, (packed.links, 6)
    return batch_with(packed, {**further, **(extra or {})}, q=q, v=v, a=a)


def inverse_dynamics(
    model: KinematicTree, nodes: Batch, wrenches: bool = False, base: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(torques, joint wrenches, base wrench) as rows of nodes; what is not asked for is empty."""
    packed = model.packed
    absent = np.empty((0, 0), nodes.dtype)
    q, v, a = nodes.arrays[:3]
    tau = nodes.rows(packed.n)
    all_wrenches = nodes.rows(packed.links, 6) if wrenches else absent
    ground = nodes.rows(6) if base else absent
    _rnea(packed.tree, packed.numbers, packed.turned, q, v, a, nodes.given(3), tau, all_wrenches, ground)
    return tau, all_wrenches, ground
