"""Actuators of MuJoCo's joints: which drive a joint, and the limits of their torques."""

from __future__ import annotations

from typing import Any

import numpy as np

JOINT = (0, 1)  # mjtTrn: in the joint's frame, and in its parent's
FIXED, NONE = 0, 0  # mjtGain, mjtBias: force = gain * control


def actuators_of(mj: Any, j: int) -> list[int]:
    """The actuators of a joint."""
    return [i for i in range(mj.nu) if mj.actuator_trntype[i] in JOINT and mj.actuator_trnid[i, 0] == j]


def reflected(mj: Any, j: int, values: np.ndarray) -> float:
    """A property of the actuators of a joint as it acts there: the sum of gear^2 times it."""
    return float(sum(mj.actuator_gear[i, 0] ** 2 * values[i] for i in actuators_of(mj, j)))


def torque_limits(mj: Any, j: int) -> tuple[float, float]:
    """Lower and upper limit of the sum of a joint's actuators; infinite where there is none or no limit.

    An actuator gives gear times its force, whose range is stated, or that of its control times the gain.
    """
    ranges = [_range(mj, i) for i in actuators_of(mj, j)]
    lower, upper = np.sum(ranges, axis=0) if ranges else (-np.inf, np.inf)
    if mj.jnt_actfrclimited[j]:
        lower, upper = (
            np.maximum(lower, mj.jnt_actfrcrange[j, 0]),
            np.minimum(upper, mj.jnt_actfrcrange[j, 1]),
        )
    return float(lower), float(upper)


def _range(mj: Any, i: int) -> np.ndarray:
    is_motor = mj.actuator_gaintype[i] == FIXED and mj.actuator_biastype[i] == NONE
    if mj.actuator_forcelimited[i]:
        force = mj.actuator_forcerange[i]
    elif is_motor and mj.actuator_ctrllimited[i]:
        force = mj.actuator_gainprm[i, 0] * mj.actuator_ctrlrange[i]
    else:
        return np.array([-np.inf, np.inf])
    return np.sort(mj.actuator_gear[i, 0] * force)
