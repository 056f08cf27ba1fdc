"""A long motion that happens at its ends: the hypersensitive problem of Rao and Mease.

    minimize 1/2 integral_0^T x^2 + u^2 dt   subject to   x' = -x^3 + u,   x(0) = 3/2,  x(T) = 1

with T = 10000: x falls to zero within seconds, rests, and rises at the end. For T to infinity the Hamiltonian
is zero, so u = x^3 -+ sqrt(x^6 + x^2) on the way down and up, and the cost is the integral of |u| over x:

    J = F(3/2) - (3/2)^4 / 4 + F(1) + 1 / 4,     F(a) = (a^2 sqrt(a^4 + 1) + asinh a^2) / 4.

Breakpoints crowd towards both ends, where they are needed. x and u have no units.
Source: Rao and Mease, Optimal Control Applications and Methods 21, 2000, where T is 10000 and more.
"""

from __future__ import annotations

import math

import numpy as np

import trajopt
from problems.recipe import recipe


def exact_objective(first: float, last: float) -> float:
    """The cost for T to infinity."""
    primitive = [0.25 * (a**2 * math.sqrt(a**4 + 1.0) + math.asinh(a**2)) for a in (first, last)]
    return sum(primitive) - first**4 / 4.0 + last**4 / 4.0


REFERENCE = exact_objective(1.5, 1.0)
REFERENCE_SOURCE = "closed form for long motions"


@trajopt.term
def cost(node):
    """x^2 + u^2, (1,)."""
    return node.x**2 + node.u**2


@recipe
def build(
    *, intervals: int = 60, order: int = 4, duration: float = 10000.0, layer: float = 20.0
) -> trajopt.Problem:
    """Duration in s; `layer` are the seconds at both ends that all intervals but one share."""
    system = trajopt.system(states=("x",), controls=("u",), rates=lambda node: [node.u - node.x**3])

    near = np.linspace(0.0, 1.0, intervals // 2 + 1) ** 1.5 * layer / duration
    breakpoints = np.concatenate([near, 1.0 - near[::-1]])
    mesh = trajopt.Trajectory.collocation(breakpoints, order, duration=duration)
    problem = trajopt.Problem(system, mesh, name="hypersensitive")
    problem.start_at(x=[1.5])
    problem.end_at(x=[1.0])
    problem.minimize(cost, weight=0.5)
    return problem
