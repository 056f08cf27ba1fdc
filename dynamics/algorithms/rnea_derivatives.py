"""First derivatives of inverse dynamics (RNEA) by q, v and a: torques, joint wrenches and base wrench.

One pass over composite bodies: the inward loop reaches body k when the sums over its subtree are complete
and then follows the path from k to the ground. With S, Sd, Sdd of every body and the sums I, B, f at k:
    U1 = I Sdd + 2 B Sd + S x* f,  U5 = 2 (I Sd + B S),  U6 = I S
are d/dq_k, d/dv_k and d/da_k of the force that any body at or above k carries, because q_k moves only
the subtree of k. Contracted with S_j they are torque derivatives. The other half of the matrix, a body k
whose ancestor j moves, follows from the same sums: the subtree of k is carried rigidly by j.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dynamics.algorithms.rnea import motion_batch
from dynamics.arguments import names_of
from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.inertia import (
    clear,
    factor_times,
    factor_transposed_times,
    increase_slots,
    inertia_times,
    load_factor,
    load_inertia,
)
from dynamics.kernels.node_batch import BLOCKS_TOGETHER, Batch
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
    store_sums,
    sweep_body,
)
from dynamics.kernels.pose import link_axes, local_force
from dynamics.kernels.rotation_vectors.turned_body import add_turn_stiffness, load_on, sweep_turned
from dynamics.kernels.simd import gather, load, scatter, store, width
from dynamics.kernels.spatial_algebra import (
    add6,
    add_scaled6,
    cross_force,
    dot,
    dot6,
    increase,
    load3,
    load6,
    load_frame,
    put,
    scale6,
    scatter6,
    store6,
    sub6,
    workspace,
)
from dynamics.model.kinematic_tree import KinematicTree, packed_with_mass
from dynamics.model.packed_model import ARMATURE, COORDINATE, LINK, PARENT

if TYPE_CHECKING:
    from dynamics.model.packed_model import PackedModel

EXTERNAL = SWEPT  # sum of the external wrenches over the subtree
SLOTS = SWEPT + 6


@inlined
def add_torque_column(work, tree, numbers, k, U1, U5, U6, E, B, adds, out, row, n, blocks, block):
    """d tau_j and d tau_k for all pairs of k with itself and its ancestors j; E = S_k x* external."""
    S = load6(work, k * SLOTS + AXIS)
    BS = factor_transposed_times(B, S)
    c = tree[k, COORDINATE]
    size = n * blocks
    j = k
    while j > 0:
        i, at = tree[j, COORDINATE], j * SLOTS
        S, Sd, Sdd = load6(work, at + AXIS), load6(work, at + AXIS_RATE), load6(work, at + AXIS_RATE_2)
        upper = (row + i) * 3 * size + c * blocks + block
        inertial = dot6(S, U6)
        if j == k:
            inertial = inertial + numbers[k, ARMATURE]
        else:
            lower = (row + c) * 3 * size + i * blocks + block
            put(out, lower, dot6(Sdd, U6) + 2.0 * dot(Sd[0], BS) - dot6(S, E), adds)
            put(out, lower + size, 2.0 * (dot6(Sd, U6) + dot(S[0], BS)), adds)
            put(out, lower + 2 * size, inertial, adds)
        put(out, upper, dot6(S, U1), adds)
        put(out, upper + size, dot6(S, U5), adds)
        put(out, upper + 2 * size, inertial, adds)
        j = tree[j, PARENT]


@inlined
def add_wrench_entry(work, numbers, body, force, out, row, which, column, n, blocks, block):
    """Add a derivative, given as a world force, of the wrench at `body` to six rows of one column."""
    frame, origin = load_frame(work, body * SLOTS + FRAME), load3(work, body * SLOTS + ORIGIN)
    moment, force = link_axes(numbers, body, local_force(frame, origin, force))
    size = n * blocks
    at = (row * 3 + which) * size + column * blocks + block
    for r in range(3):
        increase(out, at + 3 * size * r, moment[r])
        increase(out, at + 3 * size * (r + 3), force[r])


@inlined
def add_wrench_columns(work, tree, numbers, k, U1, U5, U6, out, rows, n, blocks, block):
    """Derivatives of the wrenches at bodies above k by the coordinate of k: U1, U5, U6."""
    c, j = tree[k, COORDINATE], k
    while j > 0:
        j = tree[j, PARENT]
        if rows[j] >= 0:
            add_wrench_entry(work, numbers, j, U1, out, rows[j], 0, c, n, blocks, block)
            add_wrench_entry(work, numbers, j, U5, out, rows[j], 1, c, n, blocks, block)
            add_wrench_entry(work, numbers, j, U6, out, rows[j], 2, c, n, blocks, block)


@inlined
def add_wrench_row(work, tree, numbers, k, I, B, external, out, row, n, blocks, block):
    """Derivatives of the wrench at k by k and the bodies above it, which carry its subtree rigidly."""
    j = k
    while j > 0:
        c, at = tree[j, COORDINATE], j * SLOTS
        S, Sd, Sdd = load6(work, at + AXIS), load6(work, at + AXIS_RATE), load6(work, at + AXIS_RATE_2)
        by_q = add_scaled6(inertia_times(I, Sdd), 2.0, factor_times(B, Sd))
        by_q = add6(by_q, cross_force(S, external))
        by_v = scale6(2.0, add6(inertia_times(I, Sd), factor_times(B, S)))
        add_wrench_entry(work, numbers, k, by_q, out, row, 0, c, n, blocks, block)
        add_wrench_entry(work, numbers, k, by_v, out, row, 1, c, n, blocks, block)
        add_wrench_entry(work, numbers, k, inertia_times(I, S), out, row, 2, c, n, blocks, block)
        j = tree[j, PARENT]


@inlined
def clear_rows(out, torque_row, n, entries_to_clear, block):
    """Zero what the pairs do not write: `entries_to_clear` of the torque rows, and all rows of wrenches.

    As `clear_entries`, for BLOCKS_TOGETHER blocks at once.
    """
    blocks, first = out.shape[3], 0
    if block % BLOCKS_TOGETHER != 0:
        return
    ahead = min(BLOCKS_TOGETHER, blocks - block)
    if torque_row >= 0:
        first = n
        for entry in entries_to_clear:
            row, column = torque_row + entry // n, entry % n
            for which in range(3):
                clear(out, ((row * 3 + which) * n + column) * blocks + block, ahead)
    for slot in range(first * 3 * n, out.shape[0] * 3 * n):
        clear(out, slot * blocks + block, ahead)


@kernel
def _rnea_derivatives(
    tree, numbers, turned, q, v, a, external, torque_row, rows, entries_to_clear, adds, values, out
):
    bodies, n, blocks = tree.shape[0], q.shape[1], out.shape[3]
    work = workspace(q, bodies * SLOTS + n)
    torque = bodies * SLOTS
    for block in range(blocks):
        node = block * width(q)
        clear_ground(work, numbers, SLOTS)
        clear_rows(out, torque_row, n, entries_to_clear, block)
        zero = load(work, 0)
        for i in range(n):
            store(work, torque + i, zero)

        for body in range(1, bodies):
            i, at = tree[body, COORDINATE], body * SLOTS
            store6(work, at + EXTERNAL, ((zero, zero, zero), (zero, zero, zero)))
            if external.shape[0] > 0 and tree[body, LINK] >= 0:
                store6(work, at + EXTERNAL, load_on(tree, external, body, node))
            if turned is not None and turned[body]:
                if turned[body] == 1:
                    sweep_turned(work, tree, numbers, body, SLOTS, q, v, a, node)
                if turned[body] < 3:
                    clear(work, at + SUMS, SWEPT - SUMS)
                else:
                    store_sums(work, at, numbers, body)
                continue
            qi, vi, ai = gather(q, node, i), gather(v, node, i), gather(a, node, i)
            sweep_body(work, SLOTS, tree, numbers, body, qi, vi, ai)
            increase(work, torque + i, numbers[body, ARMATURE] * ai)

        for k in range(bodies - 1, -1, -1):
            at = k * SLOTS
            I, B = load_inertia(work, at + INERTIA), load_factor(work, at + FACTOR)
            f, W = load6(work, at + FORCE), load6(work, at + EXTERNAL)
            if rows[k] >= 0:
                frame, origin = load_frame(work, at + FRAME), load3(work, at + ORIGIN)
                wrench = link_axes(numbers, k, local_force(frame, origin, sub6(f, W)))
                scatter6(values, node, rows[k], wrench)
                add_wrench_row(work, tree, numbers, k, I, B, W, out, rows[k], n, blocks, block)
            if k == 0:
                break
            S, Sd = load6(work, at + AXIS), load6(work, at + AXIS_RATE)
            U1 = add_scaled6(inertia_times(I, load6(work, at + AXIS_RATE_2)), 2.0, factor_times(B, Sd))
            U1 = add6(U1, cross_force(S, f))
            U5 = scale6(2.0, add6(inertia_times(I, Sd), factor_times(B, S)))
            U6 = inertia_times(I, S)
            increase(work, torque + tree[k, COORDINATE], dot6(S, sub6(f, W)))
            if torque_row >= 0:
                E = cross_force(S, W)
                add_torque_column(
                    work, tree, numbers, k, U1, U5, U6, E, B, adds, out, torque_row, n, blocks, block
                )
                if turned is not None and turned[k] == 1:
                    force, row = sub6(f, W), torque_row
                    add_turn_stiffness(work, tree, numbers, k, SLOTS, q, node, force, out, row, block)
            add_wrench_columns(work, tree, numbers, k, U1, U5, U6, out, rows, n, blocks, block)
            increase_slots(work, tree[k, PARENT] * SLOTS + SUMS, at + SUMS, SLOTS - SUMS)

        if torque_row >= 0:
            for i in range(n):
                scatter(values, node, torque_row + i, load(work, torque + i))


@dataclass(frozen=True, eq=False)
class InverseDynamicsPartials:
    """Values and first derivatives of chosen forces, stacked: torques, then joint wrenches, then base wrench.

    values : (nodes, rows); partials : (rows, 3, n, nodes), the second axis d/dq, d/dv, d/da
    """

    values: np.ndarray
    partials: np.ndarray

    def with_wrenches_of(self, places: np.ndarray, first: int) -> InverseDynamicsPartials:
        """These partials with wrenches of these places in the rows from `first`; the base's stays last."""
        count = 6 * (places.max() + 1)
        wrenches = (6 * places[:, None] + np.arange(6)).ravel()
        order = [np.arange(first), first + wrenches, np.arange(first + count, len(self.partials))]
        rows = np.concatenate(order)
        return InverseDynamicsPartials(self.values[:, rows], self.partials[rows])


