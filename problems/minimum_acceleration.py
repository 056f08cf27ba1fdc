"""The smoothest move from rest to rest: least integral of squared acceleration.

    minimize integral_0^T a^2 dt   subject to   x(0) = 0,   x(T) = d,   at rest at both ends

The Euler-Lagrange equation x'''' = 0 makes the optimum a cubic, x = d (3 s^2 - 2 s^3) with s = t / T, whose
cost is 12 d^2 / T^3: exactly 12 for unit distance and time, and cubic splines contain it.
Source: calculus of variations; the torques of a unit mass, so also its least effort.
"""

from __future__ import annotations

import dynamics
import trajopt
from problems.recipe import recipe

REFERENCE = 12.0  # m^2/s^3, exact
REFERENCE_SOURCE = "closed form, a cubic"


def exact_objective(distance: float, duration: float) -> float:
    """12 d^2 / T^3."""
    return 12.0 * distance**2 / duration**3


@recipe
def build(
    *, intervals: int = 8, degree: int = 3, duration: float = 1.0, distance: float = 1.0
) -> trajopt.Problem:
    """Duration in s, distance in m; any number of intervals of degree 3 or more gives the exact optimum."""
    slide = dynamics.DhRow(name="slide", kind="prismatic", mass=1.0)
    model = dynamics.from_dh([slide], gravity=(0.0, 0.0, 0.0), name="minimum_acceleration")

    problem = trajopt.Problem(
        model, trajopt.Trajectory.uniform(intervals, degree, duration), name="minimum_acceleration"
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=distance, v=0.0)
    problem.minimize(trajopt.a**2, name="squared acceleration")
    return problem
