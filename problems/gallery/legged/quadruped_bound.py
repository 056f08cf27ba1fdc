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

from importlib.resources import files

import numpy as np

import dynamics
import trajopt
from problems.gallery.legged.quadruped_jump import BASE, posture
from problems.gallery.legged.quadruped_trot import STANDING
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
    text = (files("problems") / "robots" / "solo12.urdf").read_text(encoding="utf-8")
    robot = dynamics.load_urdf(text, floating_base="free")
    gait = trajopt.Schedule.bound(("HL", "HR"), ("FL", "FR"), period, flight)
    problem = trajopt.Problem(robot, gait.trajectory(intervals), name="quadruped_bound")
    for foot in gait.feet:
        problem.contact(f"{foot}_FOOT", gait.arcs(foot), friction, clearance)
    problem.passive_base()
    problem.subject_to_periodic_gait(forward)
    problem.minimize(trajopt.tau**2, name="effort")
    problem.minimize(posture**2, posture_weight, name="posture")
    problem.minimize(trajopt.v[BASE:] ** 2, speed_weight, name="speed")
    problem.minimize(trajopt.a[BASE:] ** 2, acceleration_weight, name="acceleration")
    problem.guess(np.array([STANDING, STANDING + forward * np.eye(STANDING.size)[0]]))
    return problem
