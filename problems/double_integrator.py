"""Unit mass brought to rest at the origin in minimum time by a bounded force.

    minimize T   subject to   x'' = u,   x(0) = -1,   x(T) = 0,   at rest at both ends,   |u| <= 1

The optimum pushes fully, then brakes fully, switching at half time: T* = 2 s, in general 2 sqrt(m d / F).
Quadratic splines with a knot in the middle contain it. Source: Bryson and Ho, Applied Optimal Control, 3.9.
"""

from __future__ import annotations

import math

import dynamics
import trajopt
from problems.recipe import recipe

REFERENCE = 2.0  # s, exact
REFERENCE_SOURCE = "closed form, Bryson and Ho 3.9"


def exact_duration(mass: float, distance: float, force: float) -> float:
    """2 sqrt(m d / F), from half the distance under constant acceleration in half the time."""
    return 2.0 * math.sqrt(mass * distance / force)


@recipe
def build(
    *,
    intervals: int = 10,
    degree: int = 2,
    duration: tuple[float, float] = (0.01, 100.0),
    mass: float = 1.0,
    distance: float = 1.0,
    force: float = 1.0,
) -> trajopt.Problem:
    """Durations in s, mass in kg, distance in m, force in N; an even number of intervals meets the switch."""
    slide = dynamics.DhRow(
        name="slide", kind="prismatic", mass=mass, limits=dynamics.JointLimits.symmetric(torque=force)
    )
    model = dynamics.from_dh([slide], gravity=(0.0, 0.0, 0.0), name="double_integrator")

    problem = trajopt.Problem(
        model, trajopt.Trajectory.uniform(intervals, degree, duration), name="double_integrator"
    )
    problem.start_at(q=-distance, v=0.0)
    problem.end_at(q=0.0, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem
