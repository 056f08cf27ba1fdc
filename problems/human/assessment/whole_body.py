"""Torques and joint wrenches of the whole skeleton along a gait cycle, rigidly held joints included.

The solve merges bodies behind joints at rest. Here all 55 degrees of freedom move along, the frozen ones at
zero, under the same ground reactions, and inverse dynamics gives the torque and the wrench of every joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import dynamics
from problems.human.gait.cycle import UNLOADED, Cycle
from problems.human.gait.ground_reaction import zero_moment_point

LOADED = 0.05  # of body weight: below it a centre of pressure means little


@dataclass(frozen=True, eq=False)
class WholeBody:
    """55 degrees of freedom at K times: states and torques (K, 55), loads and joint wrenches (K, 55, 6).

    loads : on every link, [moment; force] about the world origin, world axes
    wrenches : what every joint transmits to its link, [moment; force] about the joint in axes of the link
    """

    model: dynamics.RigidBodyModel
    cycle: Cycle
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    loads: np.ndarray
    tau: np.ndarray
    wrenches: np.ndarray

    def torque(self, joint: str) -> np.ndarray:
        """N m (N) of a joint, (K,)."""
        return self.tau[:, self.model.joint_names.index(joint)]

    def force(self, joint: str) -> np.ndarray:
        """Norm of the internal force of a joint, (K,) in body weights."""
        link = self.model.joint_link_index(joint)
        return np.linalg.norm(self.wrenches[:, link, 3:], axis=1) / self.cycle.weight


def whole_body(cycle: Cycle) -> WholeBody:
    """Torques and wrenches of all joints of the skeleton along a cycle."""
    model = cycle.person.skeleton()
    places = [model.joint_names.index(name) for name in cycle.joint_names]
    states = np.zeros((3, cycle.time.size, model.n))
    states[:, :, places] = cycle.q, cycle.v, cycle.a
    loads = np.zeros((cycle.time.size, model.link_count, 6))
    for link, load in cycle.loads.items():
        loads[:, model.link_index(link)] += load
    q, v, a = states
    return WholeBody(
        model, cycle, q, v, a, loads,
        tau=dynamics.rnea(model, q, v, a, loads),
        wrenches=dynamics.joint_wrenches(model, q, v, a, loads),
    )  # fmt: skip


def thigh_inclination(body: WholeBody, side: str = "r") -> np.ndarray:
    """Degrees of the thigh against the vertical in the sagittal plane, knee forward positive, (K,)."""
    return -inclination(body, f"shank_{side}", f"thigh_{side}")


def inclination(body: WholeBody, low: str, high: str) -> np.ndarray:
    """Degrees by which the line between two frames leans forward in the sagittal plane, (K,)."""
    ends = dynamics.forward_kinematics(body.model, body.q, [low, high]).position
    upward = ends[:, 1] - ends[:, 0]
    return np.rad2deg(np.arctan2(upward[:, 0], upward[:, 1]))


def sole(body: WholeBody, side: str) -> tuple[np.ndarray, np.ndarray]:
    """Places of the heel and of the toe along the way, (K,) m each."""
    points = dynamics.forward_kinematics(body.model, body.q, [f"heel_{side}", f"toe_{side}"]).position
    return points[:, 0, 0], points[:, 1, 0]


def step_lengths(cycle: Cycle) -> tuple[float, float]:
    """m, of the right and of the left step: how far in front of the other heel each heel strikes."""
    right, left = (float(sole(whole_body(each), "r")[0][0]) for each in (cycle, cycle.of_left_leg))
    return 2.0 * cycle.step_length - (left - right), left - right


def centre_of_pressure(cycle: Cycle, side: str) -> np.ndarray:
    """(x, z) of the centre of pressure of one foot on the ground, (K, 2) m; NaN while it is unloaded."""
    load = cycle.reaction(side)
    carried = load[:, 4] > UNLOADED * cycle.weight
    return np.where(carried[:, None], zero_moment_point(np.where(carried[:, None], load, 1.0)), np.nan)
