"""Which pairs of links are kept apart, and which are left out, with the reason of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dynamics.arguments import list_names
from dynamics.quantities.packed_shapes import RobotShapes

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

MEET, FIXED, ALLOWED = "meet at a joint", "do not move against each other", "are allowed to touch"
GROUND = "ground"
MOST_NAMED = 20  # pairs left out for one reason that a text names all


@dataclass(frozen=True)
class LeftOut:
    """Two links or frames, or one and a shape of the scene, whose distance is not computed, and why."""

    first: str
    second: str
    reason: str

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


def link_pairs(model: KinematicTree, robot: RobotShapes) -> tuple[np.ndarray, tuple[LeftOut, ...]]:
    """(p, 2) shape and -1 - shape of the robot's distances to itself, and the links that are left out.

    Left out: links on one body, links that meet at a joint (`Body.neighbour`), and `allowed_pairs`.
    """
    carriers = list(dict.fromkeys(robot.carriers))
    number = {carrier: index for index, carrier in enumerate(carriers)}
    body = dict(zip(robot.carriers, robot.body.tolist(), strict=True))
    meeting = {frozenset((each.name, each.neighbour or each.parent or "")) for each in model.bodies}
    reasons = {frozenset(pair[:2]): pair[2] if len(pair) > 2 else "" for pair in model.allowed_pairs}
    apart, left_out = np.ones((len(carriers), len(carriers)), bool), []
    for i, one in enumerate(carriers):
        apart[i, i] = False
        for j, other in enumerate(carriers[:i]):
            pair = frozenset((one, other))
            if body[one] == body[other]:
                reason = FIXED
            elif pair in meeting:
                reason = MEET
            elif pair in reasons:
                reason = reasons[pair] or ALLOWED
            else:
                continue
            apart[i, j] = apart[j, i] = False
            left_out.append(LeftOut(other or GROUND, one or GROUND, reason))
    of = np.array([number[carrier] for carrier in robot.carriers], np.int64)
    i, j = np.nonzero(np.tril(apart[of][:, of], -1))
    return np.stack([i, -1 - j], axis=1), tuple(left_out)


def coverage(checked: int, left_out: Iterable[LeftOut], bare: Iterable[str]) -> str:
    """How many pairs are checked, how many are left out and why, and links without a shape, as a text."""
    found: dict[str, list[LeftOut]] = {}
    for each in left_out:
        found.setdefault(each.reason, []).append(each)
    parts = [f"{len(found.pop(reason))} that {reason}" for reason in (MEET, FIXED) if reason in found]
    for reason, pairs in found.items():
        names = ", ".join(map(str, pairs)) if len(pairs) <= MOST_NAMED else list_names(pairs)
        parts.append(f"{len(pairs)} that {reason} ({names})")
    without = list(bare)
    shapeless = f"; links without a shape: {list_names(without)}" if without else ""
    return (
        f"pairs of links and obstacles: {checked} checked, left out {', '.join(parts) or 'none'}{shapeless}"
    )
