"""A robot in which designed lengths and geared rotors have coordinates of their own.

A designed component of a position is the displacement of a massless slide that is held at that length
(Featherstone, Rigid Body Dynamics Algorithms, chapter 9, has joints in series for several freedoms); a rotor
whose gear ratio is designed is a body on its axis. So derivatives by lengths and ratios are derivatives by
coordinates, which the compiled recursions give:

    q' = A q + b,  v' = A v,  a' = A a,  tau = A' tau'

with q' the coordinates of the extended robot; A picks the robot's own coordinates and has the ratio where
a joint drives a rotor, b holds the lengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from dynamics.model.body import Body, Frame
from dynamics.model.joint import Joint
from dynamics.model.joint_limits import JointLimits
from dynamics.model.kinematic_tree import KinematicTree, UncheckedTree
from dynamics.model.properties import ModelProperty

AXES = np.eye(3)


@dataclass(frozen=True, eq=False)
class RotorBody(Body):
    """A rotor that was checked before; it may have the inertia about its axis alone, which no link could."""

    def __post_init__(self) -> None:
        pass


@dataclass(frozen=True)
class Length:
    """A component of a designed position, and the coordinate of the slide that has it as displacement."""

    name: str
    component: int
    coordinate: int


@dataclass(frozen=True)
class Gear:
    """A designed gear ratio g: rotor angle = g (ratio q_driver + offset).

    driver, rotor : coordinates of the robot and of the extended robot
    """

    name: str
    driver: int
    rotor: int
    ratio: float
    offset: float


@dataclass(frozen=True)
class Armature:
    """A designed gear ratio g where rotors are armatures: (g ratio)^2 inertia on the diagonal of M.

    link : of the joint, whose row has the armature
    """

    name: str
    link: int
    ratio: float
    inertia: float


@dataclass(frozen=True, eq=False)
class ExtendedRobot:
    """The extended robot, and what its further coordinates stand for.

    own : (n,) places of the robot's coordinates among those of the extended robot
    """

    model: UncheckedTree
    own: np.ndarray
    lengths: tuple[Length, ...]
    gears: tuple[Gear, ...]
    armatures: tuple[Armature, ...]


def extended_robot(
    model: KinematicTree, designs: Mapping[str, ModelProperty], fixed: Mapping[str, np.ndarray]
) -> ExtendedRobot:
    """The extended robot of designed positions and gear ratios; other properties change nothing here.

    fixed : (width,) of every design, NaN in components that vary, the number in those that do not
    """
    return _Extension(model, designs, fixed).robot()


class _Extension:
    """Collects bodies and frames, parents first."""

    def __init__(
        self, model: KinematicTree, designs: Mapping[str, ModelProperty], fixed: Mapping[str, np.ndarray]
    ) -> None:
        self.model, self.fixed = model, fixed
        self.bodies: list[Body] = []
        self.slides: list[tuple[str, int, str]] = []  # property, component, name of the slide
        self.rotors: list[tuple[str, int, str]] = []  # property, link of the joint, name of the rotor's body
        self.armatures: list[Armature] = []
        taken = {*model.link_names, *model.frame_names, *(joint.name for joint in model.joints)}
        self.unused = (name for k in count() if (name := f"design {k}") not in taken)
        self.of_joint = {
            (part.index, part.attribute): name for name, part in designs.items() if part.owner == "joint"
        }
        self.of_frame = {part.index: name for name, part in designs.items() if part.owner == "frame"}

    def robot(self) -> ExtendedRobot:
        for link, body in enumerate(self.model.bodies):
            position = self.of_joint.get((link, "position"))
            gear = self.of_joint.get((link, "gear_ratio"))
            if position is not None or gear is not None:
                body = replace(body, joint=replace(body.joint, limits=JointLimits()))  # no second warning
                body = self._without_rotor(link, body, gear)
            if position is not None:
                carrier, offset = self._slides(position, body.parent)
                body = replace(body, parent=carrier, joint=replace(body.joint, position=offset))
            self.bodies.append(body)
        frames = list(self.model.frames)
        for index, name in self.of_frame.items():
            carrier, offset = self._slides(name, frames[index].body)
            frames[index] = replace(frames[index], body=carrier, position=offset)
        return self._finished(frames)

    def _finished(self, frames: list[Frame]) -> ExtendedRobot:
        model = self.model
        extended = UncheckedTree(tuple(self.bodies), model.gravity, model.name, model.rotors, tuple(frames))
        places = {name: i for i, name in enumerate(extended.joint_names)}
        gears = []
        for name, link, rotor in self.rotors:
            joint, driver = model.bodies[link].joint, int(model.coordinate[link])
            gears.append(Gear(name, driver, places[rotor], joint.ratio, joint.offset))
        return ExtendedRobot(
            extended,
            np.array([places[name] for name in model.joint_names]),
            tuple(Length(name, component, places[slide]) for name, component, slide in self.slides),
            tuple(gears),
            tuple(self.armatures),
        )

    def _slides(self, name: str, carrier: str | None) -> tuple[str | None, np.ndarray]:
        """Slides along the axes of `carrier` for components that vary: the last one, and what is left."""
        fixed = self.fixed[name]
        offset = np.where(np.isnan(fixed), 0.0, fixed)
        for component in np.flatnonzero(np.isnan(fixed)).tolist():
            slide = next(self.unused)
            joint = Joint(slide, "prismatic", axis=AXES[component], position=offset)
            self.bodies.append(Body(slide, joint, carrier))
            self.slides.append((name, component, slide))
            carrier, offset = slide, np.zeros(3)
        return carrier, offset

    def _without_rotor(self, link: int, body: Body, gear: str | None) -> Body:
        """The body without a rotor on its joint; the rotor stays on the parent as bodies of its own."""
        joint, rotor, mode = body.joint, body.joint.rotor, self.model.rotors
        if rotor is None or rotor.is_massless or mode == "none":
            return body
        spindle = next(self.unused)
        if mode == "armature":
            if body.parent is not None:  # a point mass on a slide that is held at zero; the ground has none
                held = Joint(spindle, "prismatic", position=rotor.position + rotor.centre_of_mass)
                self.bodies.append(Body(spindle, held, body.parent, rotor.mass))
            if gear is None:  # its armature does not vary, and needs no rotor with a mass
                axial = rotor.axial_inertia * np.outer(rotor.axis, rotor.axis)
                zero = np.zeros(3)
                light = replace(rotor, mass=0.0, inertia=axial, position=zero, centre_of_mass=zero)
                return replace(body, joint=replace(joint, rotor=light))
            self.armatures.append(Armature(gear, link, joint.ratio, rotor.axial_inertia))
            return replace(body, joint=replace(joint, rotor=None))
        followed, ratio, offset = (
            (joint.mimics or joint.name, rotor.gear_ratio * joint.ratio, rotor.gear_ratio * joint.offset)
            if gear is None
            else (None, 1.0, 0.0)
        )
        axle = Joint(
            spindle, axis=rotor.axis, position=rotor.position, mimics=followed, ratio=ratio, offset=offset
        )
        properties = (rotor.mass, rotor.centre_of_mass, rotor.inertia)
        self.bodies.append(RotorBody(spindle, axle, body.parent, *properties))
        if gear is not None:
            self.rotors.append((gear, link, spindle))
        return replace(body, joint=replace(joint, rotor=None))
