"""A mass moved in the least time that an energy budget allows: a bounded integral on a robot.

    minimize T   subject to   mass x'' = f,   integral_0^T f^2 dt <= budget

from rest to rest over a distance. The least budget for a time T is that of the cubic 3 s^2 - 2 s^3, which is
12 (mass distance)^2 / T^3, so that T = (12 (mass distance)^2 / budget)^(1/3).
"""

from __future__ import annotations

import dynamics
import trajopt
from problems.recipe import recipe


def exact_duration(mass: float, distance: float, budget: float) -> float:
    """T in s."""
    return (12.0 * (mass * distance) ** 2 / budget) ** (1.0 / 3.0)


REFERENCE = exact_duration(2.0, 1.0, 6.0)
REFERENCE_SOURCE = "closed form, a cubic"


@recipe
def build(
    *, intervals: int = 4, mass: float = 2.0, distance: float = 1.0, budget: float = 6.0
) -> trajopt.Problem:
    """Mass in kg, distance in m, budget in N^2 s: what a motor loses as heat, but for a factor."""
    slide = dynamics.DhRow(name="slide", kind="prismatic", mass=mass)
    model = dynamics.from_dh([slide], gravity=(0.0, 0.0, 0.0), name="energy_budget")

    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(intervals), name="energy_budget")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=distance, v=0.0)
    problem.minimize(trajopt.duration)
    problem.subject_to(trajopt.integral(trajopt.tau**2), upper=budget, name="energy")
    return problem
