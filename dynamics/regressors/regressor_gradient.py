"""Gradient of weighted sums of the regressor's entries by q, v and a: for motions that excite parameters.

For one body, with W_i the spatial inertia that has the weights of its ten columns in the row of joint i as
mass, first moments and inertia, the sum is

    phi = sum over joints i further in of S_i'(W_i A + V x* W_i V)

With f_i = W_i A + V x* W_i V, H = sum of W_i S_i, G = sum of W_i (S_i x V) - S_i x* (W_i V), p the parent of
the body that joint k moves, and D = V_p x S_k:

    d phi/d a_k = H.S_k
    d phi/d v_k = G.S_k + H.(S_k x V + 2 D)
    d phi/d q_k = G.D + H.(A_p x S_k + D x (V - V_p)) - S_k.sum over i further in than k of S_i x* f_i

since, seen from the body, joint k turns all that lies further in. All of it is done in link axes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics.errors import ModelError
from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.inertia import inertia_times
from dynamics.kernels.node_batch import Batch, batch_with
from dynamics.kernels.outward_sweep import ACCELERATION, AXIS, AXIS_RATE, ORIGIN, VELOCITY, clear_ground
from dynamics.kernels.simd import load, same, width
from dynamics.kernels.spatial_algebra import (
    add6,
    cross_force,
    cross_motion,
    dot6,
    increase,
    load3,
    load6,
    scale6,
    store6,
    sub6,
    workspace,
    zero3,
)
from dynamics.model.kinematic_tree import KinematicTree, packed_of
from dynamics.model.packed_model import COORDINATE, LINK, PARENT
from dynamics.regressors.dynamic_parameters import dynamic_parameter_names, joint_columns
from dynamics.regressors.link_motion import in_link, link_frame, sweep_motion
from dynamics.regressors.regressor import body_columns, positive_smoothing

AXIS_IN_LINK, TURNED = 42, 48  # further slots: S_i in the axes of the link at hand, and S_i x* f_i
SLOTS = 54


@inlined
def weights_of_inertia(weights, at, step):
    """The six weights of an inertia, `step` slots apart."""
    x, y, z = load(weights, at), load(weights, at + step), load(weights, at + 2 * step)
    return x, y, z, load(weights, at + 3 * step), load(weights, at + 4 * step), load(weights, at + 5 * step)


@inlined
def weights_as_inertia(weights, at, step, is_rotor, factor):
    """Ten weights as mass, first moments and inertia; of a rotor the one of its inertia about z."""
    zero = same(weights, 0.0)
    if is_rotor:
        spin = factor * load(weights, at)
        return zero, (zero, zero, zero), (zero, zero, zero, zero, zero, spin)
    moment = load(weights, at + step), load(weights, at + 2 * step), load(weights, at + 3 * step)
    return load(weights, at), moment, weights_of_inertia(weights, at + 4 * step, step)


@inlined
def zero6(work):
    return zero3(work), zero3(work)


@inlined
def gather_wrenches(work, tree, numbers, columns, factors, weights, body, frame, origin, V, A, block):
    """H and G of a body and the sum of all S_i x* f_i; S_i and S_i x* f_i are kept for every joint."""
    count, blocks = weights.shape[1], weights.shape[2]
    H, G, turned = zero6(work), zero6(work), zero6(work)
    k = body
    while k > 0:
        at = (tree[k, COORDINATE] * count + columns[body]) * blocks + block
        W = weights_as_inertia(weights, at, blocks, tree[body, LINK] < 0, factors[body])
        S = in_link(frame, origin, load6(work, k * SLOTS + AXIS))
        momentum = inertia_times(W, V)
        f = add6(inertia_times(W, A), cross_force(V, momentum))
        H = add6(H, inertia_times(W, S))
        G = add6(G, sub6(inertia_times(W, cross_motion(S, V)), cross_force(S, momentum)))
        own = cross_force(S, f)
        turned = add6(turned, own)
        store6(work, k * SLOTS + AXIS_IN_LINK, S)
        store6(work, k * SLOTS + TURNED, own)
        k = tree[k, PARENT]
    return H, G, turned


@kernel
def _regressor_gradient(tree, numbers, columns, factors, q, v, a, weights, out):
    n, blocks = out.shape[1], out.shape[2]
    work = workspace(q, tree.shape[0] * SLOTS)
    clear_ground(work, numbers, SLOTS)
    for block in range(blocks):
        node = block * width(q)
        for body in range(1, tree.shape[0]):
            sweep_motion(work, SLOTS, tree, numbers, body, q, v, a, node)
            if columns[body] < 0:
                continue
            at = body * SLOTS
            frame, origin = link_frame(work, at, tree, numbers, body), load3(work, at + ORIGIN)
            V = in_link(frame, origin, load6(work, at + VELOCITY))
            A = in_link(frame, origin, load6(work, at + ACCELERATION))
            H, G, turned = gather_wrenches(
                work, tree, numbers, columns, factors, weights, body, frame, origin, V, A, block
            )
            k = body
            while k > 0:
                parent = tree[k, PARENT] * SLOTS
                S = load6(work, k * SLOTS + AXIS_IN_LINK)
                D = in_link(frame, origin, load6(work, k * SLOTS + AXIS_RATE))
                V_p = in_link(frame, origin, load6(work, parent + VELOCITY))
                A_p = in_link(frame, origin, load6(work, parent + ACCELERATION))
                turned = sub6(turned, load6(work, k * SLOTS + TURNED))
                by_q = add6(cross_motion(A_p, S), cross_motion(D, sub6(V, V_p)))
                by_v = add6(cross_motion(S, V), scale6(2.0, D))
                place = tree[k, COORDINATE] * blocks + block
                increase(out, place, dot6(D, G) + dot6(by_q, H) - dot6(S, turned))
                increase(out, place + n * blocks, dot6(S, G) + dot6(by_v, H))
                increase(out, place + 2 * n * blocks, dot6(S, H))
                k = tree[k, PARENT]


def regressor_gradient(
    model: KinematicTree,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    weights: ArrayLike,
    smoothing: float = 0.01,
) -> np.ndarray:
    """Gradient of sum over i, j of weights_ij Y_ij(q, v, a) by q, v and a, (..., 3, n): exact.

    weights : (..., n, parameters); where they are Y itself, this is the gradient of half its squared norm
    Other arguments and errors as in `regressor`; ModelError for a model with rotation vectors.
    """
    packed = packed_of(model)
    if model.rotation_joints:
        raise ModelError(
            "the gradient of the regressor is computed for revolute and prismatic joints alone; joint "
            f"{model.joint_names[model.rotation_joints[0].coordinates.start]!r} is part of a rotation vector"
        )
    count = len(dynamic_parameter_names(model))
    nodes = batch_with(packed, {"weights": (weights, (packed.n, count))}, q=q, v=v, a=a)
    smoothing = positive_smoothing(smoothing)
    given = nodes.arrays[3].reshape(-1, packed.n, count)
    out = nodes.slots(3, packed.n)
    _regressor_gradient(
        packed.tree, packed.numbers, *body_columns(model), *nodes.arrays[:3], in_slots(nodes, given), out
    )
    found = nodes.nodes_last(out)
    add_joint_gradient(model, nodes.arrays[1], given, smoothing, found)
    return nodes.spread(found)


def in_slots(nodes: Batch, rows: np.ndarray) -> np.ndarray:
    """(nodes, n, parameters) -> (n, parameters, blocks, width)."""
    slots = nodes.slots(*rows.shape[1:])
    nodes.nodes_last(slots)[:] = np.moveaxis(rows, 0, -1)
    return slots


def add_joint_gradient(
    model: KinematicTree, v: np.ndarray, weights: np.ndarray, smoothing: float, out: np.ndarray
) -> None:
    """Add that of friction and of rotors as armature to (3, n, nodes)."""
    for joint in joint_columns(model):
        i, squared = joint.coordinate, joint.ratio**2
        slope = 1.0 - np.tanh(joint.ratio * v[:, i] / smoothing) ** 2
        out[1, i] += squared * weights[:, i, joint.damping]
        out[1, i] += squared / smoothing * slope * weights[:, i, joint.friction]
        if joint.rotor_inertia >= 0 and model.rotors == "armature":
            out[2, i] += squared * weights[:, i, joint.rotor_inertia]
