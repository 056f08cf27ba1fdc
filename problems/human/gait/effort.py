"""Costs of a gait: squared torques relative to strength, less those of passive springs, and accelerations."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import dynamics
import trajopt
from problems.human.body.model import GLOBAL

# Joint: stiffness in N m/rad and the angle in degrees at which muscles and ligaments rest. Our own choices,
# of the size of passive stiffness in the middle of the range; without them a forearm may hang anywhere, as
# its torque costs next to nothing.
SPRINGS = MappingProxyType({
    "hip": (15.0, 0.0), "knee": (5.0, 5.0), "ankle": (25.0, 0.0), "toe": (2.0, 0.0),
    "spine": (60.0, 0.0), "shoulder": (5.0, 0.0), "elbow_flex": (5.0, 20.0), "elbow_pron": (5.0, 0.0),
})  # fmt: skip


def effort(
    model: dynamics.RigidBodyModel,
    springs: bool = True,
    stiffer: Mapping[str, float] = MappingProxyType({}),
) -> trajopt.ExpressionTerm:
    """Sum over joints of (muscle torque / largest torque)^2, the dynamic effort of Barman's thesis (5.1).

    Muscles supply tau + k (q - q_0) where springs take their part, tau without them. `stiffer` adds stiffness
    in N m/rad to joints, about the same angles of rest.
    """
    largest = np.maximum(np.abs(model.limits.torque_lower), np.abs(model.limits.torque_upper))
    powered = []
    for i, name in enumerate(model.joint_names):
        if name not in GLOBAL:
            stiffness, rest = spring(name)
            stiffness = stiffness * springs + stiffer.get(name, 0.0)
            powered.append((i, float(largest[i]), stiffness, rest))

    def cost(node: Any) -> Any:
        return sum(
            ((node.tau[i] + k * (node.q[i] - rest)) / strength) ** 2 for i, strength, k, rest in powered
        )

    return trajopt.ExpressionTerm(cost, "dynamic effort")


def squared_accelerations(model: dynamics.RigidBodyModel) -> trajopt.ExpressionTerm:
    """Sum of the squared accelerations of powered joints, rad^2/s^4: with it flat optima become unique."""
    powered = [i for i, name in enumerate(model.joint_names) if name not in GLOBAL]
    return trajopt.ExpressionTerm(
        lambda node: sum(node.a[i] ** 2 for i in powered), "squared joint accelerations"
    )


def spring(joint: str) -> tuple[float, float]:
    """Stiffness in N m/rad and angle of rest in rad of a joint."""
    bare = joint.replace("_r_", "_").replace("_l_", "_")
    stiffness, rest = next(value for key, value in SPRINGS.items() if bare.startswith(key))
    return stiffness, float(np.deg2rad(rest))
