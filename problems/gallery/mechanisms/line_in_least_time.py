"""The tip of an arm follows a straight line in the least time that its torques allow.

    minimize T   subject to   M(q) q'' + C(q, v) v = tau,   |tau| <= limits,   q = p(s(t)),   s: 0 -> 1

from rest to rest, in the horizontal plane. p(s) are the joint angles at which the tip is at A + s (B - A).
The unknown curve is s(t), one coordinate for two joints (Bobrow, Dubowsky and Gibson 1985). At every time one
torque is at its limit: the elbow's, then the shoulder's forwards, the shoulder's backwards. The mesh has
breakpoints where they change, which makes all pieces smooth: 2e-7 of the time are left, where 60 even
intervals leave 6e-4.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe

REFERENCE = 0.69292932  # greatest s'' and least s'' from both ends until they meet, integrated to 1e-10
REFERENCE_SOURCE = "phase plane, as Bobrow et al. 1985"
CHANGES = (0.131077, 0.541920)  # of the time, where another torque is at its limit


@recipe
def build(
    *,
    intervals: int = 4,
    order: int = 5,
    changes: tuple[float, ...] = CHANGES,
    lengths: tuple[float, float] = (0.4, 0.35),
    masses: tuple[float, float] = (3.0, 1.5),
    torques: tuple[float, float] = (8.0, 3.0),
    start: tuple[float, float] = (0.2, -0.5),
    end: tuple[float, float] = (0.4, 0.5),
) -> trajopt.Problem:
    """Lengths in m, masses in kg (slender rods), torques in N m, points A = `start` and B = `end` in m.

    intervals : between neighbouring `changes`, which are shares of the time
    """
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
    edges = [0.0, *changes, 1.0]
    pieces = [np.linspace(a, b, intervals, endpoint=False) for a, b in pairwise(edges)]
    mesh = trajopt.Trajectory.collocation(np.append(np.concatenate(pieces), 1.0), order)
    problem = trajopt.Problem(on_line, mesh, name="line_in_least_time")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    return problem
