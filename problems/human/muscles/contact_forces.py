"""Contact forces in the joints of a motion, which bones transmit: of muscles found, and as a term."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

import trajopt
from dynamics import OsimModel
from dynamics.muscles.motion_block import MISSING, MotionBlock, PathMotion
from problems.human.measured.external_loads import MeasuredForce, wrenches_on_links
from problems.human.measured.inverse_dynamics import JointMoments
from problems.human.muscles.given_motion import GivenMotion, muscles_in
from problems.human.muscles.muscle_use import MuscleUse
from problems.human.opensim.storage import Storage, write_storage
from trajopt.base.arguments import check_choice
from trajopt.base.errors import ProblemError
from trajopt.terms.term import BlockTerm

SAME_TIME = 1e-9  # s
LEAST_PULL = 1e-9  # of a tension: a muscle with a smaller one does not load the joint
PARTS = ("mx", "my", "mz", "fx", "fy", "fz")


@dataclass(frozen=True, eq=False)
class ContactForces:
    """Forces that joints exert on their outer bodies, in world axes, about the joint's place.

    joints, bodies : (j,) names;  time : (K,) s;  wrench : (K, j, 6) [moment; force], N m and N
    weight : N, of the person
    """

    joints: tuple[str, ...]
    bodies: tuple[str, ...]
    time: np.ndarray
    wrench: np.ndarray
    weight: float

    def force(self, joint: str) -> np.ndarray:
        """(K,) N, size of the force in a joint."""
        return np.linalg.norm(self.wrench[:, self.joints.index(joint), 3:], axis=1)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a .sto with the labels of OpenSim's joint reactions: knee_r_on_tibia_r_in_ground_fx."""
        columns = {
            f"{joint}_on_{body}_in_ground_{part}": self.wrench[:, i, k]
            for i, (joint, body) in enumerate(zip(self.joints, self.bodies, strict=True))
            for k, part in enumerate(PARTS)
        }
        write_storage(path, Storage("joint reactions", self.time, columns))

    def __str__(self) -> str:
        width = max(map(len, self.joints))
        lines = [f"{'joint':<{width}}  largest contact force"]
        for joint in self.joints:
            force = self.force(joint)
            at = int(force.argmax())
            lines.append(
                f"{joint:<{width}}  {force[at]:.4g} N, {force[at] / self.weight:.2f} body weights, at "
                f"{self.time[at]:.4g} s"
            )
        return "\n".join(lines)


def contact_forces(
    model: OsimModel, moments: JointMoments, use: MuscleUse, forces: tuple[MeasuredForce, ...] = ()
) -> ContactForces:
    """Forces in all joints at the times of a motion, from the forces of its muscles and of the ground.

    moments : of the motion, as for `muscles_of_motion`;  forces : those of `joint_moments`
    They contain the reserves, which are moments and no forces of muscles, and forces at the joint between
    ground and pelvis, which are residuals. Raises ProblemError for moments of other times than the muscles',
    MuscleError for a model without muscles.
    """
    time = moments.time
    if time[0] < use.time[0] - SAME_TIME or time[-1] > use.time[-1] + SAME_TIME:
        raise ProblemError(
            f"the moments are of {time[0]:g} to {time[-1]:g} s, the muscles of {use.time[0]:g} to "
            f"{use.time[-1]:g} s: give the moments that the muscles were computed from"
        )
    tensions = np.stack([np.interp(time, use.time, tension) for tension in use.force.T], axis=1)
    return ContactForces(
        tuple(joint.name for joint in model.joints), tuple(joint.child.body for joint in model.joints), time,
        _reactions(model, moments, forces, tensions), _weight(model),
    )  # fmt: skip


def joint_force(
    model: OsimModel, motion: GivenMotion, joint: str, forces: tuple[MeasuredForce, ...] = ()
) -> BlockTerm:
    """The contact force (3,) in a joint, in body weights and world axes, as a term of `motion.problem`.

    R(t) = R_0(t) + sum over muscles of F d(t), with R_0 the force without muscles and d that of a tension of
    1 N, both of the motion. As a cost it enters squared, `minimize(10.0 * load**2)`; limits bound components.

    model, forces : those that `motion` was made of. Raises OptionError for a joint that the model lacks,
    naming those that it has.
    """
    names = tuple(each.name for each in model.joints)
    check_choice("joint", joint, names)
    at, moments, known = names.index(joint), motion.moments, motion.block.motion
    alone = _reactions(model, moments, forces, np.zeros_like(known.length))[:, at, 3:]
    pulls = muscles_in(model).paths.pulls(moments.q, str(model.joints[at].child.link))
    pulls[:, np.abs(pulls).max(axis=(0, 2)) < LEAST_PULL] = 0.0
    weight = _weight(model)
    along = PathMotion(known.time, known.length, known.speed, pulls / weight, alone / weight)
    block = MotionBlock(motion.fibres, motion.tendon, along)
    return trajopt.block_term(block, output=MISSING, name=f"contact force in {joint}", unit="body weights")


def _reactions(
    model: OsimModel, moments: JointMoments, forces: tuple[MeasuredForce, ...], tensions: np.ndarray
) -> np.ndarray:
    """(K, j, 6) wrenches in all joints at the times of a motion."""
    robot = model.robot
    external = wrenches_on_links(robot, moments.q, moments.time, forces)
    loads = {link: external[:, i] for i, link in enumerate(robot.link_names) if external[:, i].any()}
    return model.joint_reactions(moments.q, moments.v, moments.a, tensions=tensions, loads=loads)


def _weight(model: OsimModel) -> float:
    return model.robot.total_mass * float(np.linalg.norm(model.robot.gravity))
