"""The parameters in which the torques of a robot are linear: names, values, and the robot with others.

    tau = Y(q, v, a) pi

    LINK.mass                              m, kg
    LINK.moment_x, _y, _z                  m c, kg m, c the centre of mass in the link frame
    LINK.inertia_xx, _xy, _xz, _yy, _yz, _zz   kg m^2, about the origin of the link frame, in its axes
    JOINT.damping                          viscous friction, N m s/rad or N s/m
    JOINT.friction                         Coulomb friction, N m or N
    JOINT.rotor_inertia                    gear_ratio^2 times the rotor's inertia about its axis, kg m^2 or kg

Links come first, ten each, in the order of the bodies; then joints, two or three each. Joints that are
components of a rotation vector have no parameters. Every joint has a rotor inertia where rotors are modelled
as armature, those with a rotor that has inertia where rotors are exact, none where they are left out. The
parameters of a link contain what it carries of rotors: their mass, and their inertia except that of the spin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import real_array
from dynamics.errors import JointError, ModelError, ShapeError
from dynamics.model.joint import ROTATION_VECTOR, Joint
from dynamics.model.kinematic_tree import KinematicTree, checked_model
from dynamics.model.mass_properties import MassProperties
from dynamics.model.properties import UPPER, symmetric
from dynamics.model.rotor import Rotor

if TYPE_CHECKING:
    from dynamics.model.body import Body

OF_LINK = (
    "mass", "moment_x", "moment_y", "moment_z",
    "inertia_xx", "inertia_xy", "inertia_xz", "inertia_yy", "inertia_yz", "inertia_zz",
)  # fmt: skip
PER_LINK = len(OF_LINK)
SYMMETRY = 1e-9  # relative; of a rotor about its axis

Tree = TypeVar("Tree", bound=KinematicTree)


@dataclass(frozen=True, eq=False)
class JointColumns:
    """Columns of the parameters of a joint; rotor_inertia is -1 where it has none."""

    link: int
    coordinate: int
    ratio: float
    damping: int
    friction: int
    rotor_inertia: int


def dynamic_parameter_names(model: KinematicTree) -> tuple[str, ...]:
    """(parameters,) names of the columns of `regressor`, "forearm.inertia_xx" or "elbow.friction"."""
    names = [f"{body.name}.{what}" for body in checked_model(model).bodies for what in OF_LINK]
    for columns in joint_columns(model):
        joint = model.bodies[columns.link].joint.name
        names += [f"{joint}.damping", f"{joint}.friction"]
        names += [f"{joint}.rotor_inertia"] * (columns.rotor_inertia >= 0)
    return tuple(names)


def dynamic_parameters(model: KinematicTree) -> np.ndarray:
    """(parameters,) pi of the robot: `regressor(model, q, v, a) @ pi` is `rnea` less `friction`.

    Raises JointError for an exact rotor whose mass is not balanced about its axis: its torques have more
    parameters than one.
    """
    carried = carried_by_links(checked_model(model))
    values = [number for own in carried for number in ten_parameters(own)]
    for columns in joint_columns(model):
        joint = model.bodies[columns.link].joint
        values += [joint.damping, joint.friction]
        values += [reflected_inertia(joint)] * (columns.rotor_inertia >= 0)
    return np.array(values, dtype=float)


def with_dynamic_parameters(model: Tree, values: ArrayLike) -> Tree:
    """The robot with other parameters, (parameters,), in the order of `dynamic_parameter_names`.

    Rotors have no mass of their own in it, as that is part of the links. Raises ShapeError for another
    number of values or NaN, and ModelError for a body that cannot exist, naming it.
    """
    names = dynamic_parameter_names(model)
    pi = real_array(values, "the parameters")
    if pi.shape != (len(names),) or not np.all(np.isfinite(pi)):
        raise ShapeError(
            f"the parameters have shape {pi.shape}: give ({len(names)},) finite numbers, in the order of "
            "dynamic_parameter_names"
        )
    joints = {columns.link: columns for columns in joint_columns(model)}
    bodies: list[Body] = []
    for link, body in enumerate(model.bodies):
        mass = mass_properties(pi[PER_LINK * link : PER_LINK * (link + 1)])
        joint = _with_joint_parameters(body.joint, joints[link], pi) if link in joints else body.joint
        changed = {"mass": mass.mass, "centre_of_mass": mass.centre_of_mass, "inertia": mass.inertia}
        bodies.append(replace(body, joint=joint, **changed))
    return replace(model, bodies=tuple(bodies))


def joint_columns(model: KinematicTree) -> list[JointColumns]:
    """Columns of all joints that have parameters."""
    found, column = list[JointColumns](), PER_LINK * model.link_count
    for link, body in enumerate(model.bodies):
        joint = body.joint
        if joint.kind == ROTATION_VECTOR:
            continue
        rotor = column + 2 if has_rotor_inertia(model, joint) else -1
        coordinate = int(model.coordinate[link])
        found.append(JointColumns(link, coordinate, joint.ratio, column, column + 1, rotor))
        column += 2 + (rotor >= 0)
    return found


def has_rotor_inertia(model: KinematicTree, joint: Joint) -> bool:
    """True if the joint has a column for the inertia of its rotor."""
    if model.rotors == "armature":
        return True
    return model.rotors == "exact" and joint.rotor is not None and not joint.rotor.is_massless


def reflected_inertia(joint: Joint) -> float:
    """gear_ratio^2 times the rotor's inertia about its axis."""
    return 0.0 if joint.rotor is None else joint.rotor.gear_ratio**2 * joint.rotor.axial_inertia


