"""The kinematic tree of a robot: bodies, joints, frames and gravity, checked once and never changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import list_names, short_repr
from dynamics.errors import DynamicsError, InertiaError, JointError, ModelError, UnknownNameError
from dynamics.model.body import Body, Frame
from dynamics.model.checks.mass_check import check_mass_matrix, coordinates_without_mass, has_no_mass
from dynamics.model.checks.tree_checks import (
    check_frames,
    check_rotors,
    check_unique,
    coordinate_indices,
    parent_indices,
)
from dynamics.model.checks.validation import LONGEST_NAME, checked_mass, finite_array
from dynamics.model.joint import Joint
from dynamics.model.json_format import model_from_json, model_to_json
from dynamics.model.packed_model import PackedModel, pack
from dynamics.model.properties import changed_parts, model_property
from dynamics.model.rotation_joint import (
    RotationJoint,
    SerialBodies,
    as_revolute,
    bodies_with_centres,
    rotation_joints,
    serial_bodies,
)
from dynamics.model.shape import Shape
from dynamics.model.table import model_table

# A matrix of all pairs of coordinates has 0.8 GB then; the largest humanoids have a few hundred bodies.
MOST_BODIES = 10_000
ROTOR_MODES = ("exact", "armature", "none")

Tree = TypeVar("Tree", bound="KinematicTree")
Part = TypeVar("Part")


@dataclass(frozen=True, eq=False)
class LimitArrays:
    """Limits of the coordinates, each (n,), in the order of `joint_names`; infinity where there is none."""

    q_lower: np.ndarray
    q_upper: np.ndarray
    velocity: np.ndarray
    torque_lower: np.ndarray
    torque_upper: np.ndarray


@dataclass(frozen=True, eq=False)
class KinematicTree:
    """A kinematic tree of rigid bodies on joints in a uniform gravity field: the value that algorithms take.

    bodies : parents before children
    gravity : (3,) m/s^2, the field in world axes
    name : for tables and files
    rotors : "exact", "armature" or "none", see `dynamics.RigidBodyModel`, which users make
    frames : named frames fixed to links
    ground_mass : kg of links that are held to the ground and never move; nothing is computed from it
    shapes : solids on links and frames, for clearances
    allowed_pairs : names of two links or frames whose shapes may touch each other, and why, "" by default
    may_lack_mass : whether joints may move no mass, as those of many files do; forward dynamics is refused
        then, and inverse dynamics where no link has a mass
    left_out : what the file of the robot holds that is no part of it, a phrase each
    source : the URDF, its path or text, that the robot was read from, where there is one

    It is checked when made and never changed; it has names, indices, limits, properties, JSON text and the
    flat arrays of compiled algorithms, and computes no dynamics itself. Raises ModelError naming the element.
    """

    bodies: tuple[Body, ...]
    gravity: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    name: str = ""
    rotors: Literal["exact", "armature", "none"] = "exact"
    frames: tuple[Frame, ...] = ()
    ground_mass: float = 0.0
    shapes: tuple[Shape, ...] = ()
    allowed_pairs: tuple[tuple[str, ...], ...] = ()
    may_lack_mass: bool = False
    left_out: tuple[str, ...] = ()
    source: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", parts_of(self.bodies, Body, "bodies"))
        object.__setattr__(self, "frames", parts_of(self.frames, Frame, "frames"))
        object.__setattr__(self, "gravity", finite_array(self.gravity, (3,), "gravity"))
        object.__setattr__(self, "ground_mass", checked_mass(self.ground_mass, "ground_mass"))
        if not isinstance(self.name, str):
            raise ModelError(f"the name of the model is {short_repr(self.name)}; give a string")
        if not isinstance(self.rotors, str) or self.rotors not in ROTOR_MODES:
            raise ModelError(
                f"rotors is {short_repr(self.rotors)}; it must be one of {', '.join(ROTOR_MODES)}"
            )
        if not self.bodies:
            raise ModelError("a model needs at least one body")
        if len(self.bodies) > MOST_BODIES:
            raise ModelError(
                f"the model has {len(self.bodies)} bodies; at most {MOST_BODIES} are computed with"
            )
        check_unique((body.name for body in self.bodies), "bodies")
        check_unique((body.joint.name for body in self.bodies), "joints")
        check_frames(self.bodies, self.frames)
        check_rotors(self.bodies)
        self._check_shapes()
        for array in (self.parent, self.coordinate):  # computing them is their check
            array.flags.writeable = False
        self._check_limits()
        object.__setattr__(self, "left_out", tuple(self.left_out))
        if not self.may_lack_mass:
            check_mass_matrix(self.with_revolute_joints if self.rotation_joints else self)

    # --- masses ---------------------------------------------------------------------------------------

    @cached_property
    def has_no_mass(self) -> bool:
        """True if no link has mass or inertia: a kinematic robot, for which nothing needs a torque."""
        return has_no_mass(self)

    @cached_property
    def joints_without_mass(self) -> tuple[str, ...]:
        """The joints that move no mass, so that forward dynamics is not defined."""
        if not self.may_lack_mass:
            return ()
        return coordinates_without_mass(self.with_revolute_joints if self.rotation_joints else self)

    def check_mass(self, needing: str, of_all_joints: bool = False) -> None:
        """InertiaError where no link has a mass; of_all_joints : also where some joints move none.

        needing : what is asked for, for the message
        """
        if self.has_no_mass:
            raise InertiaError(
                f"{needing} needs masses, and no link of the robot has one "
                f"({list_names(self.link_names)}): write them in its file, give load_urdf(..., "
                f"masses={{{self.link_names[-1]!r}: 2.0, ...}}), kg, or leave torques out by "
                "limits(torque=None)"
            )
        if of_all_joints and self.joints_without_mass:
            names = self.joints_without_mass
            raise InertiaError(
                f"{needing} needs mass on every joint, and {list_names(names)} move{'s' * (len(names) == 1)} "
                "none: write it in the file, give load_urdf(..., masses={LINK: kg, ...}), or lock what "
                "moves none"
            )

    # --- the tree -------------------------------------------------------------------------------------

    @cached_property
    def parent(self) -> np.ndarray:
        """(links,) index of every link's parent, -1 = ground."""
        return np.array(parent_indices(self.bodies), dtype=np.int64)

    @cached_property
    def coordinate(self) -> np.ndarray:
        """(links,) index of the coordinate that moves every link."""
        return np.array(coordinate_indices(self.bodies), dtype=np.int64)

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The joint of every link, mimic joints included."""
        return tuple(body.joint for body in self.bodies)

    @property  # type checkers refuse a cached_property where a protocol has a property
    def joint_names(self) -> tuple[str, ...]:
        """(n,) names of the joints with a coordinate of their own: the order of q."""
        return self._joint_names

    @cached_property
    def _joint_names(self) -> tuple[str, ...]:
        return tuple(body.joint.name for body in self.bodies if body.joint.mimics is None)

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """(links,) names of the bodies."""
        return tuple(body.name for body in self.bodies)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of the frames fixed to links, apart from the link frames."""
        return tuple(frame.name for frame in self.frames)

    @cached_property
    def link_frames(self) -> tuple[Frame, ...]:
        """The frames of the links themselves, made and checked once."""
        return tuple(Frame(name, name) for name in self.link_names)

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.joint_names)

    @property
    def link_count(self) -> int:
        """Number of bodies."""
        return len(self.bodies)

    def link_index(self, name: str) -> int:
        """Index of the link `name`; UnknownNameError otherwise, which tells the link of a frame."""
        if isinstance(name, str) and name not in self._link_indices and name in self._frame_indices:
            body = self.frame(name).body
            where = "fixed to the ground" if body is None else f"on the link '{body}': name that link"
            raise UnknownNameError(f"'{name}' is no link but a frame {where}")
        return index_in(self._link_indices, name, "link")

    def joint_link_index(self, name: str) -> int:
        """Index of the link on the joint `name`, mimic joints included; UnknownNameError otherwise."""
        return index_in(self._joint_link_indices, name, "joint")

    def frame(self, name: str) -> Frame:
        """The frame `name`, which may be a link's own; UnknownNameError otherwise."""
        return self._frames[index_in(self._frame_indices, name, "link or frame")]

    def carrier(self, frame: str) -> str:
        """The link that carries a frame; UnknownNameError where the ground does, or for another name."""
        body = self.frame(frame).body
        if body is None:
            raise UnknownNameError(f"the frame '{frame}' is fixed to the ground: name one on a link")
        return body

    @property
    def total_mass(self) -> float:
        """kg of all links that can move, rotors not counted."""
        return float(sum(body.mass for body in self.bodies))

    @cached_property
    def _frames(self) -> tuple[Frame, ...]:
        return (*self.link_frames, *self.frames)

    @cached_property
    def _link_indices(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.link_names)}

    @cached_property
    def _joint_link_indices(self) -> dict[str, int]:
        return {body.joint.name: i for i, body in enumerate(self.bodies)}

    @cached_property
    def _frame_indices(self) -> dict[str, int]:
        return {frame.name: i for i, frame in enumerate(self._frames)}

    # --- rotation vectors ----------------------------------------------------------------------------

    @cached_property
    def rotation_joints(self) -> tuple[RotationJoint, ...]:
        """The joints whose three coordinates are a rotation vector: free bases and ball joints."""
        return rotation_joints(self.bodies)

    @cached_property
    def with_revolute_joints(self) -> KinematicTree:
        """A tree with a revolute joint for every component of a rotation vector: the same rotations."""
        return UncheckedTree(as_revolute(self.bodies), self.gravity, self.name, self.rotors, self.frames)

    @cached_property
    def serial_bodies(self) -> SerialBodies:
        """The bodies on revolute and prismatic joints alone, and where the model's own stand among them."""
        return serial_bodies(self.bodies, (*self.link_names, *self.frame_names, *self._joint_link_indices))

    @cached_property
    def serial(self) -> KinematicTree:
        """The tree of `serial_bodies`, which compiled algorithms compute with."""
        form = self.serial_bodies
        names = {own: form.bodies[place].name for own, place in zip(self.link_names, form.links, strict=True)}
        frames = (replace(frame, body=names.get(frame.body or "")) for frame in self.frames)
        return UncheckedTree(form.bodies, self.gravity, self.name, self.rotors, tuple(frames))

    # --- limits ---------------------------------------------------------------------------------------

    @cached_property
    def limits(self) -> LimitArrays:
        """Limits of the coordinates: the tightest of the joints that share one; torques of its owner."""
        q_lower, q_upper = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        velocity = np.full(self.n, np.inf)
        torque_lower, torque_upper = np.full(self.n, -np.inf), np.full(self.n, np.inf)
        for body, i in zip(self.bodies, self.coordinate, strict=True):
            joint, own = body.joint, body.joint.limits
            ends = (np.array([own.q_lower, own.q_upper]) - joint.offset) / joint.ratio
            q_lower[i], q_upper[i] = max(q_lower[i], ends.min()), min(q_upper[i], ends.max())
            velocity[i] = min(velocity[i], own.velocity / abs(joint.ratio))
            if joint.mimics is None:
                torques = np.array([own.torque_lower, own.torque_upper]) * joint.ratio
                torque_lower[i], torque_upper[i] = torques.min(), torques.max()
        arrays = (q_lower, q_upper, velocity, torque_lower, torque_upper)
        for array in arrays:
            array.flags.writeable = False
        return LimitArrays(*arrays)

    def _check_shapes(self) -> None:
        object.__setattr__(self, "shapes", parts_of(self.shapes, Shape, "shapes"))
        for shape in self.shapes:
            if shape.carrier is not None:
                self.frame(shape.carrier)  # finding it is its check
        pairs = tuple(tuple(pair) for pair in self.allowed_pairs)
        for pair in pairs:
            if len(pair) not in (2, 3) or not all(isinstance(part, str) for part in pair):
                raise ModelError(
                    f"allowed_pairs holds {short_repr(pair)}; give two names, and a reason or none"
                )
        for name in {name for pair in pairs for name in pair[:2]}:
            self.frame(name)
        object.__setattr__(self, "allowed_pairs", pairs)

    def _check_limits(self) -> None:
        for name, lower, upper in zip(
            self.joint_names, self.limits.q_lower, self.limits.q_upper, strict=True
        ):
            if lower > upper:
                raise JointError(
                    f"joint {name!r}: with the joints that mimic it no displacement satisfies all limits "
                    f"(lower {lower}, upper {upper}); correct the mimic ratio, offset or limits"
                )

    # --- other forms ----------------------------------------------------------------------------------

    def with_rotors(self: Tree, rotors: Literal["exact", "armature", "none"]) -> Tree:
        """The same robot with its rotors treated in another way."""
        return replace(self, rotors=rotors)

    def with_gravity(self: Tree, gravity: Iterable[float]) -> Tree:
        """The same robot in another gravity field, (3,) m/s^2."""
        return replace(self, gravity=gravity)  # type: ignore[arg-type]

    def with_shapes(
        self: Tree, shapes: Iterable[Shape], allowed_pairs: Iterable[tuple[str, ...]] = ()
    ) -> Tree:
        """The same robot with these shapes on its links and frames, in place of those that it has.

        allowed_pairs : two links or frames that may touch, and why, which reports say; links that meet at a
            joint always may (`Body.neighbour`)
        Raises UnknownNameError for a carrier or name that the robot does not have, ModelError.
        """
        return replace(self, shapes=tuple(shapes), allowed_pairs=tuple(allowed_pairs))

    def with_frames(self: Tree, *frames: Frame) -> Tree:
        """The same robot with further frames: `robot.with_frames(Frame("heel", "foot", position=(...)))`.

        Their `body` is a link, or a frame that the robot has, in whose axes they are then given.
        Raises TreeError for a name that is taken or a link that does not exist, ModelError for what is no
        frame.
        """
        given = parts_of(frames, Frame, "frames")
        return replace(self, frames=(*self.frames, *(self._on_link(frame) for frame in given)))

    def _on_link(self, frame: Frame) -> Frame:
        """A frame in axes of the link that carries it."""
        if frame.body not in self._frame_indices or frame.body in self._link_indices:
            return frame
        on = self.frame(frame.body)
        place = on.position + on.rotation @ frame.position
        return replace(frame, body=on.body, rotation=on.rotation @ frame.rotation, position=place)

    def with_centres(self: Tree, centres: Mapping[str, ArrayLike]) -> Tree:
        """The same robot with other centres R_c of its rotation vectors, R = R_0 R_c Exp(p).

        centres : link that a rotation vector turns, the base of a floating robot say -> (3, 3)
        q means another pose then; `dynamics.recentred` gives the q, v and a of the same motion. An arc of a
        trajectory has one model, and with it one centre. Raises UnknownNameError, JointError.
        """
        return replace(self, bodies=bodies_with_centres(self.bodies, self.rotation_joints, centres))

    def property_value(self, name: str) -> np.ndarray:
        """A property of the robot, (width,): "forearm.mass", "elbow.position", see `with_properties`."""
        return model_property(self, name).value(self)

    def with_properties(self: Tree, values: Mapping[str, ArrayLike]) -> Tree:
        """The same robot with other values of these properties, {"forearm.mass": 2.0} for instance.

        LINK.mass kg; LINK.centre_of_mass (3,) m; LINK.inertia (6,) kg m^2, xx, xy, xz, yy, yz, zz about the
        centre of mass; JOINT.position and FRAME.position (3,) m in the parent's frame; JOINT.gear_ratio,
        JOINT.stiffness, JOINT.rest and JOINT.damping.
        Raises UnknownNameError, ShapeError, ModelError for a gear ratio without effect, and what a model
        raises that cannot exist.
        """
        bodies, frames = changed_parts(self, values)
        return replace(self, bodies=tuple(bodies), frames=tuple(frames))

    def __str__(self) -> str:
        return model_table(self, self.joints_without_mass, self.left_out)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {self.link_count} links, {self.n} coordinates>"

    @cached_property
    def packed(self) -> PackedModel:
        """The flat arrays that compiled algorithms read, made once per model."""
        return pack(self)

    def to_json(self) -> str:
        """The model as JSON text; `from_json` gives the same floats back, bit for bit."""
        return model_to_json(self)

    @classmethod
    def from_json(cls: type[Tree], text: str) -> Tree:
        """The model saved by `to_json`; JsonError when the text is none, ModelError when it cannot exist."""
        return model_from_json(text, cls)


@dataclass(frozen=True, eq=False)
class UncheckedTree(KinematicTree):
    """A tree made of one that was checked before; links without mass and joints in line are no error here."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", tuple(self.bodies))
        object.__setattr__(self, "frames", tuple(self.frames))

    def check_mass(self, needing: str, of_all_joints: bool = False) -> None:
        """No error: the tree that it was made of was checked."""


def parts_of(given: Iterable[object], kind: type[Part], what: str) -> tuple[Part, ...]:
    """`given` as a tuple of bodies or frames; ModelError where it holds anything else."""
    try:
        parts = tuple(given)
    except Exception as error:  # iterating over a foreign object may raise anything
        raise ModelError(f"{what} is {short_repr(given)}; give a list of {kind.__name__} objects") from error
    checked: list[Part] = []
    for part in parts:
        if not isinstance(part, kind):
            raise ModelError(f"{what} holds {short_repr(part)}; give {kind.__name__} objects")
        checked.append(part)
    return tuple(checked)


def checked_model(model: object) -> KinematicTree:
    """`model` itself; DynamicsError where it is no RigidBodyModel."""
    if not isinstance(model, KinematicTree):
        wanted = (
            "its `model`" if isinstance(getattr(model, "model", None), KinematicTree) else "a RigidBodyModel"
        )
        raise DynamicsError(f"the model is {short_repr(model)}, a {type(model).__name__}; give {wanted}")
    return model


def packed_of(model: object) -> PackedModel:
    """The arrays of a model that a user gave; DynamicsError where it is none."""
    return checked_model(model).packed


def packed_with_mass(model: object, needing: str, of_all_joints: bool = False) -> PackedModel:
    """`packed_of` for what needs a mass; errors of `KinematicTree.check_mass`, too."""
    checked_model(model).check_mass(needing, of_all_joints)
    return packed_of(model)


def index_in(indices: Mapping[str, int], name: object, what: str) -> int:
    """The index of a name; UnknownNameError with near matches for a name that the model has not."""
    if isinstance(name, str) and name in indices:
        return indices[name]
    from difflib import get_close_matches

    names = tuple(indices)
    near = get_close_matches(name[:LONGEST_NAME], names, n=3) if isinstance(name, str) else []
    advice = f"did you mean {', '.join(near)}?" if near else f"there are {list_names(names)}"
    raise UnknownNameError(f"the model has no {what} {short_repr(name)}; {advice}")
