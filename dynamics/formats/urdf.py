"""Reads robot models from URDF, the Unified Robot Description Format."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Literal
from xml.etree.ElementTree import Element

import numpy as np

from dynamics.arguments import list_names, short_repr
from dynamics.errors import JointWarning, UrdfError, warn_user
from dynamics.formats.mesh_files import LARGEST, SMALLEST, odd_length
from dynamics.formats.urdf_contents import check_strict, left_out
from dynamics.formats.urdf_elements import UrdfJoint, required, urdf_joint
from dynamics.formats.urdf_limits import without_zeros
from dynamics.formats.urdf_masses import GivenMass, mass_properties
from dynamics.formats.urdf_parts import made_of, warn_of_missing_mass, warn_of_still_joints
from dynamics.formats.urdf_transmission import gears
from dynamics.formats.urdf_tree import FLOATING, Assembly
from dynamics.formats.xml_source import urdf_root
from dynamics.model.checks.tree_checks import drawn_cycle
from dynamics.model.kinematic_tree import MOST_BODIES
from dynamics.model.rotation_joint import FREE
from dynamics.rigid_body_model import RigidBodyModel


def load_urdf(
    path_or_xml: str | os.PathLike[str],
    floating_base: bool | Literal["free"] = False,
    gravity: Sequence[float] | np.ndarray = (0.0, 0.0, -9.81),
    repair_inertia: bool = False,
    masses: Mapping[str, GivenMass] | None = None,
    strict: bool = False,
) -> RigidBodyModel:
    """The robot model of a URDF file, or of a string that starts with "<".

    Links and joints come in depth-first order, children in the order of the file; every joint frame is the
    frame of its child link. Links behind fixed joints are merged, inertias added, and stay as named frames.
    floating_base : False, the base is held to the ground, and printing the model says how much is; "free", it
        has a free joint (`free_joint`): three translations along world axes and a rotation vector p about a
        centre, R = R_c Exp(p), floating_x, _y, _z, _rx, _ry, _rz, regular for |p| < 2 pi; True, it has three
        translations and Rz(yaw) Ry(pitch) Rx(roll), floating_x, _y, _z, _yaw, _pitch, _roll, singular at
        pitch = +-pi/2
    Joints of type floating become the same, of True where the base is held, with their names for "floating";
    joints of type planar become two translations in the plane and a turn about `axis` (NAME_x, NAME_y,
    NAME_yaw). All stand on massless links of those names. Read besides: limits (beyond 1e9: none), damping,
    friction, mimic joints, and from <transmission> gear ratio and rotor inertia. Meshes are ignored.
    An inertia that no body can have is an error, only a warning when the links merged with it make up for
    it; with repair_inertia it is replaced by the nearest that one can have, with a warning.

    A link without <inertial> counts zero. Where joints move no mass for that, a warning names them, and
    forward dynamics is refused. Where no link that moves has a mass the robot is kinematic: inverse dynamics
    and limits of torque are refused, which need one. Limits of 0 are taken as not stated: of velocity, with
    an effort of 0 beside it; of effort where all joints that move and mimic none have 0, or no link that
    moves has a mass, of the file or of `masses`; of the range where all limits of all joints that move are 0.
    `left_out` and, but for efforts without mass, a warning names them.
    masses : link -> kg, spread evenly over the solids of its <collision> or else <visual> elements, of
        meshes their convex hulls; (kg, centre (3,) m), a point; or (kg, centre, inertia (3, 3) kg m^2 about
        it), in the axes of the link; in place of what the file says
    strict : whether what the file holds and the robot leaves out is an error; `left_out` of the model has it

    Raises UrdfError naming the element; entity declarations, xacro and more than 10 MB are refused. What can
    be read but cannot exist raises JointError, InertiaError or TreeError. Warns of angles in degrees, of
    limits of 0, of joints whose limits leave them one position, and of lengths that look like millimetres.
    """
    if not isinstance(floating_base, str | int | np.bool_) or floating_base not in (False, True, "free"):
        raise UrdfError(f'floating_base is {short_repr(floating_base)}; choose False, True or "free"')
    robot = urdf_root(path_or_xml)
    elements = urdf_links(robot)
    joints = urdf_joints(robot, elements)
    root, geared, found = root_link(elements, joints), gears(robot), left_out(robot)
    links = mass_properties(elements, masses, path_or_xml)
    held = set[str]() if floating_base else held_links(root, joints)
    has_mass = any(not own.is_zero for link, own in links.items() if link not in held) or any(
        gear.inertia for gear in geared.values()
    )
    joints, zeros = without_zeros(joints, has_mass)
    found += zeros
    if not has_mass:
        limited = [name for name, joint in joints.items() if joint.limits.torque_upper < math.inf]
        found += (f"effort of joints that move no mass: {list_names(limited)}",) * bool(limited)
    if strict:
        check_strict(found)
    if zeros:
        warn_user(f"{'; '.join(zeros)}: write them, or give other limits where you need some", JointWarning)
    if far := far_joints(joints, held):
        warn_user(far, JointWarning)
    floating = FREE if floating_base == "free" else FLOATING
    parts = Assembly(links, joints, geared, repair_inertia, floating).parts(root, bool(floating_base))
    if not parts.bodies:
        raise UrdfError(
            'no joint of the robot moves, so it has no motion: floating_base="free" lets it move as a whole; '
            "dynamics.load_scene makes obstacles of it"
        )
    advice = ": give masses={LINK: kg, ...}"
    name, source = robot.get("name", ""), os.fspath(path_or_xml)
    model = made_of(parts.finished(), parts.frames, parts, gravity, name, found, source)
    warn_of_still_joints(model)
    warn_of_missing_mass(() if model.has_no_mass else model.joints_without_mass, advice)
    return model


def held_links(root: str, joints: Mapping[str, UrdfJoint]) -> set[str]:
    """The links that fixed joints hold to the root."""
    fixed: dict[str, list[str]] = {}
    for joint in joints.values():
        if joint.kind == "fixed":
            fixed.setdefault(joint.parent, []).append(joint.child)
    found, stack = set[str](), [root]
    while stack:
        found.add(stack[-1])
        stack += fixed.get(stack.pop(), [])
    return found


def far_joints(joints: Mapping[str, UrdfJoint], held: Collection[str]) -> str:
    """The joints whose places on the links that carry them are no lengths of a robot, in words; or empty.

    By the sizes of meshes: one joint that is too far, or all that are not in one place too near.
    Joints of links that are held to the ground may be anywhere.
    """
    away = {
        name: float(np.linalg.norm(own.origin.position))
        for name, own in joints.items()
        if own.child not in held
    }
    most = max(away.values(), default=0.0)
    if most == 0.0 or not odd_length(most):
        return ""
    found = [f"{name!r} ({size})" for name, own in away.items() if own and (size := odd_length(own))]
    limit = f"beyond {LARGEST:g} m" if most > LARGEST else f"all within {1e3 * SMALLEST:g} mm"
    return (
        f"joints whose origins are {limit} of the links that carry them: {list_names(found)}: lengths of a "
        "URDF are metres; in one in millimetres multiply those of joints, centres of mass and meshes by 0.001"
    )


def urdf_links(robot: Element) -> dict[str, Element]:
    """The <link> elements by name."""
    links: dict[str, Element] = {}
    elements = robot.findall("link")
    if len(elements) > MOST_BODIES:
        raise UrdfError(f"the robot has {len(elements)} links; at most {MOST_BODIES} are read")
    for element in elements:
        name = required(element, "name", "a link")
        if name in links:
            raise UrdfError(f"two links are named {name!r}; every name must be unique")
        links[name] = element
    if not links:
        raise UrdfError("the robot has no <link>")
    return links


def urdf_joints(robot: Element, links: Collection[str]) -> dict[str, UrdfJoint]:
    """The joints by name, every link known and carried at most once."""
    joints: dict[str, UrdfJoint] = {}
    carriers: dict[str, str] = {}
    for element in robot.findall("joint"):
        joint = urdf_joint(element)
        if joint.name in joints:
            raise UrdfError(f"two joints are named {joint.name!r}; every name must be unique")
        for link in (joint.parent, joint.child):
            if link not in links:
                raise UrdfError(
                    f"joint {joint.name!r} connects the link {link!r}, which the robot does not have"
                )
        if joint.child in carriers:
            other = carriers[joint.child]
            raise UrdfError(
                f"link {joint.child!r} has two parents, through the joints {other!r} and {joint.name!r}"
            )
        joints[joint.name], carriers[joint.child] = joint, joint.name
    return joints


def root_link(links: Collection[str], joints: dict[str, UrdfJoint]) -> str:
    """The only link that no joint carries; UrdfError names several, or a cycle that leaves none."""
    above = {joint.child: joint.parent for joint in joints.values()}
    roots = [link for link in links if link not in above]
    if len(roots) > 1:
        names = list_names(map(repr, roots))
        raise UrdfError(f"the robot has {len(roots)} root links: {names}; connect all but one with joints")
    on_ground = set(roots)
    for link in links:
        path: dict[str, None] = {}  # in order
        while link not in on_ground:
            if link in path:
                names = list(path)
                cycle = drawn_cycle(names[names.index(link) :])
                raise UrdfError(f"the joints form a cycle of links: {cycle}")
            path[link] = None
            link = above[link]
        on_ground.update(path)
    return roots[0]
