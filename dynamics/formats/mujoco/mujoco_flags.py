"""Flags of MuJoCo's models that switch parts of the physics off, or bodies to sleep."""

from __future__ import annotations

from typing import Any

import numpy as np

CONSTRAINTS = ("EQUALITY", "FRICTIONLOSS", "LIMIT", "CONTACT")  # off, too, where constraints are


def is_off(mj: Any, part: str) -> bool:
    """True if a model disables a part, "GRAVITY" for instance: mjtDisableBit without its prefix."""
    from dynamics.formats.mujoco.mujoco_source import mujoco_module

    bits = mujoco_module().mjtDisableBit
    off = int(getattr(bits, f"mjDSBL_{part}", 0))
    if part in CONSTRAINTS:
        off |= int(bits.mjDSBL_CONSTRAINT)
    return bool(mj.opt.disableflags & off)


def unread_flags(mj: Any) -> list[str]:
    """Flags whose part of the physics the robot does not have or that change its limits, in words."""
    found = {
        "CONTACT": 'flag contact="disable"' if mj.ngeom else "",
        "EQUALITY": 'flag equality="disable"' if mj.neq else "",
        "LIMIT": 'flag limit="disable", ranges of joints' if np.any(mj.jnt_limited) else "",
        "ACTUATION": 'flag actuation="disable"' if mj.nu else "",
    }
    lines = [words for part, words in found.items() if words and is_off(mj, part)]
    return lines + ['flag sleep="enable", bodies that begin asleep'] * begins_asleep(mj)


def begins_asleep(mj: Any) -> bool:
    """True if a body of a model rests, whatever its actuators do, until something wakes it."""
    from dynamics.formats.mujoco.mujoco_source import mujoco_module

    module = mujoco_module()
    bit = int(getattr(module.mjtEnableBit, "mjENBL_SLEEP", 0))  # older versions have none
    return bool(mj.opt.enableflags & bit) and bool(
        np.any(mj.tree_sleep_policy == int(module.mjtSleepPolicy.mjSLEEP_INIT))
    )
