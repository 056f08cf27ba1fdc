"""Joints with one coordinate: type, axis, place, friction, spring, limits and rotor.

Three joints of the kind "rotation_vector" in a row are a ball joint; see `rotation_joint.py`.
"""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from dynamics.arguments import short_repr
from dynamics.errors import DegreesWarning, JointError, warn_user
from dynamics.model.array_field import ArrayField, new_array
from dynamics.model.checks.validation import (
    HOLDING,
    LARGEST,
    checked_name,
    checked_reference,
    finite_array,
    finite_number,
    rotation_matrix,
    unit_vector,
)
from dynamics.model.joint_limits import JointLimits, checked_limits
from dynamics.model.rotor import Rotor, checked_rotor

# 15 rad is more than two turns, which few real joints have; 15 degrees and more is what most have.
# Above 720 people write "no limit".
DEGREES_SUSPECTED = (15.0, 720.0)

JointKind = Literal["revolute", "prismatic", "rotation_vector"]
ROTATION_VECTOR: JointKind = "rotation_vector"
UNIT_AXES = np.eye(3)


@dataclass(frozen=True)
class JointType:
    """Motion of a link per unit of the joint's displacement: a screw motion along the joint axis.

    turn : 1.0 when the displacement is an angle about the axis, 0.0 when the link does not turn
    slide : m along the axis per unit of displacement
    """

    turn: float
    slide: float


