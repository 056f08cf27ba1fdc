"""A four-bar linkage is swung from one angle of its crank to another by one motor, with the least effort.

    minimize integral_0^T tau_crank^2 dt   subject to   end of the coupler = end of the rocker,   T = 1 s
                                                        tau_coupler = tau_rocker = 0

from rest to rest in the vertical plane, against gravity. Joints are a tree, crank and coupler beside the
rocker; the hinge that closes the loop is a constraint, and its force an unknown. Uniform rods, the ground
bar 0.5 m. Tests hold the force of the hinge against Newton and Euler's equations of every link.
"""

from __future__ import annotations

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe

REFERENCE = 3.21574105
REFERENCE_SOURCE = "finer meshes"
NEAR = (0.5, 0.5, 1.5)  # rad, near which the linkage is closed with its hinge above the ground bar


@recipe
def build(
    *,
    intervals: int = 20,
    order: int = 4,
    duration: float = 1.0,
    crank: tuple[float, float] = (0.2, 1.0),
    coupler: tuple[float, float] = (0.6, 2.0),
    rocker: tuple[float, float] = (0.5, 1.5),
    ground: float = 0.5,
    start: float = 0.5,
    end: float = 2.0,
) -> trajopt.Problem:
    """A four-bar linkage whose crank turns from `start` to `end`, rad, in `duration`, s.

    crank, coupler, rocker : length, m, and mass, kg, of each;   ground : m, between the fixed pivots
    """
    bodies, ends = [], []
    for name, (length, mass), parent, at in (
        ("crank", crank, None, 0.0),
        ("coupler", coupler, "crank", crank[0]),
        ("rocker", rocker, None, ground),
    ):
        pivot = dynamics.Joint(f"{name}_joint", position=np.array([at, 0.0, 0.0]))
        inertia = mass * length**2 / 12.0 * np.diag([0.0, 1.0, 1.0])
        bodies.append(dynamics.Body(name, pivot, parent, mass, (length / 2.0, 0.0, 0.0), inertia))
        ends.append(dynamics.Frame(f"{name}_end", name, position=np.array([length, 0.0, 0.0])))
    robot = dynamics.RigidBodyModel(bodies, (0.0, -9.81, 0.0), "four_bar", frames=ends)

    mesh = trajopt.Trajectory.collocation(intervals, order, duration=duration)
    problem = trajopt.Problem(robot, mesh, name="four_bar")
    problem.close_loop("coupler_end", "rocker_end", "pin", axis=(0.0, 0.0, 1.0), near=NEAR, name="hinge")
    problem.passive("coupler_joint", "rocker_joint")
    problem.start_at(q=[start, None, None], v=0.0)
    problem.end_at(q=[end, None, None], v=0.0)
    problem.minimize(trajopt.tau[0] ** 2, name="effort")
    return problem
