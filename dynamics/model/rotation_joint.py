"""Rotation vectors: three coordinates p that turn a link by R = R_0 R_c Exp(p), a ball joint.

    Exp(p) = exp(p^), the turn by |p| rad about p;  R_0 : `Joint.rotation`, the joint's frame on its parent;
    R_c : `Joint.centre`, constant

q of the three joints is p, rad, v is its rate and a its second rate, not the angular velocity, which is
J(p) p' in the link's axes with J the right Jacobian of Exp. The chart is regular for |p| < 2 pi, well
conditioned for |p| < pi or so: a motion that turns further is cut into arcs, each with a model that has a
centre near its rotations (`model.with_centres`), and arcs meet by equal rotations and angular velocities.

A free joint is three slides along the axes of the parent and a rotation vector, all on links without mass.
"""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import list_names, short_repr
from dynamics.errors import ModelError, TreeError, UnknownNameError
from dynamics.model.body import Body
from dynamics.model.checks.tree_checks import coordinate_indices
from dynamics.model.checks.validation import rotation_matrix
from dynamics.model.joint import ROTATION_VECTOR, UNIT_AXES, Joint, JointKind
from dynamics.model.joint_limits import JointLimits

Axes = tuple[tuple[str, JointKind, np.ndarray], ...]  # suffix of the name, kind and axis of each joint
X, Y, Z = UNIT_AXES
SLIDES: Axes = (("x", "prismatic", X), ("y", "prismatic", Y), ("z", "prismatic", Z))
BALL: Axes = (("x", ROTATION_VECTOR, X), ("y", ROTATION_VECTOR, Y), ("z", ROTATION_VECTOR, Z))
FREE: Axes = (*SLIDES, *((f"r{suffix}", kind, axis) for suffix, kind, axis in BALL))


@dataclass(frozen=True, eq=False)
class RotationJoint:
    """Three joints of a model whose coordinates are a rotation vector, and the link that they turn.

    link : its name; first_link : index of the first of the three links, which come one after the other
    coordinates : the places of p in q
    centre : (3, 3) R_c of R = R_0 R_c Exp(p)
    """

    link: str
    first_link: int
    coordinates: slice
    centre: np.ndarray


def ball_joint(link: Body, centre: ArrayLike | None = None) -> tuple[Body, ...]:
    """The bodies of a ball joint: two links without mass, and `link`, turned by a rotation vector p.

    link : a body, of whose joint name, rotation R_0 and position are taken; the joints of the ball joint are
        NAME_x, NAME_y and NAME_z, and so are the names of the two links
    centre : (3, 3) R_c of R = R_0 R_c Exp(p), the identity where it is left out

    Raises ModelError where `link` is no body, JointError for a centre that is no rotation.
    """
    return chained(link, BALL, centre, "ball")


def free_joint(link: Body, centre: ArrayLike | None = None) -> tuple[Body, ...]:
    """The bodies of a free joint: three slides along the axes of the joint's frame, then a ball joint.

    The slides, m, are those of the origin of `link`. Joints and links without mass are called NAME_x, NAME_y,
    NAME_z, NAME_rx, NAME_ry and NAME_rz. Arguments and errors as in `ball_joint`.
    """
    return chained(link, FREE, centre, "free")


def chained(link: Body, axes: Axes, centre: Any, what: str) -> tuple[Body, ...]:
    """A chain of joints in place of that of a link."""
    if not isinstance(link, Body):
        raise ModelError(f"the link of a {what} joint is {short_repr(link)}; give a Body")
    parent, rotation, position = link.parent, link.joint.rotation, link.joint.position
    made: list[Body] = []
    for suffix, kind, axis in axes:
        name, first = f"{link.joint.name}_{suffix}", kind == ROTATION_VECTOR and axis is X
        joint = Joint(name, kind, axis, rotation, position, centre=centre if first else None)
        made.append(Body(name, joint, parent))
        parent, rotation, position = name, UNIT_AXES, np.zeros(3)
    return (*made[:-1], replace(link, joint=made[-1].joint, parent=made[-1].parent))


def rotation_joints(bodies: Sequence[Body]) -> tuple[RotationJoint, ...]:
    """The rotation vectors of a model; TreeError where joints of this kind are not three in a row."""
    found, used = list[RotationJoint](), set[int]()
    for i, body in enumerate(bodies):
        if body.joint.kind != ROTATION_VECTOR or i in used:
            continue
        group = bodies[i : i + 3]
        check_group(group, bodies)
        used |= {i, i + 1, i + 2}
        first = coordinate_indices(bodies)[i]
        centre = body.joint.centre
        assert centre is not None
        found.append(RotationJoint(group[2].name, i, slice(first, first + 3), centre))
    return tuple(found)


