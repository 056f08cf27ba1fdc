"""The formulations of a gait: terms with sources, contact predicted or imposed, and Barman's thesis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from problems.human.body.model import TABLE_HEIGHT
from problems.human.gait.sourced_cost import CostWeights
from problems.human.gait.step import SOLE_HALF_WIDTH
from problems.human.gait.step_constraints import STEP_CONSTRAINTS, omitted_constraints
from trajopt.base.arguments import check_known, short_repr
from trajopt.base.errors import OptionError, warn_user

DEFAULT = "sourced"  # the cost of `gait` and `gait_stride`
LEG_LENGTH = 0.53  # of the body's height, hip over the ground (Drillis and Contini)
POSTURE_DEMANDS = ("knee clearance", "posture")  # what the sourced cost predicts
ARM_DEMANDS = ("arms beside trunk",)  # what "posture" makes needless
OF_THE_BODY = ("joint limits", "torque limits", "self-avoidance", "arms beside trunk")
IMPOSED_CONTACT, PREDICTED_CONTACT = "imposed", "predicted"
# With contact imposed: name and default of the parameters of a gait that say when and where it is. Walks with
# predicted contact that were saved before record these defaults.
OF_IMPOSED_CONTACT = MappingProxyType({
    "foot_flat": 0.2, "toe_off": None, "heel_off": 0.65, "contact_samples": None, "split": None,
    "knee_peak": 0.42, "swing_knee": (55.0, 65.0), "contact_tolerance": 0.0, "contact_drift": 5e-3,
    "penetration": 5e-3, "clearance": None, "nodes_per_span": 7,
})  # fmt: skip


@dataclass(frozen=True)
class Formulation:
    """A cost with its defaults of a gait.

    intervals : of the spline of each step, three more control points
    constraints : names of the step constraints
    toe_off : part of the step at which double support ends
    step_width : between both heels, parts of the body's height
    toe_out : degrees by which standing feet point outward
    sole : m, half the width of the sole of a standing foot, 0 for a foot that stands on a line
    clearance : m, how high ball and toe pass over the ground in the middle of swing
    last_on : the point of the trailing foot that leaves the ground last
    smoothness : s^4, weight of squared accelerations of joints
    split : how the feet share the reaction
    starts : of one step, of which the lowest optimum is the answer, unless its motion is finer or it starts
        from a walk that was solved
    start : from where the search for one step starts
    weights : of the sourced cost
    """

    intervals: int
    constraints: tuple[str, ...]
    toe_off: float
    step_width: float
    toe_out: float
    sole: float
    clearance: float
    last_on: str
    smoothness: float
    split: str
    starts: int
    start: str
    weights: CostWeights = field(default_factory=CostWeights)

    def chosen_weights(self, power: Any, steadiness: Any, force_rate: Any) -> CostWeights:
        """The weights given, or this formulation's where None is given."""
        given = {"power": power, "steadiness": steadiness, "force_rate": force_rate}
        return CostWeights(
            **{name: _number(name, each, getattr(self.weights, name)) for name, each in given.items()}
        )

    def chosen(self, name: str, given: Any) -> float:
        """The number given for an event or a tolerance, or this formulation's where None is given."""
        return _number(name, given, getattr(self, name))

    def chosen_foot_line(self, given: Any, height: float) -> float:
        """The distance given of each heel from the middle, m, or half this formulation's step width."""
        return _number("foot_line", given, 0.5 * self.step_width * height)

    def chosen_intervals(self, given: Any) -> int:
        """The intervals given, or this formulation's where None is given; OptionError for anything else."""
        if given is None:
            return self.intervals
        number = isinstance(given, int | float) and not isinstance(given, bool)
        if not number or not given >= 1 or given % 1 != 0:
            raise OptionError(
                f"intervals is {short_repr(given)}: give a whole number from 1, or None for {self.intervals}"
            )
        return int(given)


# Double support is 24 % of Winter's step and 33 % of the trial's: the middle of both. People set their feet
# down 0.13 leg lengths apart (Donelan, Kram and Kuo 2001) and turned outward, most of them by 5 to 10 degrees
# (Morton 1932).
FORMULATIONS = MappingProxyType({
    "sourced": Formulation(
        intervals=5, constraints=tuple(name for name in STEP_CONSTRAINTS if name not in POSTURE_DEMANDS),
        toe_off=0.28, step_width=0.13 * LEG_LENGTH, toe_out=7.0, sole=SOLE_HALF_WIDTH, clearance=0.015,
        last_on="toe", smoothness=0.0, split="opposing", starts=2, start="solved",
    ),
    "thesis": Formulation(
        intervals=3, constraints=tuple(name for name in STEP_CONSTRAINTS if name not in ARM_DEMANDS),
        toe_off=0.24, step_width=0.1 / TABLE_HEIGHT, toe_out=0.0, sole=0.0, clearance=0.0,
        last_on="ball", smoothness=1e-6, split="time", starts=1, start="measured",
    ),
})  # fmt: skip
PREDICTED = replace(
    FORMULATIONS["sourced"], intervals=4, constraints=OF_THE_BODY, smoothness=3.2e-6,
    weights=CostWeights(power=4.5, force_rate=0.03),
)  # fmt: skip


def _number(name: str, given: Any, otherwise: float) -> float:
    if given is None:
        return float(otherwise)
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise OptionError(f"{name} is {short_repr(given)}: give a number, or None for {otherwise:.4g}")
    return float(given)


class ImposedContactWarning(UserWarning):
    """A walk of the cost with sources was asked for with imposed contact."""


def chosen_contact(given: Mapping[str, Any]) -> str:
    """The contact among the parameters of a gait; for None "imposed" by the thesis's cost, else "predicted".

    Warns with ImposedContactWarning of imposed contact with the cost with sources. OptionError for a cost or
    a contact that gaits do not have, and for parameters that the contact has no use for.
    """
    contact, cost = given["contact"], given["cost"]
    check_known("cost of a gait", cost, FORMULATIONS, OptionError)
    if contact is None:
        contact = PREDICTED_CONTACT if cost == DEFAULT else IMPOSED_CONTACT
    if contact not in (IMPOSED_CONTACT, PREDICTED_CONTACT):
        raise OptionError(
            f"the contact of a gait is {short_repr(contact)}: use '{PREDICTED_CONTACT}' or "
            f"'{IMPOSED_CONTACT}', or None for the one that belongs to the cost"
        )
    if contact == PREDICTED_CONTACT:
        _refuse_imposed_contact(given)
    elif given["tendons"]:
        raise OptionError("tendons are for contact='predicted' only: leave out one of them")
    elif cost == DEFAULT:
        warn_user(
            "contact='imposed' prescribes when feet touch and where they press on the ground: leave it out "
            "for predicted contact, whose walks are more like people's, or take cost='thesis'",
            ImposedContactWarning,
        )
    return contact


def formulation(cost: str, contact: str) -> Formulation:
    """The formulation of a cost and a contact that belong together (`chosen_contact`)."""
    return PREDICTED if contact == PREDICTED_CONTACT else FORMULATIONS[cost]


def _refuse_imposed_contact(given: Mapping[str, Any]) -> None:
    """OptionError for parameters that predicted contact has no use for.

    These are the thesis's cost, parameters of imposed contact with other values than their defaults, and in
    `without` names of constraints that predicted contact does not state.
    """
    if given["cost"] != DEFAULT:
        raise OptionError(f"the cost '{given['cost']}' has imposed contact: leave out contact='predicted'")
    for name, default in OF_IMPOSED_CONTACT.items():
        if given.get(name, default) != default:
            raise OptionError(
                f"{name} is {short_repr(given[name])}, but the contact is predicted and decides that itself: "
                "leave it out, or take contact='imposed'"
            )
    for name in omitted_constraints(given["without"]):
        if name not in PREDICTED.constraints:
            raise OptionError(
                f"without names '{name}', a constraint of imposed contact, but the contact is predicted: "
                f"leave it out, or take contact='imposed'; here there are {', '.join(PREDICTED.constraints)}"
            )
