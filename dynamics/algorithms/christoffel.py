"""Christoffel symbols of the first kind of a tree, rotors and mimic joints included, in O(bodies depth^2).

For i, j, k on one branch, i no further out than j and j no further out than k, with I summed over the subtree
of k and B = B[I, S_k] (Echeandia and Wensing 2021, Algorithm 2, in world axes):
    Gamma_ijk = S_i . B S_j,   Gamma_jik = S_i . B' S_j,   Gamma_kij = -Gamma_jik,   Gamma_kik = 0
The paper's third matrix D = (I S_k) xbar* - B is -B' here: the right half of B vanishes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics.algorithms.crba import crba
from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.inertia import (
    body_factor,
    body_inertia,
    factor_times,
    factor_transposed_times,
    increase_slots,
    load_factor,
    load_inertia,
    store_factor,
    store_inertia,
)
from dynamics.kernels.node_batch import BLOCKS_TOGETHER, batch
from dynamics.kernels.outward_sweep import AXIS, POSED, clear_pose, place
from dynamics.kernels.rotation_vectors.serial_motion import SerialMotion
from dynamics.kernels.simd import gather, same, width
from dynamics.kernels.spatial_algebra import dot, dot6, load6, put
from dynamics.model.kinematic_tree import KinematicTree, packed_with_mass
from dynamics.model.packed_model import COORDINATE, PARENT

INERTIA, FACTOR = POSED, POSED + 10  # I, summed over the subtree, and B[I, S]
SLOTS = POSED + 22


@inlined
def compose(work, tree, numbers, q, node):
    """Axis, inertia of the subtree and body factor of every body at one block of nodes."""
    bodies = tree.shape[0]
    clear_pose(work, SLOTS)
    for body in range(1, bodies):
        at, parent = body * SLOTS, tree[body, PARENT] * SLOTS
        frame, origin = place(work, tree, numbers, body, at, parent, gather(q, node, tree[body, COORDINATE]))
        store_inertia(work, at + INERTIA, body_inertia(work, numbers, body, frame, origin))
    for k in range(bodies - 1, 0, -1):
        at = k * SLOTS
        B = body_factor(load_inertia(work, at + INERTIA), load6(work, at + AXIS))
        store_factor(work, at + FACTOR, B)
        increase_slots(work, tree[k, PARENT] * SLOTS + INERTIA, at + INERTIA, 10)


@inlined
def put_symbols(work, tree, k, j, adds, out, n, blocks, block):
    """All symbols of bodies k and j, an ancestor of k or k itself, with the ancestors of j and j itself."""
    S, B = load6(work, j * SLOTS + AXIS), load_factor(work, k * SLOTS + FACTOR)
    carried, turned = factor_times(B, S), factor_transposed_times(B, S)
    row, plane, b, c = n * blocks, n * n * blocks, tree[j, COORDINATE], tree[k, COORDINATE]
    i = j
    while i > 0:
        S, a = load6(work, i * SLOTS + AXIS), tree[i, COORDINATE]
        outer, inner = dot6(S, carried), dot(S[0], turned)
        if j == k:  # no rounding where M_kk does not depend on q_i and q_k
            inner = same(work, 0.0)
            if i == k:
                outer = same(work, 0.0)
        put(out, a * plane + b * row + c * blocks + block, outer, adds)
        if j != k:
            put(out, a * plane + c * row + b * blocks + block, outer, adds)
            put(out, c * plane + a * row + b * blocks + block, -inner, adds)
        if i != j:
            put(out, b * plane + a * row + c * blocks + block, inner, adds)
            put(out, b * plane + c * row + a * blocks + block, inner, adds)
            if j != k:
                put(out, c * plane + b * row + a * blocks + block, -inner, adds)
        i = tree[i, PARENT]


@kernel
def _christoffel_symbols(tree, numbers, q, adds, out):
    bodies, n, blocks = tree.shape[0], q.shape[1], out.shape[3]
    work = np.empty((min(blocks, BLOCKS_TOGETHER), bodies * SLOTS, width(q)), q.dtype)
    for first in range(0, blocks, BLOCKS_TOGETHER):
        together = min(blocks - first, BLOCKS_TOGETHER)
        for block in range(together):
            compose(work[block], tree, numbers, q, (first + block) * width(q))
        for k in range(bodies - 1, 0, -1):
            j = k
            while j > 0:
                for block in range(together):
                    put_symbols(work[block], tree, k, j, adds, out, n, blocks, first + block)
                j = tree[j, PARENT]


def christoffel_symbols(model: KinematicTree, q: ArrayLike) -> np.ndarray:
    """Gamma_ijk = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i), (..., n, n, n), torque index first.

    C_ij = sum over k of Gamma_ijk v_k, Gamma_ijk = Gamma_ikj, dM_ij/dq_k = Gamma_ijk + Gamma_jik.

    q : (..., n) rad or m; M in kg m^2, kg m or kg, so Gamma_ijk v_j v_k is in N m or N. Rotors as
    `model.rotors` says. Exactly zero unless i, j and k lie on one branch. The result is a strided view, node
    axis last in memory. Raises ShapeError when q does not have n columns.
    Source: Echeandia and Wensing (2021), Algorithm 2.
    """
    packed = packed_with_mass(model, "the Christoffel symbols")
    nodes = batch(packed, q=q)
    if model.rotation_joints:
        return nodes.unfold(serial_symbols(SerialMotion(model, nodes, 2)), packed.n, packed.n, packed.n)
    # On a chain the kernel writes every entry; clearing them first would cost a third of the whole.
    some_stay_zero = packed.shares_coordinates or not packed.same_branch.all()
    out = nodes.slots(packed.n, packed.n, packed.n, cleared=bool(some_stay_zero))
    _christoffel_symbols(packed.tree, packed.numbers, nodes.arrays[0], packed.shares_coordinates, out)
    return nodes.unblock(out)


def serial_symbols(motion: SerialMotion) -> np.ndarray:
    """Gamma of a model with rotation vectors: that of its serial form in p, and E' M_e E2."""
    q = motion.arrays[0]
    found = motion.rows(christoffel_symbols(motion.model.serial, q))
    found = motion.columns(np.swapaxes(motion.columns(found), 2, 3))
    M = motion.rows(crba(motion.model.serial, q))
    for chart in motion.charts:
        at = chart.coordinates
        found[:, :, at, at] += np.einsum("kia,kabc->kibc", M[:, :, motion.form.own[at]], chart.E2)
    return 0.5 * (found + np.swapaxes(found, 2, 3))  # equal but for rounding
