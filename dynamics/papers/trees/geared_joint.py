"""A joint with its rotor, as in chapter 4 of Echeandia's thesis: link and rotor both hang on the parent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.errors import TreeError
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.trees.joint_motion import Screw
from dynamics.papers.trees.linkage import Link, linkage_of
from dynamics.papers.trees.spatial import motion_cross, transform


@dataclass(frozen=True, eq=False)
class GearedJoint:
    """A link on its joint, and the rotor that drives it.

    ratio, offset : displacement of the joint = ratio * q + offset
    rotor : None, or a link on the same parent that turns gear_ratio times the joint's displacement
    armature : kg m^2 added to the diagonal of M
    """

    link: Link
    ratio: float
    offset: float
    rotor: Link | None
    gear_ratio: float
    armature: float


@dataclass(frozen=True, eq=False)
class BodyState:
    """A body while the joints move: X from the parent's coordinates, Phi (6,) per unit of joint rate,
    velocity, velocity-product acceleration c = v x Phi qdot, inertia I and bias force p = v x* I v."""

    X: np.ndarray
    Phi: np.ndarray
    velocity: np.ndarray
    c: np.ndarray
    inertia: np.ndarray
    p: np.ndarray


def geared_joints(model: KinematicTree) -> list[GearedJoint]:
    """Links and rotors of `model`, as `model.rotors` says; TreeError when joints share a coordinate."""
    if model.n != model.link_count:
        raise TreeError(
            f"the articulated-body recursion needs a coordinate for every joint, but {model.link_count} "
            f"joints share {model.n} coordinates; mimic joints make loops it does not know"
        )
    armature = model.rotors == "armature"
    carriers = linkage_of(model if armature else model.with_rotors("none"))
    joints = []
    for k, (body, link) in enumerate(zip(model.bodies, carriers.links, strict=True)):
        rotor = body.joint.rotor if model.rotors == "exact" else None
        spindle = None
        if rotor is not None:
            screw = Screw("revolute", rotor.axis, np.eye(3), rotor.position)
            spindle = Link(screw, link.parent, rotor.mass, rotor.centre_of_mass, rotor.inertia)
        gear_ratio = rotor.gear_ratio if rotor is not None else 1.0
        added = float(carriers.armature[k])
        joints.append(GearedJoint(link, body.joint.ratio, body.joint.offset, spindle, gear_ratio, added))
    return joints


def body_state(link: Link, ratio: float, displacement, rate, carrier: np.ndarray) -> BodyState:
    """The state of `link` on a parent with velocity `carrier` (6,), moved at ratio times the rate."""
    X = transform(*link.motion.pose(np.array([displacement])))
    Phi = ratio * link.motion.axes(np.array([displacement]))[:, 0]
    velocity = X @ carrier + Phi * rate
    cross = motion_cross(velocity)
    inertia = link.spatial_inertia
    return BodyState(X, Phi, velocity, cross @ Phi * rate, inertia, -cross.T @ inertia @ velocity)


def joint_states(
    joints: list[GearedJoint], q: np.ndarray, v: np.ndarray
) -> tuple[list[BodyState], list[BodyState | None]]:
    """The state of every link and of every rotor, None where there is none."""
    links: list[BodyState] = []
    rotors: list[BodyState | None] = []
    for joint, q_i, v_i in zip(joints, q, v, strict=True):
        parent = joint.link.parent
        carrier = links[parent].velocity if parent >= 0 else np.zeros(6)
        displacement = joint.ratio * q_i + joint.offset
        links.append(body_state(joint.link, joint.ratio, displacement, v_i, carrier))
        n = joint.gear_ratio
        if joint.rotor is None:
            rotors.append(None)
        else:
            rotors.append(body_state(joint.rotor, n * joint.ratio, n * displacement, v_i, carrier))
    return links, rotors
