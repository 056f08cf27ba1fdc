"""Moving solids in a picture of a motion: those of the robot's links and of its loads, with their poses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dynamics
from problems.moves.view.limit_use import colour_of, rgb
from problems.moves.view.seen_motion import SeenMotion
from problems.moves.view.solids import RobotSolids, Solid, solid_of
from problems.moves.view.surroundings import LOAD
from trajopt.base.arrays import Array


@dataclass(frozen=True, eq=False)
class MovingSolid:
    """A solid with rotations (k, 3, 3), positions (k, 3) m and colours (k, 3), 0 to 255, of every picture."""

    name: str
    solid: Solid
    rotation: Array
    position: Array
    colours: Array


def moving_solids(motion: SeenMotion, robot: RobotSolids) -> list[MovingSolid]:
    """The links of a robot, coloured by how close they are to a limit, and its loads."""
    found = []
    for solid in robot.solids:
        if solid.carrier is not None:
            poses = dynamics.forward_kinematics(motion.model, motion.q, [solid.carrier])
            colours = np.array([colour_of(share) for share in _shares_of(motion, solid.carrier).tolist()])
            name = f"/robot/{solid.carrier}"
            found.append(MovingSolid(name, solid, poses.rotation[:, 0], poses.position[:, 0], colours))
    for shape, segments in motion.loads:
        colours = np.tile(rgb(LOAD), (len(motion.times), 1))
        poses = motion.carried_poses(shape, segments)
        found.append(MovingSolid(f"/loads/{shape.name}", solid_of(shape), *poses, colours))
    return found


def _shares_of(motion: SeenMotion, carrier: str) -> Array:
    """Shares of limits, (k,), of the joint that moves a link or frame; NaN of one that never moves."""
    body = motion.model.frame(carrier).body
    if body is None:
        return np.full(len(motion.times), np.nan)
    return motion.shares[:, motion.model.coordinate[motion.model.link_index(body)]]
