"""The mechanisms of the papers' tables and figures."""

from __future__ import annotations

import numpy as np

from dynamics import Body, Joint, RigidBodyModel
from dynamics.model.rotor import Rotor
from dynamics.papers.trees.autotree import TUBE_CENTRE, TUBE_INERTIA, autotree

# 0.5 kg and gear ratio 5 are the thesis'; 1 kg m^2 about the axis is what reproduces its MCRBA rows.
THESIS_ROTOR = Rotor(5.0, 0.5, np.diag([0.5, 0.5, 1.0]))


def serial(count: int) -> RigidBodyModel:
    """A serial chain whose axes alternate between parallel and perpendicular, so that nothing is planar."""
    return autotree(count, 1, skew=np.pi / 2)


def binary(count: int) -> RigidBodyModel:
    """A binary tree of the same links."""
    return autotree(count, 2, skew=np.pi / 2)


def legged(legs: int, actuated: int) -> RigidBodyModel:
    """A floating main body with `legs` serial legs of equal length, `actuated` joints in all."""
    axes = np.eye(3)
    bodies = [
        Body(f"slide{i}", Joint(f"p{i}", "prismatic", axes[i]), f"slide{i - 1}" if i else None)
        for i in range(3)
    ]
    for i in range(2):
        bodies.append(Body(f"turn{i}", Joint(f"r{i}", axis=axes[2 - i]), bodies[-1].name))
    bodies.append(Body("trunk", Joint("r2", axis=axes[0]), "turn1", 5.0, np.zeros(3), 0.1 * np.eye(3)))
    turned = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    for leg in range(legs):
        parent, tip = (
            "trunk",
            np.array([0.3 * np.cos(2.0 * np.pi * leg / legs), 0.3 * np.sin(2.0 * np.pi * leg / legs), 0]),
        )
        for i in range(actuated // legs):
            name = f"leg{leg}_{i}"
            joint = Joint(name, rotation=turned, position=tip)
            bodies.append(Body(name, joint, parent, 1.0, TUBE_CENTRE, TUBE_INERTIA))
            parent, tip = name, np.array([1.0, 0.0, 0.0])
    return RigidBodyModel(tuple(bodies), gravity=np.zeros(3), name=f"{legs} legs, {actuated} actuated")


def biped(actuated: int) -> RigidBodyModel:
    """A main body with two serial legs, as the article describes its bipeds."""
    return legged(2, actuated)


def quadruped(actuated: int) -> RigidBodyModel:
    """A main body with four serial legs."""
    return legged(4, actuated)


def thesis_case(count: int, branching: int, rate: float = 0.0):
    """Model, q, v, tau of tables 4.1 to 4.5: q_i = tau_i = i, every joint at the same rate."""
    numbers = np.arange(1.0, count + 1)
    return autotree(count, branching, rotor=THESIS_ROTOR), numbers, np.full(count, rate), numbers
