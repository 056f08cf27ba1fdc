"""Kernels for poses and velocities of frames fixed to links, with first and contracted second derivatives.

A frame at p on body b depends only on the joints between b and the ground. With J_k = S_k's velocity at p,
w_k its angular part, omega_k the angular velocity of body k and P_k the velocity at p of b relative to k:
    dp/dq_k = J_k,  dx/dq_k = w_k x x,  d omega/dq_k = w_k x (omega_b - omega_k),
    dp'/dq_k = omega_k x J_k + w_k x P_k,
and every further derivative by a joint j before k turns what lies behind j: d2 p/dq_j dq_k = w_j x J_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.outward_sweep import AXIS, FRAME, MOVED, ORIGIN, VELOCITY, clear_pose, move, place
from dynamics.kernels.pose import rotated_frame
from dynamics.kernels.simd import gather, width
from dynamics.kernels.spatial_algebra import (
    add,
    constant3,
    constant_frame,
    cross,
    dot,
    gather3,
    increase,
    load3,
    load6,
    load_frame,
    rotate,
    scatter3,
    sub,
    sub6,
    workspace,
    zero3,
)
from dynamics.model.packed_model import BASIS, COORDINATE, PARENT

if TYPE_CHECKING:
    from dynamics.kernels.node_batch import Batch
    from dynamics.model.body import Frame
    from dynamics.model.kinematic_tree import KinematicTree

# columns of `requests`: the body, then the first row of each output, -1 = not wanted
BODY, POSITION_ROW, ORIENTATION_ROW, VELOCITY_ROW = 0, 1, 2, 3
COLUMN_OF = {"position": POSITION_ROW, "orientation": ORIENTATION_ROW, "velocity": VELOCITY_ROW}
WIDTH_OF = {"position": 3, "orientation": 9, "velocity": 6}


@inlined
def velocity_at(twist, point):
    """The velocity at a point of a body that moves with a twist."""
    return add(twist[1], cross(twist[0], point))


@inlined
def frame_pose(work, local, index, body):
    """World axes and origin of a requested frame."""
    frame, origin = load_frame(work, body * MOVED + FRAME), load3(work, body * MOVED + ORIGIN)
    return (
        rotated_frame(frame, constant_frame(local, index, 0)),
        add(origin, rotate(frame, constant3(local, index, 9))),
    )


@inlined
def move_all(work, tree, numbers, q, v, node):
    """Poses, axes and velocities of all bodies."""
    clear_pose(work, MOVED)
    for body in range(1, tree.shape[0]):
        i, at, parent = tree[body, COORDINATE], body * MOVED, tree[body, PARENT] * MOVED
        place(work, tree, numbers, body, at, parent, gather(q, node, i))
        move(work, at, parent, gather(v, node, i))


@inlined
def scatter_frame(values, node, request, frame, p, V):
    """The values of one request; the orientation row by row."""
    if request[POSITION_ROW] >= 0:
        scatter3(values, node, request[POSITION_ROW], p)
    if request[ORIENTATION_ROW] >= 0:
        x, y, z = frame
        row = request[ORIENTATION_ROW]
        scatter3(values, node, row, (x[0], y[0], z[0]))
        scatter3(values, node, row + 3, (x[1], y[1], z[1]))
        scatter3(values, node, row + 6, (x[2], y[2], z[2]))
    if request[VELOCITY_ROW] >= 0:
        scatter3(values, node, request[VELOCITY_ROW], V[0])
        scatter3(values, node, request[VELOCITY_ROW] + 3, velocity_at(V, p))


@inlined
def add_entries(out, row, which, column, block, a):
    """Add three derivatives to one column of three rows of (rows, 2, n, blocks, width)."""
    n, blocks = out.shape[2], out.shape[3]
    at, step = ((row * 2 + which) * n + column) * blocks + block, 2 * n * blocks
    increase(out, at, a[0])
    increase(out, at + step, a[1])
    increase(out, at + 2 * step, a[2])


@inlined
def add_frame_column(out, request, c, block, frame, p, V, S, V_k):
    """Derivatives of one request by the coordinate of one body on its path."""
    w, J = S[0], velocity_at(S, p)
    if request[POSITION_ROW] >= 0:
        add_entries(out, request[POSITION_ROW], 0, c, block, J)
    if request[ORIENTATION_ROW] >= 0:
        x, y, z = cross(w, frame[0]), cross(w, frame[1]), cross(w, frame[2])
        row = request[ORIENTATION_ROW]
        add_entries(out, row, 0, c, block, (x[0], y[0], z[0]))
        add_entries(out, row + 3, 0, c, block, (x[1], y[1], z[1]))
        add_entries(out, row + 6, 0, c, block, (x[2], y[2], z[2]))
    if request[VELOCITY_ROW] >= 0:
        row, relative = request[VELOCITY_ROW], sub6(V, V_k)
        by_q = add(cross(V_k[0], J), cross(w, velocity_at(relative, p)))
        add_entries(out, row, 0, c, block, cross(w, relative[0]))
        add_entries(out, row + 3, 0, c, block, by_q)
        add_entries(out, row, 1, c, block, w)
        add_entries(out, row + 3, 1, c, block, J)


@kernel
def _frames(tree, numbers, q, v, requests, local, values, out):
    blocks = -(-q.shape[0] // width(q))
    work = workspace(q, tree.shape[0] * MOVED)
    for block in range(blocks):
        node = block * width(q)
        move_all(work, tree, numbers, q, v, node)
        for index in range(len(requests)):
            request = requests[index]
            k = request[BODY]
            frame, p = frame_pose(work, local, index, k)
            V = load6(work, k * MOVED + VELOCITY)
            scatter_frame(values, node, request, frame, p, V)
            while k > 0 and out.shape[0] > 0:
                S, V_k = load6(work, k * MOVED + AXIS), load6(work, k * MOVED + VELOCITY)
                add_frame_column(out, request, tree[k, COORDINATE], block, frame, p, V, S, V_k)
                k = tree[k, PARENT]


@inlined
def request_adjoints(work, adjoints, node, request, frame):
    """Adjoints of p, of omega, of p', and of the three axes of one request; zero where not wanted."""
    of_p, of_omega, of_rate = zero3(work), zero3(work), zero3(work)
    x, y, z = zero3(work), zero3(work), zero3(work)
    if request[POSITION_ROW] >= 0:
        of_p = gather3(adjoints, node, request[POSITION_ROW])
    if request[VELOCITY_ROW] >= 0:
        of_omega = gather3(adjoints, node, request[VELOCITY_ROW])
        of_rate = gather3(adjoints, node, request[VELOCITY_ROW] + 3)
    if request[ORIENTATION_ROW] >= 0:
        a = gather3(adjoints, node, request[ORIENTATION_ROW])
        b = gather3(adjoints, node, request[ORIENTATION_ROW] + 3)
        c = gather3(adjoints, node, request[ORIENTATION_ROW] + 6)
        x, y, z = (a[0], b[0], c[0]), (a[1], b[1], c[1]), (a[2], b[2], c[2])
    return of_p, of_omega, of_rate, (x, y, z)


