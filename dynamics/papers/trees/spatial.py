"""Spatial vectors [angular; linear] in coordinates (Echeandia and Wensing, appendix A).

Every function keeps the dtype of its arguments, objects included.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

BodyFactor = Literal["christoffel", "plain"]


def hat(p: np.ndarray) -> np.ndarray:
    """S(p), (3, 3): S(p) u = p x u."""
    x, y, z = p
    zero = 0 * x
    return np.array([[zero, -z, y], [z, zero, -x], [-y, x, zero]])


def blocks(upper_left, upper_right, lower_left, lower_right) -> np.ndarray:
    """A (6, 6) matrix of four (3, 3) blocks."""
    return np.block([[upper_left, upper_right], [lower_left, lower_right]])


def motion_cross(v: np.ndarray) -> np.ndarray:
    """(v x), (6, 6): the rate of a motion vector that moves with velocity v."""
    return blocks(hat(v[:3]), np.zeros((3, 3)), hat(v[3:]), hat(v[:3]))


def force_cross(v: np.ndarray) -> np.ndarray:
    """(v x*) = -(v x)', (6, 6): the rate of a force vector that moves with velocity v."""
    return -motion_cross(v).T


def swapped_cross(f: np.ndarray) -> np.ndarray:
    """(f xbar*), (6, 6): (f xbar*) v = (v x*) f."""
    return -blocks(hat(f[:3]), hat(f[3:]), hat(f[3:]), np.zeros((3, 3)))


def transform(rotation: np.ndarray, position: np.ndarray) -> np.ndarray:
    """X, (6, 6), parent to child coordinates of motion vectors.

    rotation : (3, 3) axes of the child in parent coordinates
    position : (3,) m, origin of the child in parent coordinates
    """
    to_child = rotation.T
    return blocks(to_child, np.zeros((3, 3)), -to_child @ hat(position), to_child)


def spatial_inertia(mass: float, centre: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """(6, 6) about the frame's origin, from the inertia (3, 3) about the centre of mass."""
    lever = hat(centre)
    about_origin = inertia + mass * lever @ lever.T
    return blocks(about_origin, mass * lever, mass * lever.T, mass * np.eye(3))


def body_factor(v: np.ndarray, inertia: np.ndarray, factor: BodyFactor = "christoffel") -> np.ndarray:
    """B(v, I), (6, 6), with B(v, I) v = v x* I v and B + B' = Idot.

    "christoffel" is (10), B = 1/2 [(v x*) I + (I v xbar*) - I (v x)], the only one of the two that gives the
    Christoffel-consistent Coriolis matrix; "plain" is (9), B = (v x*) I. Both are admissible.
    """
    if factor == "plain":
        return force_cross(v) @ inertia
    return (force_cross(v) @ inertia + swapped_cross(inertia @ v) - inertia @ motion_cross(v)) / 2
