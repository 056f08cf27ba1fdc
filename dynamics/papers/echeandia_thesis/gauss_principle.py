"""Gauss' principle of least constraint solved directly: forward dynamics as one least-squares problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dynamics.errors import InertiaError
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.trees.geared_joint import BodyState, geared_joints, joint_states


def gauss_accelerations(model: KinematicTree, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Joint accelerations (n,) that minimize sum_i (a_i - a_i^uc)' I_i (a_i - a_i^uc) over links and rotors.

    The constraints of the joints and gears are a_i = J_i qddot + k_i; with I_i = L_i L_i' the problem is
    min |L_i' J_i qddot - (L_i^-1 (f_i - p_i) - L_i' k_i)|^2. The applied forces f_i are the motor torque
    tau / gear_ratio on the rotor and its reaction on the parent, or tau on the link where there is no rotor.

    q, v, tau : (n,)
    Raises InertiaError when a body has no positive definite spatial inertia: a massless body has no
    unconstrained acceleration. TreeError when joints share a coordinate.
    Source: Echeandia, thesis, (4.1); as printed, (4.2) and (4.3) apply the torque to link and rotor both,
    and to neither the reaction on the parent.
    """
    joints = geared_joints(model)
    links, rotors = joint_states(joints, q, v)
    moving: list[MovingBody] = []
    carriers: list[MovingBody] = []
    ground = MovingBody("ground", None, np.zeros((6, model.n)), np.concatenate([np.zeros(3), -model.gravity]))
    for i, (body, joint) in enumerate(zip(model.bodies, joints, strict=True)):
        carrier = carriers[joint.link.parent] if joint.link.parent >= 0 else ground
        carriers.append(constrained(f"body {body.name!r}", links[i], carrier, i))
        moving.append(carriers[-1])
        rotor = rotors[i]
        if rotor is not None:
            moving.append(constrained(f"the rotor of joint {body.joint.name!r}", rotor, carrier, i))
        driven = moving[-1].state
        torque = driven.Phi * tau[i] / (driven.Phi @ driven.Phi)
        moving[-1].force[:] += torque
        carrier.force[:] -= driven.X.T @ torque
    rows, targets = [], []
    for body in moving:
        root = root_of(body.state.inertia, body.name)
        rows.append(root.T @ body.jacobian)
        targets.append(np.linalg.solve(root, body.force - body.state.p) - root.T @ body.bias)
    return np.linalg.lstsq(np.concatenate(rows), np.concatenate(targets), rcond=None)[0]


@dataclass(frozen=True, eq=False)
class MovingBody:
    """A body whose constrained acceleration is jacobian @ qddot + bias, under an applied force (6,)."""

    name: str
    state: Any
    jacobian: np.ndarray
    bias: np.ndarray
    force: np.ndarray = field(default_factory=lambda: np.zeros(6))


def constrained(name: str, state: BodyState, carrier: MovingBody, i: int) -> MovingBody:
    """The body `state` that coordinate i moves relative to `carrier`."""
    jacobian = state.X @ carrier.jacobian
    jacobian[:, i] += state.Phi
    return MovingBody(name, state, jacobian, state.X @ carrier.bias + state.c)


def root_of(inertia: np.ndarray, name: str) -> np.ndarray:
    """L, lower triangular, with L L' = inertia."""
    try:
        return np.linalg.cholesky(inertia)
    except np.linalg.LinAlgError as error:
        raise InertiaError(
            f"{name} has a singular spatial inertia, hence no unconstrained acceleration; "
            "give it mass and a positive definite inertia"
        ) from error
