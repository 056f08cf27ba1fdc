"""The constraints on a step: the nine of Barman's thesis and those that make a gait problem complete.

Each has a name, under which reports show it and by which `without` leaves it out. Sources are Barman's
thesis, section 5.2, by the numbers of its equations, and our own additions where none is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType

import trajopt
from problems.human.gait.contact_constraints import (
    balance,
    continuous_reaction,
    flat_sole,
    foot_placement,
    free_moment,
    penetration,
    pressure,
    push,
    swing_clearance,
)
from problems.human.gait.posture_constraints import (
    arm_leg_coupling,
    arms_beside_trunk,
    heel_strike,
    joint_limits,
    knee_clearance,
    posture,
    self_avoidance,
    torque_limits,
)
from problems.human.gait.step import Step
from problems.human.gait.step_limits import StepLimits
from trajopt.base.arguments import check_known
from trajopt.base.errors import OptionError

StepConstraint = Callable[[trajopt.Problem, Step, StepLimits], None]


def subject_to_step_constraints(
    problem: trajopt.Problem,
    steps: Sequence[Step],
    limits: StepLimits,
    names: Iterable[str],
    without: str = "",
) -> None:
    """State the constraints of these names but not those in `without`, which commas separate.

    Those of arms are left out where a model has none.
    Raises OptionError for an unknown name in `without`.
    """
    omitted = omitted_constraints(without)
    if "shoulder_r_flex" not in problem.dynamics.joint_names:
        omitted += OF_ARMS
    for name in names:
        for step in steps[:1] if name in WHOLE_MOTION else steps:
            if name not in omitted:
                STEP_CONSTRAINTS[name](problem, step, limits)


def omitted_constraints(without: str) -> list[str]:
    """The names in `without`, which commas separate; OptionError for one that no step constraint has."""
    omitted = [name.strip() for name in without.split(",") if name.strip()]
    for name in omitted:
        check_known("step constraint", name, STEP_CONSTRAINTS, OptionError)
    return omitted


STEP_CONSTRAINTS: MappingProxyType[str, StepConstraint] = MappingProxyType({
    "joint limits": joint_limits,
    "torque limits": torque_limits,
    "foot placement": foot_placement,
    "flat sole": flat_sole,
    "penetration": penetration,
    "swing clearance": swing_clearance,
    "balance": balance,
    "pressure": pressure,
    "push": push,
    "free moment": free_moment,
    "arm-leg coupling": arm_leg_coupling,
    "self-avoidance": self_avoidance,
    "arms beside trunk": arms_beside_trunk,
    "knee clearance": knee_clearance,
    "posture": posture,
    "heel strike": heel_strike,
    "continuous reaction": continuous_reaction,
})  # fmt: skip
OF_ARMS = ("arm-leg coupling", "self-avoidance", "arms beside trunk")
# Stated once for the whole motion, however many steps it has.
WHOLE_MOTION = frozenset({
    "joint limits", "torque limits", "penetration", "push", "free moment", "arm-leg coupling",
    "self-avoidance", "arms beside trunk",
})  # fmt: skip
