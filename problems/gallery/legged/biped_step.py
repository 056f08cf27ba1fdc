"""A humanoid takes one step: it shifts its weight, swings the right foot forward, and comes to rest.

    minimize integral_0^T ( w sum_j tau_j^2 + sum_j (q_j - q_j0)^2 + r sum_j v_j^2 + p sum_j a_j^2 ) dt
    subject to   tau = 0 at the base                  the ground alone carries the robot
                 standing feet are still, soles flat on the ground
                 |f_t| <= mu f_n, f_n >= 0 at every corner of the sole: the centre of pressure is inside it
                 the swinging foot is above the ground, half way through by a clearance
                 |tau_j| <= tau_max                   of the motors
                 at rest at both ends

The robot is the G1 of Unitree, 33 kg, with the joints of its arms locked; its soles are the four points at
which its makers let it touch the ground. Without the cost of accelerations the right foot would push with 1.7
weights for a hundredth of a second. No published optimum: tests hold the motion against inverse
dynamics and the centre of pressure.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

import dynamics
import trajopt
from problems import moves
from problems.recipe import recipe

BASE = 6  # coordinates of the base, before those of the joints
FEET = LEFT, RIGHT = ("left_ankle_roll_link", "right_ankle_roll_link")
SOLE = [(-0.05, 0.025, -0.035), (-0.05, -0.025, -0.035), (0.12, 0.03, -0.035), (0.12, -0.03, -0.035)]  # m
BENT = {"hip_pitch_joint": -0.3, "knee_joint": 0.6, "ankle_pitch_joint": -0.3}  # rad


@recipe
def build(
    *,
    intervals: int = 8,
    forward: float = 0.2,
    shift: float = 0.3,
    swing: float = 0.5,
    friction: float = 0.6,
    clearance: float = 0.04,
    effort_weight: float = 1e-3,
    speed_weight: float = 1e-2,
    acceleration_weight: float = 1e-5,
) -> trajopt.Problem:
    """A step forward, m; a shift of weight, twice, and the swing in s; weights per (N m)^2, (rad/s)^2 ..."""
    text = (files("problems") / "robots" / "g1.urdf").read_text(encoding="utf-8")
    robot = without_arms(dynamics.load_urdf(text, floating_base="free"))
    schedule = trajopt.Schedule([(FEET, shift), ((LEFT,), swing), (FEET, shift)])
    problem = trajopt.Problem(robot, schedule.trajectory(intervals), name="biped_step")
    for foot in FEET:
        problem.contact(foot, schedule.arcs(foot), friction, clearance, sole=SOLE)
    problem.passive_base()
    start = problem.standing_pose(bent(robot))
    problem.start_at(q=start, v=0.0)
    legs = [name.startswith(("left", "right")) for name in robot.joint_names]  # feet that stand hold them
    problem.end_at(q=[forward / 2.0, *[None] * (robot.n - 1)], v=[None if leg else 0.0 for leg in legs])
    place = dynamics.forward_kinematics(robot, start, [RIGHT]).position[0, 0]
    problem.subject_to(trajopt.position(RIGHT)[0], equals=float(place) + forward, over="end", name="step")
    torques = robot.limits.torque_upper[BASE:]
    problem.subject_to(trajopt.tau[BASE:], -torques, torques, name="motor torques")
    problem.minimize(trajopt.tau**2, effort_weight, name="effort")
    problem.minimize((trajopt.q[BASE:] - start[BASE:]) ** 2, name="posture")
    problem.minimize(trajopt.v[BASE:] ** 2, speed_weight, name="speed")
    problem.minimize(trajopt.a[BASE:] ** 2, acceleration_weight, name="acceleration")
    problem.guess(np.array([start, start + forward / 2.0 * np.eye(robot.n)[0]]))
    return problem


def without_arms(robot: dynamics.RigidBodyModel) -> dynamics.RigidBodyModel:
    """The robot whose arms hang, elbows bent, as parts of its trunk."""
    arms = [
        name for name in robot.joint_names if any(part in name for part in ("shoulder", "elbow", "wrist"))
    ]
    return moves.robot(robot, locked={name: 1.2 * ("elbow" in name) for name in arms}).model


def bent(robot: dynamics.RigidBodyModel) -> np.ndarray:
    """(n,) knees bent, the base where the robot has its origin."""
    return np.array(
        [next((BENT[end] for end in BENT if name.endswith(end)), 0.0) for name in robot.joint_names]
    )
