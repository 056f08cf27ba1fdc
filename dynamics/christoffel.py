"""The Christoffel symbols of the first kind, on trees, with rotors and mimic joints, in O(bodies depth^2).

For i, j, k on one branch, i no further out than j and j no further out than k, with I summed over the subtree
of k and B = B[I, S_k] (Echeandia and Wensing 2021, Algorithm 2, in world axes):
    Gamma_ijk = S_i . B S_j,   Gamma_jik = S_i . B' S_j,   Gamma_kij = -Gamma_jik,   Gamma_kik = 0
The paper's third matrix D = (I S_k) xbar* - B is -B' here: the right half of B vanishes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.batch import batch
from dynamics.inertia import (
    body_factor,
    body_inertia,
    factor_times,
    factor_transposed_times,
    increase_slots,
    load_inertia,
    store_inertia,
)
from dynamics.kernel import kernel, lane
from dynamics.lanes import dot, dot6, increase, load3, load6, zero3
from dynamics.packed import COORDINATE, PARENT
from dynamics.sweep import AXIS, POSED, clear_pose, place
from dynamics.vector import gather, store, width

if TYPE_CHECKING:
    from dynamics.model import RigidBodyModel

INERTIA = POSED  # summed over the subtree
SLOTS = POSED + 10


@lane
def put(out, shared, slot, value):
    """Entries that several pairs of bodies contribute to are sums; the others need no reading."""
    if shared:
        increase(out, slot, value)
    else:
        store(out, slot, value)


@lane
def put_symbols(work, tree, k, shared, out, n, blocks, block):
    """All symbols of body k with two of its ancestors, itself among them."""
    B = body_factor(load_inertia(work, k * SLOTS + INERTIA), load6(work, k * SLOTS + AXIS))
    zero = zero3(work)[0]
    row, plane, c = n * blocks, n * n * blocks, tree[k, COORDINATE]
    j = k
    while j > 0:
        S, b = load6(work, j * SLOTS + AXIS), tree[j, COORDINATE]
        carried, turned = factor_times(B, S), factor_transposed_times(B, S)
        i = j
        while i > 0:
            S, a = load6(work, i * SLOTS + AXIS), tree[i, COORDINATE]
            outer, inner = dot6(S, carried), dot(S[0], turned)
            if j == k:
                inner = zero
            put(out, shared, a * plane + b * row + c * blocks + block, outer)
            if j != k:
                put(out, shared, a * plane + c * row + b * blocks + block, outer)
            if i != j:
                put(out, shared, b * plane + a * row + c * blocks + block, inner)
                put(out, shared, b * plane + c * row + a * blocks + block, inner)
            if j != k:
                put(out, shared, c * plane + a * row + b * blocks + block, -inner)
                if i != j:
                    put(out, shared, c * plane + b * row + a * blocks + block, -inner)
            i = tree[i, PARENT]
        j = tree[j, PARENT]


@kernel
def _christoffel_symbols(tree, numbers, q, shared, out):
    bodies, n, blocks = tree.shape[0], q.shape[1], out.shape[3]
    work = np.empty((bodies * SLOTS, width(q)), q.dtype)
    for block in range(blocks):
        clear_pose(work, SLOTS)
        for body in range(1, bodies):
            at, i = body * SLOTS, tree[body, COORDINATE]
            qi = gather(q, block * width(q), i)
            frame, origin = place(work, tree, numbers, body, at, tree[body, PARENT] * SLOTS, qi)
            store_inertia(work, at + INERTIA, body_inertia(work, numbers, body, frame, origin))
        for k in range(bodies - 1, 0, -1):
            put_symbols(work, tree, k, shared, out, n, blocks, block)
            increase_slots(work, tree[k, PARENT] * SLOTS + INERTIA, k * SLOTS + INERTIA, 10)


def christoffel_symbols(model: RigidBodyModel, q: Any) -> np.ndarray:
    """Gamma_ijk = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i), (..., n, n, n), torque index first.

    C_ij = sum over k of Gamma_ijk v_k, Gamma_ijk = Gamma_ikj, dM_ij/dq_k = Gamma_ijk + Gamma_jik.

    q : (..., n) rad or m. Rotors as the model treats them. Exactly zero unless i, j and k lie on one branch.
    A strided view, node axis last in memory. Raises ShapeError.
    Source: Echeandia and Wensing (2021), Algorithm 2.
    """
    packed = model.packed
    nodes = batch(packed, q=q)
    out = nodes.slots(packed.n, packed.n, packed.n)
    shared = len(packed.tree) - 1 > packed.n
    _christoffel_symbols(packed.tree, packed.numbers, nodes.arrays[0], shared, out)
    return nodes.unblock(out)
