"""Limits of 0 in a URDF, by which programs write that a limit is not known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from dynamics.arguments import list_names
from dynamics.formats.urdf_elements import UrdfJoint
from dynamics.model.joint_limits import JointLimits


def without_zeros(
    joints: Mapping[str, UrdfJoint], has_mass: bool
) -> tuple[dict[str, UrdfJoint], tuple[str, ...]]:
    """The joints without limits of 0 that no robot has, and phrases that name them.

    has_mass : whether joints move a mass; without one an effort means nothing, and is in no phrase
    """
    moving = [joint for joint in joints.values() if joint.kind not in ("fixed", "floating")]
    stated = [joint.limits for joint in moving if joint.limits != JointLimits()]
    bare = JointLimits(0.0, 0.0, 0.0, 0.0, 0.0), JointLimits(velocity=0.0, torque_lower=0.0, torque_upper=0.0)
    is_bare = all(own in bare for own in stated)
    motors = [joint.limits.torque_upper for joint in moving if joint.mimics is None]
    has_motor = has_mass and any(0.0 < effort < math.inf for effort in motors)
    found: dict[str, list[str]] = {"velocity": [], "effort": [], "range": []}
    changed = dict(joints)
    for joint in moving:
        limits = joint.limits
        if limits.torque_upper == 0.0 and (limits.velocity == 0.0 or not has_motor):
            limits = replace(limits, torque_lower=-math.inf, torque_upper=math.inf)
            found["effort"] += [joint.name] * has_mass
        if limits.velocity == 0.0:
            limits = replace(limits, velocity=math.inf)
            found["velocity"].append(joint.name)
        if is_bare and joint.limits == bare[0]:
            limits = replace(limits, q_lower=-math.inf, q_upper=math.inf)
            found["range"].append(joint.name)
        changed[joint.name] = replace(joint, limits=limits)
    return changed, tuple(
        f"{what} of 0, taken as not stated: {list_names(names)}" for what, names in found.items() if names
    )
