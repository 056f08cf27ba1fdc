"""The quantities that a rigid-body model offers to trajectory optimization: names, widths, units, inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

AXES = ("x", "y", "z")
WRENCH = (*(f"moment {axis}" for axis in AXES), *(f"force {axis}" for axis in AXES))
TWIST = (*(f"turning {axis}" for axis in AXES), *AXES)
MOMENTUM = (*(f"angular {axis}" for axis in AXES), *AXES)
INVERSE_DYNAMICS, KINEMATICS = "inverse dynamics", "kinematics"


@dataclass(frozen=True)
class DeclaredQuantity:
    """A quantity of a model at a node, (width,), or a family of them that differ in their argument.

    inputs : what it is a function of, besides loads
    width : number of components, None for one per coordinate
    components : their names; left out: the joints' names if there is one per joint, or none
    argument : kind of thing that is named behind the colon, "link" in "position:foot"; "" without a colon
    block : which block computes it, `INVERSE_DYNAMICS` or `KINEMATICS`
    changed_by_loads : whether the wrenches that act on links are part of it
    """

    inputs: tuple[str, ...]
    width: int | None
    unit: str
    description: str
    components: tuple[str, ...] = ()
    argument: str = ""
    block: str = KINEMATICS
    changed_by_loads: bool = False


#: Everything that `RigidBodyModel.block` computes: a new quantity is an entry here and its computation in the
#: block that the entry names.
QUANTITIES: Mapping[str, DeclaredQuantity] = MappingProxyType(
    {
        "tau": DeclaredQuantity(
            ("q", "v", "a"),
            None,
            "N m or N",
            "generalized forces of the joints, M a + C v + gravity terms - J' loads",
            block=INVERSE_DYNAMICS,
            changed_by_loads=True,
        ),
        "motor_torque": DeclaredQuantity(
            ("q", "v", "a"),
            None,
            "N m or N",
            "what the motors give: tau, and what springs and dampers beside them take",
            block=INVERSE_DYNAMICS,
            changed_by_loads=True,
        ),
        "base_wrench": DeclaredQuantity(
            ("q", "v", "a"),
            6,
            "N m; N",
            "wrench of the ground on the robot if no loads act, [moment; force], world axes and origin",
            WRENCH,
            block=INVERSE_DYNAMICS,
        ),
        "wrench": DeclaredQuantity(
            ("q", "v", "a"),
            6,
            "N m; N",
            "wrench that a joint transmits to its link, [moment; force], link axes, about the joint's origin",
            WRENCH,
            "joint",
            INVERSE_DYNAMICS,
            changed_by_loads=True,
        ),
        "position": DeclaredQuantity(
            ("q",), 3, "m", "origin of a link or frame, world axes", AXES, argument="link"
        ),
        "orientation": DeclaredQuantity(
            ("q",), 9, "1", "rotation matrix of a link or frame to world axes, row by row", argument="link"
        ),
        "velocity": DeclaredQuantity(
            ("q", "v"),
            6,
            "rad/s; m/s",
            "velocity of a link or frame, [angular; linear of its origin], world axes",
            TWIST,
            argument="link",
        ),
        "centre_of_mass": DeclaredQuantity(("q",), 3, "m", "centre of mass of all links, world axes", AXES),
        "momentum": DeclaredQuantity(
            ("q", "v"),
            6,
            "kg m^2/s; kg m/s",
            "momentum of all links, [angular; linear], world axes, about the world origin",
            MOMENTUM,
        ),
        "kinetic_energy": DeclaredQuantity(("q", "v"), 1, "J", "kinetic energy of all links"),
        "potential_energy": DeclaredQuantity(("q",), 1, "J", "potential energy of all links"),
    }
)


#: Those that a robot without mass has, too.
WITHOUT_MASS = frozenset({"position", "orientation", "velocity"})


def needs_mass(quantity: str) -> bool:
    """True if a quantity does not exist for a robot without mass."""
    return family(quantity) in QUANTITIES and family(quantity) not in WITHOUT_MASS


def family(quantity: str) -> str:
    """The quantity without its argument: "position" of "position:foot"."""
    return quantity.partition(":")[0]


def computed_by(block: str) -> str:
    """The quantities of a block as messages list them: "tau, base_wrench, wrench:JOINT"."""
    return ", ".join(
        f"{name}:{declared.argument.upper()}" if declared.argument else name
        for name, declared in QUANTITIES.items()
        if declared.block == block
    )
