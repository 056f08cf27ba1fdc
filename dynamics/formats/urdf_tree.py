"""Turns the links and joints of a URDF into bodies: merges fixed joints, expands planar and floating ones."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from dynamics.errors import UrdfError
from dynamics.formats.urdf_elements import UrdfJoint
from dynamics.formats.urdf_parts import Parts, Place
from dynamics.formats.urdf_transmission import Gear, rotor_of
from dynamics.model.checks.tree_checks import drawn_cycle
from dynamics.model.checks.validation import unit_vector
from dynamics.model.joint import Joint, JointKind
from dynamics.model.mass_properties import IDENTITY, MassProperties
from dynamics.model.rotation_joint import SLIDES, Axes, X, Y, Z

# Each joint of a chain of mimics follows it to its end.
MOST_MIMICS = 100
# URDF's types of joints with one coordinate
ONE_AXIS: dict[str, JointKind] = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}
FLOATING: Axes = (*SLIDES, ("yaw", "revolute", Z), ("pitch", "revolute", Y), ("roll", "revolute", X))


@dataclass(frozen=True, eq=False)
class Assembly:
    """The links, joints and gears of one URDF.

    floating : the joints of a floating joint, `FLOATING` or `FREE`
    """

    links: dict[str, MassProperties]
    joints: dict[str, UrdfJoint]
    gears: dict[str, Gear]
    repair_inertia: bool
    floating: Axes = FLOATING

    def parts(self, root: str, floats: bool) -> Parts:
        """All parts in depth-first order from the root link, which floats or is held to the ground."""
        children: dict[str, list[UrdfJoint]] = {link: [] for link in self.links}
        for joint in self.joints.values():
            children[joint.parent].append(joint)
        parts = Parts(self.repair_inertia)
        ground = Place(None, IDENTITY)
        places = {root: add_chain(parts, "floating", root, ground, self.floating) if floats else ground}
        parts.add_link(root, places[root], self.links[root])
        stack = children[root][::-1]
        while stack:  # not a recursion: a chain may be longer than Python's stack
            joint = stack.pop()
            places[joint.child] = self.add_joint(parts, joint, places[joint.parent])
            parts.add_link(joint.child, places[joint.child], self.links[joint.child])
            stack += children[joint.child][::-1]
        return parts

    def add_joint(self, parts: Parts, joint: UrdfJoint, on: Place) -> Place:
        """Add the bodies a joint needs and return the place of its child link."""
        pose = on.pose.then(joint.origin)
        if joint.kind == "fixed":
            return Place(on.body, pose)
        if joint.kind in ("planar", "floating"):
            if joint.mimics is not None:
                raise UrdfError(
                    f"joint {joint.name!r} of type {joint.kind} has a <mimic>; it needs a single axis"
                )
            axes = self.floating if joint.kind == "floating" else planar_axes(joint)
            return add_chain(parts, joint.name, joint.child, Place(on.body, pose), axes, joint.parent)
        mimics, ratio, offset = self.mimicked(joint)
        made = Joint(
            joint.name,
            ONE_AXIS[joint.kind],
            joint.axis,
            pose.rotation,
            pose.position,
            joint.limits,
            mimics,
            ratio,
            offset,
            joint.damping,
            joint.friction,
            rotor_of(self.gears.get(joint.name), joint, pose),
            continuous=joint.kind == "continuous",
        )
        parts.add_body(joint.child, made, on.body, joint.parent)
        return Place(joint.child, IDENTITY)

    def mimicked(self, joint: UrdfJoint) -> tuple[str | None, float, float]:
        """The joint at the end of a chain of mimics, and ratio and offset with respect to its coordinate."""
        ratio, offset, passed = 1.0, 0.0, {joint.name: None}  # in order
        while joint.mimics is not None:
            ratio, offset = ratio * joint.ratio, ratio * joint.offset + offset
            if joint.mimics not in self.joints:
                near = get_close_matches(joint.mimics, self.joints, n=3)
                meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
                raise UrdfError(
                    f"joint {joint.name!r} mimics {joint.mimics!r}, which the robot does not have: {meant}"
                    "correct the name, or remove the <mimic> and the joint moves by itself"
                )
            joint = self.joints[joint.mimics]
            if joint.name in passed:
                raise UrdfError(f"the joints {drawn_cycle(list(passed))} mimic each other in a cycle")
            if joint.kind in ("fixed", "planar", "floating"):
                mimic = f"joint {list(passed)[-1]!r} mimics {joint.name!r} of type {joint.kind}"
                raise UrdfError(f"{mimic}; it needs one axis")
            passed[joint.name] = None
            if len(passed) > MOST_MIMICS:
                raise UrdfError(f"joint {next(iter(passed))!r} mimics through more than {MOST_MIMICS} joints")
        return (joint.name if len(passed) > 1 else None), ratio, offset


def add_chain(
    parts: Parts, name: str, link: str, on: Place, axes: Axes, neighbour: str | None = None
) -> Place:
    """Add a joint of several axes: massless links NAME_x, ... up to the last one, which is `link`.

    neighbour : the link of the file that the joint starts from
    """
    parent, pose = on.body, on.pose
    for suffix, kind, axis in axes:
        joint_name = f"{name}_{suffix}"
        own = Joint(joint_name, kind, axis, pose.rotation, pose.position)
        last = suffix == axes[-1][0]
        body = link if last else joint_name
        parts.add_body(body, own, parent, neighbour if last else None)
        parent, pose = body, IDENTITY
    return Place(link, IDENTITY)


def planar_axes(joint: UrdfJoint) -> Axes:
    """Two translations in the plane normal to the joint's axis and a turn about it; x and y when it is z."""
    normal = unit_vector(joint.axis, f"joint {joint.name!r}: axis")
    first = np.cross(Y, normal)
    first = X if np.linalg.norm(first) < 1e-6 else first / np.linalg.norm(first)
    second = np.cross(normal, first)
    return (("x", "prismatic", first), ("y", "prismatic", second), ("yaw", "revolute", normal))
