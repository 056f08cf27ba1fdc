"""Limits of a joint: its displacement, its rate and its torque."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from dynamics.arguments import real_array, short_repr
from dynamics.errors import JointError


@dataclass(frozen=True)
class JointLimits:
    """q_lower <= displacement <= q_upper, |rate| <= velocity, torque_lower <= torque <= torque_upper.

    Units: rad, rad/s, N m for a revolute joint, m, m/s, N for a prismatic one; infinity means no limit.
    Checked by `Joint`, which raises JointError with its name when a pair is not ordered.
    """

    q_lower: float = -math.inf
    q_upper: float = math.inf
    velocity: float = math.inf
    torque_lower: float = -math.inf
    torque_upper: float = math.inf

    @classmethod
    def symmetric(
        cls, q: float = math.inf, velocity: float = math.inf, torque: float = math.inf
    ) -> JointLimits:
        """The limits |displacement| <= q, |rate| <= velocity, |torque| <= torque."""
        q, velocity, torque = (
            limit_number(number, f"the limit {name}")
            for name, number in (("q", q), ("velocity", velocity), ("torque", torque))
        )
        return cls(-q, q, velocity, -torque, torque)


def checked_limits(limits: JointLimits, what: str) -> JointLimits:
    """`limits` as floats; JointError when one is NaN or a pair is not ordered."""
    names = ("q_lower", "q_upper", "velocity", "torque_lower", "torque_upper")
    if not isinstance(limits, JointLimits):
        raise JointError(f"{what} limits are {short_repr(limits)}; give JointLimits of numbers")
    numbers = {name: limit_number(getattr(limits, name), f"{what} limit {name}") for name in names}
    for lower, upper in (("q_lower", "q_upper"), ("torque_lower", "torque_upper")):
        if numbers[lower] > numbers[upper]:
            raise JointError(f"{what} {lower} = {numbers[lower]} exceeds {upper} = {numbers[upper]}")
    if numbers["velocity"] < 0.0:
        raise JointError(
            f"{what} velocity limit is {numbers['velocity']}; it bounds |rate|, so it must not be negative"
        )
    return JointLimits(**numbers)


def limit_number(value: ArrayLike, what: str) -> float:
    """`value` as a float, which may be infinite; JointError where it is none or NaN."""
    try:
        number = float(real_array(value, what).reshape(()))
    except ValueError as error:  # ShapeError is one, too
        raise JointError(
            f"{what} is {short_repr(value)}; give a number, or leave it out when there is none"
        ) from error
    if math.isnan(number):
        raise JointError(f"{what} is NaN; leave it out when there is none")
    return number
