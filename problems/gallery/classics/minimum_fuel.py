"""A mass moved with the least fuel, which burns like the absolute value of the force: bang, off, bang.

    minimize integral_0^T |u| dt   subject to   x' = v,  v' = u,   |u| <= strongest

from rest to rest over a distance. The force is full for t1, zero, and full backwards for t1, with
strongest t1 (T - t1) = distance, so that the fuel is 2 strongest t1.
Source: Athans and Falb, Optimal Control, 1966, chapter 8.
"""

from __future__ import annotations

import math

import numpy as np

import trajopt
from problems.recipe import recipe


def first_switch(duration: float, distance: float, strongest: float) -> float:
    """t1 in s."""
    return 0.5 * (duration - math.sqrt(duration**2 - 4.0 * distance / strongest))


REFERENCE = 2.0 * first_switch(3.0, 1.0, 1.0)
REFERENCE_SOURCE = "closed form, Athans and Falb 1966"


@recipe
def build(
    *, intervals: int = 1, duration: float = 3.0, distance: float = 1.0, strongest: float = 1.0
) -> trajopt.Problem:
    """Seconds, metres, newtons for 1 kg; so many intervals before, between and behind the switches."""
    units = {"x": "m", "v": "m/s", "u": "N"}
    mass = trajopt.system(("x", "v"), ("u",), lambda node: [node.v, node.u], units=units)
    off = first_switch(duration, distance, strongest) / duration

    ends = [0.0, off, 1.0 - off, 1.0]
    breakpoints = np.interp(np.arange(3 * intervals + 1), intervals * np.arange(4), ends)
    mesh = trajopt.Trajectory.collocation(breakpoints, order=2, duration=duration)
    problem = trajopt.Problem(mass, mesh, name="minimum_fuel")
    problem.control("u", -strongest, strongest)
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[distance, 0.0])
    problem.minimize(trajopt.absolute(trajopt.state("u")), name="fuel")
    return problem
