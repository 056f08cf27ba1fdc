"""First derivatives of inverse dynamics by external wrenches, and mixed second ones by q and a wrench.

A wrench W on a link, in world axes about the world origin, takes J' W off the torques and W off the base
wrench; the wrench of every joint on the link's path loses W, seen from its own frame. With the virtual
twist L of `rnea_second_derivatives` that is - L_b . W in all, and d2 / dq_j dW = -(S_j x (L_b - L_p(j))).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.outward_sweep import AXIS, FRAME, ORIGIN, POSED, clear_pose, place
from dynamics.kernels.pose import body_axes, rotated_frame, world_motion
from dynamics.kernels.simd import gather, width
from dynamics.kernels.spatial_algebra import (
    add6,
    add_scaled6,
    constant_frame,
    cross,
    cross_motion,
    gather6,
    load3,
    load6,
    load_frame,
    negative,
    put,
    store6,
    sub6,
    workspace,
    zero3,
)
from dynamics.model.packed_model import BASIS, COORDINATE, PARENT

if TYPE_CHECKING:
    from dynamics.kernels.node_batch import Batch
    from dynamics.model.packed_model import PackedModel

TWIST = POSED  # L
SLOTS = POSED + 6


@inlined
def place_all(work, tree, numbers, q, node):
    """Poses and joint axes of all bodies, world axes."""
    clear_pose(work, SLOTS)
    for body in range(1, tree.shape[0]):
        qi = gather(q, node, tree[body, COORDINATE])
        place(work, tree, numbers, body, body * SLOTS, tree[body, PARENT] * SLOTS, qi)


@inlined
def put_three(out, row, column, block, a, adds):
    """Three columns of one row of (rows, columns, blocks, width)."""
    blocks = out.shape[2]
    at = (row * out.shape[1] + column) * blocks + block
    for axis in range(3):
        put(out, at + axis * blocks, a[axis], adds)


@inlined
def subtract_row(out, row, column, block, twist, adds):
    """Put minus a twist into six columns of one row, or subtract it where bodies share a coordinate."""
    put_three(out, row, column, block, negative(twist[0]), adds)
    put_three(out, row, column + 3, block, negative(twist[1]), adds)


@inlined
def subtract_wrench_rows(work, numbers, body, out, row, column, block):
    """The wrench at `body` loses W: along the axes of its link, about its origin.

    Zeros are left out.
    """
    frame, origin = load_frame(work, body * SLOTS + FRAME), load3(work, body * SLOTS + ORIGIN)
    frame = rotated_frame(frame, constant_frame(numbers, body, BASIS))
    for axis in range(3):
        subtract_row(out, row + axis, column, block, (frame[axis], cross(origin, frame[axis])), False)
        put_three(out, row + axis + 3, column + 3, block, negative(frame[axis]), False)


@kernel
def _external_wrench_partials(tree, numbers, q, loaded, torque_row, rows, adds, out):
    work = workspace(q, tree.shape[0] * SLOTS)
    for block in range(out.shape[2]):
        place_all(work, tree, numbers, q, block * width(q))
        for index in range(len(loaded)):
            j = loaded[index]
            while j >= 0:
                if rows[j] >= 0:
                    subtract_wrench_rows(work, numbers, j, out, rows[j], 6 * index, block)
                if j > 0 and torque_row >= 0:
                    S = load6(work, j * SLOTS + AXIS)
                    subtract_row(out, torque_row + tree[j, COORDINATE], 6 * index, block, S, adds)
                j = tree[j, PARENT]


@inlined
def virtual_twists(work, tree, numbers, multiplier, adjoints, columns, node):
    """L of every body: L of its parent, its own S lambda, and the adjoint of its joint's wrench."""
    for body in range(tree.shape[0]):
        at, L = body * SLOTS, (zero3(work), zero3(work))
        if body > 0:
            weight = gather(multiplier, node, tree[body, COORDINATE])
            L = add_scaled6(load6(work, tree[body, PARENT] * SLOTS + TWIST), weight, load6(work, at + AXIS))
        if columns[body] >= 0:
            eta = body_axes(numbers, body, gather6(adjoints, node, columns[body]))
            frame, origin = load_frame(work, at + FRAME), load3(work, at + ORIGIN)
            L = add6(L, world_motion(frame, origin, eta))
        store6(work, at + TWIST, L)


@kernel
def _external_wrench_curvature(tree, numbers, q, loaded, multiplier, adjoints, columns, out):
    work = workspace(q, tree.shape[0] * SLOTS)
    for block in range(out.shape[2]):
        node = block * width(q)
        place_all(work, tree, numbers, q, node)
        virtual_twists(work, tree, numbers, multiplier, adjoints, columns, node)
        for index in range(len(loaded)):
            L, j = load6(work, loaded[index] * SLOTS + TWIST), loaded[index]
            while j > 0:
                below = load6(work, tree[j, PARENT] * SLOTS + TWIST)
                column = cross_motion(load6(work, j * SLOTS + AXIS), sub6(L, below))
                subtract_row(out, tree[j, COORDINATE], 6 * index, block, column, True)
                j = tree[j, PARENT]


def external_wrench_partials(
    packed: PackedModel, nodes: Batch, links: tuple[int, ...], torque_row: int, rows: np.ndarray, count: int
) -> np.ndarray:
    """d (stacked forces) / d (wrenches on `links`), (count, 6 links, nodes), rows as the force kernel's."""
    out = nodes.slots(count, 6 * len(links))
    loaded = packed.body_of_link[np.array(links, dtype=np.int64)]
    adds, q = packed.shares_coordinates, nodes.arrays[0]
    _external_wrench_partials(packed.tree, packed.numbers, q, loaded, torque_row, rows, adds, out)
    return nodes.nodes_last(out)


def external_wrench_curvature(
    packed: PackedModel,
    nodes: Batch,
    links: tuple[int, ...],
    multiplier: np.ndarray,
    adjoints: np.ndarray,
    columns: np.ndarray,
) -> np.ndarray:
    """d2 (contracted forces) / dq d(wrenches on `links`), (n, 6 links, nodes)."""
    out = nodes.slots(packed.n, 6 * len(links))
    loaded = packed.body_of_link[np.array(links, dtype=np.int64)]
    _external_wrench_curvature(
        packed.tree, packed.numbers, nodes.arrays[0], loaded, multiplier, adjoints, columns, out
    )
    return nodes.nodes_last(out)
