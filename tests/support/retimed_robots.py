"""Robots and waypoints for tests of motions on a given path: one prismatic joint, and a UR5."""

from dataclasses import replace
from importlib.resources import files

import numpy as np

import dynamics

MASS, REACH = 2.0, 3.0  # kg, m


def carriage(damping=0.0, friction=0.0, stiffness=0.0, **limits):
    """One prismatic joint without gravity along it: MASS a = tau."""
    joint = dynamics.Joint(
        "carriage",
        "prismatic",
        damping=damping,
        friction=friction,
        stiffness=stiffness,
        limits=dynamics.JointLimits.symmetric(**limits),
    )
    return dynamics.RigidBodyModel(
        [dynamics.Body("cart", joint, None, mass=MASS, inertia=np.eye(3))], gravity=(9.81, 0.0, 0.0)
    )


def ur5():
    return dynamics.load_urdf((files("problems") / "robots" / "ur5.urdf").read_text(encoding="utf-8"))


def random_waypoints(seed=0, count=8):
    return np.random.default_rng(seed).uniform(-1.2, 1.2, (count, 6))


def with_joints(model, **changes):
    bodies = [replace(body, joint=replace(body.joint, **changes)) for body in model.bodies]
    return dynamics.RigidBodyModel(bodies, model.gravity, model.name)
