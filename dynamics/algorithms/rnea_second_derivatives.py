"""Second derivatives of inverse dynamics (RNEA), contracted with multipliers of its outputs, in one pass.

Adjoints are virtual twists: torque i is work on S_i lambda_i, a joint wrench is work on a twist eta fixed in
its link, the base wrench is work on a twist of everything. Their sum L runs outward like a velocity, and
    lambda . tau + sum eta . wrench + L_0 . base_wrench = sum over bodies of L . (force on the body)
so one composite recursion serves all outputs (derivation in docs/derivations.md). No n^3 tensor is formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics.algorithms.rnea import motion_batch
from dynamics.algorithms.rnea_derivatives import inverse_dynamics_partials
from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.inertia import (
    body_factor,
    clear_entries,
    factor_times,
    factor_transposed_times,
    increase_slots,
    inertia_times,
    load_factor,
    load_inertia,
    store_factor,
)
from dynamics.kernels.node_batch import Batch
from dynamics.kernels.outward_sweep import (
    AXIS,
    AXIS_RATE,
    AXIS_RATE_2,
    FACTOR,
    FORCE,
    FRAME,
    INERTIA,
    ORIGIN,
    SUMS,
    SWEPT,
    clear_ground,
    sweep_body,
)
from dynamics.kernels.pose import body_axes, world_motion
from dynamics.kernels.rotation_vectors.serial_curvature import SerialCurvature
from dynamics.kernels.rotation_vectors.serial_motion import MOTION, SerialMotion
from dynamics.kernels.simd import gather, width
from dynamics.kernels.spatial_algebra import (
    add,
    add6,
    add_scaled6,
    cross,
    cross_force,
    cross_motion,
    dot6,
    gather6,
    increase,
    load3,
    load6,
    load_frame,
    put,
    scale6,
    store3,
    store6,
    sub6,
    workspace,
    zero3,
)
from dynamics.kernels.transposition import nodes_first
from dynamics.model.kinematic_tree import KinematicTree, packed_with_mass
from dynamics.model.packed_model import COORDINATE, LINK, PARENT

# summed over subtrees, as the sums of the sweep
ADJOINT_FACTOR, ADJOINT_MOMENT = (
    SWEPT,
    SWEPT + 12,
)  # E = B[I, L], which contains h = I L; angular part of g = B' L
TWIST, AXIS_TWIST = SWEPT + 15, SWEPT + 21  # L, mu = L_p x S
SLOTS = SWEPT + 27
# planes of the result
QQ, QV, QA, VV = 0, 1, 2, 3


@inlined
def virtual_twist(work, tree, numbers, body, twist, adjoints, node, column):
    """L of a body: L of its parent, its own S lambda, and the adjoint of its joint's wrench."""
    at = body * SLOTS
    if column >= 0:
        eta = body_axes(numbers, body, gather6(adjoints, node, column))
        frame, origin = load_frame(work, at + FRAME), load3(work, at + ORIGIN)
        twist = add6(twist, world_motion(frame, origin, eta))
    store6(work, at + TWIST, twist)
    return twist


@inlined
def sweep_adjoint(work, tree, numbers, body, multiplier, I, adjoints, node, column):
    """L, mu, E and g of one body whose `sweep_body` is done."""
    at, parent = body * SLOTS, tree[body, PARENT] * SLOTS
    above, S = load6(work, parent + TWIST), load6(work, at + AXIS)
    store6(work, at + AXIS_TWIST, cross_motion(above, S))
    L = virtual_twist(work, tree, numbers, body, add_scaled6(above, multiplier, S), adjoints, node, column)
    store_factor(work, at + ADJOINT_FACTOR, body_factor(I, L))
    store3(work, at + ADJOINT_MOMENT, factor_transposed_times(load_factor(work, at + FACTOR), L))


