"""The walks that docs/gait.md reports, each solved once as its problem recommends."""

from __future__ import annotations

import time
from functools import cache
from typing import Any

import trajopt
from problems import gait, gait_stride
from problems.recipe import defaults_of

TRIAL = {"speed": 1.253, "step_length": 0.717}  # m/s, m, of the measured trial
LONG = {"step_length": 0.7}
WALKS: dict[str, tuple[dict[str, Any], ...]] = {
    "sourced": ({"step_length": 0.6}, LONG, TRIAL),
    "thesis": ({"step_length": 0.6}, LONG),
}
PACKS = (0.0, 15.0)  # kg
LIMP = "right ankle 40 % as strong"
STRIDES: dict[str, dict[str, Any]] = {
    "both sides equal": {},
    LIMP: {"ankle_strength": 0.4},
    "right knee stiffer by 40 N m/rad": {"knee_stiffness": 40.0, "without": "knee clearance"},
    "5 kg in the right hand": {"hand_load": 5.0},
}


def solved(problem: Any = gait, **parameters: Any) -> trajopt.Solution:
    """A gait as its problem recommends to solve it, from its default start unless another is given."""
    return timed(problem, **parameters)[0]


def timed(problem: Any = gait, **parameters: Any) -> tuple[trajopt.Solution, float]:
    """The same with its processor seconds, solved once however often it is asked for."""
    return _timed(problem, tuple(sorted((defaults_of(problem.build) | parameters).items())))


@cache
def _timed(problem: Any, parameters: tuple[tuple[str, Any], ...]) -> tuple[trajopt.Solution, float]:
    began = time.process_time()
    solution = trajopt.solve(problem.build(**dict(parameters)), progress="auto")
    seconds = time.process_time() - began
    print(solution)
    return solution, seconds


def predicted_limp() -> trajopt.Solution:
    """The stride of one weak ankle with predicted contact, at the default speed and sum of step lengths."""
    return solved(gait_stride, **STRIDES[LIMP])


def headed(speed: float = 1.2, step_length: float = 0.6) -> str:
    return f"{speed:g} m/s, {step_length:g} m"


def walks(cost: str) -> dict[str, trajopt.Solution]:
    """The walks that the tables of a cost are of, by speed and step length."""
    return {headed(**where): solved(cost=cost, **where) for where in WALKS[cost]}
