"""Pendulum swung up by a motor too weak to lift it straight: the problem to copy for one's own.

    minimize integral_0^T tau^2 dt   subject to   hanging at rest -> upright at rest,   |tau| <= torque_limit

with T fixed. q = 0 hangs, q = pi stands. Holding the rod level takes m g L / 2 = 4.905 N m, more than the
motor has, so the rod must first swing back.
"""

from __future__ import annotations

import math

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe


@recipe
def build(
    *,
    intervals: int = 30,
    degree: int = 4,
    duration: float = 3.0,
    length: float = 1.0,
    mass: float = 1.0,
    torque_limit: float = 2.0,
    gravity: float = 9.81,
) -> trajopt.Problem:
    """A uniform rod on a motor; duration in s, length in m, mass in kg, torque in N m, gravity in m/s^2."""
    # The robot: one revolute joint about the horizontal z axis; the rod points down (-y) at q = 0.
    rod = dynamics.DhRow(
        name="pivot",
        theta=-math.pi / 2,
        a=length,
        mass=mass,
        centre_of_mass=(-length / 2, 0.0, 0.0),  # from the far end of the link
        inertia=[[0.0, 0.0, 0.0], [0.0, mass * length**2 / 12, 0.0], [0.0, 0.0, mass * length**2 / 12]],
        limits=dynamics.JointLimits.symmetric(torque=torque_limit),
    )
    model = dynamics.from_dh([rod], gravity=(0.0, -gravity, 0.0), name="pendulum")

    # The motion: one spline between two states of rest.
    trajectory = trajopt.Trajectory.uniform(intervals, degree, duration)
    problem = trajopt.Problem(model, trajectory, name="pendulum_swing_up")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=math.pi, v=0.0)

    # What is good, what must hold, and where the search starts: one swing back, then up.
    problem.minimize(trajopt.tau**2, name="effort")
    problem.subject_to_joint_limits()
    problem.guess(q=lambda s: (math.pi * s**3 - np.sin(2 * math.pi * s))[:, None])
    return problem
