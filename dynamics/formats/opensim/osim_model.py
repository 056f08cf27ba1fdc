"""`load_osim` reads a model file of OpenSim 4: the robot, its coordinates, markers and contact points."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Literal
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import list_names, names_of, short_repr
from dynamics.coupled_model import CoupledModel
from dynamics.couplings.joint_function import JointFunction, polynomial
from dynamics.errors import OsimError, OsimWarning, UrdfError, warn_user
from dynamics.formats.opensim.elements import (
    complete_names,
    coordinate_named,
    flag_of,
    model_element,
    name_of,
    number_of,
    objects,
    offset_frames,
    text_of,
    vector_of,
)
from dynamics.formats.opensim.forces import (
    ContactSphere,
    Point,
    actuator_limits,
    contact_spheres,
    left_out,
    markers_of,
    muscle_names,
)
from dynamics.formats.opensim.functions import function_below
from dynamics.formats.opensim.joints import OsimCoordinate, OsimJointElement, joints_of
from dynamics.formats.opensim.muscles import OnRobot, read_ligaments, read_muscles
from dynamics.formats.opensim.naming import OsimNames
from dynamics.formats.opensim.older_versions import JOINTS_BESIDE_BODIES, rewrite
from dynamics.formats.opensim.springs import CoordinateSpring, springs_of
from dynamics.formats.opensim.tree import Couplings, Reading, mass_properties, outward, range_of
from dynamics.formats.urdf_parts import Parts, made_of, warn_of_missing_mass
from dynamics.model.body import Body, Frame
from dynamics.muscles.joint_reactions import BodyJoint, JointEnd, joint_reactions
from dynamics.muscles.ligaments import Ligaments
from dynamics.muscles.muscles import Muscles
from dynamics.quantities.link_wrenches import link_wrenches
from dynamics.rigid_body_model import RigidBodyModel


@dataclass(frozen=True, eq=False)
class OsimModel:
    """A model file of OpenSim as a robot, and what else the file says.

    robot : a `RigidBodyModel`, or a `CoupledModel` where joints follow coordinates by functions
    coordinates : those of the robot by name, with range, default value and lock
    coupled : dependent coordinate -> the one that it follows
    markers : frames of the robot;  spheres : of contact, whose centres are frames of the robot
    muscles : with their paths, where `load_osim` was asked for them; they pull on no joint of the robot
    ligaments : with their paths, where muscles were read, too, None where there are none
    springs : limit forces and linear springs on its coordinates; neither these nor ligaments act on a joint
        of the robot
    left_out : what is no part of the robot, in words -> names
    joints : those between bodies that move against each other, for forces in them; "child" is the outer body
    """

    robot: RigidBodyModel | CoupledModel
    coordinates: Mapping[str, OsimCoordinate]
    coupled: Mapping[str, str]
    markers: tuple[str, ...]
    spheres: tuple[ContactSphere, ...]
    muscles: Muscles | None
    ligaments: Ligaments | None
    springs: tuple[CoordinateSpring, ...]
    left_out: Mapping[str, tuple[str, ...]]
    joints: tuple[BodyJoint, ...]

    @property
    def default_pose(self) -> np.ndarray:
        """(n,) the values of the coordinates as the model is opened."""
        return np.array([self.coordinates[name].default for name in self.robot.joint_names])

    @property
    def locked(self) -> tuple[str, ...]:
        """Coordinates that the file locks, which the robot may move all the same."""
        return tuple(name for name, own in self.coordinates.items() if own.locked)

    def smoothed(self) -> OsimModel:
        """The model for an optimization: joints follow functions with four continuous derivatives.

        Muscles and ligaments keep their paths. See `CoupledModel.smoothed`.
        """
        if isinstance(self.robot, CoupledModel):
            return replace(self, robot=self.robot.smoothed())
        return self

    def spring_moments(self, q: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
        """Coordinate -> the force of its springs, N m or N, at q and v, (n,), (K, n) or a node's symbols."""
        found: dict[str, np.ndarray] = {}
        for spring in self.springs:
            i = self.robot.joint_names.index(spring.coordinate)
            moment = spring.moment(q.T[i], v.T[i])
            before = found.get(spring.coordinate)
            found[spring.coordinate] = moment if before is None else before + moment
        return found

    def joint_reactions(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tensions: ArrayLike | None = None,
        loads: Mapping[str, ArrayLike] | None = None,
        on: Literal["child", "parent"] = "child", axes: Literal["ground", "child", "parent"] = "ground",
    ) -> np.ndarray:  # fmt: skip
        """(K, joints, 6) [moment; force] that every one of `joints` exerts: `dynamics.joint_reactions`.

        tensions : (K, m) N of the muscles, None for none; MuscleError for a model read without muscles
        Ligaments pull, too.
        """
        paths = None if tensions is None or self.muscles is None else self.muscles.paths
        if self.ligaments is not None:
            tree = self.ligaments.paths.tree
            external = self.ligaments.wrenches(np.atleast_2d(q))
            external += link_wrenches(tree, external.shape[:1], loads or {})
            loads = {link: external[:, i] for i, link in enumerate(tree.link_names)}
        return joint_reactions(self.robot, self.joints, q, v, a, paths, tensions, loads, on, axes)

    def __str__(self) -> str:
        lines = [
            f"{self.robot.name}: {len(self.robot.bodies)} links, {self.robot.n} coordinates, "
            f"{self.robot.total_mass:.6g} kg, {len(self.markers)} markers, {len(self.spheres)} spheres",
            f"coupled: {', '.join(f'{one} by {other}' for one, other in self.coupled.items()) or 'none'}",
            f"locked in the file, free here: {list_names(self.locked)}",
        ]
        return "\n".join(
            lines + [f"left out: {what}: {list_names(names)}" for what, names in self.left_out.items()]
        )


