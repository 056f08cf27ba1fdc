"""`robot`: a robot for moves, from a URDF or a model, with locked joints, a mounting pose and tools."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

import dynamics
from dynamics.model.checks.validation import inertia_matrix
from dynamics.model.mass_properties import IDENTITY, NO_MASS, MassProperties, Pose
from dynamics.model.rotation import about_axis
from dynamics.model.shape import pose_of
from problems.moves.tasks.orientation import vector
from problems.moves.tasks.robot_shapes import with_given_shapes
from trajopt.base.arguments import check_instance, check_known, check_positive, is_listed, number, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, OptionError, UnknownNameError, in_radians, near_matches

HELD = "touch where one holds the other"  # why pairs of a load and what holds it are left out


@dataclass(frozen=True, eq=False)
class Robot:
    """A robot that moves between given poses.

    model : its links, joints and frames; locked joints are part of the links that carry them
    urdf : the file or text that it was read from, which names its meshes; None: it was read from none
    groups : of an SRDF, name -> joints that move;   states : name of a group -> name of a state -> joint ->
        rad or m, of joints that move
    """

    model: dynamics.RigidBodyModel
    urdf: str | os.PathLike[str] | None = None
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    states: Mapping[str, Mapping[str, Mapping[str, float]]] = field(
        default_factory=dict[str, Mapping[str, Mapping[str, float]]]
    )

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints that move, in the order of q."""
        return tuple(self.model.joint_names)

    def state(self, name: str, group: str | None = None) -> dict[str, float]:
        """The joints of a state that the SRDF names, as goals take them: task.start(q=robot.state("home")).

        group : whose state it is; None: of all groups that have one of this name, which must agree
        Raises UnknownNameError for a state or group that the SRDF does not have, OptionError where groups
        give a joint different values.
        """
        if group is not None:
            check_known("group with states in the SRDF", group, tuple(self.states))
        chosen = self.states.values() if group is None else [self.states[group]]
        known = dict.fromkeys(each for named in chosen for each in named)
        check_known("state in the SRDF", name, tuple(known))
        found: dict[str, float] = {}
        for named in chosen:
            for joint, value in named.get(name, {}).items():
                if found.setdefault(joint, value) != value:
                    raise OptionError(
                        f"groups give joint {joint!r} of state {name!r} two values: give group="
                    )
        return found

    def __str__(self) -> str:
        states = [
            f"{name} of {group}" if group else name for group, named in self.states.items() for name in named
        ]
        lines = [f"groups: {', '.join(self.groups)}"] * bool(self.groups)
        lines += [f"states: {', '.join(states)}"] * bool(states)
        return "\n".join([str(self.model), *lines])

    def frame(self, name: str) -> dynamics.Frame:
        """A frame of the robot, or that of a link: what goals are given for.

        Raises UnknownNameError naming those that are near.
        """
        for frame in self.model.frames:
            if frame.name == name:
                return frame
        links = [body.name for body in self.model.bodies]
        if name in links:
            return dynamics.Frame(name, name)
        known = [frame.name for frame in self.model.frames] + links
        raise UnknownNameError(
            f"the robot has no frame {short_repr(name)}{near_matches(name, known)}: there are "
            f"{', '.join(known)}"
        )

    def with_tool(self, name: str, frame: str, pose: Any) -> Robot:
        """The robot with one more frame: a tool at a pose in another frame.

        pose : (3,) m, (position, rotation), or a matrix (4, 4)
        """
        carrier = self.frame(frame)
        at = Pose(carrier.rotation, carrier.position).then(_pose(pose, f"tool {name!r}:"))
        tool = dynamics.Frame(name, carrier.body, at.rotation, at.position)
        return replace(self, model=replace(self.model, frames=(*self.model.frames, tool)))

    def with_load(
        self, frame: str, mass: float, centre_of_mass: Any = (0.0, 0.0, 0.0), inertia: Any = None
    ) -> Robot:
        """The robot that carries a rigid body at a frame all the time, a gripper or a part for instance.

        mass : kg; centre_of_mass : (3,) m, and inertia : (3, 3) kg m^2 about it, both in the frame's axes;
        None: none
        """
        load = payload_of(self, f"load at {frame}", frame, mass, centre_of_mass, inertia)
        return replace(self, model=carrying(self.model, [load]))


def robot(
    path: str | os.PathLike[str] | dynamics.RigidBodyModel,
    locked: Mapping[str, float] | None = None,
    shapes: Any = None,
    base: Any = None,
    allowed: Any = (),
    folders: Sequence[str | os.PathLike[str]] = (),
    *,
    srdf: str | os.PathLike[str] | None = None,
    repair_inertia: bool = False,
    masses: Mapping[str, Any] | None = None,
    missing_meshes: Literal["refuse", "skip"] = "refuse",
    strict: bool = False,
) -> Robot:
    """The robot of a URDF file, of its text, or of a model that is there already.

    locked : joint -> where it stays, rad or m; its link is then part of the one that carries it
    shapes : for clearances: "fit", the file's <collision> elements, see `urdf_shapes`; links without
        them that have a <visual> are named by a warning; "fit_visual", these by their <visual>; the name of a
        JSON file with spheres of every link, see `dynamics.load_spheres`; or a list of shapes. None: none
    allowed : pairs of links or frames that may touch each other, with the reason or without, or the name of a
        JSON file of them; of "fit", pairs that touch in nearly all poses may do so, too
    base : the mounting pose in the world: (3,) m, (position, rotation), or a matrix (4, 4)
    folders : where meshes of "fit" are looked for, see `dynamics.urdf_shapes`
    srdf : the name or text of an SRDF, whose pairs may touch, too, and whose groups and states the robot has
    repair_inertia, masses : of a file, see `dynamics.load_urdf`
    missing_meshes : whether meshes of "fit" that no folder has are an error, or left out, with a warning and
        a line of the printed robot for each
    strict : whether anything that the files hold and the robot leaves out is an error

    Raises the errors of `dynamics.load_urdf` and of files of shapes, UnknownNameError for a joint that the
    robot does not have, and InfeasibleBoundsError for a locked joint beyond its limits.
    """
    if not isinstance(path, dynamics.RigidBodyModel):
        model = dynamics.load_urdf(path, repair_inertia=repair_inertia, masses=masses)
    elif repair_inertia or masses is not None:
        raise OptionError(
            "repair_inertia and masses are for files, and the robot is a model: load it with them"
        )
    else:
        model = path
    if base is not None:
        model = _mounted(model, _pose(base, "the base's"))
    model = with_locked_joints(model, locked or {})
    said = None if srdf is None else dynamics.load_srdf(srdf, model)
    model = model if shapes is None else with_given_shapes(model, shapes, allowed, folders, missing_meshes)
    if said is not None:
        named = {frozenset(pair[:2]) for pair in said.allowed_pairs}
        others = [pair for pair in model.allowed_pairs if frozenset(pair[:2]) not in named]
        pairs = (*said.allowed_pairs, *others)
        model = replace(model, allowed_pairs=pairs, left_out=(*model.left_out, *said.left_out))
    if strict and model.left_out:
        raise OptionError(
            f"strict: the robot leaves out what its files hold: {'; '.join(model.left_out)}: remove it, or "
            "give strict=False"
        )
    if said is None:
        return Robot(model, model.source)
    return Robot(model, model.source, said.groups, said.states)


def with_locked_joints(
    model: dynamics.RigidBodyModel, locked: Mapping[str, float]
) -> dynamics.RigidBodyModel:
    """The model whose locked joints, and those that mimic them, are rigid; links behind them are frames."""
    check_instance("locked", locked, Mapping, "a dictionary, {'finger_joint': 0.04}")
    for joint in locked:
        check_known("joint of the robot", joint, model.joint_names)
    return _Merging(model, locked).model() if locked else model


