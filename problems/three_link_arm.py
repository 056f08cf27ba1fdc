"""Planar arm with three revolute joints, moved in minimum time under torque limits.

    minimize T   subject to   q(0), q(T) given, at rest at both ends,   |tau| <= torque, |v| <= velocity

in a horizontal plane: three alike links, motors that weaken towards the hand. All three torques are
bang-bang, with six switches in all for the default data.
"""

from __future__ import annotations

import math

import dynamics
import trajopt
from problems.recipe import recipe


@recipe
def build(
    *,
    intervals: int = 20,
    degree: int = 3,
    nodes_per_span: int = 4,
    duration: tuple[float, float] = (0.05, 10.0),
    q_start: tuple[float, float, float] = (0.0, -1.5, -1.0),
    q_end: tuple[float, float, float] = (1.0, -0.5, 0.5),
    lengths: tuple[float, float, float] = (0.4, 0.4, 0.4),
    masses: tuple[float, float, float] = (0.5, 0.5, 0.5),
    inertias: tuple[float, float, float] = (0.1, 0.1, 0.1),
    torque: tuple[float, float, float] = (10.0, 6.0, 3.0),
    velocity: tuple[float, float, float] = (math.inf, math.inf, math.inf),
) -> trajopt.Problem:
    """Lengths in m, masses in kg, inertias in kg m^2 about each link's middle; limits in N m and rad/s."""
    rows = [
        dynamics.DhRow(
            name=name,
            a=lengths[i],
            mass=masses[i],
            centre_of_mass=(-0.5 * lengths[i], 0.0, 0.0),
            inertia=[[0.0, 0.0, 0.0], [0.0, inertias[i], 0.0], [0.0, 0.0, inertias[i]]],
            limits=dynamics.JointLimits.symmetric(velocity=velocity[i], torque=torque[i]),
        )
        for i, name in enumerate(("shoulder", "elbow", "wrist"))
    ]
    model = dynamics.from_dh(rows, gravity=(0.0, 0.0, 0.0), name="three_link_arm")

    trajectory = trajopt.Trajectory.uniform(intervals, degree, duration, nodes_per_span)
    problem = trajopt.Problem(model, trajectory, name="three_link_arm")
    problem.start_at(q=q_start, v=0.0)
    problem.end_at(q=q_end, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem
