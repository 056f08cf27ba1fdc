"""Robots with fewer motors than joints: what refinement and certification once made worse."""

from __future__ import annotations

import math

import numpy as np

import dynamics
import trajopt

Z = np.array([0.0, 0.0, 1.0])


def collocating(intervals: int) -> trajopt.SplineBasis:
    """Degree five with triple knots: three new coefficients per span for three new nodes."""
    return trajopt.SplineBasis.clamped(np.linspace(0.0, 1.0, intervals + 1), 5, np.full(intervals - 1, 3))


def crane(intervals: int) -> trajopt.Problem:
    """A trolley carries a swinging load by three metres: duration plus a little effort, 30 N at most."""
    limits = dynamics.JointLimits(-5.0, 5.0, math.inf, -30.0, 30.0)
    rail = dynamics.Joint("trolley", "prismatic", axis=np.array([1.0, 0.0, 0.0]), limits=limits)
    cable = dynamics.Joint("cable", "revolute", axis=np.array([0.0, -1.0, 0.0]))
    hook = np.array([0.0, 0.0, -1.0])
    bodies = [
        dynamics.Body("trolley", rail, mass=2.0),
        dynamics.Body("load", cable, parent="trolley", mass=1.0, centre_of_mass=hook),
    ]
    model = dynamics.RigidBodyModel(bodies, gravity=(0.0, 0.0, -9.81), name="crane")
    arc = trajopt.Arc(collocating(intervals), (0.5, 10.0))
    problem = trajopt.Problem(model, trajopt.Trajectory((arc,)), name="crane")
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=[3.0, 0.0], v=0.0)
    problem.passive("cable")
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    problem.minimize(trajopt.tau**2, weight=1e-4)
    return problem


def free_flyer(intervals: int) -> trajopt.Problem:
    """A floating base whose arm swings to another posture in three seconds: no motor holds the base."""
    limits = dynamics.JointLimits(-3.0, 3.0, math.inf, -4.0, 4.0)
    x, y = (dynamics.Joint(axis, "prismatic", axis=np.eye(3)[i]) for i, axis in enumerate("xy"))
    turn = dynamics.Joint("turn", "revolute", axis=Z)
    shoulder = dynamics.Joint(
        "shoulder", "revolute", axis=Z, position=np.array([0.5, 0.0, 0.0]), limits=limits
    )
    elbow = dynamics.Joint("elbow", "revolute", axis=Z, position=np.array([1.0, 0.0, 0.0]), limits=limits)
    middle = np.array([0.5, 0.0, 0.0])
    bodies = [
        dynamics.Body("along", x),
        dynamics.Body("across", y, "along"),
        dynamics.Body("base", turn, "across", 20.0, np.zeros(3), 2.0 * np.eye(3)),
        dynamics.Body("upper", shoulder, "base", 4.0, middle, 0.4 * np.eye(3)),
        dynamics.Body("lower", elbow, "upper", 3.0, middle, 0.3 * np.eye(3)),
    ]
    model = dynamics.RigidBodyModel(bodies, gravity=(0.0, 0.0, 0.0), name="free_flyer")
    arc = trajopt.Arc(collocating(intervals), 3.0)
    problem = trajopt.Problem(model, trajopt.Trajectory((arc,)), name="free_flyer")
    problem.start_at(q=[0.0, 0.0, 0.0, 0.5, 1.0], v=0.0)
    posture = np.array([math.inf, math.inf, math.inf, -1.0, 2.0])
    problem.subject_to(
        trajopt.q, np.where(np.isinf(posture), -posture, posture), posture, over="end", name="posture"
    )
    problem.subject_to(trajopt.v, equals=0.0, over="end", name="rest")
    problem.passive("x", "y", "turn")
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.tau**2)
    return problem


def lander(intervals: int) -> trajopt.Problem:
    """A rocket on the moon whose thrust points along its hull, at most 3 N per kg: time and propellant."""
    free = dynamics.JointLimits(-50.0, 50.0, math.inf, -math.inf, math.inf)
    gimbal = dynamics.JointLimits(-1.0, 1.0, math.inf, -0.5, 0.5)
    x, y = (dynamics.Joint(axis, "prismatic", axis=np.eye(3)[i], limits=free) for i, axis in enumerate("xy"))
    tilt = dynamics.Joint("tilt", "revolute", axis=Z, limits=gimbal)
    bodies = [
        dynamics.Body("along", x),
        dynamics.Body("above", y, "along"),
        dynamics.Body("hull", tilt, "above", 1.0, np.zeros(3), 0.1 * np.eye(3)),
    ]
    model = dynamics.RigidBodyModel(bodies, gravity=(0.0, -1.62, 0.0), name="lander")

    @trajopt.term
    def lateral(node):
        return node.tau[0] * np.cos(node.q[2]) + node.tau[1] * np.sin(node.q[2])

    @trajopt.term
    def thrust(node):
        return -node.tau[0] * np.sin(node.q[2]) + node.tau[1] * np.cos(node.q[2])

    arc = trajopt.Arc(collocating(intervals), (1.0, 30.0))
    problem = trajopt.Problem(model, trajopt.Trajectory((arc,)), name="lander")
    problem.start_at(q=[-4.0, 10.0, 0.0], v=[1.0, -1.0, 0.0])
    problem.end_at(q=0.0, v=0.0)
    problem.subject_to(lateral, equals=0.0, name="thrust along the hull")
    problem.subject_to(thrust, 0.0, 3.0, name="thrust")
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    problem.minimize(thrust**2, weight=1e-2)
    return problem