def stacked_rows(
    packed: PackedModel, torques: bool, links: tuple[int, ...], base: bool
) -> tuple[int, np.ndarray, int]:
    """(first torque row, first wrench row of every body, number of rows); -1 = not computed."""
    rows = np.full(len(packed.tree), -1, dtype=np.int64)
    count = packed.n if torques else 0
    for link in links:
        rows[packed.body_of_link[link]] = count
        count += 6
    if base:
        rows[0] = count
        count += 6
    return (0 if torques else -1), rows, count


def inverse_dynamics_partials(
    model: KinematicTree, nodes: Batch, torques: bool, links: tuple[int, ...] = (), base: bool = False
) -> InverseDynamicsPartials:
    """One call of the kernel for the torques, the wrenches at `links` and the base wrench."""
    if not model.rotation_joints or not links:
        values, out = partial_slots(model, nodes, torques, links, base)
        return InverseDynamicsPartials(values, nodes.nodes_last(out))
    bodies = model.packed.body_of_link[list(links)]  # one for the three links of a rotation vector
    first, places = np.unique(bodies, return_index=True, return_inverse=True)[1:]
    values, out = partial_slots(model, nodes, torques, tuple(links[place] for place in first), base)
    found = InverseDynamicsPartials(values, nodes.nodes_last(out))
    return found.with_wrenches_of(places, model.packed.n if torques else 0)


