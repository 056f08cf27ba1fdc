"""Muscles of OpenSim's model files: their parameters, and their paths with points and wraps on the robot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.arguments import list_names, short_repr
from dynamics.couplings.coupled_tree import CoupledTree, Follower
from dynamics.couplings.joint_function import JointFunction, Pieces, fitted_cubics, polynomial
from dynamics.errors import MuscleError, OsimError
from dynamics.formats.opensim.elements import (
    OffsetFrame,
    body_and_pose,
    coordinate_named,
    flag_of,
    name_of,
    number_of,
    numbers_of,
    objects,
    text_of,
    vector_of,
)
from dynamics.formats.opensim.forces import MUSCLE
from dynamics.formats.opensim.functions import IDENTITY_FUNCTION, function_below, has_function
from dynamics.formats.opensim.joints import OsimCoordinate
from dynamics.formats.opensim.naming import OsimNames, OwnCoordinate
from dynamics.formats.opensim.tree import Couplings
from dynamics.formats.urdf_parts import Place
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.model.mass_properties import Pose
from dynamics.model.rotation import about_x, about_y, about_z
from dynamics.muscles.geometry_path import (
    SIZES,
    Condition,
    GeometryPath,
    PathPoint,
    PathWrap,
    WrapKind,
    WrapSurface,
)
from dynamics.muscles.ligaments import Ligaments, Straps
from dynamics.muscles.muscle_paths import MusclePaths
from dynamics.muscles.muscles import Muscles

#: element of a surface -> its kind, and the elements of its sizes
SURFACES: dict[str, tuple[WrapKind, tuple[str, ...]]] = {
    "WrapCylinder": ("cylinder", ("radius", "length")),
    "WrapSphere": ("sphere", ("radius",)),
    "WrapEllipsoid": ("ellipsoid", ("dimensions",)),
    "WrapTorus": ("torus", ("inner_radius", "outer_radius")),
}
POINTS = ("PathPoint", "ConditionalPathPoint", "MovingPathPoint")
LIGAMENT = "Ligament"
#: lengths in resting lengths and forces in strengths, of a ligament without a curve
LIGAMENT_CURVE = (
    (-5.0, 0.998, 0.999, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.601, 1.602, 5.0),
    (0.0, 0.0, 0.0, 0.0, 0.035, 0.12, 0.26, 0.55, 1.17, 2.0, 2.0, 2.0, 2.0),
)
#: field of `Muscles` -> elements that hold it, the one that is there counts, and defaults by type of muscle
PARAMETERS: dict[str, tuple[tuple[str, ...], Mapping[str, float]]] = {
    "max_isometric_force": ((MUSCLE,), {}),
    "optimal_fiber_length": (("optimal_fiber_length",), {}),
    "tendon_slack_length": (("tendon_slack_length",), {}),
    "pennation_angle": (("pennation_angle_at_optimal", "pennation_angle"), {"": 0.0}),
    "max_contraction_velocity": (("max_contraction_velocity", "Vmax"), {"": 10.0}),
    "activation_time": (("activation_time_constant",), {"": 0.015, "Millard2012EquilibriumMuscle": 0.01}),
    "deactivation_time": (
        ("deactivation_time_constant",),
        {"": 0.06, "Thelen2003Muscle": 0.05, "Millard2012EquilibriumMuscle": 0.04},
    ),
    "passive_strain": (
        ("FmaxMuscleStrain", "FiberForceLengthCurve/strain_at_one_norm_force",
         "passive_fiber_strain_at_one_norm_force"),
        {"": 0.6, "Millard2012EquilibriumMuscle": 0.7},
    ),
    "tendon_strain": (
        ("FmaxTendonStrain", "TendonForceLengthCurve/strain_at_one_norm_force",
         "tendon_strain_at_one_norm_force"),
        {"": 0.049, "Thelen2003Muscle": 0.04},
    ),
    "damping": (("fiber_damping",), {"": 0.0, "Millard2012EquilibriumMuscle": 0.1}),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class OnRobot:
    """Places of the bodies and coordinates of a file on the robot that was made of it.

    places : of the bodies, by the robot's names;  couplings : dependent and held coordinates
    """

    frames: Mapping[str, OffsetFrame]
    places: Mapping[str, Place]
    names: OsimNames
    couplings: Couplings
    coordinates: Mapping[str, OsimCoordinate]

    def place(self, socket: str, owner: str, where: str) -> tuple[str, str | None, Pose]:
        """The body that a component names, the link that carries it, and the pose on the link."""
        body, pose = body_and_pose(socket, owner, self.frames)
        name = self.names.body(body)
        if name not in self.places:
            raise OsimError(f"{where} is on '{body}', which is no body")
        place = self.places[name]
        return body, place.body, place.pose.then(pose)

    def value(self, name: str) -> tuple[str | None, JointFunction]:
        """The robot's coordinate that one of the file follows, None where it is constant, and how."""
        source, function = name, IDENTITY_FUNCTION
        if name not in self.couplings:
            own = self.names.coordinates.get(name, OwnCoordinate(name))
            return own.name, polynomial([own.zero, own.sign])
        while source is not None and source in self.couplings:
            source, inner = self.couplings[source]
            function = function.of(inner)
        return source, function


def read_muscles(model: Element, robot: KinematicTree | CoupledTree, on: OnRobot) -> Muscles:
    """The muscles that apply forces and pass a joint of the robot.

    Raises OsimError, or MuscleError with the name of the muscle: paths that pass no joint of the file,
    surfaces that do not exist or are none, strengths and lengths of zero.
    """
    surfaces = dict(surfaces_of(model, on))
    holder = model.find("defaults")
    defaults = {} if holder is None else {element.tag: element for element in holder}
    paths, rows = [], []
    for element in objects(model, "ForceSet"):
        if element.find(MUSCLE) is None or not flag_of(element, "appliesForce", True):
            continue
        name = name_of(element, "a muscle")
        path, bodies = read_path(element, f"muscle '{name}'", name, surfaces, on)
        if len(bodies) == 1 and path.is_still:
            raise MuscleError(f"muscle '{name}' passes no joint: all its points are on '{min(bodies)}'")
        if not path.is_still:
            paths.append(path)
            rows.append(list(_parameters(element, defaults.get(element.tag), f"muscle '{name}'")))
    columns = np.array(rows).reshape(-1, len(PARAMETERS)).T
    numbers: dict[str, Any] = dict(zip(PARAMETERS, columns, strict=True))
    found = MusclePaths(robot, tuple(paths))
    return Muscles(found.names, paths=found, **numbers)


def read_ligaments(model: Element, robot: KinematicTree | CoupledTree, on: OnRobot) -> Ligaments | None:
    """The elements <Ligament> that apply forces and pass a joint of the robot; None where there are none.

    Without a curve of its own a ligament has that of OpenSim. Raises OsimError, or MuscleError with the name
    of the ligament: resting lengths and strengths that are not positive.
    """
    elements = [
        element
        for element in objects(model, "ForceSet")
        if element.tag == LIGAMENT and flag_of(element, "appliesForce", True)
    ]
    surfaces = dict(surfaces_of(model, on)) if elements else {}
    paths, rest, strength, curves = [], [], [], []
    for element in elements:
        name = name_of(element, "a ligament")
        where = f"ligament '{name}'"
        path = read_path(element, where, name, surfaces, on)[0]
        if path.is_still:
            continue
        paths.append(path)
        rest.append(number_of(element, "resting_length", "0", where))
        strength.append(number_of(element, "pcsa_force", "0", where))
        own = _curve(element)
        curves.append(fitted_cubics(*LIGAMENT_CURVE) if own is None else function_below(own, where))
    if not paths:
        return None
    found = MusclePaths(robot, tuple(paths))
    return Ligaments(Straps(found.names, rest, strength, tuple(curves)), found)


def _curve(element: Element) -> Element | None:
    """The element that holds the function of a ligament's force over its length."""
    holder = element.find("force_length_curve")
    if holder is None and has_function(element):
        return element
    return holder


