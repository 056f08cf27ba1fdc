"""A quadruped jumps over a gap in the ground: all feet take off before it and land behind it.

    minimize integral_0^T ( sum_j tau_j^2 + w sum_j (q_j - q_j0)^2 + r sum_j v_j^2 + p sum_j a_j^2 ) dt
    subject to   tau = 0 at the base                  the ground alone carries the robot
                 feet are still before the flight and after it
                 |f_t| <= mu f_n,  f_n >= 0           for all t
                 x <= first before the flight, x >= last where feet land: the ends of the gap
                 |tau_j| <= tau_max                   of the motors
                 at rest at both ends; how far the jump goes is free

The robot is Solo, 2.5 kg (Grimminger et al., IEEE Robotics and Automation Letters 5(2), 2020). No published
optimum: tests hold the motion against inverse dynamics and momentum.
"""

from __future__ import annotations

import numpy as np

import trajopt
from problems.gallery.legged.solo import BASE, FEET, STANDING, minimize_effort, on_feet, solo
from problems.recipe import recipe


@recipe
def build(
    *,
    intervals: int = 8,
    gap: tuple[float, float] = (0.22, 0.32),
    torque: float = 2.7,
    friction: float = 0.7,
    clearance: float = 0.02,
    posture_weight: float = 1.0,
    speed_weight: float = 1e-3,
    acceleration_weight: float = 1e-5,
) -> trajopt.Problem:
    """A jump over a gap from x = gap[0] to gap[1], m; torque in N m, clearance in m, weights as in a jump."""
    schedule = trajopt.Schedule.jump(FEET, push=(0.1, 0.6), flight=(0.1, 0.6), landing=(0.1, 0.6))
    near, far = trajopt.Ground(x=(-np.inf, gap[0])), trajopt.Ground(x=(gap[1], np.inf))
    ground = {0: near, 1: near, 2: far}
    problem = on_feet("quadruped_gap", solo(), schedule, intervals, friction, clearance, ground)
    start = problem.standing_pose(STANDING)
    problem.start_at(q=start, v=0)
    problem.end_at(q=[None, *start[1:BASE], *[None] * 12], v=[*[0] * BASE, *[None] * 12])
    problem.subject_to(trajopt.tau[BASE:], -torque, torque, name="motor torques")
    minimize_effort(problem, posture_weight, speed_weight, acceleration_weight)
    problem.guess(np.array([start, start + (gap[1] + 0.2) * np.eye(start.size)[0]]), duration=[0.3, 0.3, 0.3])
    return problem
