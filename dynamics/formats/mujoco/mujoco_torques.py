"""Actuators of MuJoCo's joints: which drive a joint, and the limits of their torques."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dynamics.formats.mujoco.mujoco_flags import is_off

JOINT = (0, 1)  # mjtTrn: in the joint's frame, and in its parent's
FREE, BALL = 0, 1  # mjtJoint
FIXED, NONE, AFFINE = 0, 0, 1  # mjtGain, mjtBias: force = gain * control, or with a function of the state
NO_STATE, INTEGRATOR, FILTERS = 0, 1, (2, 3)  # mjtDyn
UNLIMITED = np.array([-np.inf, np.inf])


@dataclass(frozen=True, eq=False)
class ForceRange:
    """Lower and upper force of an actuator, (2,), before its gear.

    is_known : False where the model says none that the state does not change
    holds_everywhere : False where the control gives less than this at some positions in the joint's range, or
        at some speeds
    """

    force: np.ndarray
    is_known: bool = True
    holds_everywhere: bool = True


def actuator_count(mj: Any) -> int:
    """Actuators of a model, some of which may have several controls."""
    return len(mj.actuator_trntype)


def actuators_of(mj: Any, j: int) -> list[int]:
    """The actuators of a joint."""
    return [
        i
        for i in range(actuator_count(mj))
        if mj.actuator_trntype[i] in JOINT and mj.actuator_trnid[i, 0] == j
    ]


def actuator_name(mj: Any, i: int) -> str:
    """The name of an actuator, or actuator2."""
    return mj.actuator(i).name or f"actuator{i}"


def is_switched_off(mj: Any, i: int) -> bool:
    """True if a flag or its group keeps an actuator from acting."""
    group = int(mj.actuator_group[i])
    return is_off(mj, "ACTUATION") or (0 <= group < 31 and bool(mj.opt.disableactuator >> group & 1))


def reflected(mj: Any, j: int, values: np.ndarray) -> float:
    """A property of the actuators of a joint as it acts there: the sum of gear^2 times it."""
    return float(sum(mj.actuator_gear[i, 0] ** 2 * values[i] for i in actuators_of(mj, j)))


def torque_limits(mj: Any, j: int) -> tuple[float, float]:
    """Lower and upper limit of the sum of a joint's actuators; infinite where there is none or no limit.

    An actuator gives gear times its force: gain times its control, cut to the range of force. The sum is cut
    to the joint's range of actuator forces. One that is switched off gives nothing.
    """
    ranges = [
        np.sort(mj.actuator_gear[i, 0] * force_range(mj, i).force)
        for i in actuators_of(mj, j)
        if not is_switched_off(mj, i) and mj.actuator_gear[i, 0]
    ]
    lower, upper = np.sum(ranges, axis=0) if ranges else UNLIMITED
    if mj.jnt_actfrclimited[j]:
        lower, upper = np.clip([lower, upper], *mj.jnt_actfrcrange[j])
    return float(lower), float(upper)


def force_range(mj: Any, i: int) -> ForceRange:
    """Range of force of a joint's actuator; where the state decides, its range of force alone."""
    stated = mj.actuator_forcerange[i] if mj.actuator_forcelimited[i] else UNLIMITED
    control, gain, bias = _control(mj, i), float(mj.actuator_gainprm[i, 0]), mj.actuator_biasprm[i]
    is_plain = mj.actuator_gaintype[i] == FIXED and mj.actuator_biastype[i] in (NONE, AFFINE)
    if control is None or not is_plain or mj.actuator_plugin[i] >= 0:  # what a plugin multiplies is not known
        return ForceRange(stated, bool(mj.actuator_forcelimited[i]), False)
    with np.errstate(invalid="ignore"):
        force = np.nan_to_num(np.sort(gain * control), nan=0.0, posinf=np.inf, neginf=-np.inf)
    if mj.actuator_biastype[i] == NONE:
        return ForceRange(np.clip(force, *stated))
    force = force + bias[0]
    if not bias[1] and not bias[2]:
        return ForceRange(np.clip(force, *stated))
    is_stated, joint = bool(mj.actuator_forcelimited[i]), int(mj.actuator_trnid[i, 0])
    is_controlled = bool(np.isfinite(force).any())
    if not bias[1]:  # of speeds alone: what it gives at rest
        return ForceRange(np.clip(force, *stated), is_stated or is_controlled, not is_controlled)
    if not mj.jnt_limited[joint] or (bias[2] and is_controlled):
        return ForceRange(stated, is_stated, not is_controlled)
    of_position = bias[1] * mj.actuator_gear[i, 0] * mj.jnt_range[joint]
    reached = force[1] + of_position.min() >= stated[1] and force[0] + of_position.max() <= stated[0]
    return ForceRange(stated, is_stated, bool(reached))


def _control(mj: Any, i: int) -> np.ndarray | None:
    """The range of what an actuator multiplies by its gain; None where it is no control or filter of one."""
    several = getattr(mj, "actuator_ctrlnum", None)
    if several is not None and several[i] != 1:
        return None
    at = i if several is None else int(mj.actuator_ctrladr[i])
    is_limited = mj.actuator_ctrllimited[at] and not is_off(mj, "CLAMPCTRL")
    control = mj.actuator_ctrlrange[at] if is_limited else UNLIMITED
    active = mj.actuator_actrange[i] if mj.actuator_actlimited[i] else UNLIMITED
    if mj.actuator_dyntype[i] == NO_STATE:
        return control
    if mj.actuator_dyntype[i] == INTEGRATOR:
        return active
    return np.clip(control, *active) if mj.actuator_dyntype[i] in FILTERS else None


def unread_actuators(mj: Any) -> dict[str, list[str]]:
    """Actuators that the limits of the robot's torques leave out: words -> their names."""
    kinds = {
        "actuators of no joint": lambda i: mj.actuator_trntype[i] not in JOINT,
        "actuators of free and ball joints": lambda i: _of_several(mj, i),
        'actuators switched off by flag actuation="disable" or actuatorgroupdisable, '
        "which leave their joints without a motor": lambda i: _of_one(mj, i) and is_switched_off(mj, i),
        "limits of actuators that state no range of force, by their control or the state": lambda i: (
            _acts(mj, i) and not force_range(mj, i).is_known
        ),
        "controls that give servos less than these limits at some positions or speeds": lambda i: (
            _acts(mj, i) and force_range(mj, i).is_known and not force_range(mj, i).holds_everywhere
        ),
    }
    return {
        what: [actuator_name(mj, i) for i in range(actuator_count(mj)) if holds(i)]
        for what, holds in kinds.items()
    }


def _of_several(mj: Any, i: int) -> bool:
    on_joint = mj.actuator_trntype[i] in JOINT
    return bool(on_joint and mj.jnt_type[mj.actuator_trnid[i, 0]] in (FREE, BALL))


def _of_one(mj: Any, i: int) -> bool:
    return mj.actuator_trntype[i] in JOINT and not _of_several(mj, i)


def _acts(mj: Any, i: int) -> bool:
    return _of_one(mj, i) and not is_switched_off(mj, i)
