"""First derivatives of forward dynamics, from those of inverse dynamics at the same acceleration.

M = L' D L with L triangular and, like M, nonzero only where one coordinate lies on the path of the other
(Featherstone 2008, section 6.5), so that with Y = L^-1, of the same pattern,
    M^-1 = Y D^-1 Y',  da/dq = -Y D^-1 (Y' dtau/dq),  da/dv = -Y D^-1 (Y' dtau/dv).
The bracket has the pattern of M, too, and the sums run over paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dynamics.algorithms.aba import forward_dynamics
from dynamics.algorithms.rnea_derivatives import (
    _rnea_derivatives,
    inverse_dynamics_partials,
    stacked_rows,
)
from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.node_batch import Batch, batch_with
from dynamics.kernels.simd import load, same, store, width
from dynamics.kernels.spatial_algebra import workspace
from dynamics.model.kinematic_tree import KinematicTree, packed_with_mass

if TYPE_CHECKING:
    from dynamics.model.packed_model import PackedModel


@inlined
def factorize(Y, inverse, order, lengths, paths, stride):
    """M, given in Y by paths, becomes Y = L^-1, its diagonal of ones included, and D^-1 = inverse."""
    for place in range(len(order) - 1, -1, -1):
        i = order[place]
        last, row = lengths[i] - 1, i * stride
        share = 1.0 / load(Y, row + last)
        store(Y, row + last, same(Y, 1.0))
        store(inverse, i, share)
        for p in range(last - 1, -1, -1):
            a, above = load(Y, row + p) * share, paths[i, p] * stride
            for r in range(p + 1):
                store(Y, above + r, load(Y, above + r) - a * load(Y, row + r))
            store(Y, row + p, a)
    # Of Y L = 1, row i needs the rows of L above it: those of descendants are turned into rows of Y first.
    for place in range(len(order) - 1, -1, -1):
        i = order[place]
        last, row = lengths[i] - 1, i * stride
        for p in range(last - 1, -1, -1):
            total = load(Y, row + p)
            for r in range(p + 1, last):
                total = total + load(Y, row + r) * load(Y, paths[i, r] * stride + p)
            store(Y, row + p, -total)


@inlined
def load_four(array, slot):
    return load(array, slot), load(array, slot + 1), load(array, slot + 2), load(array, slot + 3)


@inlined
def add_four(total, y, x):
    return total[0] + y * x[0], total[1] + y * x[1], total[2] + y * x[2], total[3] + y * x[3]


@inlined
def store_four(array, slot, x):
    for which in range(4):
        store(array, slot + which, x[which])


@inlined
def solve_columns(Y, inverse, given, half, tree, c, d, partials, out, block):
    """Columns c and d of da/dq and da/dv, into `out`, from those of dtau/dq and dtau/dv in `partials`.

    d is c or a coordinate on it: what is related to d is related to c. given : these four columns side by
    side; half : -D^-1 Y' times them.
    """
    lengths, paths, reached, relatives, starts = tree
    n, blocks, stride = len(lengths), out.shape[3], len(lengths) | 1
    for i in relatives[starts[c] : starts[c + 1]]:
        by_q, by_v = 3 * i * n, (3 * i + 1) * n
        store(given, 4 * i, load(partials, by_q + c))
        store(given, 4 * i + 1, load(partials, by_q + d))
        store(given, 4 * i + 2, load(partials, by_v + c))
        store(given, 4 * i + 3, load(partials, by_v + d))
    zero = same(Y, 0.0)
    for k in relatives[starts[c] : starts[c + 1]]:
        p = lengths[k] - 1
        branch = k if p >= lengths[c] else c  # of what k carries, all are related to c, or those of c are
        total = (zero, zero, zero, zero)
        for i in relatives[starts[branch] + p : starts[branch + 1]]:
            total = add_four(total, load(Y, i * stride + p), load_four(given, 4 * i))
        share = -load(inverse, k)
        store_four(half, 4 * k, (share * total[0], share * total[1], share * total[2], share * total[3]))
    for i in range(n):
        total = (zero, zero, zero, zero)
        for p in range(reached[i, c]):
            total = add_four(total, load(Y, i * stride + p), load_four(half, 4 * paths[i, p]))
        by_q, by_v = 3 * i * n * blocks + block, (3 * i + 1) * n * blocks + block
        store(out, by_q + c * blocks, total[0])
        store(out, by_q + d * blocks, total[1])
        store(out, by_v + c * blocks, total[2])
        store(out, by_v + d * blocks, total[3])


@inlined
def store_inverse(Y, inverse, half, lengths, paths, shared, c, out, block):
    """Row and column c of M^-1, as far as the diagonal."""
    n, blocks, stride = len(lengths), out.shape[3], len(lengths) | 1
    for p in range(lengths[c]):
        store(half, p, load(Y, c * stride + p) * load(inverse, paths[c, p]))
    for i in range(c + 1):
        total = same(Y, 0.0)
        for p in range(shared[i, c]):
            total = total + load(Y, i * stride + p) * load(half, p)
        store(out, ((3 * i + 2) * n + c) * blocks + block, total)
        store(out, ((3 * c + 2) * n + i) * blocks + block, total)


@inlined
def solve_block(Y, inverse, given, half, order, shared, pairs, tree, partials, out, block):
    """All columns of one block of nodes."""
    lengths, paths, _, _, _ = tree
    n, stride = len(lengths), len(lengths) | 1
    for i in range(n):
        for p in range(lengths[i]):
            store(Y, i * stride + p, load(partials, (3 * i + 2) * n + paths[i, p]))
    factorize(Y, inverse, order, lengths, paths, stride)
    for pair in range(len(pairs)):
        c, d = pairs[pair, 0], pairs[pair, 1]
        solve_columns(Y, inverse, given, half, tree, c, d, partials, out, block)
    for c in range(n):
        store_inverse(Y, inverse, half, lengths, paths, shared, c, out, block)


@kernel
def _aba_derivatives(
    tree,
    numbers,
    turned,
    q,
    v,
    a,
    external,
    torque_row,
    rows,
    entries_to_clear,
    adds,
    order,
    lengths,
    paths,
    shared,
    reached,
    relatives,
    starts,
    pairs,
    out,
):
    n, blocks, stride = out.shape[0], out.shape[3], out.shape[0] | 1  # odd: columns of Y in different sets
    Y, inverse = workspace(out, n * stride), workspace(out, n)
    given, half = workspace(out, 4 * n), workspace(out, 4 * n)
    # One block after the other: its derivatives of torques stay in the second cache until they are solved.
    partials = workspace(out, 3 * n * n).reshape(n, 3, n, 1, width(out))
    torques = np.empty((width(out), n), out.dtype)
    coordinates = lengths, paths, reached, relatives, starts
    for block in range(blocks):
        here = slice(block * width(q), (block + 1) * width(q))
        _rnea_derivatives(
            tree,
            numbers,
            turned,
            q[here],
            v[here],
            a[here],
            external[here],
            torque_row,
            rows,
            entries_to_clear,
            adds,
            torques[: len(q[here])],
            partials,
        )
        solve_block(Y, inverse, given, half, order, shared, pairs, coordinates, partials, out, block)


@dataclass(frozen=True, eq=False)
class AbaDerivatives:
    """Result of `aba_derivatives`.

    a : (..., n) rad/s^2 or m/s^2
    da_dq, da_dv, da_dtau : (..., n, n), da_dq[..., i, j] = d a_i / d q_j; da_dtau = M^-1
    """

    a: np.ndarray
    da_dq: np.ndarray
    da_dv: np.ndarray
    da_dtau: np.ndarray


def aba_derivatives(
    model: KinematicTree, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None = None
) -> AbaDerivatives:
    """Accelerations and their derivatives, `external` held constant in world axes.

    tau(q, v, a(q, v, tau)) = tau gives da/dq = -M^-1 dtau/dq, da/dv = -M^-1 dtau/dv, da/dtau = M^-1
    (Carpentier and Mansard 2018). The derivative by an external wrench is M^-1 J', that is da_dtau times
    minus `external_derivatives(...).dtau`.

    q, v, tau : (..., n); external : None or (..., links, 6), as in `rnea`. Raises ShapeError, as `aba`.
    The matrices are strided views, node axis last in memory.
    """
    packed = packed_with_mass(model, "forward dynamics", of_all_joints=True)
    extra = {} if external is None else {"external": (external, (packed.links, 6))}
    nodes = batch_with(packed, extra, q=q, v=v, tau=tau)
    a = forward_dynamics(model, nodes)
    moving = Batch((*nodes.arrays[:2], a, *nodes.arrays[3:]), nodes.shape, nodes.dtype)
    partials = solved_by_paths(model, moving) if packed.siblings_only else solved_densely(model, moving)
    return AbaDerivatives(nodes.unfold(a, packed.n), *(nodes.spread(partials[:, i]) for i in range(3)))


def solved_by_paths(model: KinematicTree, nodes: Batch) -> np.ndarray:
    """(n, 3, n, nodes): da/dq, da/dv and M^-1 at q, v, a and, when there, external."""
    packed: PackedModel = model.packed
    q, v, a = nodes.arrays[:3]
    torque_row, rows, _ = stacked_rows(packed, True, (), False)
    tree, out = packed.coordinate_tree, nodes.slots(packed.n, 3, packed.n, cleared=False)
    _aba_derivatives(
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
        tree.order,
        tree.lengths,
        tree.paths,
        tree.shared,
        tree.reached,
        *tree.relatives,
        tree.pairs,
        out,
    )
    return nodes.nodes_last(out)


def solved_densely(model: KinematicTree, nodes: Batch) -> np.ndarray:
    """Solve as `solved_by_paths` does, for any shared coordinates."""
    partials = inverse_dynamics_partials(model, nodes, torques=True).partials
    by_q, by_v, M = (np.moveaxis(partials[:, i], -1, 0) for i in range(3))
    inverse = np.linalg.inv(M)
    return np.moveaxis(np.stack([-inverse @ by_q, -inverse @ by_v, inverse], axis=2), 0, -1)
