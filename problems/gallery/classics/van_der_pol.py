"""An oscillator with negative damping brought to rest: the Van der Pol problem.

    minimize integral_0^5 x^2 + y^2 + u^2 dt   subject to   x' = (1 - y^2) x - y + u,  y' = x

from (0, 1), with -0.3 <= u <= 1. The control leaves its lower bound at 0.0487 s and is at the upper one from
1.047 s to 1.434 s; intervals end there, as a polynomial meets a kink only at its end. Four to eight times as
many intervals give 2.86726104, meshes without these ends 2.86726. States and control have no units.
Source: Balsa Canto, Banga, Alonso and Vassiliadis, Computers and Chemical Engineering 26, 2002, section 6.1.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

import trajopt
from problems.recipe import recipe


def rates(node):
    """x' = (1 - y^2) x - y + u, y' = x."""
    return [(1.0 - node.y**2) * node.x - node.y + node.u, node.x]


REFERENCE = 2.867261
REFERENCE_SOURCE = "finer meshes; PROPT's user's guide has 2.86726"


@trajopt.term
def cost(node):
    """x^2 + y^2 + u^2, (1,)."""
    return node.x**2 + node.y**2 + node.u**2


@recipe
def build(
    *,
    intervals: int = 16,
    order: int = 4,
    duration: float = 5.0,
    lower: float = -0.3,
    upper: float = 1.0,
    kinks: tuple[float, ...] = (0.0487, 1.04704, 1.43378),
) -> trajopt.Problem:
    """Duration and kinks of the control in s; each part between them has as many intervals."""
    oscillator = trajopt.system(states=("x", "y"), controls=("u",), rates=rates)

    ends, each = (0.0, *kinks, duration), intervals // (len(kinks) + 1)
    parts = [np.linspace(first, last, each + 1)[1:] for first, last in pairwise(ends)]
    breakpoints = np.concatenate([[0.0], *parts]) / duration
    mesh = trajopt.Trajectory.collocation(breakpoints, order, duration=duration)
    problem = trajopt.Problem(oscillator, mesh, name="van_der_pol")
    problem.control("u", lower, upper)
    problem.start_at(x=[0.0, 1.0])
    problem.minimize(cost)
    return problem
