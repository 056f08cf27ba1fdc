"""The pose in which a robot stands: a given one, its free base as high as puts its feet on the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, OptionError
from trajopt.base.tolerances import CONTROL_POINT_ROUNDING
from trajopt.problem.contacts.contact import Contact, Surface
from trajopt.problem.contacts.ground import Ground


@dataclass(frozen=True)
class FramePoses:
    """Frames at one pose of a robot, read as terms read a node."""

    values: dict[str, Array]

    def position(self, frame: str) -> Array:
        """(3,) m, world axes."""
        return self.values[f"position:{frame}"][0]

    def orientation(self, frame: str) -> Array:
        """(9,) rotation, row by row."""
        return self.values[f"orientation:{frame}"][0]


def lowered(
    dynamics: Any, contacts: Sequence[Contact], q: Array, arc: int, apart_at_most: float
) -> tuple[Array, bool]:
    """The pose q (n,) with its lowest foot on the ground, and True where the others are on it to rounding.

    contacts : those that stand in the arc, none on a wall
    apart_at_most : m, between the heights of the lowest and the highest foot
    Raises InfeasibleBoundsError where they are further apart, and OptionError as `Problem.standing_pose`.
    """
    floating = getattr(dynamics, "floating_joints", ())
    if not floating:
        raise OptionError('a robot is placed on its feet by its free base: load it with floating_base="free"')
    if not contacts:
        raise OptionError(f"no foot stands in arc {arc}: add its contacts first, or name another arc")
    names = [f"{kind}:{each.frame}" for each in contacts for kind in ("position", "orientation")]
    node: Any = FramePoses(dynamics.block(tuple(names)).value({"q": q[None]}))
    up = upwards(dynamics)
    each = ((one, one.height(node, arc, one.points)) for one in contacts)
    # m straight above the ground, of the lowest point of each foot
    heights = {one.frame: float(np.min(gaps)) / rise(one.ground[arc], up) for one, gaps in each}
    lowest, highest = min(heights, key=heights.__getitem__), max(heights, key=heights.__getitem__)
    apart = heights[highest] - heights[lowest]
    if apart > apart_at_most:
        raise InfeasibleBoundsError(
            f"'{highest}' is {apart:.6g} m above the ground when '{lowest}' touches it: both stand in arc "
            f"{arc}; change the angles of a leg, or the turn of the base"
        )
    found = q.copy()
    axis = int(np.argmax(upwards(dynamics)))
    found[list(dynamics.joint_names).index(floating[axis])] -= heights[lowest]
    return found, apart <= CONTROL_POINT_ROUNDING


def upwards(dynamics: Any) -> Array:
    """(3,) against gravity."""
    return -np.asarray(dynamics.gravity) / np.linalg.norm(dynamics.gravity)


def rise(ground: Surface, up: Array) -> float:
    """The growth of a gap per metre upwards; 0 for walls and for what moves, which carry no pose."""
    if isinstance(ground, Ground):
        return 1.0
    steep = float(np.dot(ground.normal, up))
    # A plane whose normal has a smaller cosine with upwards is a wall
    return 0.0 if ground.frame is not None or steep < 0.1 else steep
