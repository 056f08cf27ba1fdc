"""Inverse dynamics by the recursive Newton-Euler algorithm (RNEA): torques, joint and base wrenches.

Velocities and accelerations run outward in the axes of each body, forces inward, as in Luh, Walker and
Paul (1980) and Featherstone, Rigid Body Dynamics Algorithms, table 5.1. Gravity enters as the ground's
acceleration -g.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.joint_motion import add_joint_motion, joint_force, local_pose
from dynamics.kernels.node_batch import Batch, batch, batch_with
from dynamics.kernels.pose import ground_frame, link_axes, local_force, rotated_frame
from dynamics.kernels.rotation_vectors.serial_motion import SerialMotion
from dynamics.kernels.simd import gather, load, scatter, store, width
from dynamics.kernels.spatial_algebra import (
    add,
    constant3,
    constant_symmetric,
    cross,
    gather6,
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
from dynamics.model.kinematic_tree import packed_of
from dynamics.model.packed_model import ARMATURE, COORDINATE, INERTIA, LINK, MASS, MOMENT, PARENT, POSITION

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

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
def move_outward(work, at, parent, tree, numbers, body, q, v, a):
    """Pose, velocity, acceleration and needed force of one body, from its parent's motion."""
    frame, origin = local_pose(work, numbers, body, q)
    omega, alpha = load3(work, parent + OMEGA), load3(work, parent + ALPHA)
    linear = add(cross(alpha, origin), cross(omega, cross(omega, origin)))
    linear = rotate_back(frame, add(load3(work, parent + ACCELERATION), linear))
    omega, alpha = rotate_back(frame, omega), rotate_back(frame, alpha)
    omega, alpha, linear = add_joint_motion(numbers, body, v, a, omega, alpha, linear)
    moment, force = newton_euler(numbers, body, omega, alpha, linear)
    store_frame(work, at + FRAME, frame)
    store3(work, at + ORIGIN, origin)
    store3(work, at + OMEGA, omega)
    store3(work, at + ALPHA, alpha)
    store3(work, at + ACCELERATION, linear)
    store3(work, at + MOMENT_OF_FORCE, moment)
    store3(work, at + FORCE, force)


@inlined
def subtract_external(work, at, parent, external, node, column):
    """Subtract the wrench that acts on the link, in world axes about the world origin, from the force."""
    frame, position = load_frame(work, at + FRAME), load3(work, at + ORIGIN)
    above, origin = load_frame(work, parent + WORLD_FRAME), load3(work, parent + WORLD_ORIGIN)
    origin, frame = add(origin, rotate(above, position)), rotated_frame(above, frame)
    store_frame(work, at + WORLD_FRAME, frame)
    store3(work, at + WORLD_ORIGIN, origin)
    if column < 0:  # a rotor
        return
    own = load3(work, at + MOMENT_OF_FORCE), load3(work, at + FORCE)
    own = sub6(own, local_force(frame, origin, gather6(external, node, column)))
    store3(work, at + MOMENT_OF_FORCE, own[0])
    store3(work, at + FORCE, own[1])


@kernel
def _rnea(tree, numbers, q, v, a, external, tau, wrenches, base):
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
            i, parent = tree[body, COORDINATE], tree[body, PARENT] * SLOTS
            at, rate, acceleration = body * SLOTS, gather(v, node, i), gather(a, node, i)
            move_outward(work, at, parent, tree, numbers, body, gather(q, node, i), rate, acceleration)
            increase(work, torque + i, numbers[body, ARMATURE] * acceleration)
            if external.shape[0] > 0:
                column = 6 * tree[body, LINK]
                subtract_external(work, at, parent, external, node, column)

        for body in range(bodies - 1, 0, -1):
            i, at, parent = tree[body, COORDINATE], body * SLOTS, tree[body, PARENT] * SLOTS
            moment, force = load3(work, at + MOMENT_OF_FORCE), load3(work, at + FORCE)
            increase(work, torque + i, joint_force(numbers, body, moment, force))
            if wrenches.shape[0] > 0 and tree[body, LINK] >= 0:
                w = link_axes(numbers, body, (moment, force))
                scatter6(wrenches, node, 6 * tree[body, LINK], w)
            frame = load_frame(work, at + FRAME)
            carried = rotate(frame, force)
            increase3(work, parent + FORCE, carried)
            lever = cross(load3(work, at + ORIGIN), carried)
            increase3(work, parent + MOMENT_OF_FORCE, add(rotate(frame, moment), lever))

        for i in range(n):
            scatter(tau, node, i, load(work, torque + i))
        if base.shape[0] > 0:
            scatter6(base, node, 0, (load3(work, MOMENT_OF_FORCE), load3(work, FORCE)))


def rnea(model: KinematicTree, q: Any, v: Any, a: Any, external: Any = None) -> np.ndarray:
    """Inverse dynamics: tau = M(q) a + C(q, v) v + g(q) - sum over links of J' external, (..., n) N m or N.

    q, v, a : (..., n) rad or m, and first and second rates per s and s^2; leading axes broadcast
    external : None or (..., links, 6) N m and N, [moment; force] that acts on each link, in world axes about
        the world origin
    Friction and springs are not contained (`friction`, `joint_springs`). Raises ShapeError when an array does
    not fit the model. Source: Featherstone (2008), table 5.1.
    """
    nodes = motion_batch(packed_of(model), q, v, a, external)
    tau, _, _ = inverse_dynamics(model, nodes)
    return nodes.unfold(tau, model.packed.n)


def base_wrench(model: KinematicTree, q: Any, v: Any, a: Any, external: Any = None) -> np.ndarray:
    """Wrench that the ground exerts on the robot, (..., 6) [moment; force] N m and N, world axes and origin.

    base_wrench = d momentum / dt - weight - sum of `external`. Arguments and errors as in `rnea`.
    """
    nodes = motion_batch(packed_of(model), q, v, a, external)
    _, _, base = inverse_dynamics(model, nodes, base=True)
    return nodes.unfold(base, 6)


def joint_wrenches(model: KinematicTree, q: Any, v: Any, a: Any, external: Any = None) -> np.ndarray:
    """Wrench that each joint transmits to its link, (..., links, 6) [moment; force] N m and N.

    In link axes, about the joint frame's origin; its component along the joint axis, S' wrench, is the torque
    of the joint. Exact rotors and external wrenches on links further out are contained. Arguments and errors
    as in `rnea`.
    """
    nodes = motion_batch(packed_of(model), q, v, a, external)
    _, wrenches, _ = inverse_dynamics(model, nodes, wrenches=True)
    return nodes.unfold(wrenches, model.packed.links, 6)


def motion_batch(packed: Any, q: Any, v: Any, a: Any, external: Any = None, extra: Any = None) -> Batch:
    """q, v, a, then external when given, then `extra`: checked and brought to (nodes, width)."""
    if external is None and extra is None:
        return batch(packed, q=q, v=v, a=a)
    further = {} if external is None else {"external": (external, (packed.links, 6))}
    return batch_with(packed, {**further, **(extra or {})}, q=q, v=v, a=a)


def inverse_dynamics(
    model: KinematicTree, nodes: Batch, wrenches: bool = False, base: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(torques, joint wrenches, base wrench) as rows of nodes; what is not asked for is empty."""
    if model.rotation_joints:
        return serial_inverse_dynamics(model, nodes, wrenches, base)
    packed = model.packed
    absent = np.empty((0, 0), nodes.dtype)
    q, v, a = nodes.arrays[:3]
    tau = nodes.rows(packed.n)
    all_wrenches = nodes.rows(packed.links, 6) if wrenches else absent
    ground = nodes.rows(6) if base else absent
    _rnea(packed.tree, packed.numbers, q, v, a, nodes.given(3), tau, all_wrenches, ground)
    return tau, all_wrenches, ground


def serial_inverse_dynamics(
    model: KinematicTree, nodes: Batch, wrenches: bool, base: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`inverse_dynamics` of a model with rotation vectors, by its serial form."""
    motion = SerialMotion(model, nodes, 2)
    loads = motion.wrenches(nodes.arrays[3]) if len(nodes.arrays) > 3 else None
    tau, on_links, ground = inverse_dynamics(model.serial, motion.batch(loads), wrenches, base)
    return motion.forces(tau), motion.own_wrenches(on_links) if wrenches else on_links, ground
