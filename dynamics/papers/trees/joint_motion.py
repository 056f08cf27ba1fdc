"""Joint models of the papers: pose of the child and motion axes Phi, for any number of DOF.

A motion is placed at `rotation` (3, 3) and `position` (3,) of its zero position in the parent's frame. It has
pose(q)          rotation (3, 3), position (3,) of the child in the parent's frame
axes(q)          Phi (6, d), in child coordinates: velocity of the child relative to the parent = Phi speeds
axes_rate(q, v)  ring Phi (6, d): the rate of those coordinates when q changes at rate v
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from dynamics.papers.trees.spatial import hat


class JointMotion(Protocol):
    """The methods of a joint that the algorithms of the papers call."""

    @property
    def dof(self) -> int: ...
    def pose(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...
    def axes(self, q: np.ndarray) -> np.ndarray: ...
    def axes_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray: ...


def turn(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rotation about a unit axis by `angle` (1,), (3, 3): Rodrigues' formula.

    The angle stays an array so that an array of symbols is never absorbed into a symbol of an array.
    """
    skew = hat(axis)
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * (skew @ skew)


@dataclass(frozen=True, eq=False)
class Screw:
    """A revolute or prismatic joint: one DOF, axes fixed in the child."""

    kind: Literal["revolute", "prismatic"]
    axis: np.ndarray
    rotation: np.ndarray
    position: np.ndarray
    dof: int = 1

    def pose(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.kind == "revolute":
            return self.rotation @ turn(self.axis, q), self.position
        return self.rotation, self.position + self.rotation @ self.axis * q

    def axes(self, q: np.ndarray) -> np.ndarray:
        angular = self.kind == "revolute"
        return np.concatenate([self.axis * angular, self.axis * (not angular)])[:, None]

    def axes_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros((6, 1))


X_AXIS, Y_AXIS, Z_AXIS = np.eye(3)


def euler_rotation(angles: np.ndarray) -> np.ndarray:
    """Rz(angles[0]) Ry(angles[1]) Rx(angles[2]), (3, 3)."""
    return turn(Z_AXIS, angles[:1]) @ turn(Y_AXIS, angles[1:2]) @ turn(X_AXIS, angles[2:])


def euler_axes(angles: np.ndarray) -> np.ndarray:
    """E, (3, 3): body angular velocity = E d(angles)/dt, in body axes."""
    about_x = turn(X_AXIS, angles[2:])
    about_yx = turn(Y_AXIS, angles[1:2]) @ about_x
    return np.stack([about_yx.T @ Z_AXIS, about_x.T @ Y_AXIS, X_AXIS + 0 * angles], axis=1)


def euler_axes_rate(angles: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """dE/dt, (3, 3): an axis fixed before a turn about u falls behind by u x in body axes."""
    z_axis, y_axis, x_axis = euler_axes(angles).T
    z_rate = -hat(y_axis * rates[1] + x_axis * rates[2]) @ z_axis
    y_rate = -hat(x_axis * rates[2]) @ y_axis
    return np.stack([z_rate, y_rate, 0 * x_axis], axis=1)


@dataclass(frozen=True, eq=False)
class Spherical:
    """A ball joint with Euler angles z, y', x'' as coordinates.

    speeds : "angle rates", generalized coordinates in the sense of (6), with ring Phi not zero; or
        "angular velocity" of the child relative to the parent, in child axes: generalized speeds (remark 5)
    """

    rotation: np.ndarray
    position: np.ndarray
    speeds: Literal["angle rates", "angular velocity"] = "angle rates"
    dof: int = 3

    def pose(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.rotation @ euler_rotation(q), self.position

    def axes(self, q: np.ndarray) -> np.ndarray:
        angular = euler_axes(q) if self.speeds == "angle rates" else np.eye(3)
        return np.concatenate([angular, np.zeros((3, 3))])

    def axes_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        angular = euler_axes_rate(q, v) if self.speeds == "angle rates" else np.zeros((3, 3))
        return np.concatenate([angular, np.zeros((3, 3))])


@dataclass(frozen=True, eq=False)
class Floating:
    """Six DOF: position (3) in parent axes, then Euler angles z, y', x''; generalized coordinates."""

    dof: int = 6

    def pose(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return euler_rotation(q[3:]), q[:3]

    def axes(self, q: np.ndarray) -> np.ndarray:
        none = np.zeros((3, 3))
        return np.block([[none, euler_axes(q[3:])], [euler_rotation(q[3:]).T, none]])

    def axes_rate(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        none = np.zeros((3, 3))
        falling_behind = -hat(euler_axes(q[3:]) @ v[3:]) @ euler_rotation(q[3:]).T
        return np.block([[none, euler_axes_rate(q[3:], v[3:])], [falling_behind, none]])
