"""A person stands up from a seat with the least effort: trunk forward, seat off, up.

    minimize  integral_0^T sum_i (tau_i / s_i)^2 + w sum_i a_i^2 dt,   s_i the strength of both sides together
    subject to  seated: ankle and knee stay, the seat pushes upward only;  then the seat carries nothing
                pressure of the feet between heel and toe,  upward,  inside the friction cone
                from sitting upright to standing, at rest at both ends

When the seat is left is free. The feet stand; the body is that of the skeleton, both sides as one. No
published optimum: tests hold the motion against momentum and the seat's force against weight.
"""

from __future__ import annotations

import numpy as np

import trajopt
from problems.human.body.sagittal_body import effort_of, feet_carry, posture, sagittal_body
from problems.recipe import recipe
from trajopt import ArcNodes

SEATED, RISING = range(2)  # arcs


@recipe
def build(
    *,
    intervals: int = 6,
    height: float = 1.75,
    mass: float = 75.0,
    duration: float = 1.6,
    ankle: float = 15.0,
    knee: float = 95.0,
    friction: float = 0.7,
    smoothness: float = 1e-4,
) -> trajopt.Problem:
    """Height in m, mass in kg, duration in s; ankle and knee, degrees, say how the person sits.

    smoothness : s^4, weight of squared angular accelerations
    """
    body = sagittal_body(height, mass)
    sitting = posture(body, ankle=ankle, knee=knee, hip=knee - ankle)
    parts = ((0.15 * duration, 0.7 * duration), (0.3 * duration, duration))
    arcs = tuple(
        trajopt.Arc(trajopt.SplineBasis.uniform(intervals, 5), part, nodes_per_span=5) for part in parts
    )
    problem = trajopt.Problem(body, trajopt.Trajectory(arcs, continuity=2), name="sit_to_stand")
    problem.start_at(q=sitting, v=0.0)
    problem.end_at(q=0.0, v=0.0)
    problem.subject_to(trajopt.duration, equals=duration, name="duration")
    ankle_and_knee = slice(0, 2)
    seated, stay = ArcNodes(SEATED, "whole"), sitting[ankle_and_knee]
    problem.subject_to(trajopt.q[ankle_and_knee], equals=stay, over=seated, name="seated")
    seat = problem.extra("seat", lower=0.0, upper=1.5, guess=0.5, unit="BW")
    problem.subject_to(seat, equals=0.0, over=ArcNodes(RISING, "whole"), name="the seat carries nothing")
    feet_carry(problem, body, friction, seat="seat")
    problem.subject_to_joint_limits()
    problem.minimize(effort_of(body), name="effort")
    problem.minimize(trajopt.a**2, smoothness, name="smoothness")
    problem.guess(
        np.array([sitting, sitting + posture(body, hip=30.0), posture(body)]),
        duration=[0.35 * duration, 0.65 * duration],
    )
    return problem
