"""A person jumps as high as strength allows, from standing still: down, up, off the toes.

    maximize  h - w integral_0^T sum_i (tau_i / s_i)^2 + r sum_i a_i^2 dt,
    h = y + v_y^2 / 2 g - y(0) at take-off, of the centre of mass
    subject to  the foot stands flat, then on its toe, then nothing carries it;  heel and toe push only
                torques within the strength of both sides, which falls with the speed of shortening

Nothing asks for a countermovement: the person stands upright at the start, and a body that first goes down
has a longer way to push. Arms hang still. h counts from standing. No published optimum: tests hold the jump
against momentum and ballistics.
"""

from __future__ import annotations

import numpy as np

import dynamics
import trajopt
from problems.human.body.model import GRAVITY
from problems.human.body.sagittal_body import (
    effort_of,
    posture,
    sagittal_body,
    stand_on_toes,
    weaken_with_speed,
)
from problems.recipe import recipe
from trajopt import ArcNodes

FLAT, TIPTOE = range(2)  # arcs


@recipe
def build(
    *,
    degree: int = 14,
    height: float = 1.75,
    mass: float = 75.0,
    fastest: float = 15.0,
    friction: float = 0.7,
    effort: float = 0.02,
    smoothness: float = 1e-6,
) -> trajopt.Problem:
    """Degree of the polynomial before the heel rises; height in m, mass in kg.

    fastest : rad/s, at which muscles have no force left
    effort, smoothness : weights, m/s, and m s^3 of squared accelerations
    """
    body = sagittal_body(height, mass, free=True)
    arcs = tuple(  # one polynomial each: its start leaves d - 1 coefficients, for as many Gauss points
        trajopt.Arc(trajopt.SplineBasis.uniform(1, d), part, nodes_per_span=d - 1, rule="gauss")
        for d, part in ((degree, (0.3, 0.8)), (degree - 2, (0.05, 0.2)))
    )
    problem = trajopt.Problem(body, trajopt.Trajectory(arcs), name="countermovement_jump")
    problem.start_at(q=0.0, v=0.0)
    problem.subject_to_joint_limits()
    weaken_with_speed(problem, body, fastest)
    problem.lock("shoulder", "elbow", at=0.0)
    stand_on_toes(problem, body, friction, FLAT, TIPTOE)
    weight, start = mass * GRAVITY, float(dynamics.centre_of_mass(body, np.zeros(body.n))[1])
    rise = problem.parameter("height of the jump", 0.0, 3.0, guess=0.4, unit="m")

    @trajopt.term(unit="m")
    def apex(node):
        """Height of the flight of the centre of mass over standing, less the height asked for."""
        v = node.momentum[4] * GRAVITY / weight
        return node.centre_of_mass[1] + v**2 / (2.0 * GRAVITY) - start - node.parameter("height of the jump")

    problem.subject_to(apex, equals=0.0, over=ArcNodes(TIPTOE, "end"), name="ballistic flight")
    problem.minimize(-1.0 * rise, name="height")
    problem.minimize(effort_of(body), effort, name="effort")
    problem.minimize(trajopt.a**2, smoothness, name="smoothness")
    crouched = posture(body, ankle=25.0, knee=85.0, hip=80.0)
    leaving = posture(body, ankle=-30.0, knee=10.0, hip=5.0, pitch=-40.0)
    problem.guess(np.array([posture(body), crouched, leaving]), duration=[0.6, 0.12])
    return problem
