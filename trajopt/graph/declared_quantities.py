"""Declarations of quantities: leaves, those of problems, and those that a dynamics usually computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

AXIS_NAMES = ("x", "y", "z")
_WRENCH = (*(f"moment {axis}" for axis in AXIS_NAMES), *(f"force {axis}" for axis in AXIS_NAMES))
_TWIST = (*(f"turning {axis}" for axis in AXIS_NAMES), *AXIS_NAMES)
_MOMENTUM = (*(f"angular {axis}" for axis in AXIS_NAMES), *AXIS_NAMES)


@dataclass(frozen=True)
class DeclaredQuantity:
    """A quantity at a node, (width,), or a family of them that differ in their argument.

    width : number of components, None for one per joint
    unit, description : SI unit and meaning, for people
    components : their names in reports; left out: the joints' names if there is one per joint, or numbers
    argument : kind of thing that is named behind the colon, "link" in "position:foot"; "" without a colon
    block : quantities of a dynamics with the same value here are computed by one block
    changed_by_loads : whether it contains the wrenches of `Problem.load`
    """

    width: int | None
    unit: str
    description: str
    components: tuple[str, ...] = ()
    argument: str = ""
    block: str = ""
    changed_by_loads: bool = False


#: Quantities that come straight from the unknowns; the keys are those of `leaves`.
LEAVES: Mapping[str, DeclaredQuantity] = {
    "q": DeclaredQuantity(None, "rad or m", "joint positions"),
    "v": DeclaredQuantity(None, "rad/s or m/s", "joint velocities"),
    "a": DeclaredQuantity(None, "rad/s^2 or m/s^2", "joint accelerations"),
    "jerk": DeclaredQuantity(None, "rad/s^3 or m/s^3", "third derivatives of the joint positions"),
    "t": DeclaredQuantity(1, "s", "time since the start of the motion"),
    "duration": DeclaredQuantity(1, "s", "duration of the whole motion"),
    "arc_duration": DeclaredQuantity(1, "s", "duration of the arc in which the node lies"),
}

#: Quantities that a problem itself defines: the argument is the name under which it was defined.
DEFINED: Mapping[str, str] = {
    "parameter": "a constant unknown of the problem",
    "extra": "an unknown curve beside the joints' curves",
    "rate": "the derivative by time of a state",
    "data": "a given curve",
}

_INVERSE, _KINEMATICS = "inverse dynamics", "kinematics"

#: Quantities that a dynamics without the attribute `quantities` computes.
STANDARD: Mapping[str, DeclaredQuantity] = {
    "tau": DeclaredQuantity(
        None,
        "N m or N",
        "generalized forces of the joints, M a + C v + gravity terms - J' loads",
        block=_INVERSE,
        changed_by_loads=True,
    ),
    "base_wrench": DeclaredQuantity(
        6,
        "N m; N",
        "wrench of the ground on the robot if no loads act, [moment; force], world axes and origin",
        _WRENCH,
        block=_INVERSE,
    ),
    "wrench": DeclaredQuantity(
        6,
        "N m; N",
        "wrench that a joint transmits to its link, [moment; force], link axes, about the joint's origin",
        _WRENCH,
        "joint",
        _INVERSE,
        changed_by_loads=True,
    ),
    "position": DeclaredQuantity(
        3, "m", "origin of a link or frame, world axes", AXIS_NAMES, "link", _KINEMATICS
    ),
    "orientation": DeclaredQuantity(
        9, "1", "rotation matrix of a link or frame to world axes, row by row", (), "link", _KINEMATICS
    ),
    "velocity": DeclaredQuantity(
        6,
        "rad/s; m/s",
        "velocity of a link or frame, [angular; linear of its origin], world axes",
        _TWIST,
        "link",
        _KINEMATICS,
    ),
    "centre_of_mass": DeclaredQuantity(
        3, "m", "centre of mass of all links, world axes", AXIS_NAMES, block=_KINEMATICS
    ),
    "momentum": DeclaredQuantity(
        6,
        "kg m^2/s; kg m/s",
        "momentum of all links, [angular; linear], world axes, about the world origin",
        _MOMENTUM,
        block=_KINEMATICS,
    ),
    "kinetic_energy": DeclaredQuantity(1, "J", "kinetic energy of all links", block=_KINEMATICS),
    "potential_energy": DeclaredQuantity(1, "J", "potential energy of all links", block=_KINEMATICS),
}


def described(quantity: str) -> str:
    """Meaning, shape and unit of a standard quantity: "joint positions, (n,), rad or m"."""
    family = quantity.partition(":")[0]
    found = LEAVES.get(family, STANDARD.get(family))
    if found is None:
        return DEFINED.get(family, "a quantity of the dynamics")
    return f"{found.description}, ({'n' if found.width is None else found.width},), {found.unit}"
