"""The regressor of inverse dynamics: torques as a matrix times inertial and friction parameters.

Every link has ten columns, which are not zero in the rows of the joints that carry it. Torques are linear in
these parameters where moments of inertia are taken about the link frame's origin (Atkeson, An and Hollerbach,
Estimation of inertial parameters of manipulator loads and links, IJRR 5(3), 1986, eq. 13).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics.errors import DynamicsError
from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.node_batch import Batch, batch
from dynamics.kernels.outward_sweep import AXIS, ORIGIN, clear_ground
from dynamics.kernels.rotation_vectors.serial_motion import SerialMotion
from dynamics.kernels.simd import width
from dynamics.kernels.spatial_algebra import add, cross, dot, increase, load3, load6, workspace
from dynamics.model.checks.validation import finite_number
from dynamics.model.kinematic_tree import KinematicTree, packed_of
from dynamics.model.packed_model import COORDINATE, LINK, PARENT
from dynamics.regressors.dynamic_parameters import PER_LINK, dynamic_parameter_names, joint_columns
from dynamics.regressors.link_motion import classical_motion, in_link, link_frame, sweep_motion

SLOTS = 42


@inlined
def add_inertia_columns(out, at, step, s, w, al, c):
    """The six columns of the inertia: s.J al + c.J w, c = s x w."""
    increase(out, at, s[0] * al[0] + c[0] * w[0])
    increase(out, at + step, s[0] * al[1] + s[1] * al[0] + c[0] * w[1] + c[1] * w[0])
    increase(out, at + 2 * step, s[0] * al[2] + s[2] * al[0] + c[0] * w[2] + c[2] * w[0])
    increase(out, at + 3 * step, s[1] * al[1] + c[1] * w[1])
    increase(out, at + 4 * step, s[1] * al[2] + s[2] * al[1] + c[1] * w[2] + c[2] * w[1])
    increase(out, at + 5 * step, s[2] * al[2] + c[2] * w[2])


@inlined
def add_link_columns(out, at, step, S, motion):
    """The ten columns of a link in the row of one joint, see `link_motion.py`."""
    s, u = S
    w, al, g = motion
    h = add(cross(u, al), add(cross(w, cross(w, u)), cross(g, s)))
    increase(out, at, dot(u, g))
    increase(out, at + step, h[0])
    increase(out, at + 2 * step, h[1])
    increase(out, at + 3 * step, h[2])
    add_inertia_columns(out, at + 4 * step, step, s, w, al, cross(s, w))


@inlined
def add_rotor_column(out, at, S, motion, factor):
    """The column of a rotor's inertia about its axis z, times `factor`."""
    s, (w, al, _) = S[0], motion
    spin = s[2] * al[2] + (s[0] * w[1] - s[1] * w[0]) * w[2]
    increase(out, at, factor * spin)


@kernel
def _regressor(tree, numbers, columns, factors, q, v, a, out):
    count, blocks = out.shape[1], out.shape[2]
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
            motion = classical_motion(work, at, frame)
            k = body
            while k > 0:
                S = in_link(frame, origin, load6(work, k * SLOTS + AXIS))
                place = (tree[k, COORDINATE] * count + columns[body]) * blocks + block
                if tree[body, LINK] < 0:
                    add_rotor_column(out, place, S, motion, factors[body])
                else:
                    add_link_columns(out, place, blocks, S, motion)
                k = tree[k, PARENT]


def regressor(
    model: KinematicTree, q: ArrayLike, v: ArrayLike, a: ArrayLike, smoothing: float = 0.01
) -> np.ndarray:
    """Y of tau = Y(q, v, a) pi, (..., n, parameters), pi as `dynamic_parameters` gives it.

        Y pi = M(q) a + C(q, v) v + g(q) + damping w + friction tanh(w / smoothing),   w the joints' rates

    Columns are named by `dynamic_parameter_names`: ten per link, then friction and rotor inertia of joints.
    q, v, a : (..., n) rad or m, and first and second rates per s and s^2; leading axes broadcast
    smoothing : rad/s or m/s, > 0, of the Coulomb friction, as in `friction`
    Springs are not contained. Raises ShapeError, and DynamicsError for a smoothing that is not positive.
    """
    nodes = batch(packed_of(model), q=q, v=v, a=a)
    return nodes.spread(regressor_rows(model, nodes, positive_smoothing(smoothing)))


def regressor_rows(model: KinematicTree, nodes: Batch, smoothing: float) -> np.ndarray:
    """Y at checked nodes, (n, parameters, nodes)."""
    count = len(dynamic_parameter_names(model))
    rows = serial_link_rows(model, nodes, count) if model.rotation_joints else link_rows(model, nodes, count)
    v, a = nodes.arrays[1:3]
    for joint in joint_columns(model):
        i, rate = joint.coordinate, joint.ratio * v[:, joint.coordinate]
        rows[i, joint.damping] = joint.ratio * rate
        rows[i, joint.friction] = joint.ratio * np.tanh(rate / smoothing)
        if joint.rotor_inertia >= 0 and model.rotors == "armature":
            rows[i, joint.rotor_inertia] = joint.ratio**2 * a[:, i]
    return rows


def link_rows(model: KinematicTree, nodes: Batch, count: int) -> np.ndarray:
    """The columns of links and exact rotors, (n, parameters, nodes); the others are zero."""
    packed = model.packed
    out = nodes.slots(packed.n, count)
    _regressor(packed.tree, packed.numbers, *body_columns(model), *nodes.arrays[:3], out)
    return nodes.nodes_last(out)


def serial_link_rows(model: KinematicTree, nodes: Batch, count: int) -> np.ndarray:
    """`link_rows` of a model with rotation vectors: those of its serial form, E' from the left."""
    motion = SerialMotion(model, nodes, 2)
    packed = model.serial.packed
    serial = motion.batch()
    out = serial.slots(packed.n, count)
    columns, factors = body_columns(model)
    _regressor(packed.tree, packed.numbers, columns, factors, *serial.arrays[:3], out)
    of_columns = np.moveaxis(serial.nodes_last(out), 0, -1)  # (parameters, nodes, n')
    own = np.array([motion.forces(np.ascontiguousarray(column)) for column in of_columns])
    return np.moveaxis(own, -1, 0)


def body_columns(model: KinematicTree) -> tuple[np.ndarray, np.ndarray]:
    """First column of every packed body, -1 where it has none, and the factor of a rotor's column."""
    packed = (model.serial if model.rotation_joints else model).packed
    places = model.serial_bodies.links if model.rotation_joints else range(model.link_count)
    columns, factors = np.full(len(packed.tree), -1), np.ones(len(packed.tree))
    for link, place in enumerate(places):
        columns[packed.body_of_link[place]] = PER_LINK * link
    for joint in joint_columns(model):
        rotor = model.bodies[joint.link].joint.rotor
        if joint.rotor_inertia >= 0 and model.rotors == "exact" and rotor is not None:
            row = packed.body_of_link[places[joint.link]] + 1  # a rotor stands behind the link it drives
            columns[row], factors[row] = joint.rotor_inertia, rotor.gear_ratio**-2
    return columns, factors


def positive_smoothing(smoothing: Any) -> float:
    """A checked smoothing."""
    found = finite_number(smoothing, "smoothing")
    if not found > 0.0:
        raise DynamicsError(f"smoothing is {found}; it is a rate in rad/s or m/s and must be positive")
    return found
