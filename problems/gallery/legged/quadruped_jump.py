"""A quadruped jumps forward: push, flight and landing with free durations, torques within their limits.

    minimize integral_0^T ( sum_j tau_j^2 + w sum_j (q_j - q_j0)^2 + r sum_j v_j^2 ) dt     over twelve motors
    subject to   tau = 0 at the base                  the ground alone carries the robot
                 feet are still before the flight and after it
                 |f_t| <= mu f_n,  f_n >= 0           for all t
                 feet in flight are above the ground, half way by a clearance
                 |tau_j| <= tau_max                   of the motors
                 at rest at both ends, the base further on by the length of the jump

The robot is Solo, 2.5 kg (Grimminger et al., IEEE Robotics and Automation Letters 5(2), 2020). Torques alone
would let it stand up on stretched legs, where knees are singular; the posture keeps them bent. No published
optimum: tests hold the motion against inverse dynamics and momentum, from ten starts.
"""

from __future__ import annotations

from importlib.resources import files

import numpy as np

import dynamics
import trajopt
from problems.gallery.legged.quadruped_trot import STANDING
from problems.recipe import recipe

FEET = ("FL", "FR", "HL", "HR")
BASE = 6  # coordinates of the base, before those of the joints


@trajopt.term(unit="rad")
def posture(node):
    """How far joints are from those of standing."""
    return [node.q[i] - STANDING[i] for i in range(BASE, STANDING.size)]


@recipe
def build(
    *,
    intervals: int = 8,
    forward: float = 0.25,
    torque: float = 2.7,
    friction: float = 0.7,
    clearance: float = 0.02,
    posture_weight: float = 1.0,
    speed_weight: float = 1e-3,
) -> trajopt.Problem:
    """A jump forward by `forward`, m; torque in N m, clearance in m, weights per rad^2 and per (rad/s)^2."""
    text = (files("problems") / "robots" / "solo12.urdf").read_text(encoding="utf-8")
    robot = dynamics.load_urdf(text, floating_base="free")
    schedule = trajopt.Schedule.jump(FEET, push=(0.1, 0.5), flight=(0.1, 0.5), landing=(0.1, 0.5))
    problem = trajopt.Problem(robot, schedule.trajectory(intervals), name="quadruped_jump")
    for foot in schedule.feet:
        problem.contact(f"{foot}_FOOT", schedule.arcs(foot), friction, clearance)
    problem.passive_base()
    start = STANDING.copy()
    start[2] -= dynamics.forward_kinematics(robot, start, ["FL_FOOT"]).position[0, 2]
    end = start + np.array([forward] + [0.0] * (STANDING.size - 1))
    problem.start_at(q=start, v=0)
    problem.end_at(q=[*end[:BASE], *[None] * 12], v=[*[0] * BASE, *[None] * 12])
    problem.subject_to(trajopt.tau[BASE:], -torque, torque, name="motor torques")
    problem.minimize(trajopt.tau**2, name="effort")
    problem.minimize(posture**2, posture_weight, name="posture")
    problem.minimize(trajopt.v[BASE:] ** 2, speed_weight, name="speed")
    problem.guess(np.array([start, end]), duration=[0.2, 0.25, 0.25])
    return problem
