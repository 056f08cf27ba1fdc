"""Designed mass properties as changes of the flat arrays of a robot, with first and second derivatives.

Forces, momentum and energies are linear in m, m c and I + m (c.c 1 - c c') of every link, the ten inertial
parameters (Atkeson, An and Hollerbach 1986), and in armatures. Their derivatives by a designed property are
therefore the same recursion on a robot that has the derivatives of these numbers in place of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dynamics.blocks.extended_robot import Armature, ExtendedRobot
from dynamics.model.packed_model import ARMATURE, BASIS, INERTIA, MASS, MOMENT
from dynamics.model.properties import UPPER, ModelProperty, symmetric

Component = tuple[str, int]  # name of a property, component
AXES = np.eye(3)


@dataclass(frozen=True, eq=False)
class NumbersOfBody:
    """A change of one body's inertial numbers: its row in the flat arrays, and what is added there."""

    row: int
    numbers: np.ndarray

    @property
    def mass(self) -> float:
        return float(self.numbers[MASS])


@dataclass(frozen=True, eq=False)
class DesignedLink:
    """A link with designed mass properties; those that are not designed keep their values.

    mass, centre, inertia : of the robot as it was given
    names : attribute -> name of the property that is designed
    """

    row: int
    basis: np.ndarray
    mass: float
    centre: np.ndarray
    inertia: np.ndarray
    names: Mapping[str, str]

    def change(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Change of the robot's numbers that the designed values make, from the robot as it was given."""
        return self._row(*self._properties(values)) - self._row(self.mass, self.centre, self.inertia)

    def first(self, values: Mapping[str, np.ndarray], name: str, component: int) -> NumbersOfBody:
        """d numbers / d component of a property."""
        m, c, _ = self._properties(values)
        if name == self.names.get("mass"):
            return self._change(1.0, c, second_moment(c, c))
        if name == self.names.get("inertia"):
            return self._change(0.0, np.zeros(3), symmetric(np.eye(6)[component]))
        axis = AXES[component]
        return self._change(0.0, m * axis, 2.0 * m * second_moment(c, axis))

    def second(
        self, values: Mapping[str, np.ndarray], one: Component, other: Component
    ) -> NumbersOfBody | None:
        """d2 numbers / d component d other component; None where it vanishes."""
        m, c, _ = self._properties(values)
        mass, centre = self.names.get("mass"), self.names.get("centre_of_mass")
        axes = [AXES[component] for name, component in (one, other) if name == centre]
        if len(axes) == 2:
            return self._change(0.0, np.zeros(3), 2.0 * m * second_moment(*axes))
        if len(axes) == 1 and mass in (one[0], other[0]):
            return self._change(0.0, axes[0], 2.0 * second_moment(c, axes[0]))
        return None

    def _properties(self, values: Mapping[str, np.ndarray]) -> tuple[float, np.ndarray, np.ndarray]:
        given = {attribute: values[name] for attribute, name in self.names.items()}
        mass = float(given["mass"][0]) if "mass" in given else self.mass
        inertia = symmetric(given["inertia"]) if "inertia" in given else self.inertia
        return mass, given.get("centre_of_mass", self.centre), inertia

    def _row(self, mass: float, centre: np.ndarray, inertia: np.ndarray) -> np.ndarray:
        return self._change(mass, mass * centre, inertia + mass * second_moment(centre, centre)).numbers

    def _change(self, mass: float, moment: np.ndarray, inertia: np.ndarray) -> NumbersOfBody:
        """Numbers of a mass, a first moment and an inertia about the link's origin, in link axes."""
        row = np.zeros(BASIS)
        row[MASS] = mass
        row[MOMENT : MOMENT + 3] = self.basis.T @ moment
        row[INERTIA : INERTIA + 6] = (self.basis.T @ inertia @ self.basis)[UPPER]
        return NumbersOfBody(self.row, row)


@dataclass(frozen=True, eq=False)
class DesignedArmature:
    """An armature (g ratio)^2 inertia whose gear ratio g is designed."""

    row: int
    given: Armature

    def change(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        return self._row(float(values[self.given.name][0]) ** 2)

    def first(self, values: Mapping[str, np.ndarray], name: str, component: int) -> NumbersOfBody:
        """d numbers / d g."""
        return NumbersOfBody(self.row, self._row(2.0 * float(values[name][0])))

    def second(
        self, values: Mapping[str, np.ndarray], one: Component, other: Component
    ) -> NumbersOfBody | None:
        """d2 numbers / d g d g."""
        return NumbersOfBody(self.row, self._row(2.0))

    def _row(self, squared_ratio: float) -> np.ndarray:
        row = np.zeros(BASIS)
        row[ARMATURE] = squared_ratio * self.given.ratio**2 * self.given.inertia
        return row


Designed = DesignedLink | DesignedArmature


def designed_parts(robot: ExtendedRobot, designs: Mapping[str, ModelProperty]) -> dict[str, Designed]:
    """Property -> the link or the armature that has it, for properties that change inertial numbers."""
    model, packed = robot.model, robot.model.packed
    found: dict[str, Designed] = {}
    attributes: dict[str, dict[str, str]] = {}
    for name, part in designs.items():
        if part.owner == "link":
            attributes.setdefault(name.rpartition(".")[0], {})[part.attribute] = name
    for link, names in attributes.items():
        index = model.link_index(link)
        row, body = int(packed.body_of_link[index]), model.bodies[index]
        basis = packed.numbers[row, BASIS:].reshape(3, 3)
        own = DesignedLink(row, basis, body.mass, body.centre_of_mass, body.inertia, names)
        found |= dict.fromkeys(names.values(), own)
    for armature in robot.armatures:
        joint = armature.name.rpartition(".")[0]
        row = int(packed.body_of_link[model.joint_link_index(joint)])
        found[armature.name] = DesignedArmature(row, armature)
    return found


def second_moment(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a.b 1 - (a b' + b a') / 2, symmetric and bilinear: the inertia of a unit mass at a where a = b."""
    return (a @ b) * np.eye(3) - 0.5 * (np.outer(a, b) + np.outer(b, a))