def _parameters(element: Element, default: Element | None, where: str) -> Iterator[float]:
    for tags, values in PARAMETERS.values():
        kind = element.tag.removesuffix("_Deprecated")
        for holder in (element, default):
            tag = next((tag for tag in tags if holder is not None and holder.find(tag) is not None), None)
            if holder is not None and tag is not None:
                yield number_of(holder, tag, None, where)
                break
        else:
            fallback = values.get(kind, values.get(""))
            if fallback is None:
                raise OsimError(f"{where} has no <{tags[0]}>: write it")
            yield fallback


# --- paths --------------------------------------------------------------------------------------------


def read_path(
    element: Element, where: str, name: str, surfaces: Mapping[str, WrapSurface], on: OnRobot
) -> tuple[GeometryPath, set[str]]:
    """The path of a muscle, ligament or spring, and the bodies of the file that its points are on."""
    path = next(element.iter("GeometryPath"), None)
    if path is None:
        raise OsimError(f"{where} has no <GeometryPath>: write one")
    points, rows, bodies = [], [], set[str]()
    for row, given in enumerate(objects(path, "PathPointSet")):
        point, body = _point(given, f"{where}, point {row + 1}", on)
        bodies.add(body)
        if point is not None:
            points.append(point)
            rows.append(row)
    count = len(list(objects(path, "PathPointSet")))
    wraps = [
        wrap for given in objects(path, "PathWrapSet")
        if (wrap := _wrap(given, where, count, rows, surfaces)) is not None
    ]  # fmt: skip
    return GeometryPath(name, tuple(points), tuple(wraps)), bodies


def _point(element: Element, where: str, on: OnRobot) -> tuple[PathPoint | None, str]:
    """A point, None where a constant coordinate leaves it out for ever, and its body."""
    if element.tag not in POINTS:
        raise OsimError(f"{where} is a {element.tag}; {', '.join(POINTS)} are read")
    body, link, pose = on.place(_socket(element, "parent_frame", ("body",), where), "/forceset/x/x/x", where)
    if element.tag == "MovingPathPoint":
        return _moving_point(element, where, link, pose, on), body
    local = vector_of(element, "location", "0 0 0", where)
    position = pose.position + pose.rotation @ local
    if element.tag == "PathPoint":
        return PathPoint(link, position), body
    path = _socket(element, "coordinate", ("coordinate", "coordinates"), where)
    source, function = on.value(coordinate_named(path, on.coordinates, f"{where} names"))
    lower, upper = sorted(numbers_of(text_of(element, "range", "0 0"), f"{where}: range", 2).tolist())
    if source is None:
        inside = lower <= float(function(np.zeros(1))[0]) <= upper
        return (PathPoint(link, position) if inside else None), body
    return PathPoint(link, position, Condition(Follower(source, function), lower, upper)), body


def _moving_point(element: Element, where: str, link: str | None, pose: Pose, on: OnRobot) -> PathPoint:
    position, moves = np.array(pose.position), []
    for axis, letter in enumerate("xyz"):
        holder = element.find(f"{letter}_location")
        if holder is None or not has_function(holder):
            continue
        function = function_below(holder, f"{where}: {letter}_location")
        path = _socket(element, f"{letter}_coordinate", (f"{letter}_coordinate",), where, "")
        source, direction = None, pose.rotation[:, axis]
        if path and not (function.is_affine and not function.expansion(np.zeros(1), 1)[1].any()):
            name = coordinate_named(path, on.coordinates, f"{where} names")
            source, inner = on.value(name)
            ends = on.coordinates[name]
            function = function.of(_kept_between(ends.lower, ends.upper).of(inner))
        if source is None:
            position = position + float(function(np.zeros(1))[0]) * direction
        else:
            moves.append((direction, Follower(source, function)))
    return PathPoint(link, position, None, tuple(moves))


