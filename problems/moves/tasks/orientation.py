"""Orientations and poses as users give them: matrices, quaternions, rotation vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dynamics.model.mass_properties import Pose
from trajopt.base.arguments import numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError

UNIT = 1e-3  # by how much the norm of a quaternion, or R'R, may differ from one: three digits were printed


def vector(given: Any, what: str) -> Array:
    """Three finite numbers; ShapeError or NotFiniteError, naming `what`."""
    return _finite(given, (3,), what)


def unit_vector(given: Any, what: str) -> Array:
    """A direction (3,), made unit; OptionError where it is zero."""
    found = vector(given, what)
    length = np.linalg.norm(found)
    if length == 0.0:
        raise OptionError(f"{what} is zero: give a direction")
    return found / length


def rotation_matrix(given: Any, what: str) -> Array:
    """The rotation (3, 3) of a matrix, a quaternion (x, y, z, w), or a rotation vector (3,) in rad.

    Matrices and quaternions may be rounded to three digits; the nearest rotation is meant.
    Raises ShapeError, NotFiniteError or OptionError, naming `what`.
    """
    found = numbers(given, what)
    if found.shape not in ((3, 3), (4,), (3,)):
        raise ShapeError(
            f"{what} has shape {found.shape}: give a matrix (3, 3), a quaternion (x, y, z, w), or a rotation "
            "vector (3,) in rad"
        )
    found = _finite(found, found.shape, what)
    if found.shape == (3, 3):
        return _nearest_rotation(found, what)
    if found.shape == (4,):
        norm = float(np.linalg.norm(found))
        if abs(norm - 1.0) > UNIT:
            raise OptionError(f"{what} is a quaternion of norm {norm:.6g}: give x, y, z, w of norm one")
        axis, w = found[:3] / norm, found[3] / norm
        cross = cross_matrix(axis)
        return np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross
    return exponential(found)


def pose_of(given: Any, what: str) -> Pose:
    """A pose: a matrix (4, 4), a position (3,), or a pair (position, rotation)."""
    if isinstance(given, tuple | list) and len(given) == 2:
        return Pose(rotation_matrix(given[1], f"the rotation of {what}"), vector(given[0], what))
    found = numbers(given, what)
    if found.shape == (4, 4):
        found = _finite(found, (4, 4), what)
        return Pose(_nearest_rotation(found[:3, :3], what), found[:3, 3])
    if found.shape != (3,):
        raise ShapeError(
            f"{what} is {short_repr(given)}: give a position (3,), a pair (position, rotation), or a matrix "
            "(4, 4)"
        )
    return Pose(np.eye(3), vector(found, what))


def exponential(turn: Array) -> Array:
    """R = exp([r]x), the rotation by |r| rad about r (3,); Rodrigues' formula."""
    angle = float(np.linalg.norm(turn))
    cross = cross_matrix(turn)
    half = np.sinc(0.5 * angle / np.pi)  # sin(angle / 2) / (angle / 2)
    return np.eye(3) + np.sinc(angle / np.pi) * cross + 0.5 * half**2 * cross @ cross


def logarithm(rotation: Array) -> Array:
    """The rotation vectors r (..., 3), at most pi long, of rotations (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    flat = Rotation.from_matrix(np.reshape(rotation, (-1, 3, 3))).as_rotvec()
    return flat.reshape(*rotation.shape[:-2], 3)


def cross_matrix(vector: Array) -> Array:
    """[r]x with [r]x y = r x y."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def _nearest_rotation(matrix: Array, what: str) -> Array:
    if np.abs(matrix.T @ matrix - np.eye(3)).max() > UNIT or np.linalg.det(matrix) < 0.0:
        raise OptionError(
            f"{what} is no rotation: its columns must be orthogonal, of length one, right-handed"
        )
    left, _, right = np.linalg.svd(matrix)
    return left @ right


def _finite(given: Any, shape: tuple[int, ...], what: str) -> Array:
    found = numbers(given, what)
    if found.shape != shape:
        raise ShapeError(f"{what} is {short_repr(given)}: give {shape} numbers")
    if not np.all(np.isfinite(found)):
        raise NotFiniteError(f"{what} is {short_repr(given)}: give finite numbers")
    return np.array(found)
