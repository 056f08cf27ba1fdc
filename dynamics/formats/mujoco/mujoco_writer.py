"""A robot as MJCF, the XML of MuJoCo, for simulations by another engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import numpy as np

from dynamics.errors import MujocoError
from dynamics.model.body import Body
from dynamics.model.joint import ROTATION_VECTOR, Joint
from dynamics.model.kinematic_tree import KinematicTree


def mjcf_of(model: KinematicTree) -> str:
    """The MJCF of a robot: links, joints, inertias and gravity; no shapes, limits, friction or springs.

    MuJoCo's coordinate of each joint is its displacement, ratio q + offset; mimic joints become equalities,
    which MuJoCo keeps by stiff springs. Raises MujocoError naming the link or joint for what MuJoCo does not
    have: rotation vectors, exact rotors that turn with their parent, links without mass.
    """
    root = Element("mujoco", model=model.name or "robot")
    SubElement(root, "compiler", angle="radian", inertiafromgeom="false")
    option = SubElement(root, "option", gravity=numbers(model.gravity))
    SubElement(option, "flag", contact="disable", limit="disable", frictionloss="disable")
    places: dict[str | None, Element] = {None: SubElement(root, "worldbody")}
    for body in model.bodies:
        check(body, model)
        places[body.name] = add_body(places[body.parent], body, model)
    followers = [joint for joint in model.joints if joint.mimics is not None]
    if followers:
        equalities = SubElement(root, "equality")
        leaders = {joint.name: joint for joint in model.joints}
        for joint in followers:
            add_equality(equalities, joint, leaders[joint.mimics or ""])
    return tostring(root, encoding="unicode")


def check(body: Body, model: KinematicTree) -> None:
    """MujocoError for what MuJoCo does not have."""
    joint, rotor = body.joint, body.joint.rotor
    if joint.kind == ROTATION_VECTOR:
        raise MujocoError(f"joint {joint.name!r} is a component of a rotation vector, which is not written")
    if body.is_massless:
        raise MujocoError(f"link {body.name!r} has no mass; MuJoCo moves bodies with mass alone")
    if rotor is None or model.rotors == "none" or rotor.is_massless:
        return
    if rotor.mass or (model.rotors == "exact" and body.parent is not None):
        raise MujocoError(
            f"the rotor of joint {joint.name!r} turns with its parent, which MuJoCo does not have; give "
            'model.with_rotors("armature") of rotors without mass, or model.with_rotors("none")'
        )


def add_body(parent: Element, body: Body, model: KinematicTree) -> Element:
    """A body with its joint and inertia."""
    joint, rotor = body.joint, body.joint.rotor
    rotation = joint.rotation
    axes = numbers([*rotation[:, 0], *rotation[:, 1]])
    element = SubElement(parent, "body", name=body.name, pos=numbers(joint.position), xyaxes=axes)
    inertia = body.inertia
    six = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
    SubElement(
        element,
        "inertial",
        mass=numbers([body.mass]),
        pos=numbers(body.centre_of_mass),
        fullinertia=numbers(six),
    )
    kind = "slide" if joint.kind == "prismatic" else "hinge"
    armature = 0.0 if rotor is None or model.rotors == "none" else rotor.gear_ratio**2 * rotor.axial_inertia
    SubElement(
        element, "joint", name=joint.name, type=kind, axis=numbers(joint.axis), armature=numbers([armature])
    )
    return element


def add_equality(parent: Element, joint: Joint, leader: Joint) -> None:
    """d = offset + ratio q of a mimic joint, as a function of the displacement of its leader."""
    ratio = joint.ratio / leader.ratio
    polynomial = [joint.offset - ratio * leader.offset, ratio, 0.0, 0.0, 0.0]
    SubElement(parent, "joint", joint1=joint.name, joint2=leader.name, polycoef=numbers(polynomial))


def numbers(values: Iterable[Any]) -> str:
    """Floats with all their digits."""
    return " ".join(repr(float(value)) for value in values)
