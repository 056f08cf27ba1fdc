"""Robot arm with an extending rod, turned in minimum time: a benchmark with dynamics written by hand.

    minimize T   subject to   L a_rho = f,   I sin(phi)^2 a_theta = m_theta,   I a_phi = m_phi,
             I = ((L - rho)^3 + rho^3) / 3,   |f|, |m_theta|, |m_phi| <= 1

for (rho, theta, phi) from (4.5, 0, pi/4) to (4.5, 2 pi/3, pi/4), at rest at both ends. The equations are
no rigid body's, so they enter through the Dynamics protocol: any class with these five members will do.
Source: the robot arm of the COPS collection of optimization problems, for which Betts, Practical Methods for
Optimal Control, reports T = 9.14093620. The optimum is bang-bang with five switches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import trajopt
from problems.recipe import recipe
from trajopt.base.arrays import Array
from trajopt.graph.protocols import Block
from trajopt.graph.trace import trace

JOINTS = ("extension", "azimuth", "elevation")
PUBLISHED_DURATION = 9.14093620


class Limits:
    """Limits of the joints, (3,): torques of size one, the rest infinite."""

    q_lower, q_upper, velocity = np.full(3, -np.inf), np.full(3, np.inf), np.full(3, np.inf)
    torque_lower, torque_upper = np.full(3, -1.0), np.full(3, 1.0)


class ExtendingArm:
    """The three equations above, traced into CasADi for exact derivatives."""

    n, joint_names, limits = 3, JOINTS, Limits()

    def __init__(self, length: float) -> None:
        self.length = length

    def block(self, outputs: Sequence[str], loads: Sequence[str] = ()) -> Block:
        """The block that computes the torques from q and a, the only quantity of this arm."""
        return trace(self._torques, "tau", lambda quantity: self.n)

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations (..., 3), for the simulation of an answer."""
        inertia = self._inertia(q[..., 0])
        return tau / np.stack(
            [0.0 * inertia + self.length, inertia * np.sin(q[..., 2]) ** 2, inertia], axis=-1
        )

    def _torques(self, node: Any) -> list[Any]:
        import casadi

        inertia = self._inertia(node.q[0])
        return [
            self.length * node.a[0],
            inertia * casadi.sin(node.q[2]) ** 2 * node.a[1],
            inertia * node.a[2],
        ]

    def _inertia(self, rho: Any) -> Any:
        return ((self.length - rho) ** 3 + rho**3) / 3.0


@recipe
def build(
    *,
    intervals: int = 20,
    degree: int = 3,
    nodes_per_span: int = 4,
    duration: tuple[float, float] = (1.0, 50.0),
    length: float = 5.0,
    q_start: tuple[float, float, float] = (4.5, 0.0, math.pi / 4),
    q_end: tuple[float, float, float] = (4.5, 2.0 * math.pi / 3, math.pi / 4),
) -> trajopt.Problem:
    """All numbers in the units of the benchmark, which has none."""
    trajectory = trajopt.Trajectory.uniform(intervals, degree, duration, nodes_per_span)
    problem = trajopt.Problem(ExtendingArm(length), trajectory, name="betts_robot_arm")
    problem.start_at(q=q_start, v=0.0)
    problem.end_at(q=q_end, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to_joint_limits()
    return problem
