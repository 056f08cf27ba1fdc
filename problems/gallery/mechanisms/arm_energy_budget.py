"""A two-link arm moved in the least time that an energy budget allows.

    minimize T   subject to   M(q) q'' + C(q, v) v + g(q) = tau,   integral_0^T |tau|^2 dt <= budget

from rest to rest in the vertical plane. |tau|^2 is what geared motors turn into heat, but for a factor. The
least budget for a time T falls as T grows while the motion is fast, so that both problems have the same
motion: the least integral of |tau|^2 in the time found here is the budget.
"""

from __future__ import annotations

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe

REFERENCE = 0.240714138
REFERENCE_SOURCE = "finer meshes"


@trajopt.term(unit="N^2 m^2")
def squared_torque(node):
    """|tau|^2, (1,)."""
    return node.tau.T @ node.tau


@recipe
def build(
    *,
    intervals: int = 80,
    lengths: tuple[float, float] = (0.4, 0.35),
    masses: tuple[float, float] = (3.0, 1.5),
    budget: float = 400.0,
    q_start: tuple[float, float] = (-1.0, 0.0),
    q_end: tuple[float, float] = (0.5, 0.8),
) -> trajopt.Problem:
    """Lengths in m, masses in kg (slender rods), budget in N^2 m^2 s, angles in rad."""
    rods = []
    for name, length, mass in zip(("shoulder", "elbow"), lengths, masses, strict=True):
        inertia = np.diag([0.0, 1.0, 1.0]) * mass * length**2 / 12.0
        centre = (-length / 2.0, 0.0, 0.0)
        rods.append(dynamics.DhRow(name=name, a=length, mass=mass, centre_of_mass=centre, inertia=inertia))
    arm = dynamics.from_dh(rods, gravity=(0.0, -9.81, 0.0), name="arm_energy_budget")

    problem = trajopt.Problem(arm, trajopt.Trajectory.uniform(intervals), name="arm_energy_budget")
    problem.start_at(q=q_start, v=0.0)
    problem.end_at(q=q_end, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to(trajopt.integral(squared_torque), upper=budget, name="energy")
    return problem
