"""Cart that swings a pole up with least effort: an underactuated robot, its pole joint without a motor.

    minimize integral_0^T F^2 dt   subject to   hanging at rest at 0 -> upright at rest at 1 m,
                                                tau_pole = 0 at every node,   |F| <= 20 N,   |x| <= 2 m

with T = 2 s, cart 1 kg, pole a point of 0.3 kg on a massless rod of 0.5 m, q = 0 hanging. Converged
collocation gives 58.8077 (58.8839 is quoted where F(T) = 0 is added). It is a local optimum, to
which the straight guess leads (`starts=1`); 57.9448 is found from other starts, as they are solved by
default, and with swing_back, a guess that first goes the other way. The pole's equation holds at
three points per span of a spline of degree five with continuous accelerations, so that there are as many
equations as coefficients of its coordinate. Source: Kelly, SIAM Review 59(4), 2017, section 6 and table 1.
"""

from __future__ import annotations

import math

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe

REFERENCE = 58.8077  # N^2 s
REFERENCE_SOURCE = "Kelly 2017, converged collocation"


@trajopt.term
def pole_torque(node):
    """Torque at the pole's joint, which has no motor, (1,) N m."""
    return node.tau[1]


@trajopt.term
def force(node):
    """Force on the cart, (1,) N."""
    return node.tau[0]


@recipe
def build(
    *,
    intervals: int = 30,
    duration: float = 2.0,
    distance: float = 1.0,
    cart_mass: float = 1.0,
    pole_mass: float = 0.3,
    length: float = 0.5,
    gravity: float = 9.81,
    force_limit: float = 20.0,
    track: float = 2.0,
    swing_back: bool = False,
) -> trajopt.Problem:
    """Duration in s, distance, length and half the track in m, masses in kg, force in N.

    swing_back : start the search from a motion that swings twice; otherwise from the straight line
    """
    # The robot: a cart along x, and on it a pole that turns in the x-z plane, below the cart at q = 0.
    limits = dynamics.JointLimits(-track, track, math.inf, -force_limit, force_limit)
    slide = dynamics.Joint("cart", "prismatic", axis=np.array([1.0, 0.0, 0.0]), limits=limits)
    pivot = dynamics.Joint("pole", "revolute", axis=np.array([0.0, -1.0, 0.0]))
    tip = np.array([0.0, 0.0, -length])
    bodies = [
        dynamics.Body("cart", slide, mass=cart_mass),
        dynamics.Body("pole", pivot, parent="cart", mass=pole_mass, centre_of_mass=tip),
    ]
    model = dynamics.RigidBodyModel(bodies, gravity=(0.0, 0.0, -gravity), name="cart_pole")

    # The motion: degree 5, interior knots three times, so that the acceleration is continuous.
    knots = trajopt.SplineBasis.uniform(intervals).breakpoints
    basis = trajopt.SplineBasis.clamped(knots, 5, np.full(intervals - 1, 3))
    problem = trajopt.Problem(model, trajopt.Trajectory((trajopt.Arc(basis, duration),)), name="cart_pole")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[distance, math.pi], v=0.0)

    problem.minimize(force**2, name="effort")
    problem.passive("pole")
    problem.subject_to_joint_limits()
    if swing_back:
        problem.guess(
            lambda s: np.stack(
                [distance * s + 0.4 * np.sin(math.pi * s), math.pi * s**2 - np.sin(math.pi * s)], axis=-1
            )
        )
    return problem
