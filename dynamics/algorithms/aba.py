"""Forward dynamics by the articulated-body algorithm (ABA), with exact rotors, in O(bodies).

Bodies that share a coordinate and a parent - a link and its rotor - are eliminated together, by Gauss'
principle of least constraint (Echeandia 2020, chapter 4, with the cross terms between link and rotor that
the printed algorithm lacks). Over the members of the group
    U = sum I_A S,  D = sum S' I_A S,  u = tau - sum S' (p_A + I_A c),
    I_parent += sum I_A - U U' / D,  p_parent += sum (p_A + I_A c) + U u / D,
and outward a = (u - U' A_parent) / D. World axes need no transforms: the sums are plain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics.kernels.compile import inlined, kernel, subroutine
from dynamics.kernels.inertia import body_factor, body_inertia, clear, factor_times, increase_slots
from dynamics.kernels.node_batch import Batch, batch_with
from dynamics.kernels.outward_sweep import (
    AXIS,
    AXIS_RATE,
    FRAME,
    MOVED,
    ORIGIN,
    clear_pose,
    move,
    place,
)
from dynamics.kernels.rotation_vectors.stumpff import stumpff
from dynamics.kernels.rotation_vectors.turned_body import load_on, move_turned, place_turned, vector
from dynamics.kernels.simd import gather, load, same, scatter, store, width
from dynamics.kernels.spatial_algebra import (
    add,
    add6,
    add_scaled6,
    constant3,
    dot,
    dot6,
    gather6,
    increase6,
    load3,
    load6,
    load_frame,
    load_symmetric,
    negative,
    rotate,
    rotate_back,
    same3,
    scale,
    scale6,
    store3,
    store6,
    store_frame,
    store_symmetric,
    sub6,
    symmetric_times,
    workspace,
    zero3,
)
from dynamics.model.kinematic_tree import KinematicTree, packed_with_mass
from dynamics.model.packed_model import ARMATURE, COORDINATE, FIRST, LINK, NEXT, PARENT, POSITION

# I_A = [[J, H], [H', M]], then p_A: summed over groups into the parent
J_A, H_A, M_A, P_A = MOVED, MOVED + 6, MOVED + 15, MOVED + 21
U, INVERSE_D, SMALL_U, ACCELERATION = MOVED + 27, MOVED + 33, MOVED + 34, MOVED + 35
SLOTS = MOVED + 41
LEAST_RATE = 1e-6  # of the angular velocity over the rate of a rotation vector: below, rounding decides


@inlined
def articulated_times(work, at, S):
    """I_A S."""
    J, H, M = load_symmetric(work, at + J_A), load_frame(work, at + H_A), load_symmetric(work, at + M_A)
    angular = add(symmetric_times(J, S[0]), rotate(H, S[1]))
    return angular, add(rotate_back(H, S[0]), symmetric_times(M, S[1]))


@inlined
def store_rigid(work, at, inertia):
    """The articulated inertia of a body alone; H = h^ column by column."""
    m, h, J = inertia
    zero = same(work, 0.0)
    store_symmetric(work, at + J_A, J)
    store_frame(work, at + H_A, ((zero, h[2], -h[1]), (-h[2], zero, h[0]), (h[1], -h[0], zero)))
    store_symmetric(work, at + M_A, (m, zero, zero, m, zero, m))


@inlined
def store_outer(work, slot, a, b):
    """Add a b' to six slots of a symmetric matrix; a and b are parallel."""
    store3(work, slot, add(load3(work, slot), scale(a[0], b)))
    store(work, slot + 3, load(work, slot + 3) + a[1] * b[1])
    store(work, slot + 4, load(work, slot + 4) + a[1] * b[2])
    store(work, slot + 5, load(work, slot + 5) + a[2] * b[2])


@inlined
def subtract_rank_one(work, at, force, inverse):
    """I_A -= U U' / D."""
    g, l = force
    scaled = negative(scale(inverse, g))
    store_outer(work, at + J_A, scaled, g)
    for axis in range(3):
        slot = at + H_A + 3 * axis
        store3(work, slot, add(load3(work, slot), scale(l[axis], scaled)))
    store_outer(work, at + M_A, negative(scale(inverse, l)), l)


@inlined
def add_member(work, parent, at, v, force, inertial, torque):
    """One body of a group: its shares of U, D and u; its articulated quantities go to the parent."""
    S = load6(work, at + AXIS)
    IS = articulated_times(work, at, S)
    p = add6(load6(work, at + P_A), articulated_times(work, at, scale6(v, load6(work, at + AXIS_RATE))))
    store6(work, at + P_A, p)
    increase_slots(work, parent + J_A, at + J_A, U - J_A)
    return add6(force, IS), inertial + dot6(S, IS), torque - dot6(S, p)


@inlined
def eliminate(work, tree, numbers, body, v, tau):
    """Eliminate the coordinate of the group whose first body is `body`."""
    at, parent = body * SLOTS, tree[body, PARENT] * SLOTS
    force, torque = (zero3(work), zero3(work)), tau
    inertial = same(work, 0.0)
    member = body
    while member > 0:
        inertial = inertial + numbers[member, ARMATURE]
        force, inertial, torque = add_member(work, parent, member * SLOTS, v, force, inertial, torque)
        member = tree[member, NEXT]
    inverse = 1.0 / inertial
    store6(work, at + U, force)
    store(work, at + INVERSE_D, inverse)
    store(work, at + SMALL_U, torque)
    subtract_rank_one(work, parent, force, inverse)
    increase6(work, parent + P_A, scale6(torque * inverse, force))


