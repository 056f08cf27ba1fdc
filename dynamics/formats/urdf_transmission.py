"""Reads gear ratios and rotor inertias from the <transmission> elements of a URDF."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.errors import UrdfError
from dynamics.formats.urdf_elements import UrdfJoint, parsed, required
from dynamics.model.mass_properties import Pose
from dynamics.model.rotor import Rotor


@dataclass(frozen=True)
class Gear:
    """Rotor angle per joint angle, and the rotor's inertia about its axis in kg m^2."""

    ratio: float
    inertia: float


def gears(robot: Element) -> dict[str, Gear]:
    """The gear of every joint that one simple transmission drives.

    A transmission over several joints (a differential) has no ratio of its own and is passed over, and so are
    one of an absent joint, as cut-down robots keep the transmissions of the whole, and one whose ratio or
    inertia is no number, as an argument that xacro did not know.
    """
    found: dict[str, Gear] = {}
    for element in robot.findall("transmission"):
        names = joints_of(element)
        gear = gear_of(element, names[0]) if len(names) == 1 and is_read(element) else None
        if gear is None:
            continue
        if found.get(names[0], gear) != gear:
            raise UrdfError(
                f"joint {names[0]!r} has two transmissions with different gear ratios or inertias"
            )
        found[names[0]] = gear
    return found


def joints_of(transmission: Element) -> list[str]:
    """The joints that a transmission drives."""
    return [required(joint, "name", "a <joint> of a transmission") for joint in transmission.findall("joint")]


def is_read(transmission: Element) -> bool:
    """True if all that a transmission says of ratios is read: numbers of one joint, or nothing."""
    try:
        gear = gear_of(transmission, "")
    except UrdfError:
        return False
    return gear is None or len(joints_of(transmission)) == 1


def gear_of(transmission: Element, joint: str) -> Gear | None:
    """Ratio and rotor inertia of a transmission; None where it states neither."""
    ratio = nested_number(transmission, ("mechanicalReduction", "gear_ratio"), joint)
    inertia = nested_number(transmission, ("rotorInertia", "rotor_inertia"), joint)
    if ratio is None and inertia is None:
        return None
    return Gear(1.0 if ratio is None else ratio, inertia or 0.0)


def nested_number(transmission: Element, tags: tuple[str, ...], joint: str) -> float | None:
    """The number in the first of these elements at any depth, written as text or as the attribute `value`.

    Programs differ in where they put it and in its namespace, so only the local name counts.
    """
    for element in transmission.iter():
        tag = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        text = (element.get("value") or element.text or "").strip()
        if tag in tags and text:
            return parsed(text, f"joint {joint!r}: {tag} of its transmission")
    return None


def rotor_of(gear: Gear | None, joint: UrdfJoint, origin: Pose) -> Rotor | None:
    """The rotor on the joint's own axis, in the parent link frame: ratio and J axis axis', no mass.

    A URDF counts the motor in the parent's mass, so only the spin about the axis is new.
    """
    if gear is None:
        return None
    if joint.kind == "prismatic" and gear.inertia:
        raise UrdfError(
            f"joint {joint.name!r} is prismatic, so its rotor inertia needs an axis the URDF does not give; "
            "attach a Rotor to the joint in Python"
        )
    axis = origin.rotation @ joint.axis
    inertia = gear.inertia * np.outer(axis, axis) / (axis @ axis)
    return Rotor(gear.ratio, 0.0, inertia, axis, origin.position)
