"""A quadruped bounds: hind feet push, it flies, front feet push, it flies; a whole period of the gait.

    minimize integral_0^T ( sum_j tau_j^2 + w sum_j (q_j - q_j0)^2 + r sum_j v_j^2 + p sum_j a_j^2 ) dt
    subject to   tau = 0 at the base                  the ground alone carries the robot
                 standing feet are still              hind left and right, then front left and right
                 |f_t| <= mu f_n,  f_n >= 0           for all t
                 feet in the air are above the ground, half way through each arc by a clearance
                 q(T), v(T) = q(0), v(0)              further on by the length of the gait, heading along it

The robot is Solo, 2.5 kg (Grimminger et al., IEEE Robotics and Automation Letters 5(2), 2020). No published
optimum: tests hold the motion against inverse dynamics, momentum and the symmetry of left and right.
"""

from __future__ import annotations

import numpy as np

import trajopt
from problems.gallery.legged.solo import STANDING, minimize_effort, on_feet, solo
from problems.recipe import recipe


@recipe
def build(
    *,
    intervals: int = 8,
    period: float = 0.4,
    flight: float = 0.06,
    forward: float = 0.2,
    friction: float = 0.7,
    clearance: float = 0.02,
    posture_weight: float = 5.0,
    speed_weight: float = 1e-3,
    acceleration_weight: float = 2e-6,
) -> trajopt.Problem:
    """A period of a bound; period and flight, of which there are two, in s, forward (m per period)."""
    gait = trajopt.Schedule.bound(("HL", "HR"), ("FL", "FR"), period, flight)
    problem = on_feet("quadruped_bound", solo(), gait, intervals, friction, clearance)
    problem.subject_to_periodic_gait(forward)
    minimize_effort(problem, posture_weight, speed_weight, acceleration_weight)
    problem.guess(np.array([STANDING, STANDING + forward * np.eye(STANDING.size)[0]]))
    return problem
