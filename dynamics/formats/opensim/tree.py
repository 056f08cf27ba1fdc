"""The bodies of a model file of OpenSim as links on joints of one coordinate, and which joints follow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.arguments import list_names
from dynamics.couplings.coupled_tree import Follower
from dynamics.couplings.joint_function import JointFunction, polynomial
from dynamics.errors import InertiaError, OsimError
from dynamics.formats.opensim.elements import GROUND, name_of, number_of, objects, vector_of
from dynamics.formats.opensim.joints import Movement, OsimCoordinate, OsimJointElement, grow
from dynamics.formats.urdf_parts import Parts, Place
from dynamics.model.checks.validation import checked_mass
from dynamics.model.joint import Joint
from dynamics.model.joint_limits import JointLimits
from dynamics.model.mass_properties import IDENTITY, MassProperties, Pose
from dynamics.model.rotation import about_axis

NEAR = 1e-12  # m and rad, by which a body is at its joint

#: coordinate -> the one that it follows, None for a constant, and the function of it
Couplings = Mapping[str, tuple[str | None, JointFunction]]


def mass_properties(model: Element) -> dict[str, MassProperties]:
    """Mass properties of all bodies by name; without mass no inertia counts, as in OpenSim.

    OsimError for a negative mass or an inertia of other length.
    """
    found: dict[str, MassProperties] = {}
    for body in objects(model, "BodySet"):
        name = name_of(body, "a body")
        what = f"body '{name}'"
        if name in found or name == GROUND:
            raise OsimError(f"two bodies are named '{name}': rename one")
        xx, yy, zz, xy, xz, yz = vector_of(body, "inertia", "0 0 0 0 0 0", what, 6)
        try:
            mass = checked_mass(number_of(body, "mass", None, what), f"{what}: mass")
        except InertiaError as error:
            raise OsimError(str(error)) from error
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) * (mass > np.finfo(float).eps)
        found[name] = MassProperties(mass, vector_of(body, "mass_center", "0 0 0", what), inertia)
    return found


def outward(joints: Iterable[OsimJointElement], bodies: Iterable[str]) -> list[OsimJointElement]:
    """The joints from the ground outwards, those whose child is nearer to it turned round, as in OpenSim.

    OsimError where they make no tree of these bodies.
    """
    left, placed, known = list(joints), {GROUND}, {GROUND, *bodies}
    for joint in left:
        for body in (joint.parent, joint.child):
            if body not in known:
                names = list_names(sorted(known))
                raise OsimError(f"joint '{joint.name}' is on '{body}', which is no body: there are {names}")
    found = grow(left, placed)
    if lost := known - placed:
        raise OsimError(
            f"no chain of joints leads from the ground to {list_names(sorted(lost))}: add the joint"
        )
    if left:
        joint, carriers = left[0], {each.child: each.name for each in found}
        raise OsimError(
            f"body '{joint.child}' is moved by joint '{joint.name}' and by "
            f"{carriers.get(joint.child, 'nothing')!r}: the joints close a loop: "
            "leave one out and close the loop in the problem, by `close_loop`"
        )
    return found


@dataclass(eq=False)
class Reading:
    """The links of a model as they are read, parents first.

    places : where the frame of every body is;  followers : joints that follow coordinates by functions
    owners : coordinate -> the joint of the tree that moves by it alone
    """

    couplings: Couplings
    masses: Mapping[str, MassProperties]
    parts: Parts
    places: dict[str, Place] = field(default_factory=lambda: {GROUND: Place(None, IDENTITY)})
    followers: dict[str, Follower] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)

    def add(self, joint: OsimJointElement) -> None:
        """Add a body behind its joint, each movement on a link of its own."""
        place, coordinates = self.places[joint.parent], {own.name: own for own in joint.coordinates}
        link, pose = place.body, place.pose.then(joint.on_parent)
        first = len(self.parts.bodies)
        for movement in joint.movements:
            source, function = self._source(movement)
            if source is None:
                pose = pose.then(moved(movement, float(function(np.zeros(1))[0])))
                continue
            made = self._joint(joint, movement, source, function, coordinates, pose)
            own = self._unused(made.name)
            self.parts.add_body(own, made, link)
            link, pose = own, IDENTITY
        pose = pose.then(inverse(joint.on_child))
        if len(self.parts.bodies) > first:
            link, pose = self._named(joint, pose)
        self.places[joint.child] = Place(link, pose)
        self.parts.add_link(joint.child, Place(link, pose), self.masses[joint.child])

    def _unused(self, name: str) -> str:
        """A name for a link that is no body of the file, with _link behind it as long as it is taken."""
        while name in self.masses or name in self.parts.masses:
            name += "_link"
        return name

    def _source(self, movement: Movement) -> tuple[str | None, JointFunction]:
        """The coordinate that a movement follows in the end, None where it is constant, and its function."""
        source, function = movement.coordinate, movement.function
        while source is not None and source in self.couplings:
            source, inner = self.couplings[source]
            function = function.of(inner)
        if source is not None and function.is_affine:
            shift, slope = (float(x) for x in function.expansion(np.zeros(1), 1)[:, 0])
            function = polynomial([shift, slope])
            source = source if slope else None
        return source, function

    def _joint(
        self, joint: OsimJointElement, movement: Movement, source: str, function: JointFunction,
        coordinates: Mapping[str, OsimCoordinate], pose: Pose,
    ) -> Joint:  # fmt: skip
        """A joint that moves by its coordinate, or follows one."""
        kind, axis = movement.kind, movement.axis
        if function.is_affine and source not in self.owners and source in coordinates:
            self.owners[source] = source
            shift, slope = (float(x) for x in function.expansion(np.zeros(1), 1)[:, 0])
            limits = range_of(coordinates[source], shift, slope)
            return Joint(source, kind, axis, pose.rotation, pose.position, limits, ratio=slope, offset=shift)
        name = f"{joint.name}_{movement.name}"
        self.followers[name] = Follower(source, function)
        return Joint(name, kind, axis, pose.rotation, pose.position)

    def _named(self, joint: OsimJointElement, pose: Pose) -> tuple[str, Pose]:
        """The last link, called like the body where the body's frame can be its own; the body's pose in it.

        Link and body may differ by a turn, which the joint's axes take over, and by a way where it slides.
        """
        last = self.parts.bodies[-1]
        own = last.joint
        slides = own.kind == "prismatic"
        if not slides and np.abs(pose.position).max() > NEAR:
            name = self._unused(joint.name)
        else:
            name = joint.child
            position = own.position + own.rotation @ pose.position if slides else own.position
            turned = replace(
                own, axis=pose.rotation.T @ own.axis, rotation=own.rotation @ pose.rotation, position=position
            )
            last, pose = replace(last, joint=turned), IDENTITY
        self.parts.bodies[-1] = replace(last, name=name)
        self.parts.masses[name] = self.parts.masses.pop(last.name)
        return name, pose


def range_of(coordinate: OsimCoordinate, shift: float, slope: float) -> JointLimits:
    """The range of a coordinate as that of a displacement slope q + shift."""
    ends = sorted([slope * coordinate.lower + shift, slope * coordinate.upper + shift])
    return JointLimits(*ends)


def moved(movement: Movement, way: float) -> Pose:
    """A constant movement as a pose."""
    if movement.kind == "prismatic":
        return Pose(np.eye(3), way * movement.axis)
    return Pose(about_axis(movement.axis, way), np.zeros(3))


def inverse(pose: Pose) -> Pose:
    """The pose of the other frame in this one."""
    return Pose(pose.rotation.T, -pose.rotation.T @ pose.position)
