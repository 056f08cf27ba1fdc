"""Limits of the joints on a motion: speed, acceleration, jerk and torque."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.base.arguments import numbers
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, ShapeError, UnboundedError

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """|v| <= velocity, |a| <= acceleration, torque_lower <= tau <= torque_upper, |jerk| <= jerk, (n,).

    Infinity: no limit.
    """

    velocity: Array
    acceleration: Array
    torque_lower: Array
    torque_upper: Array
    jerk: Array = field(default_factory=lambda: np.array(np.inf))

    @property
    def has_torque(self) -> bool:
        """True if the torque of any joint is limited."""
        return bool(np.any(np.isfinite([self.torque_lower, self.torque_upper])))


def limits_of(
    model: KinematicTree, velocity: Any, acceleration: Any, torque: Any, jerk: Any = None
) -> MotionLimits:
    """The limits given, and those of the model for None; see `retime`, also for errors."""
    own = model.limits
    v = positive_of_joints(own.velocity if velocity is None else velocity, "velocity", model)
    a = positive_of_joints(np.inf if acceleration is None else acceleration, "acceleration", model)
    j = positive_of_joints(np.inf if jerk is None else jerk, "jerk", model)
    if torque is None and model.has_no_mass:  # what the file says of them cannot be checked
        upper = np.full(model.n, np.inf)
        lower = -upper
    elif torque is None:
        lower, upper = own.torque_lower, own.torque_upper
    elif numbers(torque, "torque").ndim == 2:
        lower, upper = _pairs(torque, model)
    else:
        upper = positive_of_joints(torque, "torque", model)
        lower = -upper
    found = MotionLimits(v, a, lower, upper, j)
    if found.has_torque:
        model.check_mass("a limit of torque")
    if not (found.has_torque or np.any(np.isfinite([v, a, j]))):
        raise UnboundedError(
            "no joint has a limit of speed, acceleration or torque, so that the motion takes no time: give "
            "velocity=, acceleration= or torque="
        )
    return found


def positive_of_joints(given: Any, what: str, model: KinematicTree) -> Array:
    """A number, or one per joint, above zero, (n,)."""
    found = numbers(given, what)
    if found.shape not in ((), (model.n,)):
        raise ShapeError(f"{what} has shape {found.shape}: give one number or ({model.n},), one per joint")
    found = np.array(np.broadcast_to(found, (model.n,)))
    if not np.all(found > 0.0):  # of NaN, too
        joint = int(np.argmin(found > 0.0))
        raise OptionError(
            f"{what} of joint {model.joint_names[joint]!r} is {found[joint]}: give a number above zero"
        )
    return found


def _pairs(given: Any, model: KinematicTree) -> tuple[Array, Array]:
    found = numbers(given, "torque")
    if found.shape != (model.n, 2):
        raise ShapeError(f"torque has shape {found.shape}: give one number, ({model.n},) or ({model.n}, 2)")
    ordered = found[:, 0] < found[:, 1]
    if not np.all(ordered):
        joint = int(np.argmin(ordered))
        raise OptionError(
            f"torque of joint {model.joint_names[joint]!r} is {found[joint]}: give the lower limit, then the "
            "upper one"
        )
    return found[:, 0], found[:, 1]
