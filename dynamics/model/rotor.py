"""Rotors of geared motors, which the parent of a joint carries."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dynamics.arguments import short_repr
from dynamics.errors import JointError
from dynamics.model.array_field import ArrayField, new_array
from dynamics.model.checks.validation import (
    checked_mass,
    finite_array,
    finite_number,
    inertia_matrix,
    unit_vector,
)


@dataclass(frozen=True, eq=False)
class Rotor:
    """Rotor of a geared motor: a body on the joint's *parent* link that turns gear_ratio times as fast.

    rotor angle = gear_ratio * (displacement of the joint), about `axis` through `position`.

    gear_ratio : not zero, may be negative
    mass : kg
    inertia : (3, 3) kg m^2, about the rotor's centre of mass
    axis : (3,) direction of rotation
    position : (3,) m, a point on the rotor's axis
    centre_of_mass : (3,) m, from `position`
    All vectors and the tensor in axes of the parent link frame at rotor angle zero. The parent's own mass
    must not contain the rotor. Without mass the tensor may be J axis axis' alone, which no body of its own
    could have. Checked by the `Joint` that carries it.
    """

    gear_ratio: float
    mass: float = 0.0
    inertia: ArrayField = field(default_factory=new_array(np.zeros((3, 3))))
    axis: ArrayField = field(default_factory=new_array((0.0, 0.0, 1.0)))
    position: ArrayField = field(default_factory=new_array((0.0, 0.0, 0.0)))
    centre_of_mass: ArrayField = field(default_factory=new_array((0.0, 0.0, 0.0)))

    @property
    def is_massless(self) -> bool:
        """True if the rotor only states a gear ratio."""
        return self.mass == 0.0 and not np.any(self.inertia)

    @property
    def axial_inertia(self) -> float:
        """axis' I axis + mass * (distance of the centre of mass from the axis)^2, kg m^2, about the axis."""
        lever = np.cross(self.axis, self.centre_of_mass)
        return float(self.axis @ self.inertia @ self.axis + self.mass * lever @ lever)


def checked_rotor(rotor: Rotor, owner: str) -> Rotor:
    """`rotor` with read-only arrays and a unit axis; errors name the joint `owner`."""
    what = f"rotor of joint {owner!r}:"
    if not isinstance(rotor, Rotor):
        raise JointError(f"{what} it is {short_repr(rotor)}; give a Rotor or None")
    gear_ratio = finite_number(rotor.gear_ratio, f"{what} gear_ratio")
    if gear_ratio == 0.0:
        raise JointError(f"{what} gear_ratio is 0; give rotor angle per joint angle, or no rotor at all")
    mass = checked_mass(rotor.mass, f"{what} mass")
    return Rotor(
        gear_ratio,
        mass,
        # A rotor without mass is what a data sheet gives: J about the axis, the rest being in the parent.
        inertia_matrix(rotor.inertia, f"{what} inertia", is_body=mass > 0.0),
        unit_vector(rotor.axis, f"{what} axis"),
        finite_array(rotor.position, (3,), f"{what} position"),
        finite_array(rotor.centre_of_mass, (3,), f"{what} centre_of_mass"),
    )