@inlined
def turned_moment(w, frame, adjoint):
    """Sum over axes of (w x axis) x adjoint, so that w_j . it is the second derivative of the axes."""
    total = cross(cross(w, frame[0]), adjoint[0])
    total = add(total, cross(cross(w, frame[1]), adjoint[1]))
    return add(total, cross(cross(w, frame[2]), adjoint[2]))


@inlined
def add_frame_curvature(work, tree, k, frame, p, V, adjoint, out, block):
    """All pairs of body k on the path with itself and the bodies before it."""
    of_p, of_omega, of_rate, of_axes = adjoint
    n, blocks = out.shape[1], out.shape[3]
    S, V_k = load6(work, k * MOVED + AXIS), load6(work, k * MOVED + VELOCITY)
    w, J, relative = S[0], velocity_at(S, p), sub6(V, V_k)
    swung, c = cross(w, velocity_at(relative, p)), tree[k, COORDINATE]
    # y . (w_j x z) = w_j . (z x y): everything that does not depend on j is gathered first.
    by_q = add(cross(J, of_p), turned_moment(w, frame, of_axes))
    by_q = add(by_q, cross(cross(w, relative[0]), of_omega))
    by_v = add(cross(w, of_omega), cross(J, of_rate))
    vq = cross(J, of_rate)
    j = k
    while j > 0:
        i, omega_j, w_j = (
            tree[j, COORDINATE],
            load3(work, j * MOVED + VELOCITY),
            load3(work, j * MOVED + AXIS),
        )
        behind = add(cross(sub(V_k[0], omega_j), J), swung)
        qq = dot(w_j, add(by_q, cross(behind, of_rate)))
        qq = qq + dot(of_rate, cross(omega_j, cross(w_j, J)))
        jk, kj, plane = (i * n + c) * blocks + block, (c * n + i) * blocks + block, n * n * blocks
        increase(out, jk, qq)
        increase(out, jk + plane, dot(w_j, by_v))
        if j != k:
            increase(out, kj, qq)
            increase(out, kj + plane, dot(w_j, vq))
        j = tree[j, PARENT]


