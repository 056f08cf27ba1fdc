"""The Coriolis matrix C(q, v), the mass matrix M(q) and its rate, in one pass over composite bodies.

For j an ancestor of k, or k itself, with the sums I and B over the subtree of k (Echeandia and Wensing 2021,
Algorithm 1, in world axes, where carrying a column from k to j needs no transforms):
    M_jk = S_j . I S_k,   C_jk = S_j . (I Sd_k + B S_k),   C_kj = Sd_j . I S_k + S_j . B' S_k,   Mdot = C + C'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import short_repr
from dynamics.errors import DynamicsError
from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.inertia import (
    body_factor,
    body_inertia,
    clear_entries,
    factor_times,
    factor_transposed_times,
    increase_slots,
    inertia_times,
    load_factor,
    load_inertia,
    store_factor,
    store_inertia,
)
from dynamics.kernels.node_batch import batch
from dynamics.kernels.outward_sweep import AXIS, AXIS_RATE, MOVED, clear_pose, move, place
from dynamics.kernels.rotation_vectors.serial_motion import SerialMotion
from dynamics.kernels.simd import gather, width
from dynamics.kernels.spatial_algebra import (
    add,
    add6,
    cross,
    dot,
    dot6,
    load3,
    load6,
    put,
    scale,
    store3,
    sub,
    workspace,
)
from dynamics.model.kinematic_tree import KinematicTree, packed_with_mass
from dynamics.model.packed_model import ARMATURE, COORDINATE, PARENT

INERTIA, FACTOR, SKEW = MOVED, MOVED + 10, MOVED + 22  # summed over subtrees
SLOTS = MOVED + 37


@inlined
def sweep_body(work, tree, numbers, body, q, v):
    """Pose, velocity, axis and its rate, inertia and body factor of one body."""
    at, parent = body * SLOTS, tree[body, PARENT] * SLOTS
    frame, origin = place(work, tree, numbers, body, at, parent, q)
    V = move(work, at, parent, v)
    I = body_inertia(work, numbers, body, frame, origin)
    B = body_factor(I, V)
    store_inertia(work, at + INERTIA, I)
    store_factor(work, at + FACTOR, B)
    return V, I, B


@inlined
def store_skew(work, at, I, V):
    """(V x*) I - B, the plain body factor less B: a skew-symmetric matrix [[d^, -D'], [D, m w^]].

    D = m v^ - h^ w^ and d = tr(J) w / 2 + h x v. Columns of D first, then d, then m w.
    """
    (w, v), (m, h, J) = V, I
    x, y, z = scale(m, v)
    along = dot(h, w)
    store3(work, at, (along - w[0] * h[0], z - w[1] * h[0], -y - w[2] * h[0]))
    store3(work, at + 3, (-z - w[0] * h[1], along - w[1] * h[1], x - w[2] * h[1]))
    store3(work, at + 6, (y - w[0] * h[2], -x - w[1] * h[2], along - w[2] * h[2]))
    store3(work, at + 9, add(scale(0.5 * (J[0] + J[3] + J[5]), w), cross(h, v)))
    store3(work, at + 12, scale(m, w))


@inlined
def skew_times(work, at, S):
    """The sum over a subtree of what `store_skew` stores, times a twist."""
    x, y, z, d = load3(work, at), load3(work, at + 3), load3(work, at + 6), load3(work, at + 9)
    w, v = S
    lower = add(add(scale(w[0], x), scale(w[1], y)), scale(w[2], z))
    upper = sub(cross(d, w), (dot(x, v), dot(y, v), dot(z, v)))
    return upper, add(lower, cross(load3(work, at + 12), v))


@inlined
def add_pairs(work, tree, numbers, k, plain, adds, out, n, blocks, block):
    """Entries of C, Mdot and M for all pairs of k with itself and its ancestors."""
    at, c = k * SLOTS, tree[k, COORDINATE]
    I, B = load_inertia(work, at + INERTIA), load_factor(work, at + FACTOR)
    S, Sd = load6(work, at + AXIS), load6(work, at + AXIS_RATE)
    momentum, turned = inertia_times(I, S), factor_transposed_times(B, S)
    force = add6(inertia_times(I, Sd), factor_times(B, S))
    skew = force
    if plain:
        skew = skew_times(work, at + SKEW, S)
    size, j = n * n * blocks, k
    while j > 0:
        i, above = tree[j, COORDINATE], j * SLOTS
        S, Sd = load6(work, above + AXIS), load6(work, above + AXIS_RATE)
        C_jk, C_kj, M_jk = dot6(S, force), dot6(Sd, momentum) + dot(S[0], turned), dot6(S, momentum)
        rate = C_jk + C_kj
        if plain:
            e = dot6(S, skew)
            C_jk, C_kj = C_jk + e, C_kj - e
        upper, lower = (i * n + c) * blocks + block, (c * n + i) * blocks + block
        if j == k:
            M_jk = M_jk + numbers[k, ARMATURE]
        else:
            put(out, lower, C_kj, adds)
            put(out, lower + size, rate, adds)
            put(out, lower + 2 * size, M_jk, adds)
        put(out, upper, C_jk, adds)
        put(out, upper + size, rate, adds)
        put(out, upper + 2 * size, M_jk, adds)
        j = tree[j, PARENT]


@kernel
def _coriolis_matrix(tree, numbers, q, v, plain, entries_to_clear, adds, out):
    bodies, n, blocks = tree.shape[0], q.shape[1], out.shape[3]
    work = workspace(q, bodies * SLOTS)
    for block in range(blocks):
        node = block * width(q)
        clear_pose(work, SLOTS)
        clear_entries(out, 3, entries_to_clear, block)
        for body in range(1, bodies):
            i = tree[body, COORDINATE]
            V, I, _ = sweep_body(work, tree, numbers, body, gather(q, node, i), gather(v, node, i))
            if plain:
                store_skew(work, body * SLOTS + SKEW, I, V)
        for k in range(bodies - 1, 0, -1):
            add_pairs(work, tree, numbers, k, plain, adds, out, n, blocks, block)
            count = SLOTS - INERTIA if plain else SKEW - INERTIA
            increase_slots(work, tree[k, PARENT] * SLOTS + INERTIA, k * SLOTS + INERTIA, count)


@dataclass(frozen=True, eq=False)
class CoriolisMatrices:
    """C(q, v), Mdot = dM/dt along v and M(q), each (..., n, n); tau = M a + C v + g, Mdot = C + C'."""

    C: np.ndarray
    Mdot: np.ndarray
    M: np.ndarray


def coriolis_matrix(
    model: KinematicTree,
    q: ArrayLike,
    v: ArrayLike,
    body_factor: Literal["christoffel", "plain"] = "christoffel",
) -> CoriolisMatrices:
    """Coriolis matrix C(q, v), dM/dt along v, and M(q): tau = M a + C v + g(q), Mdot = C + C'.

    q, v : (..., n) rad or m, and their rates
    body_factor : "christoffel" gives C_ij = sum over k of Gamma_ijk v_k, the only choice with
        d(C v)/dv = 2 C; "plain" uses (V x*) I for each body, which has the same C v and C + C'
    M in kg m^2, kg m or kg, C and Mdot per s. Exactly zero between coordinates on different branches. The
    matrices are strided views, node axis last in memory.
    Raises ShapeError when q or v does not fit the model, DynamicsError for another body factor.
    Source: Echeandia and Wensing (2021), Algorithm 1, eqs. 11 and 12.
    """
    if not isinstance(body_factor, str) or body_factor not in ("christoffel", "plain"):
        raise DynamicsError(f'body_factor is {short_repr(body_factor)}; choose "christoffel" or "plain"')
    packed = packed_with_mass(model, "the Coriolis matrix")
    nodes = batch(packed, q=q, v=v)
    if model.rotation_joints:
        found = serial_coriolis(SerialMotion(model, nodes, 2), body_factor)
        return CoriolisMatrices(*(nodes.unfold(part, packed.n, packed.n) for part in found))
    out, plain = nodes.slots(3, packed.n, packed.n, cleared=False), body_factor == "plain"
    _coriolis_matrix(
        packed.tree,
        packed.numbers,
        *nodes.arrays,
        plain,
        packed.entries_to_clear,
        packed.shares_coordinates,
        out,
    )
    planes = nodes.unblock(out)
    return CoriolisMatrices(*(planes[..., i, :, :] for i in range(3)))


def serial_coriolis(motion: SerialMotion, body_factor: Literal["christoffel", "plain"]) -> tuple[Any, ...]:
    """C = E' (C_e E + M_e dE/dt), Mdot and M of a model with rotation vectors, by its serial form."""
    q, v = motion.arrays
    found = coriolis_matrix(motion.model.serial, q, v, body_factor)
    C, M = motion.matrix(found.C), found.M
    for chart, D1 in zip(motion.charts, motion.D1, strict=True):
        C[:, :, chart.coordinates] += motion.rows(M[:, :, motion.form.own[chart.coordinates]] @ D1)
    return C, C + np.swapaxes(C, 1, 2), motion.matrix(M)
