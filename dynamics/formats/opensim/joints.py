"""Joints of OpenSim's model files, each as slides and then turns of a body by functions of coordinates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.arguments import list_names
from dynamics.couplings.joint_function import JointFunction, polynomial
from dynamics.errors import OsimError
from dynamics.formats.opensim.elements import (
    GROUND,
    OffsetFrame,
    body_and_pose,
    flag_of,
    name_of,
    number_of,
    numbers_of,
    objects,
    text_of,
    vector_of,
)
from dynamics.formats.opensim.functions import IDENTITY_FUNCTION, function_below, has_function
from dynamics.model.joint import JointKind
from dynamics.model.mass_properties import IDENTITY, Pose

X, Y, Z = np.eye(3)
#: type of a joint -> kind and axis of what each of its coordinates does, in the order of the coordinates
SIMPLE: dict[str, tuple[tuple[JointKind, np.ndarray], ...]] = {
    "WeldJoint": (),
    "PinJoint": (("revolute", Z),),
    "SliderJoint": (("prismatic", X),),
    "UniversalJoint": (("revolute", X), ("revolute", Y)),
    "GimbalJoint": (("revolute", X), ("revolute", Y), ("revolute", Z)),
    "BallJoint": (("revolute", X), ("revolute", Y), ("revolute", Z)),
    "PlanarJoint": (("revolute", Z), ("prismatic", X), ("prismatic", Y)),
    "FreeJoint": (
        ("revolute", X), ("revolute", Y), ("revolute", Z),
        ("prismatic", X), ("prismatic", Y), ("prismatic", Z),
    ),
}  # fmt: skip
ON_ELLIPSOIDS = {"EllipsoidJoint": 3, "ScapulothoracicJoint": 4}  # number of coordinates
READ = (*SIMPLE, *ON_ELLIPSOIDS, "CustomJoint")
# Its Jacobian in OpenSim 4.6, in axes of the child, is added to velocities in axes of the parent; its place
# jumps by half a thousandth of its length where it bends by .001 rad.
NO_MOTION = "ConstantCurvatureJoint"


@dataclass(frozen=True)
class OsimCoordinate:
    """A coordinate as the file has it; angles in rad, lengths in m.

    lower, upper : its range;  clamped : whether OpenSim keeps to the range
    default : the value of the model as it is opened;  locked : whether it stays there
    prescribed : whether a function of time moves it
    """

    name: str
    lower: float
    upper: float
    default: float
    clamped: bool
    locked: bool
    prescribed: bool


@dataclass(frozen=True, eq=False)
class Movement:
    """One of the movements of a joint: a slide along or a turn about an axis (3,) by function(coordinate).

    name : "translation1" and so on, for the names of joints that follow;  coordinate : None = it is constant
    """

    name: str
    kind: JointKind
    axis: np.ndarray
    coordinate: str | None
    function: JointFunction


@dataclass(frozen=True, eq=False)
class OsimJointElement:
    """A joint between two bodies: slides and turns from the frame on the parent on, one after the other.

    on_parent, on_child : poses of its two frames in the bodies
    """

    name: str
    parent: str
    child: str
    on_parent: Pose
    on_child: Pose
    coordinates: tuple[OsimCoordinate, ...]
    movements: tuple[Movement, ...]

    def turned_round(self) -> OsimJointElement:
        """The same joint from its child to its parent: the inverse movements in the other order."""
        inverse = tuple(replace(each, axis=-each.axis) for each in reversed(self.movements))
        return replace(
            self, parent=self.child, child=self.parent, on_parent=self.on_child, on_child=self.on_parent,
            movements=inverse,
        )  # fmt: skip


def grow(joints: list[OsimJointElement], placed: set[str]) -> list[OsimJointElement]:
    """The joints by which further bodies join the placed ones, one after the other; removed from `joints`.

    They lead from a placed body outwards: those whose child was placed are turned round, as in OpenSim.
    """
    found = []
    while ready := next((each for each in joints if (each.parent in placed) != (each.child in placed)), None):
        joints.remove(ready)
        found.append(ready if ready.parent in placed else ready.turned_round())
        placed.add(found[-1].child)
    return found


def joints_of(model: Element, frames: Mapping[str, OffsetFrame]) -> list[OsimJointElement]:
    """All joints in the order of the file, then free joints of bodies that none leads to, as in OpenSim.

    A coordinate whose name another joint has, too, is JOINT/NAME. OsimError for a type that is not read.
    """
    found = [_joint(element, frames) for element in objects(model, "JointSet")]
    bodies = [name_of(body, "a body") for body in objects(model, "BodySet")]
    free = _free_bodies(found, bodies)
    found += [_free_joint(body) for body in bodies if body in free]
    uses = Counter(own.name for joint in found for own in joint.coordinates)
    return [_with_own_names(joint, {name for name, count in uses.items() if count > 1}) for joint in found]


def _free_bodies(joints: list[OsimJointElement], bodies: list[str]) -> set[str]:
    """One body of each group that joints hold together and none joins to the ground.

    It is no joint's child and, among those that are none's, parent of the most; the first of equals.
    """
    children, parents = {joint.child for joint in joints}, Counter(joint.parent for joint in joints)
    left, placed, found = list(joints), {GROUND}, set[str]()
    grow(left, placed)
    for body in sorted(bodies, key=lambda body: -parents[body]):
        if body not in children and body not in placed:
            found.add(body)
            placed.add(body)
            grow(left, placed)
    return found


def _free_joint(body: str) -> OsimJointElement:
    """The joint between the ground and a body that no joint leads to."""
    name, kind = f"free_{body}", "FreeJoint"
    coordinates = tuple(replace(own, name=f"{name}{own.name}") for own in _unwritten(kind))
    movements = _slides_first(_simple(kind, coordinates, f"joint '{name}'"))
    return OsimJointElement(name, GROUND, body, IDENTITY, IDENTITY, coordinates, movements)


def _with_own_names(joint: OsimJointElement, shared: set[str]) -> OsimJointElement:
    """The joint, its coordinates of shared names as JOINT/NAME."""
    names = {own.name: f"{joint.name}/{own.name}" for own in joint.coordinates if own.name in shared}
    return replace(
        joint,
        coordinates=tuple(replace(own, name=names.get(own.name, own.name)) for own in joint.coordinates),
        movements=tuple(
            replace(own, coordinate=names.get(own.coordinate or "", own.coordinate))
            for own in joint.movements
        ),
    )


def _joint(element: Element, frames: Mapping[str, OffsetFrame]) -> OsimJointElement:
    name = name_of(element, "a joint")
    what = f"joint '{name}'"
    if element.tag == NO_MOTION:
        raise OsimError(
            f"{what} is a {NO_MOTION}, whose velocities in OpenSim are not the rates of its poses, so that "
            "no robot moves like it: write a CustomJoint of turns and slides"
        )
    if element.tag not in READ:
        raise OsimError(f"{what} is a {element.tag}; {list_names(READ)} are read")
    ends = [
        body_and_pose(text_of(element, f"socket_{end}_frame", what=what), f"/jointset/{name}", frames)
        for end in ("parent", "child")
    ]
    coordinates = tuple(_coordinates(element, what)) or _unwritten(element.tag)
    if element.tag in ON_ELLIPSOIDS:
        movements = tuple(_on_ellipsoid(element, coordinates, what))
    elif element.tag == "CustomJoint":
        movements = _slides_first(_custom(element, coordinates, what))
    else:
        movements = _slides_first(_simple(element.tag, coordinates, what))
    (parent, on_parent), (child, on_child) = ends
    return OsimJointElement(name, parent, child, on_parent, on_child, coordinates, movements)


def _slides_first(movements: list[Movement]) -> tuple[Movement, ...]:
    return tuple(sorted(movements, key=lambda movement: movement.kind == "revolute"))  # stable


def _unwritten(kind: str) -> tuple[OsimCoordinate, ...]:
    """The coordinates of a joint of this type that writes none, called as OpenSim calls them."""
    names = [f"_coord_{k}" for k in range(ON_ELLIPSOIDS.get(kind, len(SIMPLE.get(kind, ()))))]
    return tuple(OsimCoordinate(name, -np.inf, np.inf, 0.0, False, False, False) for name in names)


def _coordinates(joint: Element, what: str) -> Iterator[OsimCoordinate]:
    holder = joint.find("coordinates")
    for element in () if holder is None else holder:
        name = name_of(element, f"a coordinate of {what}")
        where = f"coordinate '{name}'"
        lower, upper = numbers_of(text_of(element, "range", "-inf inf"), f"{where}: range", 2, True)
        if lower > upper or lower == np.inf or upper == -np.inf:
            raise OsimError(
                f"{where}: its range begins at {lower} and ends at {upper}: swap or correct the two"
            )
        yield OsimCoordinate(
            name, float(lower), float(upper), number_of(element, "default_value", "0", where),
            flag_of(element, "clamped", False), flag_of(element, "locked", False),
            flag_of(element, "prescribed", False),
        )  # fmt: skip


def _simple(kind: str, coordinates: tuple[OsimCoordinate, ...], what: str) -> list[Movement]:
    """Movements by the coordinates of a joint that is no CustomJoint."""
    table = SIMPLE[kind]
    _check_count(kind, coordinates, len(table), what)
    return [
        Movement(own.name, motion, axis, own.name, IDENTITY_FUNCTION)
        for own, (motion, axis) in zip(coordinates, table, strict=True)
    ]


def _check_count(kind: str, coordinates: tuple[OsimCoordinate, ...], count: int, what: str) -> None:
    if len(coordinates) != count:
        raise OsimError(f"{what}, a {kind}, has {len(coordinates)} coordinates; {count} are expected")


def _on_ellipsoid(
    joint: Element, coordinates: tuple[OsimCoordinate, ...], what: str
) -> Iterator[Movement]:  # fmt: skip
    """A body whose z axis is the normal of an ellipsoid there; a scapula turns about an axis (winging), too.

    A scapula's ellipsoid is turned by 90 degrees about z, its body turned back.
    """
    count = ON_ELLIPSOIDS[joint.tag]
    _check_count(joint.tag, coordinates, count, what)
    if count == 3:
        yield from _along_normal(_radii(joint, "radii_x_y_z", what), coordinates)
        return
    across, along, outward = _radii(joint, "thoracic_ellipsoid_radii_x_y_z", what)
    at = np.append(vector_of(joint, "scapula_winging_axis_origin", "0 0", what, 2), 0.0)
    angle = number_of(joint, "scapula_winging_axis_direction", "0", what)
    yield _constant("revolute", Z, 0.5 * np.pi)
    yield from _along_normal(np.array([along, across, outward]), coordinates)
    yield _constant("revolute", Z, -0.5 * np.pi)
    yield _constant("prismatic", at, 1.0)
    axis, winging = np.array([-np.sin(angle), np.cos(angle), 0.0]), coordinates[3].name
    yield Movement(winging, "revolute", axis, winging, IDENTITY_FUNCTION)
    yield _constant("prismatic", at, -1.0)


def _radii(joint: Element, tag: str, what: str) -> np.ndarray:
    """(3,) m; OsimError where one is not positive."""
    radii = vector_of(joint, tag, "0 0 0", what)
    if np.any(radii <= 0.0):
        raise OsimError(f"{what}: {tag} is {radii.tolist()}; write three positive numbers")
    return radii


def _along_normal(radii: np.ndarray, coordinates: tuple[OsimCoordinate, ...]) -> Iterator[Movement]:
    """Turns by three angles about x, y and z, at radii * normal, of which the normal is the turned z.

    The place is a sum of ways along z turned by x, y and by their negatives,

        radii * (Rx(x) Ry(y) Z) = ((a + b) Rx(x) Ry(y) + (c - b) Rx(-x) Ry(y) + (c - a) Rx(x) Ry(-y)) Z / 2,

    so that turns on links without mass, which follow the two angles, lead there.
    """
    a, b, c = radii
    first, second, third = (own.name for own in coordinates[:3])
    corners = [place for place in ((-1, 1, c - b), (1, 1, a + b), (1, -1, c - a)) if place[2]]
    x, y, turns = 0, 0, 0  # multiples of both angles by which the link is turned, number of turns
    for to_x, to_y, way in (*corners, (1, 1, 0.0)):
        by = [(Y, second, to_y - y)] if to_x == x else [
            (Y, second, -y), (X, first, to_x - x), (Y, second, to_y)
        ]  # fmt: skip
        for axis, source, multiple in by:
            if multiple:
                turns += 1
                yield Movement(f"turn{turns}", "revolute", axis, source, polynomial([0.0, float(multiple)]))
        x, y = to_x, to_y
        yield _constant("prismatic", Z, 0.5 * way)
    yield Movement(third, "revolute", Z, third, IDENTITY_FUNCTION)


def _constant(kind: JointKind, axis: np.ndarray, way: float) -> Movement:
    return Movement("", kind, axis, None, polynomial([way]))


def _custom(joint: Element, coordinates: tuple[OsimCoordinate, ...], what: str) -> list[Movement]:
    """The six movements of a <SpatialTransform>; axes that are not written stay, as in OpenSim."""
    if joint.find("TransformAxisSet") is not None:
        raise OsimError(
            f"{what} has a <TransformAxisSet>, of the first versions: open the file in OpenSim 3.3 and save "
            "it again"
        )
    axes = joint.findall("SpatialTransform/TransformAxis")
    by_name = {axis.get("name", ""): axis for axis in axes}
    names = [f"{kind}{k}" for kind in ("rotation", "translation") for k in (1, 2, 3)]
    if len(axes) > len(by_name) or not set(by_name) <= set(names):
        raise OsimError(
            f"{what} has the transform axes {list_names(axis.get('name', '') for axis in axes)}; "
            f"{list_names(names)} are expected, each once"
        )
    known = {coordinate.name for coordinate in coordinates}
    return [_movement(by_name[name], name, known, what) for name in names if name in by_name]


def _movement(element: Element, name: str, known: set[str], what: str) -> Movement:
    where = f"{what}, {name}"
    axis = vector_of(element, "axis", "1 0 0", where)
    length = np.linalg.norm(axis)
    if not length:
        raise OsimError(f"{where}: its axis has no direction: write one")
    kind: JointKind = "revolute" if name.startswith("rotation") else "prismatic"
    if not has_function(element):  # OpenSim takes zero, whatever coordinates are written
        return Movement(name, kind, axis / length, None, polynomial([0.0]))
    function = function_below(element, where)
    drivers = text_of(element, "coordinates", "").split()
    if len(drivers) > 1:
        raise OsimError(f"{where} is a function of {' and '.join(drivers)}; functions of one are read")
    if drivers and drivers[0] not in known:
        raise OsimError(f"{where} follows '{drivers[0]}', which is no coordinate of this joint: name one")
    return Movement(name, kind, axis / length, drivers[0] if drivers else None, function)
