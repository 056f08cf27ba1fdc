"""A mass pushed along a line in minimum time: the problem whose optimum is known in closed form.

    minimize T   subject to   x(0) = 0, x(T) = distance, at rest at both ends,   |f| <= force, |v| <= velocity

Full force, then full brake, T* = 2 sqrt(mass distance / force) = 0.4 s by default; where the speed limit
binds, T* = distance / velocity + mass velocity / force.
"""

from __future__ import annotations

import math

import dynamics
import trajopt
from problems.recipe import recipe

EXACT_DURATION = 0.4  # s, for the default data


@recipe
def build(
    *,
    intervals: int = 20,
    degree: int = 3,
    nodes_per_span: int = 4,
    duration: tuple[float, float] = (0.01, 10.0),
    mass: float = 2.0,
    distance: float = 1.0,
    force: float = 50.0,
    velocity: float = math.inf,
) -> trajopt.Problem:
    """Durations in s, mass in kg, distance in m, force in N, velocity in m/s."""
    slide = dynamics.DhRow(
        name="slide",
        kind="prismatic",
        mass=mass,
        limits=dynamics.JointLimits.symmetric(velocity=velocity, torque=force),
    )
    model = dynamics.from_dh([slide], gravity=(0.0, 0.0, 0.0), name="sliding_mass")

    trajectory = trajopt.Trajectory.uniform(intervals, degree, duration, nodes_per_span)
    problem = trajopt.Problem(model, trajectory, name="sliding_mass")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=distance, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem
