"""Single elements of a URDF, read: <inertial>, <joint>, <limit>, <origin>. Others are ignored."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.arguments import short_repr
from dynamics.errors import DegreesWarning, JointError, UrdfError, warn_user
from dynamics.model.checks.validation import LARGEST, LONGEST_NAME, checked_mass
from dynamics.model.joint_limits import JointLimits
from dynamics.model.mass_properties import IDENTITY, NO_MASS, MassProperties, Pose
from dynamics.model.rotation import roll_pitch_yaw
from dynamics.model.shape import rotation_of

# A number as C++ reads it in the C locale; Python's own reader takes 1_000 and other scripts' digits besides.
NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:inf|infinity)",
    re.IGNORECASE | re.ASCII,
)
JOINT_KINDS = ("revolute", "continuous", "prismatic", "fixed", "planar", "floating")


@dataclass(frozen=True, eq=False)
class UrdfJoint:
    """A <joint> as written, before mimic chains and fixed joints are resolved."""

    name: str
    kind: str
    parent: str
    child: str
    origin: Pose
    axis: np.ndarray
    limits: JointLimits
    damping: float
    friction: float
    mimics: str | None
    ratio: float
    offset: float


def link_mass_properties(link: Element, name: str) -> MassProperties:
    """Mass properties of a <link>, in link axes, as written; NO_MASS when it has no <inertial>."""
    element = link.find("inertial")
    if element is None:
        return NO_MASS
    what = f"link {name!r}"
    mass, tensor = element.find("mass"), element.find("inertia")
    if mass is None or tensor is None:
        raise UrdfError(
            f"{what}: its <inertial> needs both <mass> and <inertia>: complete it, or give "
            f"masses={{{name!r}: kg}}, which counts in its place"
        )
    ixx, ixy, ixz, iyy, iyz, izz = (
        required_number(tensor, key, what) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    )
    matrix = np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])
    pose = origin_of(element, what)
    value = checked_mass(required_number(mass, "value", what), f"{what}: mass")
    return MassProperties(value, np.zeros(3), matrix).seen_from(pose)


def urdf_joint(element: Element) -> UrdfJoint:
    """The content of a <joint>; UrdfError names it when something is missing."""
    name = required(element, "name", "a joint")
    what = f"joint {name!r}"
    kind = required(element, "type", what)
    if kind not in JOINT_KINDS:
        raise UrdfError(
            f"{what} has the unknown type {short_repr(kind)}; it must be one of {', '.join(JOINT_KINDS)}"
        )
    ends = [required_child(element, tag, what) for tag in ("parent", "child")]
    parent, child = (required(end, "link", f"{what}: <{end.tag}>") for end in ends)
    axis, dynamics, mimic = (element.find(tag) for tag in ("axis", "dynamics", "mimic"))
    if axis is not None and kind not in ("fixed", "floating"):
        required(axis, "xyz", f"{what}: <axis>")
    return UrdfJoint(
        name,
        kind,
        parent,
        child,
        origin_of(element, what),
        vector(axis, "xyz", (1.0, 0.0, 0.0), what),
        joint_limits(element.find("limit"), kind, what),
        number(dynamics, "damping", 0.0, what),
        number(dynamics, "friction", 0.0, what),
        None if mimic is None else required(mimic, "joint", f"{what}: <mimic>"),
        number(mimic, "multiplier", 1.0, what),
        number(mimic, "offset", 0.0, what),
    )


def joint_limits(limit: Element | None, kind: str, what: str) -> JointLimits:
    """The limits of a <limit>: a missing attribute, or a number beyond LARGEST, is no limit, but a missing
    `lower` or `upper` beside the other is zero, as the format says."""
    if limit is None:
        return JointLimits()
    ranged = kind != "continuous" and ("lower" in limit.attrib or "upper" in limit.attrib)

    def stated(key: str, default: float, none: float = math.inf) -> float:
        text = limit.get(key)
        if text is None:
            return default
        beyond = written(text, f"{what}: {key}") * math.copysign(1.0, none) > LARGEST
        return none if beyond else parsed(text, f"{what}: {key}")

    effort, velocity = stated("effort", math.inf), stated("velocity", math.inf)
    if effort < 0.0 or velocity < 0.0:
        raise UrdfError(
            f"{what}: effort {effort} and velocity {velocity} must not be negative: give their sizes, or "
            "leave out what is not limited"
        )
    lower = stated("lower", 0.0, -math.inf) if ranged else -math.inf
    upper = stated("upper", 0.0) if ranged else math.inf
    if lower > upper:
        raise JointError(
            f"{what}: its range begins at lower = {lower} and ends at upper = {upper}: swap them, or leave "
            "both out where no limit is meant, as in PyBullet"
        )
    return JointLimits(lower, upper, velocity, -effort, effort)


def origin_of(element: Element, what: str) -> Pose:
    """The pose of an <origin>: xyz, and Rz(yaw) Ry(pitch) Rx(roll) or, of URDF 1.2, a quaternion quat_xyzw.

    The identity when there is none.
    """
    origin = element.find("origin")
    if origin is None:
        return IDENTITY
    place = vector(origin, "xyz", (0.0, 0.0, 0.0), what)
    if "quat_xyzw" in origin.attrib:
        if "rpy" in origin.attrib:
            raise UrdfError(f"{what}: its <origin> has both rpy and quat_xyzw: leave one out")
        return Pose(rotation_of(vector(origin, "quat_xyzw", (), what, 4), f"{what}: quat_xyzw"), place)
    angles = vector(origin, "rpy", (0.0, 0.0, 0.0), what)
    if np.abs(angles).max() > 6.5:
        message = f"{what}: rpy = {angles.tolist()} looks like degrees; angles are in radians"
        warn_user(message, DegreesWarning)
    return Pose(roll_pitch_yaw(*angles), place)


def required(element: Element, key: str, what: str) -> str:
    """The attribute `key`; UrdfError when it is missing or empty."""
    value = element.get(key, "").strip()
    if not value:
        raise UrdfError(f"{what} lacks the attribute {key!r}")
    if len(value) > LONGEST_NAME:
        raise UrdfError(f"{what}: {key} has {len(value)} characters; at most {LONGEST_NAME} are read")
    return value


def required_child(element: Element, tag: str, what: str) -> Element:
    child = element.find(tag)
    if child is None:
        raise UrdfError(f"{what} lacks the element <{tag}>")
    return child


def required_number(element: Element, key: str, what: str) -> float:
    return parsed(required(element, key, f"{what}: <{element.tag}>"), f"{what}: {key}")


def number(element: Element | None, key: str, default: float, what: str) -> float:
    """The attribute `key` as a float; `default` when it or the element is missing."""
    text = None if element is None else element.get(key)
    return default if text is None else parsed(text, f"{what}: {key}")


def vector(
    element: Element | None, key: str, default: tuple[float, ...], what: str, length: int = 3
) -> np.ndarray:
    """The attribute `key` as floats; `default` when it or the element is missing."""
    text = None if element is None else element.get(key)
    if text is None:
        return np.array(default)
    words = text.split()
    if len(words) != length:
        raise UrdfError(f"{what}: {key} is {short_repr(text)}; {length} numbers are expected")
    return np.array([parsed(word, f"{what}: {key}") for word in words])


def written(text: str, what: str) -> float:
    """The number in `text`, which may be infinite."""
    match = NUMBER.fullmatch(text.strip(" \t\r\n"))
    if match is None:
        hint = "; expand the xacro file to a URDF first" if "$" in text else ""
        raise UrdfError(f"{what} is {short_repr(text)}, which is not a number{hint}")
    return float(match.group())


def parsed(text: str, what: str) -> float:
    """The number in `text`, finite and at most LARGEST."""
    value = written(text, what)
    if not math.isfinite(value):
        raise UrdfError(f"{what} is {short_repr(text)}; every number must be finite")
    if abs(value) > LARGEST:
        raise UrdfError(f"{what} is {short_repr(text)}; beyond {LARGEST:g} products overflow")
    return value
