"""A load turned in the least time by a geared motor whose gear ratio is chosen together with the motion.

    minimize T   subject to   (J_load + n^2 J_rotor) phi'' = n u,   |u| <= torque,   from rest to rest

At the best ratio the inertias match, n^2 J_rotor = J_load: n = sqrt(J_load / J_rotor), and the motor pushes
and brakes with all its torque, T = 2 sqrt(angle (J_load + n^2 J_rotor) / (n torque)) (Pasch and Seering, On
the Drive Systems for High-Performance Machines, 1984).
"""

from __future__ import annotations

import math

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe


def exact_duration(load: float, rotor: float, torque: float, angle: float) -> float:
    """T at the best ratio, in seconds, from the formulas above."""
    ratio = math.sqrt(load / rotor)
    return 2.0 * math.sqrt(angle * (load + ratio**2 * rotor) / (ratio * torque))


REFERENCE = exact_duration(0.5, 2e-4, 0.3, 1.0)
REFERENCE_SOURCE = "closed form, Pasch and Seering 1984"


@recipe
def build(
    *,
    intervals: int = 2,
    order: int = 3,
    load: float = 0.5,
    rotor: float = 2e-4,
    torque: float = 0.3,
    angle: float = 1.0,
    guess: float = 20.0,
) -> trajopt.Problem:
    """Inertias of load and rotor in kg m^2, torque of the motor in N m, angle in rad, guess of the ratio."""
    about_axis = np.diag([0.0, 0.0, 1.0])
    spindle = dynamics.Rotor(gear_ratio=guess, inertia=rotor * about_axis)
    drum = dynamics.Body("drum", dynamics.Joint("axle", rotor=spindle), inertia=np.diag([load, load, load]))
    drive = dynamics.RigidBodyModel([drum], name="gear_ratio")

    problem = trajopt.Problem(drive, trajopt.Trajectory.collocation(intervals, order), name="gear_ratio")
    ratio = problem.parameter("ratio", lower=1.0, upper=200.0, guess=guess)
    problem.design("axle.gear_ratio", ratio)
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=angle, v=0.0)

    @trajopt.term(unit="N m")
    def motor_torque(node):
        """u = tau / n, (1,) N m."""
        return node.tau / node.parameter("ratio")

    problem.subject_to(motor_torque, -torque, torque)
    problem.minimize(trajopt.duration)
    return problem
