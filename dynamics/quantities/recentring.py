"""Rotation vectors of rotations, and the same motion about other centres."""

from __future__ import annotations

from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import real_array
from dynamics.errors import ModelError, ShapeError
from dynamics.kernels.node_batch import Batch, batch
from dynamics.kernels.rotation_vectors.serial_motion import SerialMotion, solved, twice
from dynamics.model.kinematic_tree import KinematicTree, checked_model, packed_of


def rotation_vector(rotations: ArrayLike) -> np.ndarray:
    """p with Exp(p) = R and |p| <= pi, (..., 3) rad, of rotation matrices R (..., 3, 3).

    From the quaternion (w, u), whose largest component is taken from the diagonal (Shepperd 1978), so that it
    is exact to rounding for every angle: p = 2 atan2(|u|, w) u / |u|. Turns by pi have two answers, of which
    one is given. Raises ShapeError.
    """
    R = real_array(rotations, "the rotations")
    if R.shape[-2:] != (3, 3):
        raise ShapeError(f"the rotations have shape {R.shape}; give (..., 3, 3)")
    return _logarithm(R.reshape(-1, 3, 3)).reshape(*R.shape[:-2], 3)


def _logarithm(R: np.ndarray) -> np.ndarray:
    x, y, z = R[:, 0, 0], R[:, 1, 1], R[:, 2, 2]
    a, b, c = R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]
    d, e, f = R[:, 1, 0] + R[:, 0, 1], R[:, 0, 2] + R[:, 2, 0], R[:, 2, 1] + R[:, 1, 2]
    rows = [  # four times a component of the quaternion times all of it
        (1.0 + x + y + z, a, b, c),
        (a, 1.0 + x - y - z, d, e),
        (b, d, 1.0 - x + y - z, f),
        (c, e, f, 1.0 - x - y + z),
    ]
    every = np.array(rows)  # (4, 4, nodes)
    chosen = np.argmax(np.einsum("iik->ik", every), axis=0)
    found = every[chosen, :, np.arange(len(R))]
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    found *= np.where(found[:, :1] < 0.0, -1.0, 1.0)
    length = np.linalg.norm(found[:, 1:], axis=1)
    safe = np.where(length > 0.0, length, 1.0)
    return found[:, 1:] * np.where(length > 0.0, 2.0 * np.arctan2(length, found[:, 0]) / safe, 2.0)[:, None]


@overload
def recentred(here: KinematicTree, there: KinematicTree, q: ArrayLike) -> np.ndarray: ...
@overload
def recentred(
    here: KinematicTree, there: KinematicTree, q: ArrayLike, v: ArrayLike, a: ArrayLike | None = None
) -> tuple[np.ndarray, ...]: ...
def recentred(
    here: KinematicTree,
    there: KinematicTree,
    q: ArrayLike,
    v: ArrayLike | None = None,
    a: ArrayLike | None = None,
) -> np.ndarray | tuple[np.ndarray, ...]:
    """The same motion in the coordinates of a model with other centres: q, or (q, v), or (q, v, a).

    Of every rotation vector, R_c' Exp(p') = R_c Exp(p) with |p'| <= pi, and its rates follow from the angular
    velocity and acceleration. Other coordinates stay as they are.

    here : the model of q, v and a, (..., n), as much as is wanted;  there : `here.with_centres(...)`
    Raises ModelError where the models differ in more than centres or a comes without v, ShapeError.
    """
    joints, others = (checked_model(model).rotation_joints for model in (here, there))
    same = [joint.link for joint in joints] == [joint.link for joint in others]
    if here.joint_names != there.joint_names or not same:
        raise ModelError("the models have other joints; give here.with_centres(...) as the second one")
    if v is None and a is not None:
        raise ModelError("a is given without v, on which it depends; give both")
    given = {name: array for name, array in (("q", q), ("v", v), ("a", a)) if array is not None}
    nodes = batch(packed_of(here), **given)
    degree = max(1, len(given) - 1)
    motion = SerialMotion(here, nodes, degree)
    found = [array.copy() for array in nodes.arrays]
    for one, new, chart in zip(joints, others, motion.charts, strict=True):
        R = one.centre @ chart.rotation.reshape(-1, 3, 3)
        found[0][:, new.coordinates] = _logarithm(new.centre.T @ R)
    moved = SerialMotion(there, Batch((found[0],), nodes.shape, nodes.dtype), degree)
    for chart in moved.charts:
        own, at = motion.form.own[chart.coordinates], chart.coordinates
        if len(given) > 1:
            found[1][:, at] = solved(chart.E, motion.arrays[1][:, own])
        if len(given) > 2:
            rate = found[1][:, at]
            found[2][:, at] = solved(chart.E, motion.arrays[2][:, own] - twice(chart.E2, rate, rate))
    shaped = tuple(nodes.unfold(array, here.n) for array in found)
    return shaped if len(given) > 1 else shaped[0]
