"""A cart carries a double pendulum, balanced upright, one metre further with the least effort.

    minimize integral_0^T F^2 dt   subject to   M(q) q'' + C(q, v) v + g(q) = (F, 0, 0),   T = 2 s

from upright at rest to upright at rest, q = (x, theta_1, theta_2), the second angle relative to the first and
both zero upright. Cart of 1 kg; slender rods of 0.2 kg and 0.5 m each. The cart first backs off, so that the
rods lean forwards. Both equilibria are unstable; the optimum satisfies Pontryagin's principle, a boundary
value problem of twelve states and costates that `tests/problems_tests/test_balanced_rods.py` solves.
"""

from __future__ import annotations

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe

REFERENCE = 49.2943601
REFERENCE_SOURCE = "Pontryagin's principle as a boundary value problem"


@recipe
def build(
    *,
    intervals: int = 24,
    order: int = 5,
    duration: float = 2.0,
    distance: float = 1.0,
    cart_mass: float = 1.0,
    rod_mass: float = 0.2,
    length: float = 0.5,
) -> trajopt.Problem:
    """Seconds of the motion, metres of the way, kg and m."""
    centre, along_y = (0.0, 0.0, length / 2.0), np.array([0.0, 1.0, 0.0])
    inertia = rod_mass * length**2 / 12.0 * np.diag([1.0, 1.0, 0.0])
    slide = dynamics.Joint("cart", "prismatic", axis=np.array([1.0, 0.0, 0.0]))
    pivot = dynamics.Joint("lower", axis=along_y)
    hinge = dynamics.Joint("upper", axis=along_y, position=np.array([0.0, 0.0, length]))
    bodies = [
        dynamics.Body("cart", slide, mass=cart_mass),
        dynamics.Body("lower rod", pivot, "cart", rod_mass, centre, inertia),
        dynamics.Body("upper rod", hinge, "lower rod", rod_mass, centre, inertia),
    ]
    robot = dynamics.RigidBodyModel(bodies, gravity=(0.0, 0.0, -9.81), name="double_pendulum_cart")

    mesh = trajopt.Trajectory.collocation(intervals, order, duration=duration)
    problem = trajopt.Problem(robot, mesh, name="double_pendulum_cart")
    problem.passive("lower", "upper")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[distance, 0.0, 0.0], v=0.0)
    problem.minimize(trajopt.tau[0] ** 2, name="effort")
    return problem
