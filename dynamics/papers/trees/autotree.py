"""Featherstone's planar `autoTree`, with the rotors of Echeandia's chapter 4."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dynamics.model.body import Body
from dynamics.model.joint import Joint
from dynamics.model.rotor import Rotor
from dynamics.rigid_body_model import RigidBodyModel

# A thin-walled tube of 1 m and 1 kg, radius 1/20 m, along x.
TUBE_INERTIA = np.diag([0.0025, 1.015 / 12.0, 1.015 / 12.0])
TUBE_CENTRE = np.array([0.5, 0.0, 0.0])


def autotree(count: int, branching: int = 1, skew: float = 0.0, rotor: Rotor | None = None) -> RigidBodyModel:
    """`count` tubes on revolute joints about z, each at the tip of its parent, without gravity.

    Body i (from 1) hangs on body floor((i - 2 + branching) / branching); 0 is the ground.

    skew : rad, turn about x from one joint axis to the next; 0 is planar
    rotor : its ratio, mass and inertia; one stands on the axis of every joint, where the parent carries it
    Source: Featherstone, spatial_v2; Echeandia, thesis, 4.4 (gear ratio 5, no gravity).
    """
    cosine, sine = np.cos(skew), np.sin(skew)
    turned = np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])
    bodies = []
    for i in range(1, count + 1):
        parent = (i - 2 + branching) // branching
        rotation, tip = (np.eye(3), np.zeros(3)) if parent == 0 else (turned, np.array([1.0, 0.0, 0.0]))
        placed = rotor and replace(rotor, axis=rotation @ rotor.axis, position=tip)
        joint = Joint(f"joint{i}", rotation=rotation, position=tip, rotor=placed)
        carrier = None if parent == 0 else f"link{parent}"
        bodies.append(Body(f"link{i}", joint, carrier, 1.0, TUBE_CENTRE, TUBE_INERTIA))
    name = f"autotree {count}, branching {branching}"
    return RigidBodyModel(tuple(bodies), gravity=np.zeros(3), name=name)