@dataclass(frozen=True, eq=False)
class Payload:
    """A rigid body that a frame carries: kg, (3,) m and (3, 3) kg m^2 about it, in the frame's axes.

    shape : for clearances, on the frame; None: it has none; touching : links that it may touch
    """

    name: str
    frame: dynamics.Frame
    mass: float
    centre_of_mass: Array
    inertia: Array
    shape: dynamics.Shape | None = None
    touching: tuple[str, ...] = ()


def payload_of(
    robot: Robot, name: str, frame: str, mass: float, centre_of_mass: Any, inertia: Any
) -> Payload:
    """A payload without a shape; see `Task.attach`, also for errors."""
    check_positive(f"the mass of {name!r}", mass)
    spread = inertia_matrix(np.zeros((3, 3)) if inertia is None else inertia, f"the inertia of {name!r}")
    held = robot.frame(frame)
    if held.body is None:
        raise OptionError(f"frame {held.name!r} is fixed to the ground and carries nothing")
    centre = vector(centre_of_mass, f"the centre of mass of {name!r}")
    return Payload(name, held, float(mass), centre, spread)


class _Merging:
    """Links of locked joints merged into the links that carry them."""

    def __init__(self, model: dynamics.RigidBodyModel, locked: Mapping[str, float]) -> None:
        self.original, self.locked = model, locked
        self.merged: dict[str | None, tuple[str | None, Pose]] = {}  # link -> what carries it, and where
        self.masses: dict[str | None, MassProperties] = {None: NO_MASS}
        self.kept: list[dynamics.Body] = []
        self.frames: list[dynamics.Frame] = []

    def model(self) -> dynamics.RigidBodyModel:
        for body in self.original.bodies:
            carrier, place = self._place(body.parent, Pose(body.joint.rotation, body.joint.position))
            own = own_mass(body)
            if (body.joint.mimics or body.joint.name) not in self.locked:
                joint = replace(body.joint, rotation=place.rotation, position=place.position)
                neighbour = body.neighbour or (None if carrier == body.parent else body.parent)
                self.kept.append(replace(body, joint=joint, parent=carrier, neighbour=neighbour))
                self.masses[body.name] = own
                continue
            if body.joint.rotor is not None:
                self._stop(body.joint.rotor, body.parent)
            place = place.then(self._moved(body.joint))
            self.merged[body.name] = carrier, place
            self.masses[carrier] = self.masses[carrier].joined(own.seen_from(place))
            self.frames.append(dynamics.Frame(body.name, carrier, place.rotation, place.position))
        if not self.kept:
            raise OptionError("all joints are locked: leave one that moves")
        return replace(
            self.original,
            bodies=tuple(with_mass(body, self.masses[body.name]) for body in self.kept),
            frames=(*self.frames, *self._frames()),
            ground_mass=self.original.ground_mass + self.masses[None].mass,
        )

    def _place(self, parent: str | None, pose: Pose) -> tuple[str | None, Pose]:
        carrier, place = self.merged.get(parent, (parent, None))
        return carrier, pose if place is None else place.then(pose)

    def _moved(self, joint: dynamics.Joint) -> Pose:
        """The motion of a locked joint."""
        if joint.kind == "rotation_vector":
            raise OptionError(f"joint {joint.name!r} is part of a ball joint: it cannot be locked")
        q = number(self.locked[joint.mimics or joint.name], f"the locked joint {joint.name!r}")
        at = joint.ratio * q + joint.offset
        if not joint.limits.q_lower - 1e-9 <= at <= joint.limits.q_upper + 1e-9:
            raise InfeasibleBoundsError(
                f"joint {joint.name!r} is locked at {at:.6g}, beyond its limits "
                f"{joint.limits.q_lower:.6g} to {joint.limits.q_upper:.6g}"
                f"{in_radians(at) * (joint.kind == 'revolute')}"
            )
        if joint.kind == "prismatic":
            return Pose(np.eye(3), at * joint.axis)
        return Pose(about_axis(joint.axis, at), np.zeros(3))

    def _stop(self, rotor: dynamics.Rotor, parent: str | None) -> None:
        """The rotor of a locked joint is part of the link that carries it."""
        carrier, place = self._place(parent, IDENTITY)
        centre = rotor.position + rotor.centre_of_mass
        own = MassProperties(rotor.mass, centre, rotor.inertia).seen_from(place)
        if not rotor.is_massless:
            self.masses[carrier] = self.masses[carrier].joined(own)

    def _frames(self) -> list[dynamics.Frame]:
        found: list[dynamics.Frame] = []
        for frame in self.original.frames:
            carrier, place = self._place(frame.body, Pose(frame.rotation, frame.position))
            found.append(dynamics.Frame(frame.name, carrier, place.rotation, place.position))
        return found


def own_mass(body: dynamics.Body) -> MassProperties:
    """The mass properties of a link, in its axes."""
    return MassProperties(body.mass, body.centre_of_mass, body.inertia)


def with_mass(body: dynamics.Body, own: MassProperties) -> dynamics.Body:
    """The same link with another mass, centre of mass and inertia."""
    return replace(body, mass=own.mass, centre_of_mass=own.centre_of_mass, inertia=own.inertia)


def carrying(model: dynamics.RigidBodyModel, payloads: Iterable[Payload]) -> dynamics.RigidBodyModel:
    """The model whose links carry these rigid bodies; those with a shape are frames of their own name.

    A robot without mass stays without.
    """
    added: dict[str | None, MassProperties] = {}
    shapes, frames, allowed = list(model.shapes), list(model.frames), list(model.allowed_pairs)
    for payload in payloads:
        if payload.shape is not None:
            shapes.append(payload.shape.on(payload.name))
            frames.append(replace(payload.frame, name=payload.name))
            allowed += [(payload.name, link, HELD) for link in payload.touching]
        held = MassProperties(payload.mass, payload.centre_of_mass, payload.inertia)
        if model.has_no_mass:
            held = NO_MASS
        held = held.seen_from(Pose(payload.frame.rotation, payload.frame.position))
        added[payload.frame.body] = added.get(payload.frame.body, NO_MASS).joined(held)
    if not added:
        return model
    bodies = [
        with_mass(body, own_mass(body).joined(added[body.name])) if body.name in added else body
        for body in model.bodies
    ]
    return replace(
        model,
        bodies=tuple(bodies),
        shapes=tuple(shapes),
        frames=tuple(frames),
        allowed_pairs=tuple(allowed),
    )


def _pose(given: Any, what: str) -> Pose:
    """A position (3,), a pair (position, rotation), or a matrix (4, 4); ShapeError or JointError."""
    at, turned = given if is_listed(given) and len(given) == 2 else (given, None)
    position, rotation = pose_of(at, turned, what)
    return Pose(rotation, position)


def _mounted(model: dynamics.RigidBodyModel, base: Pose) -> dynamics.RigidBodyModel:
    """The model whose ground has a pose in the world; gravity stays."""
    bodies: list[dynamics.Body] = []
    frames: list[dynamics.Frame] = []
    for body in model.bodies:
        place = Pose(body.joint.rotation, body.joint.position)
        if body.parent is None:
            place = base.then(place)
        joint = replace(body.joint, rotation=place.rotation, position=place.position)
        bodies.append(replace(body, joint=joint))
    for frame in model.frames:
        place = Pose(frame.rotation, frame.position)
        place = base.then(place) if frame.body is None else place
        frames.append(dynamics.Frame(frame.name, frame.body, place.rotation, place.position))
    return replace(model, bodies=tuple(bodies), frames=tuple(frames))
