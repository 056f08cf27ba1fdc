"""The links of a robot with the joints that carry them, and frames fixed to links."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dynamics.arguments import short_repr
from dynamics.errors import ModelError
from dynamics.model.array_field import ArrayField, new_array
from dynamics.model.checks.validation import (
    checked_mass,
    checked_name,
    checked_reference,
    finite_array,
    inertia_matrix,
    rotation_matrix,
)
from dynamics.model.joint import Joint


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid link and the joint that connects it to its parent. The link frame is the joint's moving frame.

    name : unique in the model
    joint : connects the link to its parent
    parent : name of the parent body, None = ground
    mass : kg, zero for a massless link
    centre_of_mass : (3,) m, in the link frame
    inertia : (3, 3) kg m^2, about the centre of mass, in link axes
    neighbour : the link or frame that the joint joins the link to, where it is not the parent itself but
        fixed to it; shapes of both are not kept apart, those of others on the parent are. None = the parent

    Raises InertiaError or ShapeError, naming the body; ModelError for a joint or parent of another type.
    """

    name: str
    joint: Joint
    parent: str | None = None
    mass: float = 0.0
    centre_of_mass: ArrayField = field(default_factory=new_array((0.0, 0.0, 0.0)))
    inertia: ArrayField = field(default_factory=new_array(np.zeros((3, 3))))
    neighbour: str | None = None

    def __post_init__(self) -> None:
        what = f"body {checked_name(self.name, 'a body')!r}:"
        if not isinstance(self.joint, Joint):
            raise ModelError(f"{what} joint is {short_repr(self.joint)}; give a Joint")
        checked_reference(self.parent, f"{what} parent")
        checked_reference(self.neighbour, f"{what} neighbour")
        object.__setattr__(self, "mass", checked_mass(self.mass, f"{what} mass"))
        centre = finite_array(self.centre_of_mass, (3,), f"{what} centre_of_mass")
        object.__setattr__(self, "centre_of_mass", centre)
        object.__setattr__(self, "inertia", inertia_matrix(self.inertia, f"{what} inertia"))

    @property
    def is_massless(self) -> bool:
        """True if the body adds nothing to the kinetic energy."""
        return self.mass == 0.0 and not self.inertia.any()


@dataclass(frozen=True, eq=False)
class Frame:
    """A named frame fixed to a link: a tool, a sensor, the tip of a link, a URDF link behind a fixed joint.

    name : differs from every body's name
    body : name of the body that carries it, None = ground
    rotation : (3, 3) its axes in link axes
    position : (3,) m, its origin in the link frame

    Raises ModelError, JointError (rotation) or ShapeError, naming the frame.
    """

    name: str
    body: str | None = None
    rotation: ArrayField = field(default_factory=new_array(np.eye(3)))
    position: ArrayField = field(default_factory=new_array((0.0, 0.0, 0.0)))

    def __post_init__(self) -> None:
        what = f"frame {checked_name(self.name, 'a frame')!r}:"
        checked_reference(self.body, f"{what} body")
        object.__setattr__(self, "rotation", rotation_matrix(self.rotation, f"{what} rotation"))
        object.__setattr__(self, "position", finite_array(self.position, (3,), f"{what} position"))


def floating_joints(bodies: Iterable[Body]) -> tuple[str, ...]:
    """The joints between the ground and the first link with mass, where three are slides and three turn it.

    Translations come first; empty where a robot has another base.
    """
    joints: list[Joint] = []
    for body in bodies:
        joints.append(body.joint)
        if not body.is_massless:
            break
    kinds = [joint.kind == "prismatic" for joint in joints]
    return tuple(joint.name for joint in joints) if kinds == [True] * 3 + [False] * 3 else ()