@kernel
def _frames_curvature(tree, numbers, q, v, requests, local, adjoints, out):
    blocks = -(-q.shape[0] // width(q))
    work = workspace(q, tree.shape[0] * MOVED)
    for block in range(blocks):
        node = block * width(q)
        move_all(work, tree, numbers, q, v, node)
        for index in range(len(requests)):
            request = requests[index]
            k = request[BODY]
            frame, p = frame_pose(work, local, index, k)
            V = load6(work, k * MOVED + VELOCITY)
            adjoint = request_adjoints(work, adjoints, node, request, frame)
            while k > 0:
                add_frame_curvature(work, tree, k, frame, p, V, adjoint, out, block)
                k = tree[k, PARENT]


@dataclass(frozen=True, eq=False)
class FrameRequests:
    """The quantities of frames that one kernel call computes, and their rows.

    requests : (m, 4) body and first rows; local : (m, 12) axes and origin in the body's axes
    """

    requests: np.ndarray
    local: np.ndarray
    rows: int


def frame_requests(model: KinematicTree, wanted: list[tuple[Frame, str]]) -> FrameRequests:
    """Requests for (frame, "position" | "orientation" | "velocity"), stacked in this order."""
    requests, local = np.full((len(wanted), 4), -1, dtype=np.int64), np.zeros((len(wanted), 12))
    row = 0
    for index, (frame, quantity) in enumerate(wanted):
        requests[index, BODY], local[index] = frame_place(model, frame)
        requests[index, COLUMN_OF[quantity]] = row
        row += WIDTH_OF[quantity]
    return FrameRequests(requests, local, row)


def frame_place(model: KinematicTree, frame: Frame) -> tuple[int, np.ndarray]:
    """The body that carries a frame, and the frame's axes and origin (12,) in the axes of the body."""
    packed = model.packed
    body = 0 if frame.body is None else int(packed.body_of_link[model.link_index(frame.body)])
    basis = packed.numbers[body, BASIS:].reshape(3, 3)  # from body axes to link axes
    return body, np.concatenate([(basis.T @ frame.rotation).T.ravel(), basis.T @ frame.position])


def frame_values(
    model: KinematicTree, nodes: Batch, wanted: FrameRequests, derivatives: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Values (nodes, rows) and, when asked for, derivatives (rows, 2, n, nodes) by q and v."""
    packed, (q, v) = model.packed, nodes.arrays[:2]
    values = nodes.rows(wanted.rows)
    out = nodes.slots(wanted.rows if derivatives else 0, 2, packed.n)
    _frames(packed.tree, packed.numbers, q, v, wanted.requests, wanted.local, values, out)
    return values, nodes.nodes_last(out)


def frame_curvature(
    model: KinematicTree, nodes: Batch, wanted: FrameRequests, adjoints: np.ndarray
) -> np.ndarray:
    """Contracted second derivatives by (q, q) and (q, v), (2, n, n, nodes); adjoints (nodes, rows)."""
    packed, (q, v) = model.packed, nodes.arrays[:2]
    out = nodes.slots(2, packed.n, packed.n)
    _frames_curvature(packed.tree, packed.numbers, q, v, wanted.requests, wanted.local, adjoints, out)
    return nodes.nodes_last(out)
