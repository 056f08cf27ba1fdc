"""A unit mass is turned round with least effort before a wall: Bryson and Denham's problem.

    minimize 1/2 integral_0^1 u^2 dt   subject to   x' = v,  v' = u,   x <= wall

from (x, v) = (0, 1) to (0, -1). For walls up to 1/6 the mass rides along the wall, and the least effort is
4 / (9 wall).
Source: Bryson and Ho, Applied Optimal Control, 1975, section 3.11.
"""

from __future__ import annotations

import trajopt
from problems.recipe import recipe

REFERENCE = 4.0
REFERENCE_SOURCE = "closed form, Bryson and Ho 3.11"


@trajopt.term(unit="m^2/s^4")
def effort(node):
    """u^2, (1,)."""
    return node.u**2


@recipe
def build(*, intervals: int = 9, order: int = 3, wall: float = 1.0 / 9.0) -> trajopt.Problem:
    """Place of the wall in m; it is reached at t = 3 wall, where an interval ends by default."""
    units = {"x": "m", "v": "m/s", "u": "m/s^2"}
    mass = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u], units=units)

    mesh = trajopt.Trajectory.collocation(intervals, order, duration=1.0)
    problem = trajopt.Problem(mass, mesh, name="bryson_denham")
    problem.start_at(x=[0.0, 1.0])
    problem.end_at(x=[0.0, -1.0])
    problem.subject_to(trajopt.state("x"), upper=wall, name="wall")
    problem.minimize(effort, weight=0.5)
    return problem
