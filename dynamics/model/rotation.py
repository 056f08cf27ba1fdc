"""Rotation matrices in NumPy, for building models; compiled code has its own in `kernels/`."""

from __future__ import annotations

import math

import numpy as np


def about_x(angle: float) -> np.ndarray:
    """Rotation by `angle` rad about x, (3, 3)."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def about_y(angle: float) -> np.ndarray:
    """Rotation by `angle` rad about y, (3, 3)."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def about_z(angle: float) -> np.ndarray:
    """Rotation by `angle` rad about z, (3, 3)."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def about_axis(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation by `angle` rad about the unit vector `axis`, (3, 3): Rodrigues' formula."""
    x, y, z = axis
    hat = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * hat + (1.0 - math.cos(angle)) * (hat @ hat)


def roll_pitch_yaw(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll), (3, 3): the rpy of URDF."""
    return about_z(yaw) @ about_y(pitch) @ about_x(roll)