def load_osim(
    path_or_xml: str | os.PathLike[str],
    hold: Mapping[str, float] | Iterable[str] = (),
    names: OsimNames | None = None,
    repair_inertia: bool = False,
    muscles: bool = False,
) -> OsimModel:
    """The robot of a model file of OpenSim (.osim), version 1.9 to 4, a path or XML from "<" on.

    hold : coordinates that stay at their default values, or name -> value, rad or m
    names : other names of bodies and coordinates for the robot, and other signs and zeros of coordinates
    repair_inertia : whether an inertia that no body can have, as of toes in many models, is replaced by the
        nearest that one can have, with a warning; else it is an InertiaError
    muscles : whether muscles and ligaments are read, too, with points, conditional and moving points and
        wraps of their paths; Thelen's, Millard's and De Groote's muscles become those parameters that all
        have

    Bodies, markers and spheres have the poses that OpenSim gives them, and tau of inverse dynamics is what
    its tool finds without forces; where coordinates are coupled, tau of one counts those that follow it.
    Links and frames have the names of bodies; a body whose joint is not at its origin is a frame on a link
    that is named like the joint. Read are weld, pin, slider, universal, gimbal, ball, planar, free,
    ellipsoid, scapulothoracic and custom joints with functions of one coordinate (constant, linear,
    polynomial, piecewise linear, SimmSpline and multiples), couplers of one coordinate, and the limits of
    coordinate actuators as limits of torque. Ball and free joints and those on ellipsoids turn by three
    angles about x, y and z whose forces are along the rates of these angles.
    Ranges are limits whether or not they are clamped. Other forces and controllers are left out and named, as
    are muscles that apply no force or pass no joint but those that are held.

    Names that are missing or taken are completed as in OpenSim: a second joint `back` is `back_0`, a body
    that no joint leads to is free (`free_BODY`), coordinates of one name in two joints are JOINT/NAME. A
    joint whose child is nearer to the ground is read from its child on, with the same coordinates. Where
    joints move no mass a warning names them, and forward dynamics is refused; where no body has one, torques
    are.

    Constraints that no tree holds, of points or of several coordinates, are left open, which an OsimWarning
    says. Raises OsimError for what no tree can be: loops of joints, models without a joint that moves,
    unknown joints or functions, negative masses, files before version 1.9.1; InertiaError for links that no
    robot can have; of muscles MuscleError for paths that pass no joint, surfaces without size, strengths and
    lengths of zero.
    """
    (model, version), own = model_element(path_or_xml), names or OsimNames()
    if version < JOINTS_BESIDE_BODIES:
        rewrite(model)
    complete_names(model)
    frames = offset_frames(model)
    masses, joints = mass_properties(model), joints_of(model, frames)
    written = checked_coordinates(coordinate for joint in joints for coordinate in joint.coordinates)
    held = held_values(hold, written)
    couplings = couplers(model, written)
    own.check(masses, written, {*couplings, *held})
    couplings = {**own.couplings(couplings), **{k: (None, polynomial([x])) for k, x in held.items()}}
    masses, joints = own.by_body(masses), [own.joint(joint) for joint in joints]
    coordinates = {coordinate.name: coordinate for joint in joints for coordinate in joint.coordinates}
    torques = own.torques(actuator_limits(model, written))
    reading = Reading(couplings, masses, Parts(repair_inertia))
    try:
        placed = {joint.name: joint for joint in outward(joints, masses)}
        for joint in placed.values():
            reading.add(joint)
        bodies = reading.parts.finished()
    except UrdfError as error:
        raise OsimError(str(error)) from error
    if not bodies:
        raise OsimError(
            f"no joint of the model moves, so that it is no robot: its {len(masses)} bodies are fixed to the "
            "ground, and it has no coordinate that is free: hold fewer, or add joints"
        )
    points = {"marker": own.points(markers_of(model, frames))}
    points["sphere"] = own.points(contact_spheres(model, frames))
    own_frames, called = frames_of(points, reading)
    limited = with_torques(bodies, torques)
    gravity = vector_of(model, "gravity", "0 -9.80665 0", "the model")
    tree = made_of(
        limited, (*reading.parts.frames, *own_frames), reading.parts, gravity, model.get("name", "")
    )
    robot = coupled(tree, reading, coordinates, torques) if reading.followers else tree
    warn_of_missing_mass(() if tree.has_no_mass else robot.joints_without_mass)
    radii = [point.radius for point in points["sphere"]]
    spheres = tuple(ContactSphere(name, r) for name, r in zip(called["sphere"], radii, strict=True))
    free = {name: coordinates[name] for name in robot.joint_names}
    other = {
        "constraints, left open": open_constraints(model),
        "actuators, of coordinates that are none of the robot": set(torques) - set(free),
        "functions of time that prescribe coordinates": [k for k, x in coordinates.items() if x.prescribed],
        "coordinates, held at a value": held,
        "coordinates that move nothing": coordinates.keys() - free.keys() - couplings.keys(),
    }
    on = OnRobot(frames, reading.places, own, couplings, written)
    read = read_muscles(model, robot, on) if muscles else None
    ligaments = read_ligaments(model, robot, on) if muscles else None
    kinds = {joint.name: joint.kind for joint in robot.joints}
    springs = tuple(springs_of(model, kinds, written, own))
    within = {spring.name for spring in springs} | set(() if ligaments is None else ligaments.names)
    unread = [name for name in muscle_names(model) if read is None or name not in read.names]
    return OsimModel(
        robot, free, {name: str(source) for name, (source, _) in couplings.items() if source},
        called["marker"], spheres, read, ligaments, springs,
        left_out(model, within, {"muscles": unread} | other),
        tuple(body_joints([placed[joint.name] for joint in joints], reading)),
    )  # fmt: skip


def body_joints(joints: Iterable[OsimJointElement], reading: Reading) -> Iterator[BodyJoint]:
    """The joints whose outer body is on another link than the inner one."""
    for joint in joints:
        ends: list[JointEnd] = []
        for body, frame in ((joint.parent, joint.on_parent), (joint.child, joint.on_child)):
            place = reading.places[body]
            ends.append(JointEnd(body, place.body, place.pose.rotation, place.pose.then(frame).position))
        if ends[0].link != ends[1].link:
            yield BodyJoint(joint.name, *ends)


def checked_coordinates(given: Iterable[OsimCoordinate]) -> dict[str, OsimCoordinate]:
    """The coordinates by name; OsimError for a name that comes twice."""
    found: dict[str, OsimCoordinate] = {}
    for own in given:
        if own.name in found:
            raise OsimError(f"two coordinates are named '{own.name}': rename one")
        found[own.name] = own
    return found


def held_values(
    hold: Mapping[str, float] | Iterable[str], coordinates: Mapping[str, OsimCoordinate]
) -> dict[str, float]:
    """Coordinate -> value at which it is held; OsimError for a name that the model does not have."""
    names = names_of(hold, "hold")
    for name in names:
        if name not in coordinates:
            raise OsimError(
                f"hold names '{name}', which is no coordinate: there are {list_names(coordinates)}"
            )
    given = hold if isinstance(hold, Mapping) else {}
    values = {name: given.get(name, coordinates[name].default) for name in names}
    for name, value in values.items():
        if not (isinstance(value, Real) and np.isfinite(float(value))):
            raise OsimError(f"hold has {short_repr(value)} for '{name}': give a finite number, rad or m")
    return {name: float(value) for name, value in values.items()}


