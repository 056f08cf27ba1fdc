"""Forces in joints between two bodies: what a joint transmits beside the muscles that pass it.

With F_b the wrenches on the bodies b from a joint outwards, muscles at the points of their paths among them,
the wrench that the joint exerts on its outer body is

    w = sum over b of (d momentum_b / dt - F_b).

A tension pulls on a body where its path leaves it: at fixed points, and at the tangent points of wraps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dynamics.algorithms.rnea import joint_wrenches
from dynamics.arguments import real_array, short_repr
from dynamics.couplings.coupled_motion import CoupledMotion
from dynamics.couplings.coupled_tree import CoupledTree
from dynamics.errors import MuscleError, ShapeError, UnknownNameError
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.muscles.muscle_paths import MusclePaths
from dynamics.quantities.kinematics import Poses, forward_kinematics
from dynamics.quantities.link_wrenches import link_wrenches

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class JointEnd:
    """A body at a joint: its link (None = ground), axes (3, 3) and the joint's place (3,) m on the link."""

    body: str
    link: str | None
    axes: Array
    place: Array


@dataclass(frozen=True, eq=False)
class BodyJoint:
    """A joint between two bodies, which may be several joints of the tree one after the other."""

    name: str
    parent: JointEnd
    child: JointEnd


def joint_reactions(
    robot: KinematicTree | CoupledTree, joints: Sequence[BodyJoint],
    q: ArrayLike, v: ArrayLike, a: ArrayLike,
    paths: MusclePaths | None = None, tensions: ArrayLike | None = None,
    loads: Mapping[str, ArrayLike] | None = None,
    on: Literal["child", "parent"] = "child", axes: Literal["ground", "child", "parent"] = "ground",
) -> Array:  # fmt: skip
    """(K, joints, 6) [moment; force] N m and N that every joint exerts on one of its bodies.

    q, v, a : (K, n) motion of the robot;  paths, tensions : of muscles, and their forces (K, m) N
    loads : link -> (K, 6) [moment; force] of other wrenches on it, world axes and origin
    on : the body outside or inside of the joint; the moment is about the joint's place on it
    axes : of the world, or of one of the two bodies

    This is what OpenSim calls joint reaction. It contains the torque that drives the joint, which is zero
    where muscles balance the motion. Raises ShapeError for arrays of other shapes, UnknownNameError for links
    that do not exist, MuscleError for tensions without paths.
    """
    if on not in ("child", "parent") or axes not in ("ground", "child", "parent"):
        raise UnknownNameError(
            f"on is {short_repr(on)} and axes {short_repr(axes)}: give child or parent; for axes ground, too"
        )
    motion = {name: _rows(robot, x, name) for name, x in (("q", q), ("v", v), ("a", a))}
    q = motion["q"]
    if isinstance(robot, CoupledTree):
        tree, motion = robot.tree, CoupledMotion(robot, motion, 2).arrays
    else:
        tree = robot
    external = link_wrenches(tree, (len(q),), loads or {})
    if (paths is None) != (tensions is None):
        raise MuscleError("tensions need the paths of muscles, and paths tensions: give both, or none")
    if paths is not None and tensions is not None:
        external += paths.wrenches(q, tensions)
    wrenches = joint_wrenches(tree, motion["q"], motion["v"], motion["a"], external)
    poses = forward_kinematics(tree, motion["q"])
    reactions = np.empty((len(q), len(joints), 6))
    for i, joint in enumerate(joints):
        link = tree.link_index(str(joint.child.link))
        rotation = poses.rotation[:, link]
        moment, force = (
            np.einsum("kij,kj->ki", rotation, wrenches[:, link, rows]) for rows in (slice(3), slice(3, 6))
        )
        end = joint.child if on == "child" else joint.parent
        turn, place = _pose(tree, poses, end)
        moment = moment + np.cross(poses.position[:, link] - place, force)
        if on == "parent":
            moment, force = -moment, -force
        if axes != "ground":
            turn = _pose(tree, poses, joint.child if axes == "child" else joint.parent)[0]
            moment, force = (np.einsum("kji,kj->ki", turn, x) for x in (moment, force))
        reactions[:, i, :3], reactions[:, i, 3:] = moment, force
    return reactions


def _rows(robot: KinematicTree | CoupledTree, given: ArrayLike, name: str) -> Array:
    """(K, n) of an array (K, n) or (n,)."""
    values = np.atleast_2d(real_array(given, name))
    if values.ndim != 2 or values.shape[1] != robot.n:
        raise ShapeError(f"{name} has shape {values.shape}; (K, {robot.n}) is expected")
    return values


def _pose(tree: KinematicTree, poses: Poses, end: JointEnd) -> tuple[Array, Array]:
    """Axes (K, 3, 3) of a body, and the joint's place (K, 3) on it, in the world."""
    if end.link is None:
        count = len(poses.position)
        return np.broadcast_to(end.axes, (count, 3, 3)), np.broadcast_to(end.place, (count, 3))
    link = tree.link_index(end.link)
    rotation = poses.rotation[:, link]
    return rotation @ end.axes, poses.position[:, link] + rotation @ end.place
