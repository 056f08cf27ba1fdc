"""A quadrotor flies through gates, swiftly and gently: one phase from gate to gate.

    minimize integral_0^T 1 + (f - g)^2 / 200 + w^2 / 50 dt
    subject to   x'' = f sin th,   z'' = f cos th - g,   th' = w

in a vertical plane, with thrust per mass 1 <= f <= 20 m/s^2 and turning rate |w| <= 10 rad/s. It starts and
ends hovering and passes every gate inside of it, a window in height, in any direction. States go on through
the gates; the times between them are free.
Source: the model and its limits are those of Hehn, Ritz and D'Andrea, Autonomous Robots 33, 2012.
"""

from __future__ import annotations

import itertools

import numpy as np

import trajopt
from problems.recipe import recipe

REFERENCE = 3.80191
REFERENCE_SOURCE = "finer meshes"

GRAVITY = 9.81
STATES = ("x", "z", "vx", "vz", "tilt")
UNITS = {"x": "m", "z": "m", "vx": "m/s", "vz": "m/s", "tilt": "rad", "thrust": "m/s^2", "turn": "rad/s"}


def rates(node):
    """Velocities, accelerations, turning rate."""
    return [
        node.vx,
        node.vz,
        node.thrust * np.sin(node.tilt),
        node.thrust * np.cos(node.tilt) - GRAVITY,
        node.turn,
    ]


@trajopt.term
def haste(node):
    """Time, and the squares of thrust beyond weight and of turning."""
    return 1.0 + (node.thrust - GRAVITY) ** 2 / 200.0 + node.turn**2 / 50.0


@recipe
def build(
    *,
    intervals: int = 20,
    order: int = 3,
    gates: tuple[tuple[float, float], ...] = ((3.0, 2.0), (6.0, -1.0)),
    goal: tuple[float, float] = (9.0, 0.0),
    opening: float = 0.5,
) -> trajopt.Phases:
    """Places (x, z) of the middles of the gates and of the goal, height of the gates' openings, m."""

    def draw(node):
        """The posts of the gates, the arm of the rotors, and its middle."""
        across, up = 0.22 * np.cos(node.tilt), -0.22 * np.sin(node.tilt)
        posts = [
            [(x, z + side * opening / 2.0), (x, z + side * 0.9)] for x, z in gates for side in (-1.0, 1.0)
        ]
        arm = [(node.x - across, node.z - up), (node.x + across, node.z + up)]
        return [*posts, arm, [(node.x, node.z)]]

    quadrotor = trajopt.system(STATES, ("thrust", "turn"), rates, units=UNITS, draw=draw)
    places = ((0.0, 0.0), *gates, goal)

    phases = []
    for number, (first, last) in enumerate(itertools.pairwise(places)):
        mesh = trajopt.Trajectory.collocation(intervals, order, duration=(0.05, 5.0))
        leg = trajopt.Problem(quadrotor, mesh, name=f"leg {number + 1}")
        leg.control("thrust", lower=1.0, upper=20.0)
        leg.control("turn", lower=-10.0, upper=10.0)
        leg.guess([[*first, 5.0, 0.0, 0.0], [*last, 5.0, 0.0, 0.0]], duration=0.8)
        leg.minimize(haste)
        phases.append(leg)
    phases[0].start_at(x=[0.0, 0.0, 0.0, 0.0, 0.0])
    phases[-1].end_at(x=[*goal, 0.0, 0.0, 0.0])

    flight = trajopt.Phases(*phases, name="quadrotor_gates")
    for (before, after), (x, z) in zip(itertools.pairwise(phases), gates, strict=True):
        before.end_at(x=[x, None, None, None, None])
        before.subject_to(trajopt.state("z"), z - opening / 2.0, z + opening / 2.0, over="end", name="gate")
        flight.link(trajopt.q, before.at("end"), after.at("start"))
    return flight
