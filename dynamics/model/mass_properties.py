"""Mass, centre of mass and inertia of links, and poses, for merging links that are joined rigidly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Pose:
    """The pose of a frame in another one: x_other = rotation x + position, (3, 3) and (3,) m."""

    rotation: np.ndarray
    position: np.ndarray

    def then(self, inner: Pose) -> Pose:
        """The pose of a frame that has the pose `inner` in this one."""
        return Pose(self.rotation @ inner.rotation, self.position + self.rotation @ inner.position)


IDENTITY = Pose(np.eye(3), np.zeros(3))


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass kg, centre of mass (3,) m, and inertia about it (3, 3) kg m^2, in the axes of one frame."""

    mass: float
    centre_of_mass: np.ndarray
    inertia: np.ndarray

    @property
    def is_zero(self) -> bool:
        """True if there is neither mass nor inertia."""
        return self.mass == 0.0 and not self.inertia.any()

    def seen_from(self, pose: Pose) -> MassProperties:
        """The same body's properties in the frame in which this frame has the pose `pose`."""
        centre = pose.position + pose.rotation @ self.centre_of_mass
        return MassProperties(self.mass, centre, pose.rotation @ self.inertia @ pose.rotation.T)

    def joined(self, other: MassProperties) -> MassProperties:
        """Both as one rigid body (parallel axes theorem about the common centre)."""
        mass = self.mass + other.mass
        if mass == 0.0:
            return MassProperties(0.0, self.centre_of_mass, self.inertia + other.inertia)
        apart = other.centre_of_mass - self.centre_of_mass
        centre = self.centre_of_mass + (other.mass / mass) * apart
        reduced = self.mass * other.mass / mass
        steiner = reduced * (apart @ apart * np.eye(3) - np.outer(apart, apart))
        return MassProperties(mass, centre, self.inertia + other.inertia + steiner)


NO_MASS = MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
