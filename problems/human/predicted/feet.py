"""The skeleton for predicted contact: both edges of each ball as frames, and stronger plantarflexors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import dynamics

# Of the strength that dynamometers find (130 N m for 75 kg and 1.75 m, Anderson et al. 2007).
PLANTARFLEXORS = 1.5


def with_ball_edges(model: dynamics.RigidBodyModel, half_width: float) -> dynamics.RigidBodyModel:
    """The model with frames "ball_in_r", "ball_out_r" and the left ones, so many m beside the sole's middle.

    They lie under the joint of the toes and turn with these, so that toes lie still while the heel rises.
    """
    edges = []
    for side, outward in (("r", 1.0), ("l", -1.0)):
        toe = model.frame(f"toe_{side}")
        for name, away in (("out", outward), ("in", -outward)):
            place = np.array([0.0, toe.position[1], away * half_width])
            edges.append(dynamics.Frame(f"ball_{name}_{side}", toe.body, position=place))
    return replace(model, frames=(*model.frames, *edges))


def with_strong_plantarflexors(model: Any, factor: float = PLANTARFLEXORS) -> Any:
    """The skeleton, or a person's own, with so many times the plantarflexor strength."""

    def stronger(body: dynamics.Body) -> dynamics.Body:
        if body.joint.name not in ("ankle_r_dorsi", "ankle_l_dorsi"):
            return body
        # The upper one is of a file that counts the other way
        end = "torque_lower" if body.joint.ratio > 0.0 else "torque_upper"
        limits = replace(body.joint.limits, **{end: factor * getattr(body.joint.limits, end)})
        return replace(body, joint=replace(body.joint, limits=limits))

    tree = model if isinstance(model, dynamics.RigidBodyModel) else model.tree
    changed = replace(tree, bodies=tuple(stronger(body) for body in tree.bodies))
    return changed if tree is model else replace(model, tree=changed)