def check_group(group: Sequence[Body], bodies: Sequence[Body]) -> None:
    """TreeError unless three bodies in a row are a ball joint as `ball_joint` makes it."""
    what = f"joint {group[0].joint.name!r} of a rotation vector"
    joints = [body.joint for body in group]
    complete = len(group) == 3 and all(joint.kind == ROTATION_VECTOR for joint in joints)
    if not complete or not np.array_equal([joint.axis for joint in joints], UNIT_AXES):
        raise TreeError(f"{what} is not followed by the two others, axes x, y, z in a row; use ball_joint")
    for above, body in pairwise(group):
        children = [other.name for other in bodies if other.parent == above.name]
        if not above.is_massless or children != [body.name]:
            raise TreeError(
                f"{what}: link {above.name!r} must have no mass and carry link {body.name!r} alone; put them "
                f"on link {group[2].name!r}"
            )
        if body.joint.position.any() or not np.array_equal(body.joint.rotation, UNIT_AXES):
            raise TreeError(
                f"{what}: joint {body.joint.name!r} must have no rotation and position of its own"
            )


def bodies_with_centres(
    bodies: Sequence[Body], joints: Sequence[RotationJoint], centres: Mapping[str, ArrayLike]
) -> tuple[Body, ...]:
    """The bodies with other centres, link -> (3, 3); see `KinematicTree.with_centres`."""
    if not isinstance(centres, Mapping):
        raise ModelError(f"centres are {short_repr(centres)}; give a dictionary, {{'trunk': rotation}}")
    places, changed = {joint.link: joint.first_link for joint in joints}, list(bodies)
    for link, centre in centres.items():
        if link not in places:
            raise UnknownNameError(
                f"no rotation vector turns a link {short_repr(link)}; those that one turns: "
                f"{list_names(places)}"
            )
        rotation = rotation_matrix(centre, f"the centre of link {link!r}")
        body = changed[places[link]]
        changed[places[link]] = replace(body, joint=replace(body.joint, centre=rotation))
    return tuple(changed)


def as_revolute(bodies: Iterable[Body]) -> tuple[Body, ...]:
    """The bodies with a revolute joint for each component: another chart of the same rotations."""
    return tuple(
        replace(body, joint=revolute(body.joint)) if body.joint.kind == ROTATION_VECTOR else body
        for body in bodies
    )


def revolute(joint: Joint, name: str = "") -> Joint:
    """A revolute joint in the place of a component, without limits."""
    turned = joint.rotation if joint.centre is None else joint.rotation @ joint.centre
    return Joint(name or joint.name, "revolute", joint.axis, turned, joint.position)


@dataclass(frozen=True, eq=False)
class SerialBodies:
    """Bodies on revolute and prismatic joints alone in which each rotation vector is five joints.

    With angles of roll, pitch and yaw of R_c Exp(p), which are held, and e = 0 of three joints that move,
        R = R_0 Rz(yaw) Ry(pitch) Rx(roll + e_1) Ry(e_2) Rz(e_3)
    so that derivatives by e are those by a regular chart whatever the angles are.

    held : (joints, 2) links of yaw and pitch
    own : (n,) places of the model's coordinates among all, those of p standing for e
    links : (links,) places of the model's links; the two links without mass of a rotation vector have the
        frame of the link that it turns, and stand for it
    origins : first joint of a rotation vector -> the joint that has its position here
    """

    bodies: tuple[Body, ...]
    held: np.ndarray
    own: np.ndarray
    links: np.ndarray
    origins: Mapping[str, str]


def serial_bodies(bodies: Sequence[Body], taken: Iterable[str]) -> SerialBodies:
    """The serial form of the bodies of a model; taken : names that its further links cannot have."""
    names = {*taken}
    unused = (name for k in count() if (name := f"held {k}") not in names)
    made: list[Body] = []
    held: list[tuple[int, int]] = []
    links: list[int] = []
    origins: dict[str, str] = {}
    for body in bodies:
        joint = body.joint
        if joint.kind == ROTATION_VECTOR:
            if joint.centre is not None:
                held.append((len(made), len(made) + 1))
                yaw, pitch = next(unused), next(unused)
                origins[joint.name] = yaw
                made.append(Body(yaw, replace(revolute(joint, yaw), axis=Z), body.parent))
                made.append(Body(pitch, Joint(pitch, axis=Y), yaw))
                body = replace(body, parent=pitch, joint=Joint(joint.name, axis=joint.axis))
            else:
                body = replace(body, joint=Joint(joint.name, axis=joint.axis))
        elif joint.limits != JointLimits():
            body = replace(body, joint=replace(joint, limits=JointLimits()))  # no second warning of degrees
        links.append(len(made))
        made.append(body)
        if joint.kind == ROTATION_VECTOR and joint.axis[2]:
            links[-3:] = [links[-1]] * 3
    places = {b.joint.name: k for b, k in zip(made, coordinate_indices(made), strict=True)}
    own = [places[body.joint.name] for body in bodies if body.joint.mimics is None]
    shape = (len(held), 2)
    return SerialBodies(
        tuple(made), np.array(held, int).reshape(shape), np.array(own, int), np.array(links, int), origins
    )
