"""Flags of MuJoCo's models that switch parts of the physics off."""

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
    return [words for part, words in found.items() if words and is_off(mj, part)]