def couplers(model: Element, coordinates: Mapping[str, OsimCoordinate]) -> Couplings:
    """Dependent coordinates: name -> the coordinate that it follows, and the function of it.

    Couplers of several coordinates are no part of it: `open_constraints` has them.
    """
    found: dict[str, tuple[str | None, JointFunction]] = {}
    for element in objects(model, "ConstraintSet"):
        if element.tag != "CoordinateCouplerConstraint" or not flag_of(element, "isEnforced", True):
            continue
        what = f"coupler '{name_of(element, 'a constraint')}'"
        sources = text_of(element, "independent_coordinate_names", what=what).split()
        dependent = text_of(element, "dependent_coordinate_name", what=what)
        if len(sources) > 1:
            continue
        if not sources:
            raise OsimError(f"{what} follows no coordinate: name one in <independent_coordinate_names>")
        dependent, source = (
            coordinate_named(name, coordinates, f"{what} names") for name in (dependent, *sources)
        )
        holder = element.find("coupled_coordinates_function")
        if holder is None:
            raise OsimError(f"{what} has no <coupled_coordinates_function>: write it")
        scale = polynomial([0.0, number_of(element, "scale_factor", "1", what)])
        if dependent in found:
            raise OsimError(f"{what} and another one determine '{dependent}': leave one out")
        found[dependent] = source, scale.of(function_below(holder, what))
    for name in found:
        check_chain(name, found)
    return found


def check_chain(name: str, found: Couplings) -> None:
    """OsimError where a coordinate follows itself through others."""
    source, seen = found[name][0], {name}
    while source is not None and source in found:
        if source in seen:
            raise OsimError(f"coordinate '{name}' follows itself by couplers: leave one of them out")
        seen.add(source)
        source = found[source][0]


def open_constraints(model: Element) -> list[str]:
    """Constraints that no tree holds, with their types; a warning names them."""
    found: list[str] = []
    for element in objects(model, "ConstraintSet"):
        sources = text_of(element, "independent_coordinate_names", "").split()
        several = element.tag != "CoordinateCouplerConstraint" or len(sources) > 1
        if several and flag_of(element, "isEnforced", True):
            found.append(f"{name_of(element, 'a constraint')} ({element.tag})")
    if found:
        warn_user(
            f"constraints left open, which the robot may move against: {list_names(found)}; inverse dynamics "
            "counts none, as OpenSim's; close loops in the problem, by `close_loop`",
            OsimWarning,
        )
    return found


def frames_of(
    points: Mapping[str, list[Point]], reading: Reading
) -> tuple[list[Frame], dict[str, tuple[str, ...]]]:
    """Points as frames of the robot, and their names by kind; one that is taken gets its kind behind it."""
    taken = {body.name for body in reading.parts.bodies} | {frame.name for frame in reading.parts.frames}
    found: list[Frame] = []
    names: dict[str, tuple[str, ...]] = {}
    for kind, each in points.items():
        own: list[str] = []
        for point in each:
            name = point.name
            while name in taken:
                name += f"_{kind}"
            if point.body not in reading.places:
                raise OsimError(f"{kind} '{point.name}' is on '{point.body}', which is no body")
            place = reading.places[point.body]
            position = place.pose.position + place.pose.rotation @ point.position
            found.append(Frame(name, place.body, place.pose.rotation, position))
            taken.add(name)
            own.append(name)
        names[kind] = tuple(own)
    return found, names


def with_torques(bodies: Iterable[Body], limits: Mapping[str, tuple[float, float]]) -> list[Body]:
    """The bodies with the limits of actuators on the joints that have their coordinates."""
    found: list[Body] = []
    for body in bodies:
        joint = body.joint
        if joint.name in limits:
            ends = sorted(x / joint.ratio for x in limits[joint.name])  # power is the same in both
            own = replace(joint.limits, torque_lower=ends[0], torque_upper=ends[1])
            body = replace(body, joint=replace(joint, limits=own))
        found.append(body)
    return found


def coupled(
    tree: RigidBodyModel, reading: Reading, coordinates: Mapping[str, OsimCoordinate],
    torques: Mapping[str, tuple[float, float]],
) -> CoupledModel:  # fmt: skip
    """The robot of a tree in which joints follow coordinates; those without an own joint have ranges."""
    bare = CoupledModel(tree, reading.followers)
    ranges = {}
    for name in set(bare.joint_names) - set(tree.joint_names):
        own = range_of(coordinates[name], 0.0, 1.0)
        lower, upper = torques.get(name, (-np.inf, np.inf))
        ranges[name] = replace(own, torque_lower=lower, torque_upper=upper)
    return replace(bare, ranges=ranges)
