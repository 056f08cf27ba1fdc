"""A mass on a slide, moved by 1 m with least force, and statements that its motion is judged by."""

from dataclasses import replace

import numpy as np
from hand_written import PointMasses

import trajopt


def slide(*statements, intervals=8, degree=5):
    """A mass of 1 kg that moves by 1 m within 1 s with least force; `statements` are added to the problem."""
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(intervals, degree, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.tau**2, name="force squared")
    for state in statements:
        state(problem)
    return problem


def judged(solution, *statements):
    """The report of a known motion in a problem with further statements."""
    return replace(solution, known_problem=slide(*statements)).verify()


def bump(at, width, height=1.0):
    @trajopt.term
    def bumpy(node):
        return height * np.exp(-(((node.t - at) / width) ** 2))

    return bumpy
