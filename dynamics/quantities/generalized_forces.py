"""Joint friction and springs as generalized forces with exact derivatives.

All are right-hand sides: tau + force = M a + C v + g, so the motors supply `rnea(...) - force`, and a
conservative force is -dU/dq (the sign of Savin's (22), not that of his (24)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import real_array
from dynamics.errors import DynamicsError, ShapeError
from dynamics.kernels.node_batch import batch
from dynamics.kernels.rotation_vectors.serial_motion import computed_frame, computed_motion
from dynamics.kernels.transposition import nodes_first
from dynamics.model.checks.validation import finite_number
from dynamics.model.kinematic_tree import KinematicTree, packed_of
from dynamics.quantities.frames import frame_curvature, frame_requests, frame_values


@dataclass(frozen=True, eq=False)
class GeneralizedForce:
    """A generalized force and its derivatives.

    force : (..., n) N m or N; dq, dv : (..., n, n), dq[..., i, j] = d force_i / d q_j
    """

    force: np.ndarray
    dq: np.ndarray
    dv: np.ndarray


def friction(model: KinematicTree, v: ArrayLike, smoothing: float = 0.01) -> GeneralizedForce:
    """Viscous and smoothed Coulomb friction of all joints, mimic joints included, with derivatives.

    force_i = - sum over joints of coordinate i: ratio (damping w + friction tanh(w / smoothing)),
    w = ratio v_i the rate of the joint

    v : (..., n); smoothing : rad/s or m/s, > 0, the rate at which 76 % of Coulomb friction is reached
    Raises ShapeError, and DynamicsError for a smoothing that is not positive.
    """
    nodes = batch(packed_of(model), v=v)
    smoothing = finite_number(smoothing, "smoothing")
    if not smoothing > 0.0:
        raise DynamicsError(f"smoothing is {smoothing}; it is a rate in rad/s or m/s and must be positive")
    ratio, damping, coulomb = np.array([(j.ratio, j.damping, j.friction) for j in model.joints]).T
    w = ratio * nodes.arrays[0][:, model.coordinate]
    smooth = np.tanh(w / smoothing)
    steepness = damping + coulomb * (1.0 - smooth**2) / smoothing
    onto = (model.coordinate[:, None] == np.arange(model.n)).astype(float)  # mimic joints share a coordinate
    force = -(ratio * (damping * w + coulomb * smooth)) @ onto
    slope = -(ratio**2 * steepness) @ onto
    diagonal = slope[:, :, None] * np.eye(model.n)
    square = (model.n, model.n)
    return GeneralizedForce(
        nodes.unfold(force, model.n),
        nodes.unfold(np.zeros_like(diagonal), *square),
        nodes.unfold(diagonal, *square),
    )


def joint_springs(
    model: KinematicTree, q: ArrayLike, stiffness: ArrayLike, rest: ArrayLike = 0.0
) -> GeneralizedForce:
    """Springs at the joints: force = -stiffness (q - rest), from U = sum stiffness (q - rest)^2 / 2.

    q : (..., n); stiffness : number or (n,) N m/rad or N/m; rest : number or (n,) rad or m
    Raises ShapeError when q, stiffness or rest does not fit the model.
    """
    nodes = batch(packed_of(model), q=q)
    k, q_rest = coordinate_numbers(model, "stiffness", stiffness), coordinate_numbers(model, "rest", rest)
    slope = np.broadcast_to(-np.diag(k), (nodes.nodes, model.n, model.n)).astype(nodes.dtype)
    square = (model.n, model.n)
    return GeneralizedForce(
        nodes.unfold(-k * (nodes.arrays[0] - q_rest), model.n),
        nodes.unfold(slope, *square),
        nodes.unfold(np.zeros_like(slope), *square),
    )


def point_spring(
    model: KinematicTree, q: ArrayLike, start: str, end: str, stiffness: float, length: float = 0.0
) -> GeneralizedForce:
    """A spring between the origins of two frames, U = stiffness (|d| - length)^2 / 2, d = p_end - p_start.

    With the tension t = dU/dd: force = -(dd/dq)' t and dq = -(dd/dq)' (dt/dd) dd/dq - d2 (t . d)/dq2.

    q : (..., n); start, end : links or frames; stiffness : N/m; length : m, unstretched; with length > 0
    the ends must not meet, where the force has no direction and NaN results.
    Raises ShapeError when q does not fit the model, UnknownNameError for a frame it does not have.
    """
    tree, nodes, motion = computed_motion(model, 2, q=q)
    stiffness, length = finite_number(stiffness, "stiffness"), finite_number(length, "length")
    ends = frame_requests(tree, [(computed_frame(model, name), "position") for name in (start, end)])
    resting = nodes.at_rest()
    values, derivatives = frame_values(tree, resting, ends, derivatives=True)
    by_q = nodes_first(derivatives)[:, :, 0]
    d, slope = values[:, 3:] - values[:, :3], by_q[:, 3:] - by_q[:, :3]
    tension, stretch = spring_tension(d, stiffness, length)
    adjoints = np.concatenate([-tension, tension], axis=1)
    bent = nodes_first(frame_curvature(tree, resting, ends, adjoints))[:, 0]
    force = -np.einsum("kri,kr->ki", slope, tension)
    stiffening = -np.swapaxes(slope, -1, -2) @ stretch @ slope - bent
    if motion is not None:
        stiffening = motion.matrix(stiffening)
        motion.add_chart_stiffness(stiffening, force)
        force = motion.forces(force)
    square = (model.n, model.n)
    return GeneralizedForce(
        nodes.unfold(force, model.n),
        nodes.unfold(stiffening, *square),
        nodes.unfold(np.zeros_like(stiffening), *square),
    )


def spring_tension(d: np.ndarray, stiffness: float, length: float) -> tuple[np.ndarray, np.ndarray]:
    """t = dU/dd (nodes, 3) and dt/dd (nodes, 3, 3); exact and finite at d = 0 when length is 0."""
    unit = np.eye(3)
    if length == 0.0:
        return stiffness * d, np.broadcast_to(stiffness * unit, (len(d), 3, 3))
    distance = np.sqrt((d * d).sum(axis=-1))[:, None]
    direction = d / distance
    along = direction[:, :, None] * direction[:, None, :]
    slack = (length / distance)[:, :, None]
    return stiffness * (distance - length) * direction, stiffness * (unit - slack * (unit - along))


def coordinate_numbers(model: KinematicTree, name: str, value: ArrayLike) -> np.ndarray:
    """`value`, one number or (n,), as (n,); ShapeError otherwise."""
    array = real_array(value, name)
    if array.shape not in ((), (model.n,)):
        raise ShapeError(f"{name} has shape {array.shape}; give one number or (n,) = ({model.n},) of them")
    return np.broadcast_to(array, (model.n,))
