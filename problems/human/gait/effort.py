"""Costs of a gait: squared torques relative to strength, less those of passive springs, and accelerations.

`cost="thesis"` of the problem `gait`; the default, whose terms have sources, is in `sourced_cost`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

import dynamics
import trajopt
from problems.human.body.model import GLOBAL
from trajopt.base.errors import OptionError

# Joint: stiffness in N m/rad and the angle in degrees at which muscles and ligaments rest. Our own choices,
# of the size of passive stiffness in the middle of the range; without them a forearm may hang anywhere, as
# its torque costs next to nothing. The sourced cost has published moments instead at hip, knee and ankle in
# the sagittal plane and in the arms, and takes from here the springs of all other joints.
SPRINGS = MappingProxyType({
    "hip": (15.0, 0.0), "knee": (5.0, 5.0), "ankle": (25.0, 0.0), "toe": (2.0, 0.0),
    "spine": (60.0, 0.0), "shoulder": (5.0, 0.0), "elbow_flex": (5.0, 20.0), "elbow_pron": (5.0, 0.0),
})  # fmt: skip


def effort(
    model: dynamics.RigidBodyModel,
    springs: bool = True,
    stiffer: Mapping[str, float] = MappingProxyType({}),
    size: float = 1.0,
) -> trajopt.ExpressionTerm:
    """Sum over joints of (muscle torque / largest torque)^2, the dynamic effort of Barman's thesis (5.1).

    Muscles supply tau + k (q - q_0) where springs take their part, tau without them; the stiffness k is that
    of the table times `size`. `stiffer` adds stiffness in N m/rad to joints, about the same angles of rest.
    """

    def muscles(node: Any) -> dict[int, Any]:
        found = {}
        for i in powered(model):
            name = model.joint_names[i]
            stiffness, rest = spring(name)
            stiffness = size * stiffness * springs + stiffer.get(name, 0.0)
            found[i] = node.tau[i] + stiffness * (node.q[i] - rest)
        return found

    strength = np.maximum(np.abs(model.limits.torque_lower), np.abs(model.limits.torque_upper))

    def cost(node: Any) -> Any:
        return sum((torque / float(strength[i])) ** 2 for i, torque in muscles(node).items())

    return trajopt.ExpressionTerm(cost, "dynamic effort")


def powered(model: dynamics.RigidBodyModel) -> list[int]:
    """Indices of the joints that muscles move: all but the six of the root."""
    return [i for i, name in enumerate(model.joint_names) if name not in GLOBAL]


def minimize_accelerations(
    problem: trajopt.Problem, model: dynamics.RigidBodyModel, smoothness: float
) -> None:
    """Minimize squared accelerations of powered joints times `smoothness`, s^4: flat optima become one.

    Raises OptionError for a weight that is negative or not finite.
    """
    if not 0.0 <= smoothness < np.inf:
        raise OptionError(f"smoothness is {smoothness}: give a weight that is not negative, such as 1e-6")
    moving = powered(model)
    term = trajopt.ExpressionTerm(
        lambda node: sum(node.a[i] ** 2 for i in moving), "squared joint accelerations"
    )
    if smoothness > 0.0:
        problem.minimize(term, smoothness)


def spring(joint: str) -> tuple[float, float]:
    """Stiffness in N m/rad and angle of rest in rad of a joint."""
    bare = joint.replace("_r_", "_").replace("_l_", "_")
    stiffness, rest = next(value for key, value in SPRINGS.items() if bare.startswith(key))
    return stiffness, float(np.deg2rad(rest))
