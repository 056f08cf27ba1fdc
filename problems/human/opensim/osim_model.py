"""The skeleton as an OpenSim model file (.osim, version 40000): bodies, joints, markers, and how they look.

A body is drawn as the even ellipsoid of its mass and moments of inertia, semi-axes a, b, c about its centre,

    a^2 = 5 (I_yy + I_zz - I_xx) / (2 m), and so on,

which shows where the mass is; heel, ball and toe of both feet are markers.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

import numpy as np

import dynamics
from problems.human.opensim.joints import GROUND, Axis, OsimJoint, joints

VERSION = "40000"
RIGHT, LEFT, MIDDLE = "0 0.45 0.7", "0.9 0.6 0", "0.55 0.6 0.65"  # colours of sides, as in our figures
BASIS = np.eye(3)[[2, 0, 1]]  # axes of joints that have fewer than three turns


def osim_model(model: dynamics.RigidBodyModel, height: float) -> ElementTree:
    """The model file of a skeleton of 55 degrees of freedom, whose pelvis stands at `height` m at rest."""
    document = Element("OpenSimDocument", Version=VERSION)
    root = SubElement(document, "Model", name=model.name)
    _text(root, "gravity", model.gravity)
    _text(root, "length_units", "meters")
    _text(root, "force_units", "N")
    bodies = _set_of(root, "BodySet", "bodyset")
    found = _set_of(root, "JointSet", "jointset")
    for joint in joints(model):
        _body(bodies, model.bodies[model.link_index(joint.body)])
        _joint(found, joint, height)
    markers = _set_of(root, "MarkerSet", "markerset")
    for frame in model.frames:
        marker = SubElement(markers, "Marker", name=frame.name)
        _text(marker, "socket_parent_frame", path_of(frame.body))
        _text(marker, "location", frame.position)
    indent(document, "  ")
    return ElementTree(document)


def path_of(body: str | None) -> str:
    """Path of a body in an OpenSim model."""
    return f"/{GROUND}" if body in (None, GROUND) else f"/bodyset/{body}"


def numbers(values: Iterable[float]) -> str:
    """Numbers with blanks between, in as many digits as bring them back."""
    return " ".join(repr(float(value)) for value in values)


def _body(objects: Element, body: dynamics.Body) -> None:
    found, inertia = SubElement(objects, "Body", name=body.name), body.inertia
    frame = SubElement(SubElement(found, "components"), "PhysicalOffsetFrame", name="middle")
    shape = SubElement(SubElement(frame, "attached_geometry"), "Ellipsoid", name="ellipsoid")
    _text(shape, "socket_frame", "..")
    side = {"r": RIGHT, "l": LEFT}.get(body.name.rpartition("_")[2], MIDDLE)
    _text(SubElement(shape, "Appearance"), "color", side)
    second = 0.5 * np.trace(inertia) - np.diag(inertia)  # integral of x^2 dm and so on
    _text(shape, "radii", np.sqrt(5.0 * np.maximum(second, 0.0) / body.mass))
    _text(frame, "socket_parent", "..")
    _text(frame, "translation", body.centre_of_mass)
    _text(frame, "orientation", np.zeros(3))
    _text(found, "mass", [body.mass])
    _text(found, "mass_center", body.centre_of_mass)
    _text(found, "inertia", [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]])


def _joint(objects: Element, joint: OsimJoint, height: float) -> None:
    found = SubElement(objects, "CustomJoint", name=joint.name)
    _text(found, "socket_parent_frame", f"{joint.parent}_offset")
    _text(found, "socket_child_frame", f"{joint.body}_offset")
    _coordinates(SubElement(found, "coordinates"), [*joint.turns, *joint.slides], height)
    frames = SubElement(found, "frames")
    for body, offset in ((joint.parent, joint.position), (joint.body, np.zeros(3))):
        frame = SubElement(frames, "PhysicalOffsetFrame", name=f"{body}_offset")
        _text(frame, "socket_parent", path_of(body))
        _text(frame, "translation", offset)
        _text(frame, "orientation", np.zeros(3))
    transform = SubElement(found, "SpatialTransform")
    unused = _completed([turn.axis for turn in joint.turns])
    for kind, axes, rest in (("rotation", joint.turns, unused), ("translation", joint.slides, np.eye(3))):
        for number, (each, spare) in enumerate(zip_longest(axes, rest), start=1):
            _transform_axis(SubElement(transform, "TransformAxis", name=f"{kind}{number}"), each, spare)


def _coordinates(found: Element, axes: list[Axis], height: float) -> None:
    for axis in axes:
        coordinate = SubElement(found, "Coordinate", name=axis.coordinate.name)
        rest = height if axis.coordinate.name == "pelvis_ty" else axis.coordinate.zero
        _text(coordinate, "default_value", [rest])
        _text(coordinate, "range", axis.bounds)
        _text(coordinate, "clamped", "false")


def _transform_axis(found: Element, each: Axis | None, spare: np.ndarray) -> None:
    """One of the six motions of a joint: angle or way = value - zero along an axis, or none."""
    _text(found, "coordinates", "" if each is None else each.coordinate.name)
    _text(found, "axis", spare if each is None else each.axis)
    if each is None:
        _text(SubElement(found, "Constant", name="function"), "value", [0.0])
    else:
        slope = SubElement(found, "LinearFunction", name="function")
        _text(slope, "coefficients", [1.0, -each.coordinate.zero])


def _completed(axes: list[np.ndarray]) -> list[np.ndarray]:
    """Three axes that span space: the given ones, then those of the world that are not among them."""
    found = list(axes)
    for axis in BASIS:
        if len(found) < 3 and np.linalg.matrix_rank(np.array([*found, axis])) == len(found) + 1:
            found.append(axis)
    return found


def _set_of(root: Element, kind: str, name: str) -> Element:
    return SubElement(SubElement(root, kind, name=name), "objects")


def _text(parent: Element, tag: str, content: str | Iterable[float]) -> None:
    SubElement(parent, tag).text = content if isinstance(content, str) else numbers(content)
