"""Damped mass driven with least effort between two states: Kirk's example 5.1-1.

    minimize 1/2 integral_0^T u^2 dt   subject to   x'' = -x' + u,   (x, x') from (0, 0) to (5, 2)

with T = 2 s. The system is linear, so with the response w(s) = (1 - exp(-s), exp(-s)) to an impulse and the
Gramian W = integral_0^T w w' ds the least effort is 1/2 x_T' W^-1 x_T, here 16.7507234. The force u, mass
times acceleration plus damping, is a term: the motor's force is not what the joint's inertia alone asks for.
Source: Kirk, Optimal Control Theory, 1970, example 5.1-1.
"""

from __future__ import annotations

import math

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe


def exact_objective(x: float, v: float, duration: float) -> float:
    """1/2 x_T' W^-1 x_T with the Gramian's integrals in closed form."""
    once, twice = 1.0 - math.exp(-duration), 0.5 * (1.0 - math.exp(-2.0 * duration))
    W = np.array([[duration - 2.0 * once + twice, once - twice], [once - twice, twice]])
    end = np.array([x, v])
    return float(0.5 * end @ np.linalg.solve(W, end))


REFERENCE = exact_objective(5.0, 2.0, 2.0)
REFERENCE_SOURCE = "closed form, Kirk 5.1-1"


@trajopt.term
def drive(node):
    """Force that moves unit mass against unit damping, (1,) N."""
    return node.tau + node.v


@recipe
def build(
    *, intervals: int = 10, degree: int = 5, duration: float = 2.0, x_end: float = 5.0, v_end: float = 2.0
) -> trajopt.Problem:
    """Duration in s, end state in m and m/s; mass and damping are one."""
    slide = dynamics.DhRow(name="slide", kind="prismatic", mass=1.0)
    model = dynamics.from_dh([slide], gravity=(0.0, 0.0, 0.0), name="kirk")

    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(intervals, degree, duration), name="kirk")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=x_end, v=v_end)
    problem.minimize(drive**2, weight=0.5, name="effort")
    return problem
