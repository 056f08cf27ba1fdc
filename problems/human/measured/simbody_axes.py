"""Generalized forces that Simbody adds where one coordinate turns a joint about three axes, as a knee's.

With axes w1, w2, w3 and rotations theta_i(q), the second axis turns by the first rotation alone,

    d/dt w2 = theta1' v w1 x w2,

but Simbody, in the rate of the joint's matrix H, turns it by all three, theta1' w1 + theta2' w2 + theta3' w3:
its joint accelerates by theta2' theta3' v^2 (w3 x w2) more than it does, so that the power of its torques
misses the rate of its own energy.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dynamics.algorithms.rnea import rnea
from dynamics.coupled_model import CoupledModel
from dynamics.couplings.coupled_motion import CoupledMotion
from dynamics.model.body import Body
from dynamics.rigid_body_model import RigidBodyModel


def moments_of_turned_axes(
    robot: RigidBodyModel | CoupledModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> np.ndarray:
    """(k, n) N m or N, to be added to the inverse dynamics of a motion (k, n) for that of OpenSim."""
    if not isinstance(robot, CoupledModel):
        return np.zeros_like(q)
    tree, motion = robot.tree, CoupledMotion(robot, {"q": q, "v": v, "a": a}, 2)
    joints = tree.joint_names
    further = np.zeros_like(motion.arrays["a"])
    for chain in chains(robot):
        places = [joints.index(body.joint.name) for body in chain]
        turned = robot.forward_kinematics(q, [body.name for body in chain]).rotation
        axes = np.stack([turned[:, k] @ body.joint.axis for k, body in enumerate(chain)], axis=-1)
        rates = motion.f[1][:, places[1:]].prod(axis=1) * v[:, robot.follows[places[0]]] ** 2
        missed = rates[:, None] * np.cross(axes[..., 2], axes[..., 1])
        further[:, places] = np.linalg.solve(axes, missed[..., None])[..., 0]
    given = motion.arrays["q"], motion.arrays["v"]
    of_joints = [rnea(tree, *given, motion.arrays["a"] + more) for more in (further, 0.0)]
    return motion.forces(of_joints[0] - of_joints[1])


def chains(robot: CoupledModel) -> Iterator[list[Body]]:
    """Three links in a row that one coordinate turns, without mass but for the last."""
    bodies = {body.name: body for body in robot.tree.bodies}
    leader = dict(zip(robot.tree.joint_names, robot.follows, strict=True))
    for last in bodies.values():
        chain = [last]
        while (before := bodies.get(str(chain[0].parent))) is not None and before.mass == 0.0:
            chain.insert(0, before)
        turning = [body for body in chain[-3:] if body.joint.kind == "revolute"]
        if last.mass > 0.0 and len(turning) == 3 and len({leader[body.joint.name] for body in turning}) == 1:
            yield turning
