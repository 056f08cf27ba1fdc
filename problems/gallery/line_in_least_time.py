"""The tip of an arm follows a straight line in the least time that its torques allow.

    minimize T   subject to   M(q) q'' + C(q, v) v = tau,   |tau| <= limits,   q = p(s(t)),   s: 0 -> 1

from rest to rest, in the horizontal plane. p(s) are the joint angles at which the tip is at A + s (B - A).
The unknown curve is s(t), one coordinate for two joints (Bobrow, Dubowsky and Gibson 1985).
"""

from __future__ import annotations

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe


@recipe
def build(
    *,
    intervals: int = 60,
    lengths: tuple[float, float] = (0.4, 0.35),
    masses: tuple[float, float] = (3.0, 1.5),
    torques: tuple[float, float] = (8.0, 3.0),
    start: tuple[float, float] = (0.2, -0.5),
    end: tuple[float, float] = (0.4, 0.5),
) -> trajopt.Problem:
    """Lengths in m, masses in kg (slender rods), torques in N m, points A = `start` and B = `end` in m."""
    bodies, parent, (l1, l2) = [], None, lengths
    at = (0.0, 0.0, 0.0)
    for name, length, mass, torque in zip(("shoulder", "elbow"), lengths, masses, torques, strict=True):
        joint = dynamics.Joint(name, position=at, limits=dynamics.JointLimits.symmetric(torque=torque))
        inertia = np.diag([0.0, 1.0, 1.0]) * mass * length**2 / 12.0
        bodies.append(
            dynamics.Body(f"link of {name}", joint, parent, mass, (length / 2.0, 0.0, 0.0), inertia)
        )
        parent, at = f"link of {name}", (length, 0.0, 0.0)
    tip = dynamics.Frame("tip", parent, position=at)
    arm = dynamics.RigidBodyModel(bodies, (0.0, 0.0, -9.81), "line_in_least_time", frames=[tip])

    def line(s):
        """The joint angles with the elbow to the right of the line from shoulder to tip."""
        x, y = (a + s * (b - a) for a, b in zip(start, end, strict=True))
        elbow = np.arccos((x**2 + y**2 - l1**2 - l2**2) / (2.0 * l1 * l2))
        return [np.arctan2(y, x) - np.arctan2(l2 * np.sin(elbow), l1 + l2 * np.cos(elbow)), elbow]

    on_line = trajopt.on_path(arm, line)
    problem = trajopt.Problem(on_line, trajopt.Trajectory.uniform(intervals), name="line_in_least_time")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    return problem