@inlined
def add_pair(out, j, k, n, blocks, block, distinct, adds, qq, qv, vq, qa, aq, vv):
    """Add second derivatives by (q_j, q_k), (q_j, v_k), (v_j, q_k), ... to the four planes."""
    size = n * n * blocks
    jk, kj = (j * n + k) * blocks + block, (k * n + j) * blocks + block
    put(out, jk + QQ * size, qq, adds)
    put(out, jk + QV * size, qv, adds)
    put(out, jk + QA * size, qa, adds)
    put(out, jk + VV * size, vv, adds)
    if distinct:
        put(out, kj + QQ * size, qq, adds)
        put(out, kj + QV * size, vq, adds)
        put(out, kj + QA * size, aq, adds)
        put(out, kj + VV * size, vv, adds)


@inlined
def add_pairs(work, tree, k, adds, out, n, blocks, block):
    """All pairs of body k with itself and its ancestors."""
    at = k * SLOTS
    I, B, E = (
        load_inertia(work, at + INERTIA),
        load_factor(work, at + FACTOR),
        load_factor(work, at + ADJOINT_FACTOR),
    )
    f, g, h = load6(work, at + FORCE), load3(work, at + ADJOINT_MOMENT), (E[1], E[2])
    S, Sd, Sdd = load6(work, at + AXIS), load6(work, at + AXIS_RATE), load6(work, at + AXIS_RATE_2)
    mu = load6(work, at + AXIS_TWIST)
    U1 = add6(add_scaled6(inertia_times(I, Sdd), 2.0, factor_times(B, Sd)), cross_force(S, f))
    U2 = add6(cross_force(S, h), inertia_times(I, mu))
    U3 = sub6(cross_force(Sd, h), factor_times(E, Sd))
    U3 = scale6(2.0, (add(U3[0], add(cross(S[0], g), factor_transposed_times(B, mu))), U3[1]))
    U4 = scale6(2.0, sub6(cross_force(S, h), factor_times(E, S)))
    U5 = scale6(2.0, add6(inertia_times(I, Sd), factor_times(B, S)))
    U6 = inertia_times(I, S)
    j = k
    while j > 0:
        above = j * SLOTS
        S, Sd, Sdd = (
            load6(work, above + AXIS),
            load6(work, above + AXIS_RATE),
            load6(work, above + AXIS_RATE_2),
        )
        mu = load6(work, above + AXIS_TWIST)
        qq = dot6(mu, U1) + dot6(Sdd, U2) + dot6(Sd, U3)
        qv = dot6(mu, U5) + dot6(Sd, U4)
        vq = 2.0 * dot6(Sd, U2) + dot6(S, U3)
        i, c = tree[j, COORDINATE], tree[k, COORDINATE]
        add_pair(
            out, i, c, n, blocks, block, j != k, adds, qq, qv, vq, dot6(mu, U6), dot6(S, U2), dot6(S, U4)
        )
        j = tree[j, PARENT]


@inlined
def subtract_external_wrench(work, tree, body, W, out, n, blocks, block):
    """Second derivatives of -L . W of one wrench W, constant in world axes, on `body`: along its path."""
    L, k = load6(work, body * SLOTS + TWIST), body
    while k > 0:
        below = load6(work, tree[k, PARENT] * SLOTS + TWIST)
        y = cross_motion(load6(work, k * SLOTS + AXIS), sub6(L, below))
        turned, c = cross_force(y, W), tree[k, COORDINATE]
        j = k
        while j > 0:
            i, qq = tree[j, COORDINATE], -dot6(load6(work, j * SLOTS + AXIS), turned)
            increase(out, (i * n + c) * blocks + block, qq)
            if j != k:
                increase(out, (c * n + i) * blocks + block, qq)
            j = tree[j, PARENT]
        k = tree[k, PARENT]


@kernel
def _rnea_second_derivatives(
    tree, numbers, q, v, a, external, loaded, multiplier, adjoints, columns, entries_to_clear, adds, out
):
    bodies, n, blocks = tree.shape[0], q.shape[1], out.shape[3]
    work = workspace(q, bodies * SLOTS)
    for block in range(blocks):
        node = block * width(q)
        clear_ground(work, numbers, SLOTS)
        clear_entries(out, 4, entries_to_clear, block)
        virtual_twist(work, tree, numbers, 0, (zero3(work), zero3(work)), adjoints, node, columns[0])
        for body in range(1, bodies):
            i = tree[body, COORDINATE]
            qi, vi, ai = gather(q, node, i), gather(v, node, i), gather(a, node, i)
            I = sweep_body(work, SLOTS, tree, numbers, body, qi, vi, ai)
            weight = gather(multiplier, node, i)
            sweep_adjoint(work, tree, numbers, body, weight, I, adjoints, node, columns[body])
        for k in range(bodies - 1, 0, -1):
            add_pairs(work, tree, k, adds, out, n, blocks, block)
            increase_slots(work, tree[k, PARENT] * SLOTS + SUMS, k * SLOTS + SUMS, TWIST - SUMS)
        for body in loaded:
            W = gather6(external, node, 6 * tree[body, LINK])
            subtract_external_wrench(work, tree, body, W, out, n, blocks, block)


@dataclass(frozen=True, eq=False)
class RneaSecondDerivatives:
    """Result of `rnea_second_derivatives`: second derivatives of one scalar, each (..., n, n).

    qq[..., i, j] = d2 / dq_i dq_j, qv[..., i, j] = d2 / dq_i dv_j, qa, vv; those by (v, a) and (a, a) vanish.
    """

    qq: np.ndarray
    qv: np.ndarray
    qa: np.ndarray
    vv: np.ndarray


def rnea_second_derivatives(
    model: KinematicTree,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    adjoint: ArrayLike,
    wrench_adjoint: ArrayLike | None = None,
    base_adjoint: ArrayLike | None = None,
    external: ArrayLike | None = None,
) -> RneaSecondDerivatives:
    """Second derivatives of adjoint . tau + sum wrench_adjoint . joint_wrenches + base_adjoint . base_wrench.

    q, v, a : (..., n), as in `rnea`; the outputs are those of `rnea`, `joint_wrenches` and `base_wrench`
    adjoint : (..., n), a constant factor (Lagrange multiplier) for each torque
    wrench_adjoint : None or (..., links, 6), in the axes of `joint_wrenches`
    base_adjoint : None or (..., 6)
    external : None or (..., links, 6), as in `rnea`, constant in world axes
    Exact, without forming an n^3 tensor. The matrices are strided views, node axis last in memory.
    Raises ShapeError when an array does not fit the model. Source: derived in docs/derivations.md.
    """
    packed = packed_with_mass(model, "inverse dynamics")
    extra: dict[str, tuple[Any, tuple[int, ...]]] = {"adjoint": (adjoint, (packed.n,))}
    if external is not None:
        extra["external"] = (external, (packed.links, 6))
    if wrench_adjoint is not None:
        extra["wrench_adjoint"] = (wrench_adjoint, (packed.links, 6))
    if base_adjoint is not None:
        extra["base_adjoint"] = (base_adjoint, (6,))
    nodes = motion_batch(packed, q, v, a, extra=extra)
    found = dict(zip(["q", "v", "a", *extra], nodes.arrays, strict=True))
    if model.rotation_joints:
        planes = serial_second_derivatives(model, nodes, found)
        return RneaSecondDerivatives(*(nodes.unfold(plane, packed.n, packed.n) for plane in planes))
    columns, parts = np.full(len(packed.tree), -1, dtype=np.int64), []
    if wrench_adjoint is not None:
        columns[packed.body_of_link] = 6 * np.arange(packed.links)
        parts.append(found["wrench_adjoint"])
    if base_adjoint is not None:
        columns[0] = sum(part.shape[1] for part in parts)
        parts.append(found["base_adjoint"])
    adjoints = np.concatenate(parts, axis=1) if parts else np.empty((0, 0), nodes.dtype)
    planes = contracted_second(model, nodes, found["adjoint"], adjoints, columns, found.get("external"))
    return RneaSecondDerivatives(*(nodes.spread(plane) for plane in planes))


def serial_second_derivatives(
    model: KinematicTree, nodes: Batch, found: dict[str, np.ndarray]
) -> list[np.ndarray]:
    """The four planes, (nodes, n, n) each, of a model with rotation vectors, by its serial form."""
    multiplier, base = found["adjoint"], found.get("base_adjoint")
    motion = SerialMotion(model, Batch(nodes.arrays[:3], nodes.shape, nodes.dtype), 4)
    q, v, a = motion.arrays
    loads, twists = (motion.wrenches(found.get(name)) for name in ("external", "wrench_adjoint"))
    shape = (nodes.nodes, len(model.serial.bodies), 6)
    loads, twists = (None if array is None else array.reshape(shape) for array in (loads, twists))
    virtual = motion.velocities(multiplier)
    second = rnea_second_derivatives(model.serial, q, v, a, virtual, twists, base, loads)
    links = () if twists is None else tuple(range(shape[1]))
    first = inverse_dynamics_partials(
        model.serial, motion_batch(model.serial.packed, q, v, a, loads), True, links, base is not None
    )
    adjoints = [virtual] + ([] if twists is None else [twists.reshape(nodes.nodes, -1)])
    weights = np.concatenate(adjoints + ([] if base is None else [base]), axis=1)
    partials = nodes_first(first.partials)
    gradient = np.einsum("kr,kroi->koi", weights, partials)
    curvature = SerialCurvature(motion, dict.fromkeys(MOTION, model.n))
    curvature.add_planes(
        {("q", "q"): second.qq, ("q", "v"): second.qv, ("q", "a"): second.qa, ("v", "v"): second.vv}
    )
    curvature.add_gradient({name: gradient[:, i] for i, name in enumerate(MOTION)})
    n = len(virtual.T)
    by_motion = motion.outputs(*(partials[:, :n, i] for i in range(3)))
    torques: dict[str, np.ndarray] = dict(zip(MOTION, by_motion, strict=True))
    curvature.add_multiplier(multiplier, first.values[:, :n], torques)
    return [curvature.found[pair] for pair in (("q", "q"), ("q", "v"), ("q", "a"), ("v", "v"))]


def contracted_second(
    model: KinematicTree,
    nodes: Batch,
    multiplier: np.ndarray,
    adjoints: np.ndarray,
    columns: np.ndarray,
    external: np.ndarray | None,
    links: tuple[int, ...] | None = None,
) -> np.ndarray:
    """The contracted second derivatives qq, qv, qa, vv as (4, n, n, nodes).

    adjoints : (nodes, anything) with six columns per wrench, columns : (bodies,) where those of a body
    start, -1 = none, body 0 = base wrench; links : which links `external` loads, None = those where it is
    not zero
    """
    packed = model.packed
    out = nodes.slots(4, packed.n, packed.n, cleared=False)
    if external is None:
        external, links = np.empty((0, 0), nodes.dtype), ()
    elif links is None:
        acting = external.reshape(-1, packed.links, 6).any(axis=(0, 2))
        links = tuple(np.flatnonzero(acting).tolist())
    loaded = packed.body_of_link[np.array(links, dtype=np.int64)]
    q, v, a = nodes.arrays[:3]
    _rnea_second_derivatives(
        packed.tree,
        packed.numbers,
        q,
        v,
        a,
        external,
        loaded,
        multiplier,
        adjoints,
        columns,
        packed.entries_to_clear,
        packed.shares_coordinates,
        out,
    )
    return nodes.nodes_last(out)
