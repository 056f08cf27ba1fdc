"""A container crane lifts its load over to a ship, with the least swinging: Sakawa and Shindo's problem.

    minimize 1/2 integral_0^9 (theta^2 + theta'^2 + 0.01 (u_1^2 + u_2^2)) dt   subject to
    x'' = u_1 + 17.2656 theta,   l'' = u_2,   l theta'' = -(u_1 + 27.0756 theta + 2 l' theta')

with the trolley at x, a rope of length l and the load's swing theta, from (x, l) = (0, 22) m, where the load
is lowered at 1 m/s, to (10, 14) m, where the trolley goes on at 2.5 m/s and nothing swings.
Motors: |u_1| <= 2.83374, -0.80865 <= u_2 <= 0.71265 m/s^2; speeds: |x'| <= 2.5, |l'| <= 1 m/s.
Source: Sakawa and Shindo, Automatica 18(3), 1982; the weight of the controls is that of Augustin and Maurer,
in Online Optimization of Large Scale Systems, 2001. Test sets of other codes quote 0.0375195 and
0.0375194596 without a source; meshes of 80 to 160 intervals agree on 0.03751946.
"""

from __future__ import annotations

import numpy as np

import trajopt
from problems.recipe import recipe

REFERENCE = 0.0375194614
REFERENCE_SOURCE = "finer meshes; 0.0375195 is quoted without a source"


def rates(node):
    """Speeds and accelerations of trolley, rope and swing."""
    swing = node.trolley + 27.0756 * node.theta + 2.0 * node.dl * node.dtheta
    return [
        node.dx,
        node.dl,
        node.dtheta,
        node.trolley + 17.2656 * node.theta,
        node.hoist,
        -swing / node.l,
    ]


def picture(node):
    """The rail, and the rope from the trolley to the load."""
    load = (node.x + node.l * np.sin(node.theta), -node.l * np.cos(node.theta))
    return [[(-1.0, 0.0), (11.0, 0.0)], [(node.x, 0.0), load]]


@trajopt.term
def swinging(node):
    """theta^2 + theta'^2, and a hundredth of the squared controls."""
    return node.theta**2 + node.dtheta**2 + 0.01 * (node.trolley**2 + node.hoist**2)


@recipe
def build(*, intervals: int = 20, order: int = 4, duration: float = 9.0) -> trajopt.Problem:
    """Seconds of the whole motion."""
    units = {"x": "m", "l": "m", "theta": "rad", "dx": "m/s", "dl": "m/s", "dtheta": "rad/s"}
    units |= {"trolley": "m/s^2", "hoist": "m/s^2"}
    states = ("x", "l", "theta", "dx", "dl", "dtheta")
    crane = trajopt.system(states, ("trolley", "hoist"), rates, units=units, draw=picture)

    mesh = trajopt.Trajectory.collocation(intervals, order, duration=duration)
    problem = trajopt.Problem(crane, mesh, name="container_crane")
    problem.control("trolley", lower=-2.83374, upper=2.83374)
    problem.control("hoist", lower=-0.80865, upper=0.71265)
    problem.start_at(x=[0.0, 22.0, 0.0, 0.0, -1.0, 0.0])
    problem.end_at(x=[10.0, 14.0, 0.0, 2.5, 0.0, 0.0])
    problem.subject_to(trajopt.state("dx"), -2.5, 2.5, name="speed of the trolley")
    problem.subject_to(trajopt.state("dl"), -1.0, 1.0, name="speed of the rope")
    problem.minimize(swinging, weight=0.5)
    return problem
