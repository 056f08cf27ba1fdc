"""A quadruped trots with least effort: half a period, after which left and right have changed places.

    minimize integral_0^T sum_j tau_j^2 dt            over half a period T, twelve motors
    subject to   tau = 0 at the base                  the ground alone carries the robot
                 standing feet are still              front left and hind right
                 |f_t| <= mu f_n,  f_n >= 0           for all t
                 swinging feet are above the ground, in mid swing by a clearance
                 q(T), v(T) mirrored = q(0), v(0)     further on by half the length of the gait

The robot is Solo, 2.5 kg (Grimminger et al., IEEE Robotics and Automation Letters 5(2), 2020). No published
optimum: tests hold the motion against inverse dynamics, momentum and symmetry.
"""

from __future__ import annotations

import numpy as np

import trajopt
from problems.gallery.legged.solo import STANDING, on_feet, solo
from problems.recipe import recipe


@recipe
def build(
    *,
    intervals: int = 10,
    period: float = 0.5,
    forward: float = 0.1,
    friction: float = 0.7,
    clearance: float = 0.03,
) -> trajopt.Problem:
    """Half a period of a trot; period in s, forward (m per period), clearance in m."""
    gait = trajopt.Schedule.trot(("FL", "HR"), ("FR", "HL"), period=period).first(1)
    robot = solo()
    problem = on_feet("quadruped_trot", robot, gait, intervals, friction, clearance)
    problem.subject_to_periodic_gait(forward / 2.0, mirror=robot.mirrored({"FL": "FR", "HL": "HR"}))
    problem.minimize(trajopt.tau**2, name="effort")
    problem.guess(np.array([STANDING, STANDING]))
    return problem