def partial_slots(
    model: KinematicTree, nodes: Batch, torques: bool, links: tuple[int, ...], base: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Values (nodes, rows) and the slots (rows, 3, n, blocks, width) of their derivatives."""
    packed = model.packed
    q, v, a = nodes.arrays[:3]
    torque_row, rows, count = stacked_rows(packed, torques, links, base)
    values, out = nodes.rows(count), nodes.slots(count, 3, packed.n, cleared=False)
    _rnea_derivatives(
        packed.tree,
        packed.numbers,
        packed.turned,
        q,
        v,
        a,
        nodes.given(3),
        torque_row,
        rows,
        packed.entries_to_clear,
        packed.shares_coordinates,
        values,
        out,
    )
    return values, out


@dataclass(frozen=True, eq=False)
class RneaDerivatives:
    """Result of `rnea_derivatives`.

    tau : (..., n) N m or N
    dtau_dq, dtau_dv, dtau_da : (..., n, n), dtau_dq[..., i, j] = d tau_i / d q_j; dtau_da = M
    """

    tau: np.ndarray
    dtau_dq: np.ndarray
    dtau_dv: np.ndarray
    dtau_da: np.ndarray


@dataclass(frozen=True, eq=False)
class WrenchDerivatives:
    """Result of `joint_wrench_derivatives` (m joints) and `base_wrench_derivatives` (without the axis m).

    wrench : (..., m, 6) [moment; force] N m and N
    dq, dv, da : (..., m, 6, n), dq[..., i, r, j] = d wrench_i[r] / d q_j
    """

    wrench: np.ndarray
    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray


def rnea_derivatives(
    model: KinematicTree, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: ArrayLike | None = None
) -> RneaDerivatives:
    """Inverse dynamics tau(q, v, a) and its derivatives by q, v and a, `external` constant in world axes.

    tau = M a + C v + g - J' external; dtau_da = M and dtau_dv = 2 C with the C of the Christoffel symbols.
    Exact, in O(n depth). Arguments and errors as in `rnea`. The matrices are strided views, node axis last in
    memory. Source: derived in docs/derivations.md, with the body factor of Echeandia and Wensing (2021).
    """
    nodes = motion_batch(packed_with_mass(model, "inverse dynamics"), q, v, a, external)
    found = inverse_dynamics_partials(model, nodes, torques=True)
    n = model.packed.n
    tau = nodes.unfold(found.values, n)
    return RneaDerivatives(tau, *(nodes.spread(found.partials[:, i]) for i in range(3)))


def joint_wrench_derivatives(
    model: KinematicTree,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    joints: str | Iterable[str] | None = None,
    external: ArrayLike | None = None,
) -> WrenchDerivatives:
    """`joint_wrenches` of chosen joints and their derivatives by q, v and a.

    joints : None = every joint in the order of the links, or names of m joints
    Wrenches are in link axes about the joint frame's origin, `external` is constant in world axes. Other
    arguments and errors as in `rnea`; UnknownNameError for a joint the model does not have.
    """
    nodes = motion_batch(packed_with_mass(model, "inverse dynamics"), q, v, a, external)
    links = chosen_links(model, joints)
    found = inverse_dynamics_partials(model, nodes, torques=False, links=links)
    m, n = len(links), model.packed.n
    wrench = nodes.unfold(found.values, m, 6)
    shaped = found.partials.reshape(m, 6, 3, n, nodes.nodes)
    return WrenchDerivatives(wrench, *(nodes.spread(shaped[:, :, i]) for i in range(3)))


def base_wrench_derivatives(
    model: KinematicTree, q: ArrayLike, v: ArrayLike, a: ArrayLike, external: ArrayLike | None = None
) -> WrenchDerivatives:
    """`base_wrench` and its derivatives by q, v and a: wrench (..., 6); dq, dv and da (..., 6, n).

    World axes, about the world origin. Arguments and errors as in `rnea`.
    """
    nodes = motion_batch(packed_with_mass(model, "inverse dynamics"), q, v, a, external)
    found = inverse_dynamics_partials(model, nodes, torques=False, base=True)
    wrench = nodes.unfold(found.values, 6)
    return WrenchDerivatives(wrench, *(nodes.spread(found.partials[:, i]) for i in range(3)))


def chosen_links(model: KinematicTree, joints: str | Iterable[str] | None) -> tuple[int, ...]:
    """Indices of the links on the named joints; all when `joints` is None."""
    if joints is None:
        return tuple(range(model.link_count))
    return tuple(model.joint_link_index(name) for name in names_of(joints, "joints"))
