"""Vectors and turns in three dimensions: what users give, checked, and rotation vectors of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.base.arguments import numbers, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import NotFiniteError, OptionError, ShapeError


def vector(given: Any, what: str) -> Array:
    """Three finite numbers; ShapeError or NotFiniteError, naming `what`."""
    found = numbers(given, what)
    if found.shape != (3,):
        raise ShapeError(f"{what} is {short_repr(given)}: give three numbers")
    if not np.all(np.isfinite(found)):
        raise NotFiniteError(f"{what} is {short_repr(given)}: give finite numbers")
    return np.array(found)


def unit_vector(given: Any, what: str) -> Array:
    """A direction (3,), made unit; OptionError where it is zero."""
    found = vector(given, what)
    length = np.linalg.norm(found)
    if length == 0.0:
        raise OptionError(f"{what} is zero: give a direction")
    return found / length


def rotation_vectors(rotation: Array) -> Array:
    """The rotation vectors r (..., 3), at most pi long, of rotations (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    flat = Rotation.from_matrix(np.reshape(rotation, (-1, 3, 3))).as_rotvec()
    return flat.reshape(*rotation.shape[:-2], 3)


def angle_between(directions: Array, direction: Array) -> Array:
    """The angles (k,) rad between unit vectors (k, 3) and one (3,)."""
    sine = np.linalg.norm(np.cross(directions, direction), axis=1)
    return np.arctan2(sine, directions @ direction)