@subroutine
def turn(work, tree, numbers, body, q, v, external, node):
    """All that is stored outward of the three bodies of a rotation vector, of which this is the last."""
    first, at = body - 2, body * SLOTS
    vector_q, rate = vector(q, tree, first, node), vector(v, tree, first, node)
    c = stumpff(dot(vector_q, vector_q))
    place_turned(work, tree, numbers, first, SLOTS, c, vector_q)
    V = move_turned(work, tree, numbers, first, SLOTS, c, vector_q, rate)
    for above in range(first, body):
        clear(work, above * SLOTS + MOVED, U - MOVED)
    frame, origin = load_frame(work, at + FRAME), load3(work, at + ORIGIN)
    I = body_inertia(work, numbers, body, frame, origin)
    store_rigid(work, at, I)
    p = factor_times(body_factor(I, V), V)
    if external.shape[0] > 0:
        p = sub6(p, load_on(tree, external, body, node))
    store6(work, at + P_A, p)


@kernel
def _aba(tree, numbers, turned, q, v, tau, external, a):
    bodies, n = tree.shape[0], q.shape[1]
    work = workspace(q, bodies * SLOTS + n)
    for node in range(0, q.shape[0], width(q)):
        clear_pose(work, SLOTS)
        for body in range(1, bodies):
            i, at, parent = tree[body, COORDINATE], body * SLOTS, tree[body, PARENT] * SLOTS
            if turned is not None and turned[body]:
                if turned[body] == 3:
                    turn(work, tree, numbers, body, q, v, external, node)
                continue
            frame, origin = place(work, tree, numbers, body, at, parent, gather(q, node, i))
            V = move(work, at, parent, gather(v, node, i))
            I = body_inertia(work, numbers, body, frame, origin)
            store_rigid(work, at, I)
            p = factor_times(body_factor(I, V), V)
            if external.shape[0] > 0 and tree[body, LINK] >= 0:
                p = sub6(p, gather6(external, node, 6 * tree[body, LINK]))
            store6(work, at + P_A, p)

        for body in range(bodies - 1, 0, -1):
            if tree[body, FIRST]:
                i = tree[body, COORDINATE]
                eliminate(work, tree, numbers, body, gather(v, node, i), gather(tau, node, i))

        store3(work, ACCELERATION, zero3(work))
        store3(work, ACCELERATION + 3, same3(work, constant3(numbers, 0, POSITION)))
        for body in range(1, bodies):
            i, at, parent = tree[body, COORDINATE], body * SLOTS, tree[body, PARENT] * SLOTS
            A, found = load6(work, parent + ACCELERATION), bodies * SLOTS + i
            if tree[body, FIRST]:
                rest = load(work, at + SMALL_U) - dot6(A, load6(work, at + U))
                store(work, found, load(work, at + INVERSE_D) * rest)
                scatter(a, node, i, load(work, found))
            A = add_scaled6(A, gather(v, node, i), load6(work, at + AXIS_RATE))
            store6(work, at + ACCELERATION, add_scaled6(A, load(work, found), load6(work, at + AXIS)))


def aba(
    model: KinematicTree, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None = None
) -> np.ndarray:
    """Forward dynamics a = M(q)^-1 (tau - C(q, v) v - g(q) + J' external), (..., n) rad/s^2 or m/s^2.

    q, v, tau : (..., n) rad or m, rad/s or m/s, N m or N; leading axes broadcast
    external : None or (..., links, 6) wrenches on the links, as in `rnea`
    Rotors as `model.rotors` says. O(n), but O(n^3) through the mass matrix for a model in which mimic joints
    on different parents share a coordinate. NaN where a rotation vector is as long as a multiple of 2 pi: its
    rates there do not reach every angular velocity.
    Raises ShapeError when an array does not fit the model.
    Source: Featherstone (2008), table 7.1; rotors after Echeandia (2020), ch. 4, corrected.
    """
    packed = packed_with_mass(model, "forward dynamics", of_all_joints=True)
    extra = {} if external is None else {"external": (external, (packed.links, 6))}
    nodes = batch_with(packed, extra, q=q, v=v, tau=tau)
    acceleration = forward_dynamics(model, nodes)
    for joint in model.rotation_joints:
        length = np.linalg.norm(np.real(nodes.arrays[0][:, joint.coordinates]), axis=1)
        acceleration[np.abs(np.sinc(length / (2.0 * np.pi))) < LEAST_RATE] = np.nan
    return nodes.unfold(acceleration, packed.n)


def forward_dynamics(model: KinematicTree, nodes: Batch) -> np.ndarray:
    """(nodes, n) accelerations from q, v, tau and, when there, external."""
    packed = model.packed
    q, v, tau = nodes.arrays[:3]
    if not packed.siblings_only:
        return solve_mass_matrix(model, nodes)
    a = nodes.rows(packed.n)
    _aba(packed.tree, packed.numbers, packed.turned, q, v, tau, nodes.given(3), a)
    return a


def solve_mass_matrix(model: KinematicTree, nodes: Batch) -> np.ndarray:
    """The accelerations of `forward_dynamics` from M and the bias force, for any shared coordinates."""
    from dynamics.algorithms.crba import crba
    from dynamics.algorithms.rnea import rnea

    q, v, tau = nodes.arrays[:3]
    external = nodes.arrays[3].reshape(nodes.nodes, model.packed.links, 6) if len(nodes.arrays) > 3 else None
    rest = tau - rnea(model, q, v, np.zeros_like(q), external)
    return np.linalg.solve(crba(model, q), rest[..., None])[..., 0]
