"""Properties of a robot by name, "forearm.mass" or "elbow.position": read, or set in a copy of the robot.

LINK.mass            kg
LINK.centre_of_mass  (3,) m, in the link frame
LINK.inertia         (6,) kg m^2: xx, xy, xz, yy, yz, zz about the centre of mass, in link axes
JOINT.position       (3,) m, origin of the joint in the parent link's frame
JOINT.gear_ratio     rotor angle by joint angle
JOINT.stiffness      of a spring beside the motor, N m/rad or N/m; JOINT.rest is where it is relaxed, rad or m
JOINT.damping        viscous friction, N m s/rad or N s/m
FRAME.position       (3,) m, origin of a tool or another frame in the frame of its link
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import list_names, real_array, short_repr
from dynamics.errors import ModelError, ShapeError, UnknownNameError
from dynamics.model.body import Body, Frame
from dynamics.model.checks.tree_checks import Robot
from dynamics.model.joint import Joint

Owner = Literal["link", "joint", "frame"]
OF_LINKS, OF_JOINTS, OF_FRAMES = (
    ("mass", "centre_of_mass", "inertia"),
    ("position", "gear_ratio", "stiffness", "rest", "damping"),
    ("position",),
)
OF_SPRINGS = ("stiffness", "rest", "damping")  # of joints; the motor torque alone depends on them
UPPER = np.triu_indices(3)  # xx, xy, xz, yy, yz, zz of a symmetric (3, 3)


class NamedParts(Robot, Protocol):
    """A model's parts and their names, as properties ask for them."""

    @property
    def joints(self) -> tuple[Joint, ...]: ...
    def link_index(self, name: str) -> int: ...


@dataclass(frozen=True)
class ModelProperty:
    """A property of one part of a robot: `owner` says which list `index` counts in, links' for joints."""

    name: str
    owner: Owner
    index: int
    attribute: str

    def value(self, model: NamedParts) -> np.ndarray:
        """Values of the robot, (width,)."""
        body = model.bodies[self.index] if self.owner != "frame" else None
        if body is None:
            return np.array(model.frames[self.index].position)
        if self.attribute == "gear_ratio":
            assert body.joint.rotor is not None
            return np.array([body.joint.rotor.gear_ratio])
        found = getattr(body if self.owner == "link" else body.joint, self.attribute)
        return np.atleast_1d(found[UPPER] if self.attribute == "inertia" else found).astype(float)


def model_property(model: NamedParts, name: str) -> ModelProperty:
    """The property of this name; UnknownNameError where the robot has none.

    Raises ModelError for a gear ratio without effect, and where a joint and a frame share the name.
    """
    owner, dot, attribute = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    known = (*OF_LINKS, *OF_JOINTS)
    if not dot or attribute not in known:
        raise UnknownNameError(
            f"no property is called {short_repr(name)}; give the name of a link, a joint or a frame, a dot, "
            f"and one of {', '.join(known)}: 'forearm.mass', 'elbow.position'"
        )
    joints, frames = [joint.name for joint in model.joints], [frame.name for frame in model.frames]
    if attribute in OF_LINKS:
        return ModelProperty(name, "link", model.link_index(owner), attribute)
    if attribute == "position" and owner in frames:
        if owner in joints:
            raise ModelError(f"{name!r} may be that of a joint or of a frame; rename one of the two")
        return ModelProperty(name, "frame", frames.index(owner), attribute)
    if owner not in joints:
        listed = list_names([*joints, *frames] if attribute == "position" else joints)
        raise UnknownNameError(f"{name!r}: no joint or frame is called {owner!r}; there are {listed}")
    found = ModelProperty(name, "joint", joints.index(owner), attribute)
    if attribute == "gear_ratio":
        _check_gear(model, found)
    return found


def changed_parts(model: NamedParts, values: Mapping[str, ArrayLike]) -> tuple[list[Body], list[Frame]]:
    """Bodies and frames with other values of these properties; see `RigidBodyModel.with_properties`."""
    if not isinstance(values, Mapping):
        raise ModelError(
            f"properties are given as {short_repr(values)}; give a dictionary, {{'forearm.mass': 2.0}}"
        )
    bodies, frames = list(model.bodies), list(model.frames)
    for name, given in values.items():
        found = model_property(model, name)
        value = checked_value(given, found.value(model).size, name)
        if found.owner == "frame":
            frames[found.index] = replace(frames[found.index], position=value)
            continue
        body = bodies[found.index]
        joint = body.joint
        if found.attribute == "gear_ratio":
            assert joint.rotor is not None
            body = replace(body, joint=replace(joint, rotor=replace(joint.rotor, gear_ratio=float(value[0]))))
        elif found.owner == "joint":
            number = value if found.attribute == "position" else float(value[0])
            changed: dict[str, Any] = {found.attribute: number}
            body = replace(body, joint=replace(joint, **changed))
        elif found.attribute == "mass":
            body = replace(body, mass=float(value[0]))
        elif found.attribute == "inertia":
            body = replace(body, inertia=symmetric(value))
        else:
            body = replace(body, centre_of_mass=value)
        bodies[found.index] = body
    return bodies, frames


def checked_value(given: ArrayLike, width: int, name: str) -> np.ndarray:
    """The value of a property as (width,) floats; ShapeError otherwise."""
    value = np.atleast_1d(real_array(given, name))
    if value.shape != (width,):
        raise ShapeError(f"{name!r} is given as {short_repr(given)}; it has {width} components")
    return value


def symmetric(upper: np.ndarray) -> np.ndarray:
    """(3, 3) of xx, xy, xz, yy, yz, zz."""
    matrix = np.zeros((3, 3))
    matrix[UPPER] = upper
    return matrix + np.triu(matrix, 1).T


def _check_gear(model: NamedParts, found: ModelProperty) -> None:
    rotor = model.bodies[found.index].joint.rotor
    if rotor is None or rotor.is_massless or model.rotors == "none":
        raise ModelError(
            f"{found.name!r} changes nothing: "
            + (
                "the model leaves rotors out"
                if model.rotors == "none"
                else "the joint has no rotor with inertia"
            )
            + "; give the joint a Rotor and the model rotors='exact' or 'armature'"
        )
