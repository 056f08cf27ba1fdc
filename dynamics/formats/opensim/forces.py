"""Forces, controllers and contact of OpenSim's model files: what becomes part of the robot, what does not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.formats.opensim.elements import (
    OffsetFrame,
    body_and_pose,
    flag_of,
    name_of,
    number_of,
    objects,
    text_of,
    vector_of,
)

MUSCLE = "max_isometric_force"  # an element that muscles of every type have
ACTUATORS = ("CoordinateActuator", "ActivationCoordinateActuator")
CONTROLS = {"min_control": "-inf", "max_control": "inf"}


@dataclass(frozen=True, eq=False)
class ContactSphere:
    """A sphere of a contact geometry: the frame of the robot at its centre, and its radius, m."""

    frame: str
    radius: float


@dataclass(frozen=True, eq=False)
class Point:
    """A point on a body, (3,) m in the body's axes."""

    name: str
    body: str
    position: np.ndarray
    radius: float = 0.0


def muscles_of(model: Element) -> dict[str, float]:
    """Muscle -> largest isometric force, N."""
    return {
        name_of(force, "a force"): number_of(force, MUSCLE, None, f"muscle '{force.get('name')}'")
        for force in objects(model, "ForceSet")
        if force.find(MUSCLE) is not None
    }


def actuator_limits(model: Element) -> dict[str, tuple[float, float]]:
    """Coordinate -> smallest and largest force of the actuators on it: optimal force times control."""
    found: dict[str, tuple[float, float]] = {}
    for force in objects(model, "ForceSet"):
        if force.tag in ACTUATORS and flag_of(force, "appliesForce", True):
            what = f"actuator '{name_of(force, 'a force')}'"
            coordinate = text_of(force, "coordinate", what=what)
            best = number_of(force, "optimal_force", "1", what)
            ends = [best * number_of(force, tag, default, what, True) for tag, default in CONTROLS.items()]
            lower, upper = found.get(coordinate, (0.0, 0.0))
            found[coordinate] = lower + min(ends), upper + max(ends)
    return found


def markers_of(model: Element, frames: Mapping[str, OffsetFrame]) -> list[Point]:
    """The markers, as points on bodies."""
    return [_point(marker, "socket_parent_frame", frames, 0.0) for marker in objects(model, "MarkerSet")]


def contact_spheres(model: Element, frames: Mapping[str, OffsetFrame]) -> list[Point]:
    """The spheres of the contact geometry."""
    return [
        _point(sphere, "socket_frame", frames, number_of(sphere, "radius", None, "a contact sphere"))
        for sphere in objects(model, "ContactGeometrySet")
        if sphere.tag == "ContactSphere"
    ]  # fmt: skip


def _point(element: Element, socket: str, frames: Mapping[str, OffsetFrame], radius: float) -> Point:
    name = name_of(element, "a point")
    body, pose = body_and_pose(text_of(element, socket, what=f"'{name}'"), {}, frames)
    local = vector_of(element, "location", "0 0 0", f"'{name}'")
    return Point(name, body, pose.position + pose.rotation @ local, radius)


def left_out(model: Element, held: Iterable[str], prescribed: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """What of a model is no part of the robot: in words -> names."""
    found: dict[str, list[str]] = {"muscles": list(muscles_of(model))}
    for force in objects(model, "ForceSet"):
        if force.find(MUSCLE) is None and force.tag not in ACTUATORS:
            found.setdefault(f"forces ({force.tag})", []).append(name_of(force, "a force"))
    for controller in objects(model, "ControllerSet"):
        found.setdefault("controllers", []).append(name_of(controller, "a controller"))
    for geometry in objects(model, "ContactGeometrySet"):
        if geometry.tag != "ContactSphere":
            found.setdefault(f"contact geometry ({geometry.tag})", []).append(name_of(geometry, "a geometry"))
    found["functions of time that prescribe coordinates"] = list(prescribed)
    found["coordinates, held at a value"] = list(held)
    return {what: tuple(names) for what, names in found.items() if names}
