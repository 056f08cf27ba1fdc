"""A person lifts a box from a low shelf to the chest with the least effort: knees and back share the load.

    minimize  integral_0^T sum_i (tau_i / s_i)^2 + w sum_i a_i^2 dt,   s_i the strength of both sides together
    subject to  the hands begin at the box and end in front of the chest, at rest
                the box passes in front of the knees
                pressure of the feet between heel and toe,  upward,  inside the friction cone

The posture at the start is free: who squats and who stoops follows from the cost. The box is a mass in the
hands. No published optimum: tests hold the motion against momentum and against the work done on the box.
"""

from __future__ import annotations

import numpy as np

import trajopt
from problems.human.body.sagittal_body import effort_of, feet_carry, posture, sagittal_body
from problems.recipe import recipe
from trajopt import ArcNodes


@trajopt.term(unit="m")
def hand_before_knee(node):
    """Distance of the hands in front of the knees."""
    return node.position("hand")[0] - node.position("thigh")[0]


@recipe
def build(
    *,
    intervals: int = 8,
    height: float = 1.75,
    mass: float = 75.0,
    box: float = 12.0,
    duration: float = 1.5,
    low: tuple[float, float] = (0.45, 0.4),
    high: tuple[float, float] = (0.35, 1.15),
    depth: float = 0.15,
    friction: float = 0.7,
    smoothness: float = 1e-4,
) -> trajopt.Problem:
    """Height in m, masses in kg, duration in s.

    low, high : places of the hands, m in front of the ankles and above the ground
    depth : m from the hands to the near side of the box, which passes the knees
    """
    body = sagittal_body(height, mass, carried=box)
    problem = trajopt.Problem(body, trajopt.Trajectory.uniform(intervals, 5, duration, 5), name="lift_box")
    problem.start_at(v=0.0)
    problem.end_at(v=0.0)
    for name, over, place in (("low", ArcNodes(0, "start"), low), ("high", ArcNodes(0, "end"), high)):
        problem.subject_to(trajopt.position("hand")[:2], equals=place, over=over, name=f"hands {name}")
    problem.subject_to(hand_before_knee, lower=depth, name="the box passes the knees")
    feet_carry(problem, body, friction)
    problem.subject_to_joint_limits()
    problem.minimize(effort_of(body), name="effort")
    problem.minimize(trajopt.a**2, smoothness, name="smoothness")
    crouched = posture(body, ankle=20.0, knee=80.0, hip=90.0, shoulder=50.0, elbow=20.0)
    problem.guess(np.array([crouched, posture(body, shoulder=20.0, elbow=80.0)]))
    return problem
