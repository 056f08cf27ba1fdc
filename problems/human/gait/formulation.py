"""The two formulations of a gait, by the name of their cost: terms with sources, and Barman's thesis."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from problems.human.gait.step_constraints import STEP_CONSTRAINTS
from trajopt.arguments import shown
from trajopt.errors import OptionError, near_matches

DEFAULT = "sourced"  # the cost of `gait` and `gait_stride`
POSTURE_DEMANDS = ("knee clearance", "posture")  # what the sourced cost predicts


@dataclass(frozen=True)
class Formulation:
    """What belongs to a cost, and what a gait takes unless it is told otherwise.

    intervals : of the spline of each step, three more control points
    constraints : names of the step constraints
    toe_off : part of the step at which double support ends
    clearance : m, how high ball and toe pass over the ground in the middle of swing
    last_on : the point of the trailing foot that leaves the ground last
    smoothness : s^4, weight of squared accelerations of joints
    split : how the feet share the reaction
    """

    intervals: int
    constraints: tuple[str, ...]
    toe_off: float
    clearance: float
    last_on: str
    smoothness: float
    split: str

    def chosen(self, name: str, given: Any) -> float:
        """The number given for an event or a tolerance, or this formulation's where None is given."""
        if given is None:
            return float(getattr(self, name))
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise OptionError(f"{name} is {shown(given)}: give a number, or None for {getattr(self, name)}")
        return float(given)

    def chosen_intervals(self, given: Any) -> int:
        """The intervals given, or this formulation's where None is given; OptionError for anything else."""
        if given is None:
            return self.intervals
        number = isinstance(given, int | float) and not isinstance(given, bool)
        if not number or not given >= 1 or given % 1 != 0:
            raise OptionError(
                f"intervals is {shown(given)}: give a whole number from 1, or None for {self.intervals}"
            )
        return int(given)


FORMULATIONS = MappingProxyType({
    # Double support is 24 % of Winter's step and 33 % of the trial's: the middle of both.
    "sourced": Formulation(
        5, tuple(name for name in STEP_CONSTRAINTS if name not in POSTURE_DEMANDS), 0.28, 0.015, "toe", 1e-6,
        "opposing",
    ),
    "thesis": Formulation(3, tuple(STEP_CONSTRAINTS), 0.24, 0.0, "ball", 1e-6, "time"),
})  # fmt: skip


def formulation(cost: str) -> Formulation:
    """The formulation of a cost; OptionError for one that gaits do not have."""
    if cost not in FORMULATIONS:
        near = near_matches(cost, list(FORMULATIONS)) or f": there are {', '.join(FORMULATIONS)}"
        raise OptionError(f"no cost of a gait is called {shown(cost)}{near}")
    return FORMULATIONS[cost]