# Everything that depends on how a joint moves reads this table: kernels through `joint_motion.py`.
JOINT_TYPES: dict[JointKind, JointType] = {
    "revolute": JointType(turn=1.0, slide=0.0),
    "prismatic": JointType(turn=0.0, slide=1.0),
}


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint with one coordinate, which turns its link about an axis or slides it along the axis.

    link pose = parent pose * (rotation, position) * motion(axis, d), displacement d = ratio * q + offset

    name : unique in the model
    kind : "revolute" or "prismatic", a key of JOINT_TYPES; or "rotation_vector", one of the three joints with
        axes x, y and z that `ball_joint` makes, whose coordinates p together turn a link by
        rotation centre Exp(p)
    axis : (3,) in the joint frame (equally in link axes: the motion does not move its own axis); made unit
    rotation : (3, 3) axes of the joint frame at displacement zero, in parent link axes
    position : (3,) m, its origin in the parent link frame
    limits : on the displacement, its rate and its torque
    mimics : None, or the name of the joint whose coordinate q this one shares
    ratio, offset : displacement = ratio * q + offset
    damping : viscous friction, N m s/rad or N s/m
    friction : Coulomb friction, N m or N
    stiffness, rest : of a spring beside the motor, N m/rad or N/m, and the displacement where it is relaxed
    rotor : None, or the rotor that drives the joint, carried by the parent
    continuous : of a turning joint, True where it turns without end, so that any angle may be meant
    centre : of the first joint of a rotation vector, (3, 3) the rotation at p = 0; None elsewhere

    Raises JointError, InertiaError or ShapeError, each naming the joint. Warns (DegreesWarning) of limits of
    a turning joint that look like degrees.
    """

    name: str
    kind: JointKind = "revolute"
    axis: ArrayField = field(default_factory=new_array((0.0, 0.0, 1.0)))
    rotation: ArrayField = field(default_factory=new_array(np.eye(3)))
    position: ArrayField = field(default_factory=new_array((0.0, 0.0, 0.0)))
    limits: JointLimits = field(default_factory=JointLimits)
    mimics: str | None = None
    ratio: float = 1.0
    offset: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    rotor: Rotor | None = None
    stiffness: float = 0.0
    rest: float = 0.0
    centre: np.ndarray | None = None
    continuous: bool = False

    def __post_init__(self) -> None:
        what = f"joint {checked_name(self.name, 'a joint')!r}:"
        if not isinstance(self.kind, str) or self.kind not in (*JOINT_TYPES, ROTATION_VECTOR):
            known = " or ".join(f'"{kind}"' for kind in (*JOINT_TYPES, ROTATION_VECTOR))
            raise JointError(f"{what} kind is {short_repr(self.kind)}; it must be {known}")
        checked_reference(self.mimics, f"{what} mimics")
        checked: dict[str, Any] = {
            "axis": unit_vector(self.axis, f"{what} axis"),
            "rotation": rotation_matrix(self.rotation, f"{what} rotation"),
            "position": finite_array(self.position, (3,), f"{what} position"),
            "ratio": finite_number(self.ratio, f"{what} ratio"),
            "offset": finite_number(self.offset, f"{what} offset"),
            "damping": finite_number(self.damping, f"{what} damping", HOLDING),
            "friction": finite_number(self.friction, f"{what} friction", HOLDING),
            "stiffness": finite_number(self.stiffness, f"{what} stiffness", HOLDING),
            "rest": finite_number(self.rest, f"{what} rest"),
            "limits": checked_limits(self.limits, what),
            "rotor": None if self.rotor is None else checked_rotor(self.rotor, self.name),
        }
        if not isinstance(self.continuous, bool):
            raise JointError(f"{what} continuous is {short_repr(self.continuous)}; it must be True or False")
        if checked["ratio"] == 0.0:
            raise JointError(f"{what} ratio is 0, so the joint cannot move; make it part of its parent")
        if abs(checked["ratio"]) < 1.0 / LARGEST:
            raise JointError(f"{what} ratio is {checked['ratio']}; give one of at least {1.0 / LARGEST:.0e}")
        for coefficient in ("damping", "friction", "stiffness"):
            if checked[coefficient] < 0.0:
                raise JointError(f"{what} {coefficient} is {checked[coefficient]}; it must not be negative")
        for key, value in checked.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "centre", self._checked_centre(what))
        if self.kind == ROTATION_VECTOR:
            self._check_component(what)
        if self.kind == ROTATION_VECTOR or self.motion.turn:
            warn_of_degrees(self)

    @property
    def motion(self) -> JointType:
        """Motion of the link by a displacement; JointError for a component of a rotation vector."""
        if self.kind == ROTATION_VECTOR:
            raise JointError(
                f"joint {self.name!r} is a component of a rotation vector, which has no axis of its own; "
                "this computation takes revolute and prismatic joints alone"
            )
        return JOINT_TYPES[self.kind]

    def _checked_centre(self, what: str) -> np.ndarray | None:
        first = self.kind == ROTATION_VECTOR and bool(np.all(self.axis == UNIT_AXES[0]))
        if self.centre is None:
            return rotation_matrix(UNIT_AXES, what) if first else None
        if not first:
            raise JointError(f"{what} centre is given; only the first joint of a rotation vector has one")
        return rotation_matrix(self.centre, f"{what} centre")

    def _check_component(self, what: str) -> None:
        """JointError for what a component of a rotation vector cannot have."""
        if not any(np.all(self.axis == axis) for axis in UNIT_AXES):
            raise JointError(
                f"{what} axis is {self.axis.tolist()}; a component of a rotation vector is x, y or z: turn "
                "the frame by rotation"
            )
        if self.mimics is not None or self.ratio != 1.0 or self.offset != 0.0 or self.rotor is not None:
            raise JointError(f"{what} a component of a rotation vector has no mimic, ratio, offset or rotor")
        if self.damping or self.friction or self.stiffness:
            raise JointError(f"{what} a component of a rotation vector has no friction, damping or spring")


def warn_of_degrees(joint: Joint) -> None:
    """DegreesWarning when position limits of a revolute joint are between 15 and 720."""
    least, most = DEGREES_SUSPECTED
    ends = {name: getattr(joint.limits, name) for name in ("q_lower", "q_upper")}
    large = [f"{name} = {value} rad" for name, value in ends.items() if least <= abs(value) <= most]
    if large:
        look = f"{' and '.join(large)} look{'s' if len(large) == 1 else ''} like degrees"
        warn_user(f"joint {joint.name!r}: {look}; angles are in radians", DegreesWarning)
