"""An arm that moves a payload: its elbow and a counterweight are chosen together with the motion.

    minimize integral_0^T |tau|^2 dt   over q(t), length of the forearm, counterweight
    subject to   tip(q(0)) = A,   tip(q(T)) = B,   from rest to rest

Two links in the vertical plane, tubes of given mass per length that are `reach` long together. The payload is
at the end of the forearm, the counterweight behind the shoulder; masses, centres of mass, inertias, elbow and
tip follow from the two parameters. A longer forearm turns less and carries more, a heavier counterweight
holds more and resists more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import dynamics
import trajopt
from problems.recipe import recipe

REFERENCE = 20.2743403  # 128 intervals; 64 differ by 2e-8 of it
REFERENCE_SOURCE = "finer meshes"


def tube_and_point(tube: Any, length: Any, point: Any, at: Any) -> tuple[Any, Any, Any]:
    """Mass, centre of mass, inertia about it: of a thin tube from 0 to `length` and a point mass at `at`."""
    mass = tube + point
    centre = (tube * length / 2.0 + point * at) / mass
    inertia = tube * length**2 / 12.0 + tube * (length / 2.0 - centre) ** 2 + point * (at - centre) ** 2
    return mass, centre, inertia


@recipe
def build(
    *,
    intervals: int = 16,
    duration: float = 0.7,
    reach: float = 0.9,
    tube: float = 2.5,
    payload: float = 1.0,
    behind: float = 0.2,
    start: tuple[float, float] = (0.6, 0.1),
    end: tuple[float, float] = (0.2, 0.2),
    heaviest: float = 30.0,
) -> trajopt.Problem:
    """Lengths in m, masses in kg, `tube` in kg/m, points A = `start` and B = `end` of the tip in m."""
    across = np.diag([0.0, 1.0, 1.0])
    bodies = [
        dynamics.Body("upper", dynamics.Joint("shoulder"), None, 1.0, inertia=across),
        dynamics.Body("forearm", dynamics.Joint("elbow"), "upper", 1.0, inertia=across),
    ]
    tip = dynamics.Frame("tip", "forearm")
    arm = dynamics.RigidBodyModel(bodies, (0.0, -9.81, 0.0), "arm_design", frames=[tip])

    mesh = trajopt.Trajectory.uniform(intervals, duration=duration)
    problem = trajopt.Problem(arm, mesh, name="arm_design")
    length = problem.parameter("length", lower=0.1, upper=reach - 0.1, guess=reach / 2.0, unit="m")
    problem.parameter("counterweight", lower=0.0, upper=heaviest, guess=5.0, unit="kg")

    def forearm(node):
        L = node.parameter("length")
        return tube_and_point(tube * L, L, payload, L)

    def upper(node):
        L = reach - node.parameter("length")
        return tube_and_point(tube * L, L, node.parameter("counterweight"), -behind)

    for link, properties in (("forearm", forearm), ("upper", upper)):
        problem.design(f"{link}.mass", lambda node, of=properties: of(node)[0])
        problem.design(f"{link}.centre_of_mass", lambda node, of=properties: [of(node)[1], 0.0, 0.0])
        problem.design(f"{link}.inertia", lambda node, of=properties: [0, 0, 0, of(node)[2], 0, of(node)[2]])
    problem.design("elbow.position", lambda node: [reach - node.parameter("length"), 0.0, 0.0])
    problem.design("tip.position", [length, 0.0, 0.0])

    at, free = trajopt.position("tip"), np.inf
    problem.subject_to(at, (*start, -free), (*start, free), over="start", name="tip at A")
    problem.subject_to(at, (*end, -free), (*end, free), over="end", name="tip at B")
    problem.start_at(v=0.0)
    problem.end_at(v=0.0)
    problem.minimize(trajopt.tau**2, name="effort")
    problem.guess([[-0.6, 1.5], [-0.4, 2.4]])
    return problem
