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

import numpy as np

import trajopt
from problems.gallery.legged.solo import BASE, FEET, minimize_effort, on_feet, solo, standing_on_ground
from problems.recipe import recipe


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
    schedule = trajopt.Schedule.jump(FEET, push=(0.1, 0.5), flight=(0.1, 0.5), landing=(0.1, 0.5))
    robot = solo()
    problem = on_feet("quadruped_jump", robot, schedule, intervals, friction, clearance)
    start = standing_on_ground(robot)
    end = start + forward * np.eye(start.size)[0]
    problem.start_at(q=start, v=0)
    problem.end_at(q=[*end[:BASE], *[None] * 12], v=[*[0] * BASE, *[None] * 12])
    problem.subject_to(trajopt.tau[BASE:], -torque, torque, name="motor torques")
    minimize_effort(problem, posture_weight, speed_weight)
    problem.guess(np.array([start, end]), duration=[0.2, 0.25, 0.25])
    return problem
