"""A person: height, mass, a backpack, a load in one hand, weaker joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

import dynamics
from dynamics.model.mass_properties import MassProperties
from problems.human.body.model import GRAVITY, TABLE_HEIGHT, TABLE_MASS, other_side, skeleton
from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError, ProblemError, warn_user

# Our own choices. The pack is a box of even density behind the upper thorax, its centre in parts of H from
# the origin of that body; the load in the hand an even ball, below the wrist.
PACK_CARRIER, PACK_CENTRE = "thorax_upper", (-0.10, 0.03, 0.0)
PACK_SIZE = (0.20, 0.45, 0.30)  # m: depth, height, width
HAND_CENTRE = (0.0, -0.045, 0.0)
HAND_RADIUS = 0.10  # m
HEAVIEST = 2.0  # of the body's mass, what a person may carry at most
STEEPEST = 0.3  # m a metre, up or down
MASSES, HEIGHTS = (20.0, 130.0), (1.1, 2.0)  # kg and m, children of about six years to large adults


class ProportionsWarning(UserWarning):
    """A person's mass was given without a height: the height is the one that keeps the proportions."""


def chosen_height(height: Any, mass: float) -> float:
    """The height given in m, or for None the one that keeps the proportions of 1.75 m and 75 kg at this mass.

    Warns with ProportionsWarning where that is another one than 1.75 m; OptionError for what is no number.
    """
    if height is None:
        height = proportional_height(mass)
        if mass != TABLE_MASS:
            warn_user(
                f"no height was given for {mass:g} kg: {height:.3g} m keeps the proportions of "
                f"{TABLE_HEIGHT:g} m and {TABLE_MASS:g} kg",
                ProportionsWarning,
            )
    if isinstance(height, bool) or not isinstance(height, int | float):
        raise OptionError(f"the height of the person is {short_repr(height)}: give a number in m, or None")
    return float(height)


def proportional_height(mass: float) -> float:
    """1.75 m (mass / 75 kg)^(1/3), in m: a body of the same shape and density."""
    return float(TABLE_HEIGHT * np.cbrt(mass / TABLE_MASS))


@dataclass(frozen=True)
class Person:
    """A person and what they carry; height in m, masses in kg.

    backpack, hand_load : rigidly attached to the upper thorax and to a hand
    strength : joint -> the part of its torques that is left
    slope : m that the ground under them rises in every metre of travel
    loaded_hand : "r" or "l", that which carries the load
    """

    height: float = TABLE_HEIGHT
    mass: float = TABLE_MASS
    backpack: float = 0.0
    hand_load: float = 0.0
    strength: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    slope: float = 0.0
    loaded_hand: str = "r"

    def __post_init__(self) -> None:
        for what, (least, most), unit in (("height", HEIGHTS, "m"), ("mass", MASSES, "kg")):
            value = getattr(self, what)
            if not least <= value <= most:
                raise ProblemError(
                    f"the {what} of the person is {value:.6g} {unit}: give {least:g} to {most:g} {unit}, "
                    "within which the proportions of the skeleton hold"
                )
        for what, value in (("backpack", self.backpack), ("load in the hand", self.hand_load)):
            if not 0.0 <= value <= HEAVIEST * self.mass:
                raise ProblemError(
                    f"the {what} is {value:.6g} kg: give a number from 0 to {HEAVIEST:g} times their mass"
                )
        if not abs(self.slope) <= STEEPEST:
            raise ProblemError(
                f"the slope of the ground is {self.slope:.6g}: give -{STEEPEST:g} to {STEEPEST:g} m a metre"
            )
        for joint, part in self.strength.items():
            if not 0.0 < part <= 1.0:
                raise ProblemError(f"the strength left in '{joint}' is {part:.6g}: give 0 < part <= 1")

    @property
    def weight(self) -> float:
        """Weight of the body alone, N: the unit of forces."""
        return self.mass * GRAVITY

    @property
    def size(self) -> float:
        """Mass times height over that of the table's person: strength and passive moments grow with it."""
        return self.mass * self.height / (TABLE_MASS * TABLE_HEIGHT)

    @property
    def mirrored(self) -> Person:
        """The person in the sagittal mirror."""
        strength = {other_side(joint): part for joint, part in self.strength.items()}
        return replace(self, strength=strength, loaded_hand=other_side(self.loaded_hand))

    @property
    def total_mass(self) -> float:
        """Mass of the body and all it carries, kg."""
        return self.mass + self.backpack + self.hand_load

    def skeleton(self, moving: Iterable[str] | None = None) -> dynamics.RigidBodyModel:
        """The skeleton in which only `moving` move (None: all 55), with what it carries."""
        return skeleton(self.height, self.mass, moving, self.carried, self.strength, self.slope)

    @property
    def carried(self) -> dict[str, MassProperties]:
        """Body -> what is attached to it, in its frame."""
        found = {}
        if self.backpack > 0.0:
            depth, height, width = np.square(PACK_SIZE)
            inertia = self.backpack / 12.0 * np.diag([height + width, depth + width, depth + height])
            found[PACK_CARRIER] = MassProperties(self.backpack, self.height * np.array(PACK_CENTRE), inertia)
        if self.hand_load > 0.0:
            inertia = 0.4 * self.hand_load * HAND_RADIUS**2 * np.eye(3)
            found[f"hand_{self.loaded_hand}"] = MassProperties(
                self.hand_load, self.height * np.array(HAND_CENTRE), inertia
            )
        return found

    @staticmethod
    def of(parameters: Mapping[str, Any], model: dynamics.RigidBodyModel) -> Person:
        """The person of a recorded problem; without these parameters all mass of the model is theirs."""
        backpack, hand_load = (float(parameters.get(name, 0.0)) for name in ("backpack", "hand_load"))
        own = sum(body.mass for body in model.bodies) - backpack - hand_load
        height = parameters.get("height", TABLE_HEIGHT)
        height = proportional_height(float(own)) if height is None else float(height)
        slope = float(parameters.get("slope", 0.0))
        return Person(height, float(own), backpack=backpack, hand_load=hand_load, slope=slope)
