"""Products of the Coriolis matrix with a vector, without the matrix, in O(bodies).

With W_b = sum of S_k w_k and Z_b = sum of Sd_k w_k along the path to b,
    C w = sum over b of J_b' (I_b Z_b + B_b W_b),   C' w = sum over b of Jdot_b' I_b W_b + J_b' B_b' W_b.
C(q, v) q_r serves passivity-based control, C(q, v)' v momentum observers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics.algorithms.crba import crba
from dynamics.kernels.compile import kernel
from dynamics.kernels.inertia import (
    body_factor,
    body_inertia,
    factor_times,
    factor_transposed_times,
    increase_slots,
    inertia_times,
)
from dynamics.kernels.node_batch import Batch, batch
from dynamics.kernels.outward_sweep import AXIS, AXIS_RATE, MOVED, clear_pose, move, place
from dynamics.kernels.rotation_vectors.serial_motion import SerialMotion, times
from dynamics.kernels.simd import gather, load, scatter, store, width
from dynamics.kernels.spatial_algebra import (
    add6,
    add_scaled6,
    dot,
    dot6,
    increase,
    load3,
    load6,
    store3,
    store6,
    workspace,
    zero3,
)
from dynamics.model.kinematic_tree import KinematicTree, packed_with_mass
from dynamics.model.packed_model import COORDINATE, PARENT

TWIST, TWIST_RATE = MOVED, MOVED + 6  # W, Z
FORCE, CARRIED, MOMENT = MOVED + 12, MOVED + 18, MOVED + 24  # sums of I Z + B W, I W, B' W
SLOTS = MOVED + 27


@kernel
def _coriolis_products(tree, numbers, q, v, w, product, transposed):
    bodies, n = tree.shape[0], q.shape[1]
    work = workspace(q, bodies * SLOTS + 2 * n)
    for node in range(0, q.shape[0], width(q)):
        clear_pose(work, SLOTS)
        for i in range(2 * n):
            store(work, bodies * SLOTS + i, zero3(work)[0])
        for body in range(1, bodies):
            at, parent = body * SLOTS, tree[body, PARENT] * SLOTS
            i, weight = tree[body, COORDINATE], gather(w, node, tree[body, COORDINATE])
            frame, origin = place(work, tree, numbers, body, at, parent, gather(q, node, i))
            V = move(work, at, parent, gather(v, node, i))
            W = add_scaled6(load6(work, parent + TWIST), weight, load6(work, at + AXIS))
            Z = add_scaled6(load6(work, parent + TWIST_RATE), weight, load6(work, at + AXIS_RATE))
            I = body_inertia(work, numbers, body, frame, origin)
            B = body_factor(I, V)
            store6(work, at + TWIST, W)
            store6(work, at + TWIST_RATE, Z)
            store6(work, at + FORCE, add6(inertia_times(I, Z), factor_times(B, W)))
            store6(work, at + CARRIED, inertia_times(I, W))
            store3(work, at + MOMENT, factor_transposed_times(B, W))
        for k in range(bodies - 1, 0, -1):
            at, i = k * SLOTS, bodies * SLOTS + tree[k, COORDINATE]
            S, Sd = load6(work, at + AXIS), load6(work, at + AXIS_RATE)
            increase(work, i, dot6(S, load6(work, at + FORCE)))
            lower = dot6(Sd, load6(work, at + CARRIED)) + dot(S[0], load3(work, at + MOMENT))
            increase(work, i + n, lower)
            increase_slots(work, tree[k, PARENT] * SLOTS + FORCE, at + FORCE, SLOTS - FORCE)
        for i in range(n):
            scatter(product, node, i, load(work, bodies * SLOTS + i))
            scatter(transposed, node, i, load(work, bodies * SLOTS + n + i))


def coriolis_product(model: KinematicTree, q: ArrayLike, v: ArrayLike, w: ArrayLike) -> np.ndarray:
    """C(q, v) w, (..., n) N m or N, with the C of the Christoffel symbols: symmetric in v and w.

    (C w)_i = sum over j and k of Gamma_ijk v_k w_j, in O(bodies), without forming C.

    q, v, w : (..., n) rad or m, and two sets of rates; leading axes broadcast
    Raises ShapeError when an array does not fit the model.
    Source: Echeandia and Wensing (2021), remark 2.
    """
    nodes, product, _ = products(model, q, v, w)
    return nodes.unfold(product, model.packed.n)


def coriolis_transposed_product(model: KinematicTree, q: ArrayLike, v: ArrayLike, w: ArrayLike) -> np.ndarray:
    """C(q, v)' w, (..., n) N m or N; with w = v it is Mdot v - C v, which momentum observers integrate.

    Arguments, errors and source as in `coriolis_product`.
    """
    nodes, _, transposed = products(model, q, v, w)
    return nodes.unfold(transposed, model.packed.n)


def products(
    model: KinematicTree, q: ArrayLike, v: ArrayLike, w: ArrayLike
) -> tuple[Batch, np.ndarray, np.ndarray]:
    """Both products as rows of nodes."""
    packed = packed_with_mass(model, "the Coriolis matrix")
    nodes = batch(packed, q=q, v=v, w=w)
    if model.rotation_joints:
        return nodes, *serial_products(model, nodes)
    product, transposed = nodes.rows(packed.n), nodes.rows(packed.n)
    _coriolis_products(packed.tree, packed.numbers, *nodes.arrays, product, transposed)
    return nodes, product, transposed


def serial_products(model: KinematicTree, nodes: Batch) -> tuple[np.ndarray, np.ndarray]:
    """Both products of a model with rotation vectors, C = E' (C_e E + M_e dE/dt), by its serial form."""
    w = nodes.arrays[2]
    motion = SerialMotion(model, Batch(nodes.arrays[:2], nodes.shape, nodes.dtype), 2)
    q, v = motion.arrays
    virtual, M = motion.velocities(w), crba(model.serial, q)
    _, product, transposed = products(model.serial, q, v, virtual)
    turning, weighted = np.zeros_like(product), times(M, virtual)
    transposed = motion.forces(transposed)
    for chart, D1 in zip(motion.charts, motion.D1, strict=True):
        own, at = motion.form.own[chart.coordinates], chart.coordinates
        turning[:, own] = times(D1, w[:, at])
        transposed[:, at] += times(np.swapaxes(D1, 1, 2), weighted[:, own])
    return motion.forces(product + times(M, turning)), transposed
