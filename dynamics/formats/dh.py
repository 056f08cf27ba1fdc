"""Builds robot models from Denavit-Hartenberg tables, standard or modified (Craig) convention."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import list_names, short_repr
from dynamics.errors import DegreesWarning, DhError, JointWarning, warn_user
from dynamics.formats.mesh_files import LARGEST
from dynamics.model.body import Body, Frame
from dynamics.model.checks.validation import checked_name, finite_array, finite_number, rotation_matrix
from dynamics.model.joint import Joint
from dynamics.model.joint_limits import JointLimits
from dynamics.model.rotation import about_x, about_z
from dynamics.model.rotor import Rotor, checked_rotor
from dynamics.rigid_body_model import RigidBodyModel

GROUND = "ground"


@dataclass(frozen=True, eq=False)
class DhRow:
    """One joint and its link: four Denavit-Hartenberg numbers, the mass, the limits.

    theta, d, a, alpha : rad, m, m, rad; the joint adds q to theta (revolute) or to d (prismatic). In a
        modified table a and alpha are those of the frame before, a_{i-1} and alpha_{i-1}
    kind : "revolute" or "prismatic"
    mass : kg
    centre_of_mass : (3,) m, from the origin O_i of frame i, in its axes
    inertia : (3, 3) kg m^2, about the centre of mass, in axes of frame i
    limits : of the joint
    name : of the joint and of the link; "joint1", "joint2", ... when empty
    parent : name of an earlier row or "ground"; None = the row before, the ground for the first
    mimics, ratio : the joint whose coordinate is shared, displacement = ratio * q
    damping, friction, stiffness, rest : as in `Joint`
    rotor : its `position` from the origin of the parent's frame, in the axes of that frame

    Checked by `from_dh` and `from_modified_dh`, whose errors name the row.
    """

    theta: float = 0.0
    d: float = 0.0
    a: float = 0.0
    alpha: float = 0.0
    kind: str = "revolute"
    mass: float = 0.0
    centre_of_mass: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0)
    inertia: Sequence[Sequence[float]] | np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))
    limits: JointLimits = field(default_factory=JointLimits)
    name: str = ""
    parent: str | None = None
    mimics: str | None = None
    ratio: float = 1.0
    damping: float = 0.0
    friction: float = 0.0
    rotor: Rotor | None = None
    stiffness: float = 0.0
    rest: float = 0.0


def from_dh(
    rows: Iterable[DhRow | Mapping[str, Any]],
    gravity: Sequence[float] | np.ndarray = (0.0, 0.0, -9.81),
    name: str = "",
    base_rotation: ArrayLike | None = None,
    base_position: ArrayLike | None = None,
) -> RigidBodyModel:
    """The model of a standard Denavit-Hartenberg table, A_i = Rz(theta) Tz(d) Tx(a) Rx(alpha).

    The link frame lies on the joint axis: axes of frame i, origin O_{i-1}, moved along the axis by a
    prismatic q. In link axes the joint axis is (0, sin alpha, cos alpha) and frame i itself, the frame
    "NAME_tip", is at (a, d sin alpha, d cos alpha). base_rotation (3, 3) and
    base_position (3,) m place frame 0 in the world; gravity (3,) is in m/s^2 and world axes.

    Raises DhError for an unusable row, else what `RigidBodyModel` raises; warns of angles in degrees.
    Source: Barman, thesis, ch. II.
    """
    return _assemble(rows, gravity, name, base_rotation, base_position, standard_placement)


def from_modified_dh(
    rows: Iterable[DhRow | Mapping[str, Any]],
    gravity: Sequence[float] | np.ndarray = (0.0, 0.0, -9.81),
    name: str = "",
    base_rotation: ArrayLike | None = None,
    base_position: ArrayLike | None = None,
) -> RigidBodyModel:
    """The model of a modified Denavit-Hartenberg table, A_i = Rx(alpha_{i-1}) Tx(a_{i-1}) Rz(theta) Tz(d).

    The link frame is frame i: it lies on the joint axis, which is its z. A row gives alpha_{i-1} as `alpha`
    and a_{i-1} as `a`; the other arguments and errors are those of `from_dh`. Source: Safeea, article, ch. 2.
    """
    return _assemble(rows, gravity, name, base_rotation, base_position, modified_placement)


@dataclass(frozen=True, eq=False)
class Placement:
    """Pose of a row's joint in the parent's frame, and the origin of frame i in the link frame."""

    rotation: np.ndarray
    position: np.ndarray
    axis: np.ndarray
    tip: np.ndarray


def standard_placement(row: DhRow) -> Placement:
    sine, cosine = math.sin(row.alpha), math.cos(row.alpha)
    rotation = about_z(row.theta) @ about_x(row.alpha)
    tip = np.array([row.a, row.d * sine, row.d * cosine])
    return Placement(rotation, np.zeros(3), np.array([0.0, sine, cosine]), tip)


def modified_placement(row: DhRow) -> Placement:
    rotation = about_x(row.alpha) @ about_z(row.theta)
    position = np.array([row.a, -row.d * math.sin(row.alpha), row.d * math.cos(row.alpha)])
    return Placement(rotation, position, np.array([0.0, 0.0, 1.0]), np.zeros(3))


def _assemble(
    rows: Iterable[DhRow | Mapping[str, Any]],
    gravity: ArrayLike,
    name: str,
    base_rotation: ArrayLike | None,
    base_position: ArrayLike | None,
    placement: Callable[[DhRow], Placement],
) -> RigidBodyModel:
    turned = rotation_matrix(np.eye(3) if base_rotation is None else base_rotation, "base_rotation")
    origin = finite_array(np.zeros(3) if base_position is None else base_position, (3,), "base_position")
    table = named_rows(rows)
    places = {row.name: placement(row) for row in table}
    ground = Placement(np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3))
    bodies: list[Body] = []
    for row in table:
        place = places[row.name]
        before = ground if row.parent is None else places[row.parent]
        rotation, position = place.rotation, before.tip + place.position
        if row.parent is None:
            rotation, position = turned @ rotation, origin + turned @ position
        bodies.append(body_of(row, place, rotation, position, moved_rotor(row, before, turned, origin)))
    tips = [Frame(f"{row.name}_tip", row.name, position=places[row.name].tip) for row in table]
    standard = placement is standard_placement
    return RigidBodyModel(tuple(bodies), gravity, name, frames=tuple(tips) if standard else ())  # type: ignore


def body_of(
    row: DhRow, place: Placement, rotation: np.ndarray, position: np.ndarray, rotor: Rotor | None
) -> Body:
    joint = Joint(
        row.name,
        row.kind,  # type: ignore[arg-type]  # Joint checks it
        place.axis,
        rotation,
        position,
        row.limits,
        row.mimics,
        row.ratio,
        damping=row.damping,
        friction=row.friction,
        rotor=rotor,
        stiffness=row.stiffness,
        rest=row.rest,
    )
    centre = finite_array(row.centre_of_mass, (3,), f"body {row.name!r}: centre_of_mass")
    return Body(row.name, joint, row.parent, row.mass, place.tip + centre, row.inertia)  # type: ignore[arg-type]


def moved_rotor(row: DhRow, before: Placement, turned: np.ndarray, origin: np.ndarray) -> Rotor | None:
    """The rotor given in the parent's DH frame, in the parent's link frame; on the base, in the world."""
    if row.rotor is None:
        return None
    rotor = checked_rotor(row.rotor, row.name)
    if row.parent is not None:
        return replace(rotor, position=before.tip + rotor.position)
    return replace(
        rotor,
        position=origin + turned @ rotor.position,
        axis=turned @ rotor.axis,
        inertia=turned @ rotor.inertia @ turned.T,
        centre_of_mass=turned @ rotor.centre_of_mass,
    )


def named_rows(rows: Iterable[DhRow | Mapping[str, Any]]) -> list[DhRow]:
    """Rows with names, parents spelled out (None = ground) and finite numbers; DhError names the row."""
    table: list[DhRow] = []
    for i, given in enumerate(listed(rows)):
        row = dh_row(given, i)
        row = replace(row, name=checked_name(own_name(row.name, i), f"row {i + 1}"))
        known = [earlier.name for earlier in table]
        if row.name in known:
            raise DhError(f"row {i + 1}: the name {row.name!r} is taken by an earlier row")
        theta, d, a, alpha = finite_parameters(row)
        table.append(replace(row, parent=parent_of(row, known), theta=theta, d=d, a=a, alpha=alpha))
    if not table:
        raise DhError("the table has no rows; give one row per joint")
    return table


def own_name(name: Any, i: int) -> Any:
    """Name of a row: "joint1", "joint2", ... where it gives none."""
    return f"joint{i + 1}" if name is None or (isinstance(name, str) and not name) else name


def listed(rows: Any) -> list[Any]:
    """The rows as a list; DhError where they are none."""
    try:
        return list(rows)
    except Exception as error:  # iterating over a foreign object may raise anything
        raise DhError(f"the table is {short_repr(rows)}; give a list of rows") from error


def dh_row(given: DhRow | Mapping[str, Any], i: int) -> DhRow:
    if isinstance(given, DhRow):
        return given
    if not isinstance(given, Mapping):
        raise DhError(f"row {i + 1} is {short_repr(given)}; give a DhRow or a mapping with the same keys")
    known = [f.name for f in fields(DhRow)]
    for key in given:
        if key not in known:
            near = get_close_matches(str(key), known, n=1)
            advice = f"did you mean {near[0]}?" if near else f"a row has {', '.join(known)}"
            raise DhError(f"row {i + 1} has the unknown key {key!r}; {advice}")
    return DhRow(**given)


def parent_of(row: DhRow, known: list[str]) -> str | None:
    """Name of the parent row, None for the ground."""
    if row.parent == GROUND:
        return None
    if row.parent is None:
        return known[-1] if known else None
    if row.parent not in known:
        raise DhError(
            f"row {row.name!r}: the parent {short_repr(row.parent)} is not an earlier row; "
            f"those are {list_names(known)}"
        )
    return row.parent


def finite_parameters(row: DhRow) -> tuple[float, float, float, float]:
    """theta, d, a and alpha; warns of an angle above a turn and of a length that no robot has."""
    what, keys = f"row {row.name!r}:", ("theta", "d", "a", "alpha")
    numbers = {key: finite_number(getattr(row, key), f"{what} {key}") for key in keys}
    for key in ("theta", "alpha"):
        if abs(numbers[key]) > 6.5:
            message = f"{what} {key} = {numbers[key]} rad looks like degrees; angles are in radians"
            warn_user(message, DegreesWarning)
    for key in ("d", "a"):
        if abs(numbers[key]) > LARGEST:
            message = f"{what} {key} = {numbers[key]:g} m looks like millimetres; lengths are in metres"
            warn_user(message, JointWarning)
    return numbers["theta"], numbers["d"], numbers["a"], numbers["alpha"]
