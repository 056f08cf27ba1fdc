"""Forces, controllers and contact of OpenSim's model files: what becomes part of the robot, what does not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.errors import OsimError
from dynamics.formats.opensim.elements import (
    OffsetFrame,
    body_and_pose,
    coordinate_named,
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


def muscle_names(model: Element) -> list[str]:
    """Names of all muscles."""
    return [
        name_of(force, "a force") for force in objects(model, "ForceSet") if force.find(MUSCLE) is not None
    ]


def actuator_limits(model: Element, coordinates: Collection[str]) -> dict[str, tuple[float, float]]:
    """Coordinate -> smallest and largest force of the actuators on it: optimal force times control."""
    found: dict[str, tuple[float, float]] = {}
    for force in objects(model, "ForceSet"):
        named = text_of(force, "coordinate", "")
        if force.tag in ACTUATORS and named and flag_of(force, "appliesForce", True):
            what = f"actuator '{name_of(force, 'a force')}'"
            coordinate = coordinate_named(named, coordinates, f"{what} is on")
            best = number_of(force, "optimal_force", "1", what)
            least, most = (number_of(force, tag, default, what, True) for tag, default in CONTROLS.items())
            if least > most or least == np.inf or most == -np.inf:
                raise OsimError(f"{what} has controls from {least:g} to {most:g}: swap or correct the two")
            ends = [best * control if best else 0.0 for control in (least, most)]
            lower, upper = found.get(coordinate, (0.0, 0.0))
            found[coordinate] = lower + min(ends), upper + max(ends)
    return found


def markers_of(model: Element, frames: Mapping[str, OffsetFrame]) -> list[Point]:
    """The markers, as points on bodies."""
    return [
        _point(marker, "markerset", "socket_parent_frame", frames, 0.0)
        for marker in objects(model, "MarkerSet")
    ]


def contact_spheres(model: Element, frames: Mapping[str, OffsetFrame]) -> list[Point]:
    """The spheres of the contact geometry."""
    return [
        _point(sphere, "contactgeometryset", "socket_frame", frames, _radius_of(sphere))
        for sphere in objects(model, "ContactGeometrySet")
        if sphere.tag == "ContactSphere"
    ]  # fmt: skip


def _radius_of(sphere: Element) -> float:
    what = f"contact sphere '{name_of(sphere, 'a contact sphere')}'"
    radius = number_of(sphere, "radius", None, what)
    if radius <= 0.0:
        raise OsimError(f"{what} has radius {radius:g}: give a positive one, m")
    return radius


def _point(
    element: Element, folder: str, socket: str, frames: Mapping[str, OffsetFrame], radius: float
) -> Point:  # fmt: skip
    name = name_of(element, "a point")
    body, pose = body_and_pose(text_of(element, socket, what=f"'{name}'"), f"/{folder}/{name}", frames)
    local = vector_of(element, "location", "0 0 0", f"'{name}'")
    return Point(name, body, pose.position + pose.rotation @ local, radius)


def left_out(
    model: Element, springs: Collection[str], other: Mapping[str, Iterable[str]]
) -> dict[str, tuple[str, ...]]:
    """Parts of a model that are left out, in words -> names: forces but `springs` and so on, then `other`."""
    found: dict[str, list[str]] = {}
    for force in objects(model, "ForceSet"):
        is_read = force.tag in ACTUATORS and text_of(force, "coordinate", "")
        if force.find(MUSCLE) is None and not is_read and force.get("name") not in springs:
            found.setdefault(f"forces ({force.tag})", []).append(name_of(force, "a force"))
    for controller in objects(model, "ControllerSet"):
        found.setdefault("controllers", []).append(name_of(controller, "a controller"))
    for geometry in objects(model, "ContactGeometrySet"):
        if geometry.tag != "ContactSphere":
            found.setdefault(f"contact geometry ({geometry.tag})", []).append(name_of(geometry, "a geometry"))
    found |= {what: sorted(names) for what, names in other.items()}
    return {what: tuple(names) for what, names in found.items() if names}