def _kept_between(lower: float, upper: float) -> JointFunction:
    """The value of a coordinate kept to its range, at whose ends moving points stop."""
    if not (np.isfinite(lower) and np.isfinite(upper) and lower < upper):
        return IDENTITY_FUNCTION
    breaks = np.array([lower - 1.0, lower, upper])
    return JointFunction((Pieces(breaks, np.array([[lower, lower, upper], [0.0, 1.0, 0.0]])),))


def _wrap(
    element: Element, where: str, count: int, rows: list[int], surfaces: Mapping[str, WrapSurface]
) -> PathWrap | None:
    """A wrap; None where no point of its range is left."""
    name = text_of(element, "wrap_object", what=f"{where}, a wrap")
    if name not in surfaces:
        raise OsimError(f"{where} wraps over '{name}', which is no surface: there are {list_names(surfaces)}")
    surface = surfaces[name]
    ends = numbers_of(text_of(element, "range", "-1 -1"), f"{where}, wrap over '{name}': range", 2)
    first = int(ends[0]) - 1 if ends[0] >= 1 else 0
    last = int(ends[1]) - 1 if ends[1] >= 1 else count - 1
    inside = [i for i, row in enumerate(rows) if first <= row <= last]
    if last >= count or first > last:
        raise OsimError(
            f"{where} wraps over '{name}' between its points {first + 1} and {last + 1}, but has {count}"
        )
    method = text_of(element, "method", "hybrid").lower()
    if method == "unassigned":
        method = "hybrid"
    if method not in ("hybrid", "midpoint", "axial"):
        raise OsimError(
            f"{where} wraps over '{name}' by {short_repr(method)}; write hybrid, midpoint or axial"
        )
    return PathWrap(surface, inside[0], inside[-1], method) if inside else None


def surfaces_of(model: Element, on: OnRobot) -> Iterator[tuple[str, WrapSurface]]:
    """Surfaces by name; the first of a name counts, as in OpenSim."""
    seen = set[str]()
    holders = [("/ground", model.find("Ground"))]
    holders += [(f"/bodyset/{name_of(body, 'a body')}", body) for body in objects(model, "BodySet")]
    for path, holder in holders:
        if holder is None:
            continue
        for frame in (holder, *holder.iter("PhysicalOffsetFrame")):
            owner = path if frame is holder else f"{path}/{name_of(frame, 'a frame')}"
            for element in objects(frame, "WrapObjectSet"):
                name = name_of(element, "a wrap surface")
                if name not in seen:
                    seen.add(name)
                    yield name, _surface(element, name, owner, on)


def _surface(element: Element, name: str, owner: str, on: OnRobot) -> WrapSurface:
    where = f"wrap surface '{name}'"
    if element.tag not in SURFACES:
        raise OsimError(f"{where} is a {element.tag}; {', '.join(SURFACES)} are read")
    kind, tags = SURFACES[element.tag]
    sizes = np.concatenate([numbers_of(text_of(element, tag, what=where), f"{where}: {tag}") for tag in tags])
    x, y, z = vector_of(element, "xyz_body_rotation", "0 0 0", where)
    turn = about_x(x) @ about_y(y) @ about_z(z)
    _, link, pose = on.place(owner, owner, where)
    pose = pose.then(Pose(turn, vector_of(element, "translation", "0 0 0", where)))
    quadrant = text_of(element, "quadrant", "all").lower()
    if len(sizes) != len(SIZES[kind]):
        raise OsimError(f"{where} has {len(sizes)} sizes; {', '.join(SIZES[kind])} are expected")
    return WrapSurface(
        name, kind, tuple(sizes), link, pose.rotation, pose.position,
        "all" if quadrant == "unassigned" else quadrant, flag_of(element, "active", True),
    )  # fmt: skip


def _socket(
    element: Element, name: str, older: tuple[str, ...], where: str, default: str | None = None
) -> str:
    """The path of what an element is connected to, in any of the forms that OpenSim wrote."""
    tags = (f"socket_{name}", f"connectors/*[@name='{name}']/connectee_name", *older)
    found = next((text.strip() for tag in tags if (text := element.findtext(tag)) is not None), default)
    if found is None:
        raise OsimError(f"{where} has no <socket_{name}>: write it")
    return found
