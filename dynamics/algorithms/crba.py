"""The mass matrix by the composite-rigid-body algorithm (CRBA), in world axes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics.kernels.compile import kernel
from dynamics.kernels.inertia import (
    body_inertia,
    clear_entries,
    increase_slots,
    inertia_times,
    load_inertia,
    store_inertia,
)
from dynamics.kernels.node_batch import Batch, batch
from dynamics.kernels.outward_sweep import AXIS, FRAME, ORIGIN, POSED, clear_pose, place
from dynamics.kernels.rotation_vectors.stumpff import stumpff
from dynamics.kernels.rotation_vectors.turned_body import place_turned, vector
from dynamics.kernels.simd import gather, width
from dynamics.kernels.spatial_algebra import dot, dot6, load3, load6, load_frame, put, workspace
from dynamics.model.kinematic_tree import KinematicTree, packed_with_mass
from dynamics.model.packed_model import ARMATURE, COORDINATE, PARENT

INERTIA = POSED  # summed over the subtree
SLOTS = POSED + 10


@kernel
def _crba(tree, numbers, turned, q, entries_to_clear, adds, out):
    bodies, n, blocks = tree.shape[0], q.shape[1], out.shape[2]
    work = workspace(q, bodies * SLOTS)
    for block in range(blocks):
        clear_pose(work, SLOTS)
        clear_entries(out, 1, entries_to_clear, block)
        for body in range(1, bodies):
            at, node = body * SLOTS, block * width(q)
            if turned is not None:
                if turned[body] == 1:
                    p = vector(q, tree, body, node)
                    place_turned(work, tree, numbers, body, SLOTS, stumpff(dot(p, p)), p)
                if turned[body]:
                    frame, origin = load_frame(work, at + FRAME), load3(work, at + ORIGIN)
                    store_inertia(work, at + INERTIA, body_inertia(work, numbers, body, frame, origin))
                    continue
            qi, parent = gather(q, node, tree[body, COORDINATE]), tree[body, PARENT] * SLOTS
            frame, origin = place(work, tree, numbers, body, at, parent, qi)
            store_inertia(work, at + INERTIA, body_inertia(work, numbers, body, frame, origin))

        for k in range(bodies - 1, 0, -1):
            at, c = k * SLOTS, tree[k, COORDINATE]
            force = inertia_times(load_inertia(work, at + INERTIA), load6(work, at + AXIS))
            j = k
            while j > 0:
                i = tree[j, COORDINATE]
                inertial = dot6(load6(work, j * SLOTS + AXIS), force)
                if j == k:
                    inertial = inertial + numbers[k, ARMATURE]
                else:
                    put(out, (c * n + i) * blocks + block, inertial, adds)
                put(out, (i * n + c) * blocks + block, inertial, adds)
                j = tree[j, PARENT]
            increase_slots(work, tree[k, PARENT] * SLOTS + INERTIA, at + INERTIA, 10)


def crba(model: KinematicTree, q: ArrayLike) -> np.ndarray:
    """The mass matrix M(q), (..., n, n) kg m^2, kg m or kg; kinetic energy is v' M v / 2.

    M_ij = S_i . I S_j, with I the inertia of all that the outer of the joints i and j carries.

    q : (..., n) rad or m. Rotors as `model.rotors` says. Exactly zero between coordinates on different
    branches. The result is a strided view, node axis last in memory.
    Raises ShapeError when q does not fit the model. Source: Featherstone (2008), table 6.2.
    """
    nodes = batch(packed_with_mass(model, "the mass matrix"), q=q)
    return nodes.unblock(mass_matrix_slots(model, nodes))


def mass_matrix_slots(model: KinematicTree, nodes: Batch) -> np.ndarray:
    """Slots (n, n, blocks, width) of M."""
    packed = model.packed
    out = nodes.slots(packed.n, packed.n, cleared=False)
    _crba(
        packed.tree,
        packed.numbers,
        packed.turned,
        nodes.arrays[0],
        packed.entries_to_clear,
        packed.shares_coordinates,
        out,
    )
    return out
