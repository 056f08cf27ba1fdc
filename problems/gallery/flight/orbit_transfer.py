"""A ship with a small constant thrust climbs to the largest circular orbit in a given time.

    maximize r(T)   subject to   r' = u,   u' = v^2 / r - 1 / r^2 + a sin(phi),   v' = -u v / r + a cos(phi)

with a = thrust / (1 - burn t), from the circular orbit (r, u, v) = (1, 0, 1) to u(T) = 0, v(T) = r(T)^(-1/2).
r is the distance from the sun, u and v are the radial and the tangential velocity. The controls are the
components of the direction of the thrust, radial = sin(phi) and tangential = cos(phi), whose length is one.
In the middle phi turns by 90 degrees within a thirtieth of the time, so breakpoints crowd there.
No quantity has a unit: lengths, speeds and masses are those of the first orbit and of the full ship, time is
its period / 2 pi. From the earth's orbit, 3.32 is 193 days, and 0.0749 burns 12.9 of 10,000 pounds a day.
Source: Moyer and Pinkham, in Computing Methods in Optimization Problems, 1964; Bryson and Ho, Applied Optimal
Control, 1975, section 2.5. The tests of the code YAPSS have 1.5252777.
"""

from __future__ import annotations

import numpy as np

import trajopt
from problems.recipe import recipe

REFERENCE = -1.525277700649
REFERENCE_SOURCE = "Pontryagin's principle by shooting; YAPSS has 1.5252777"


@trajopt.term
def length(node):
    """radial^2 + tangential^2, (1,)."""
    return node.radial**2 + node.tangential**2


@trajopt.term
def circular(node):
    """r v^2, one on a circular orbit, (1,)."""
    return node.r * node.v**2


@recipe
def build(
    *,
    intervals: int = 16,
    order: int = 5,
    duration: float = 3.32,
    thrust: float = 0.1405,
    burn: float = 0.0749,
) -> trajopt.Problem:
    """Thrust and mass rate of a ship of mass one; `intervals` share the time, narrow in the middle."""

    def rates(node):
        a = thrust / (1.0 - burn * node.t)
        return [
            node.u,
            node.v**2 / node.r - 1.0 / node.r**2 + a * node.radial,
            -node.u * node.v / node.r + a * node.tangential,
        ]

    ship = trajopt.system(states=("r", "u", "v"), controls=("radial", "tangential"), rates=rates)

    even = np.linspace(-1.0, 1.0, intervals + 1)
    mesh = trajopt.Trajectory.collocation(0.5 + 0.5 * even * np.abs(even), order, duration=duration)
    problem = trajopt.Problem(ship, mesh, name="orbit_transfer")
    problem.control("radial", guess=0.0)
    problem.control("tangential", guess=0.5)
    problem.subject_to(length, equals=1.0, name="direction")
    problem.start_at(x=[1.0, 0.0, 1.0])
    problem.end_at(x=[None, 0.0, None])
    problem.subject_to(circular, equals=1.0, over="end", name="circular orbit")
    problem.minimize(-trajopt.state("r"), over="end")
    problem.guess([[1.0, 0.0, 1.0], [1.5, 0.0, 0.8]])
    return problem
