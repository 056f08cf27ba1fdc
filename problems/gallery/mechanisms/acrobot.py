"""An acrobot swings up in two seconds: two links, of which only the elbow has a motor.

    minimize integral_0^T tau_2^2 dt   subject to   M(q) q'' + C(q, v) v + g(q) = (0, tau_2),   T = 2 s

from hanging at rest to standing upright. Two links of 1 kg with their centres of mass in the middle, of 1 m
and 2 m, in the vertical plane, q = 0 hanging. The guess lets the upper link swing back first.
Source of the robot: Spong, The Swing Up Control Problem for the Acrobot, IEEE Control Systems 15(1), 1995.
"""

from __future__ import annotations

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe

REFERENCE = 175.28652
REFERENCE_SOURCE = "finer meshes"


@recipe
def build(
    *, intervals: int = 30, order: int = 5, duration: float = 2.0, torque: float = 20.0
) -> trajopt.Problem:
    """Seconds of the swing and N m of the motor at the elbow."""
    links = [
        dynamics.DhRow(
            name=name,
            a=length,
            mass=1.0,
            centre_of_mass=(-length / 2.0, 0.0, 0.0),
            inertia=inertia * np.diag([0.5, 0.5, 1.0]),
        )
        for name, length, inertia in (("shoulder", 1.0, 0.083), ("elbow", 2.0, 0.33))
    ]
    acrobot = dynamics.from_dh(links, gravity=(9.8, 0.0, 0.0), name="acrobot")

    mesh = trajopt.Trajectory.collocation(intervals, order, duration=duration)
    problem = trajopt.Problem(acrobot, mesh, name="acrobot")
    problem.passive("shoulder")
    problem.start_at(q=[0.0, 0.0], v=0.0)
    problem.end_at(q=[np.pi, 0.0], v=0.0)
    problem.subject_to(trajopt.tau[1], -torque, torque, name="torque of the elbow")
    problem.minimize(trajopt.tau[1] ** 2, name="effort")
    problem.guess([[0.0, 0.0], [-1.2, 2.8], [0.3, 3.2], [2.3, 1.6], [np.pi, 0.0]])  # backwards first
    return problem
