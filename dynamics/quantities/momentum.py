"""Kernels for centre of mass, momentum and energies with first and contracted second derivatives.

One pass over composite bodies. With sums over the subtree of k: inertia I and momentum H = sum I V, in world
axes about the world origin,
    D_k = S x* H + I Sd = d(momentum)/dq_k,   I S = d(momentum)/dv_k,   P_k = linear part of I S,
the first moment of mass has d/dq_k = P_k and d2/dq_j dq_k = w_j x P_k, the momentum contracted with y has
    q_j q_k: Sd_j . E - (S_j x y) . D,  q_j v_k: -(S_j x y) . I S,  v_j q_k: S_j . E,
with E = S x* (I y) - I (S x y), and the kinetic energy has
    q_j q_k: Sd_j . D,  q_j v_k: Sd_j . I S,  v_j q_k: S_j . D,  v_j v_k: S_j . I S,
for j before k on one branch, or k itself. Centre of mass and potential energy follow from the first moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.inertia import body_inertia, increase_slots, inertia_times, load_inertia, store_inertia
from dynamics.kernels.outward_sweep import AXIS, AXIS_RATE, MOVED, clear_pose, move, place
from dynamics.kernels.simd import gather, load, same, scatter, width
from dynamics.kernels.spatial_algebra import (
    add6,
    constant3,
    cross,
    cross_force,
    cross_motion,
    dot,
    dot6,
    gather3,
    gather6,
    increase,
    load6,
    same3,
    scale,
    scatter3,
    scatter6,
    store6,
    sub6,
    workspace,
)
from dynamics.model.packed_model import ARMATURE, COORDINATE, PARENT, POSITION

if TYPE_CHECKING:
    from dynamics.kernels.node_batch import Batch
    from dynamics.model.kinematic_tree import KinematicTree

INERTIA, MOMENTUM = MOVED, MOVED + 10  # summed over subtrees
SLOTS = MOVED + 16
# rows of values and derivatives: fixed, a model has one of each
CENTRE_ROW, MOMENTUM_ROW, KINETIC_ROW, POTENTIAL_ROW, ROWS = 0, 3, 9, 10, 11


@inlined
def move_masses(work, tree, numbers, q, v, node):
    """Poses, axes, velocities, inertias and momenta of all bodies; twice the kinetic energy is returned."""
    clear_pose(work, SLOTS)
    twice = same(work, 0.0)
    for body in range(1, tree.shape[0]):
        i, at, parent = tree[body, COORDINATE], body * SLOTS, tree[body, PARENT] * SLOTS
        frame, origin = place(work, tree, numbers, body, at, parent, gather(q, node, i))
        rate = gather(v, node, i)
        V = move(work, at, parent, rate)
        I = body_inertia(work, numbers, body, frame, origin)
        H = inertia_times(I, V)
        store_inertia(work, at + INERTIA, I)
        store6(work, at + MOMENTUM, H)
        twice = twice + dot6(V, H) + numbers[body, ARMATURE] * rate * rate
    return twice


@inlined
def add_to_parent(work, tree, k):
    """Add the sums of k to those of its parent."""
    increase_slots(work, tree[k, PARENT] * SLOTS + INERTIA, k * SLOTS + INERTIA, SLOTS - INERTIA)


@inlined
def moving_forces(work, k):
    """S, Sd, H, D = S x* H + I Sd and I S of body k, whose sums are complete."""
    at = k * SLOTS
    S, Sd, H = load6(work, at + AXIS), load6(work, at + AXIS_RATE), load6(work, at + MOMENTUM)
    I = load_inertia(work, at + INERTIA)
    return S, Sd, H, add6(cross_force(S, H), inertia_times(I, Sd)), inertia_times(I, S)


@inlined
def add_column(out, row, which, column, block, value):
    """Add to one entry of (rows, 2, n, blocks, width)."""
    increase(out, ((row * 2 + which) * out.shape[2] + column) * out.shape[3] + block, value)


@inlined
def add_column3(out, row, which, column, block, a):
    add_column(out, row, which, column, block, a[0])
    add_column(out, row + 1, which, column, block, a[1])
    add_column(out, row + 2, which, column, block, a[2])


@inlined
def add_mass_column(work, numbers, k, c, v, total, out, block):
    """Derivatives of all rows by the coordinate of body k."""
    S, Sd, H, D, IS = moving_forces(work, k)
    gravity = same3(work, constant3(numbers, 0, POSITION))  # minus the field
    add_column3(out, CENTRE_ROW, 0, c, block, scale(1.0 / total, IS[1]))
    add_column3(out, MOMENTUM_ROW, 0, c, block, D[0])
    add_column3(out, MOMENTUM_ROW + 3, 0, c, block, D[1])
    add_column3(out, MOMENTUM_ROW, 1, c, block, IS[0])
    add_column3(out, MOMENTUM_ROW + 3, 1, c, block, IS[1])
    add_column(out, KINETIC_ROW, 0, c, block, dot6(Sd, H))
    add_column(out, KINETIC_ROW, 1, c, block, dot6(S, H) + numbers[k, ARMATURE] * v)
    add_column(out, POTENTIAL_ROW, 0, c, block, dot(gravity, IS[1]))


@kernel
def _masses(tree, numbers, q, v, values, out):
    blocks = -(-q.shape[0] // width(q))
    work = workspace(q, tree.shape[0] * SLOTS)
    for block in range(blocks):
        node = block * width(q)
        twice = move_masses(work, tree, numbers, q, v, node)
        for k in range(tree.shape[0] - 1, 0, -1):
            add_to_parent(work, tree, k)
        total, moment, _ = load_inertia(work, INERTIA)
        scatter3(values, node, CENTRE_ROW, scale(1.0 / total, moment))
        scatter6(values, node, MOMENTUM_ROW, load6(work, MOMENTUM))
        scatter(values, node, KINETIC_ROW, 0.5 * twice)
        gravity = same3(work, constant3(numbers, 0, POSITION))
        scatter(values, node, POTENTIAL_ROW, dot(gravity, moment))
        if out.shape[0] > 0:
            for k in range(1, tree.shape[0]):
                c = tree[k, COORDINATE]
                add_mass_column(work, numbers, k, c, gather(v, node, c), total, out, block)


@inlined
def add_mass_curvature(work, tree, k, y, of_moment, of_energy, out, block):
    """All pairs of body k with itself and its ancestors; planes qq, qv, vv."""
    S, Sd, _, D, IS = moving_forces(work, k)
    I = load_inertia(work, k * SLOTS + INERTIA)
    E = sub6(cross_force(S, inertia_times(I, y)), inertia_times(I, cross_motion(S, y)))
    n, blocks, c = out.shape[1], out.shape[3], tree[k, COORDINATE]
    turned, j = cross(IS[1], of_moment), k  # of_moment . (w_j x P) = w_j . (P x of_moment)
    while j > 0:
        i, at = tree[j, COORDINATE], j * SLOTS
        S, Sd = load6(work, at + AXIS), load6(work, at + AXIS_RATE)
        Sy = cross_motion(S, y)
        qq = dot(S[0], turned) + dot6(Sd, E) - dot6(Sy, D) + of_energy * dot6(Sd, D)
        qv = of_energy * dot6(Sd, IS) - dot6(Sy, IS)
        vq = dot6(S, E) + of_energy * dot6(S, D)
        vv = of_energy * dot6(S, IS)
        jk, kj, plane = (i * n + c) * blocks + block, (c * n + i) * blocks + block, n * n * blocks
        increase(out, jk, qq)
        increase(out, jk + plane, qv)
        increase(out, jk + 2 * plane, vv)
        if j != k:
            increase(out, kj, qq)
            increase(out, kj + plane, vq)
            increase(out, kj + 2 * plane, vv)
        j = tree[j, PARENT]


@kernel
def _masses_curvature(tree, numbers, q, v, adjoints, out):
    n, blocks = out.shape[1], out.shape[3]
    work = workspace(q, tree.shape[0] * SLOTS)
    for block in range(blocks):
        node = block * width(q)
        move_masses(work, tree, numbers, q, v, node)
        for k in range(tree.shape[0] - 1, 0, -1):
            add_to_parent(work, tree, k)
        of_energy = gather(adjoints, node, KINETIC_ROW)
        of_centre = scale(1.0 / load(work, INERTIA), gather3(adjoints, node, CENTRE_ROW))
        gravity = scale(gather(adjoints, node, POTENTIAL_ROW), same3(work, constant3(numbers, 0, POSITION)))
        of_moment = of_centre[0] + gravity[0], of_centre[1] + gravity[1], of_centre[2] + gravity[2]
        y = gather6(adjoints, node, MOMENTUM_ROW)
        for k in range(1, tree.shape[0]):
            add_mass_curvature(work, tree, k, y, of_moment, of_energy, out, block)
            i = tree[k, COORDINATE]
            diagonal = ((2 * n + i) * n + i) * blocks + block
            increase(out, diagonal, of_energy * numbers[k, ARMATURE])


def mass_values(
    model: KinematicTree, nodes: Batch, derivatives: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """All rows (nodes, 11) and, when asked for, derivatives (11, 2, n, nodes) by q and v."""
    packed, (q, v) = model.packed, nodes.arrays[:2]
    values = nodes.rows(ROWS)
    out = nodes.slots(ROWS if derivatives else 0, 2, packed.n)
    _masses(packed.tree, packed.numbers, q, v, values, out)
    return values, nodes.nodes_last(out)


def mass_curvature(model: KinematicTree, nodes: Batch, adjoints: np.ndarray) -> np.ndarray:
    """Contracted second derivatives by (q, q), (q, v), (v, v), (3, n, n, nodes); adjoints (nodes, 11)."""
    packed, (q, v) = model.packed, nodes.arrays[:2]
    out = nodes.slots(3, packed.n, packed.n)
    _masses_curvature(packed.tree, packed.numbers, q, v, adjoints, out)
    return nodes.nodes_last(out)