def carried_by_links(model: KinematicTree) -> list[MassProperties]:
    """Mass properties of every link with what it carries of rotors."""
    found = [MassProperties(body.mass, body.centre_of_mass, body.inertia) for body in model.bodies]
    for body, parent in zip(model.bodies, map(int, model.parent), strict=True):
        rotor = body.joint.rotor
        if rotor is None or rotor.is_massless or model.rotors == "none":
            continue
        still = _without_spin(rotor, body, exact=model.rotors == "exact")
        if parent >= 0:
            found[parent] = found[parent].joined(still)
    return found


def _without_spin(rotor: Rotor, body: Body, exact: bool) -> MassProperties:
    """A rotor as its carrier feels it where it does not turn."""
    centre, none = rotor.position + rotor.centre_of_mass, np.zeros((3, 3))
    if not exact:  # a point mass, as `packed_model.add_rotor` has it
        return MassProperties(rotor.mass, centre, none)
    axis, inertia = rotor.axis, rotor.inertia
    lever = np.linalg.norm(np.cross(axis, rotor.centre_of_mass))
    along = float(axis @ inertia @ axis)
    across = 0.5 * (np.trace(inertia) - along)
    symmetric = across * (np.eye(3) - np.outer(axis, axis)) + along * np.outer(axis, axis)
    size = max(np.abs(inertia).max(), rotor.mass * 1e-6)
    if np.abs(inertia - symmetric).max() > SYMMETRY * size or rotor.mass * lever**2 > SYMMETRY * size:
        raise JointError(
            f"the rotor of joint {body.joint.name!r} is not balanced about its axis, so that its torques "
            "have more than one parameter: give it a symmetric inertia and a centre of mass on the axis, or "
            'take model.with_rotors("armature")'
        )
    return MassProperties(rotor.mass, centre, across * (np.eye(3) - np.outer(axis, axis)))


def ten_parameters(own: MassProperties) -> np.ndarray:
    """(10,) mass, mass times centre, and inertia about the origin."""
    c = own.centre_of_mass
    about_origin = own.inertia + own.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.concatenate([[own.mass], own.mass * c, about_origin[UPPER]])


def mass_properties(ten: np.ndarray) -> MassProperties:
    """The inverse of `ten_parameters`; a body without mass has its centre at the origin."""
    mass = float(ten[0])
    centre = ten[1:4] / mass if mass > 0.0 else np.zeros(3)
    steiner = mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    return MassProperties(mass, centre, symmetric(ten[4:]) - steiner)


def _with_joint_parameters(joint: Joint, columns: JointColumns, pi: np.ndarray) -> Joint:
    changed: dict[str, Any] = {"damping": pi[columns.damping], "friction": pi[columns.friction]}
    if columns.rotor_inertia >= 0:
        changed["rotor"] = _with_inertia(joint, float(pi[columns.rotor_inertia]))
    return replace(joint, **changed)


def _with_inertia(joint: Joint, reflected: float) -> Rotor | None:
    """The joint's rotor, or one of gear ratio 1, with this reflected inertia and no mass."""
    if reflected < 0.0:
        raise ModelError(f"joint {joint.name!r}: its rotor inertia is {reflected}; it must not be negative")
    rotor = joint.rotor
    if rotor is None:
        if reflected == 0.0:
            return None
        rotor = Rotor(1.0, axis=joint.rotation @ joint.axis, position=joint.position)
    spin = reflected / rotor.gear_ratio**2 * np.outer(rotor.axis, rotor.axis)
    return Rotor(rotor.gear_ratio, 0.0, spin, rotor.axis, rotor.position)
