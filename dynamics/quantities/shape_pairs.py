"""Pairs of links that are kept apart and pairs that are left out, with the reason for each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dynamics.arguments import list_names
from dynamics.kernels.distances import HALF_SPACE
from dynamics.model.packed_model import COORDINATE, OFFSET, PARENT, POSITION, RATIO, SLIDE
from dynamics.quantities.packed_shapes import PackedShapes, RobotShapes

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

MEET, FIXED, ALLOWED = "meet at a joint", "do not move against each other", "are allowed to touch"
OUT_OF_REACH = "come in no pose within"
GROUND = "ground"
SLACK = 0.01  # m, by which slides may exceed their limits
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


def apart_in_all_poses(model: KinematicTree, robot: RobotShapes, solids: PackedShapes) -> np.ndarray:
    """Lower bounds (s, o) m of the distances of the robot's shapes to solids, for all q within their limits.

    A shape stays in a ball about the first joint that carries it, whose radius is the chain stretched out.
    """
    tree, numbers = model.packed.tree, model.packed.numbers
    limits = model.limits
    sliding = np.abs(numbers[:, SLIDE]) > 0.0
    slide, ratio, offset = np.abs(numbers[sliding][:, [SLIDE, RATIO, OFFSET]]).T
    far = np.maximum(np.abs(limits.q_lower), np.abs(limits.q_upper))[tree[sliding, COORDINATE]]
    moved = np.zeros(len(tree))
    moved[sliding] = slide * (ratio * far + offset) + SLACK
    offsets = np.linalg.norm(numbers[:, POSITION : POSITION + 3], axis=1)
    lengths = (
        np.maximum.reduceat(np.linalg.norm(robot.corners, axis=1), robot.first[:-1]) + robot.shapes.radius
    )
    middles = np.zeros((len(robot.body), 3))
    for index, body in enumerate(robot.body.tolist()):
        while body > 0:
            lengths[index] += moved[body]
            parent = int(tree[body, PARENT])
            if parent == 0:
                middles[index] = numbers[body, POSITION : POSITION + 3]
            else:
                lengths[index] += offsets[body]
            body = parent
    away = middles[:, None] - solids.axes[None, :, 9:]
    distances = np.linalg.norm(away, axis=2) - solids.extent
    flat = solids.kind == HALF_SPACE
    distances[:, flat] = np.einsum("soi,oi->so", away[:, flat], solids.axes[flat, 6:9])
    return distances - lengths[:, None]


def coverage(checked: int, left_out: Iterable[LeftOut], bare: Iterable[str]) -> str:
    """Numbers of pairs checked and left out, with the reasons, and links without a shape, as a text."""
    found: dict[str, list[LeftOut]] = {}
    for each in left_out:
        found.setdefault(each.reason, []).append(each)
    parts = [f"{len(found.pop(reason))} that {reason}" for reason in (MEET, FIXED) if reason in found]
    for reason, pairs in found.items():
        if reason.startswith(OUT_OF_REACH):
            parts.append(f"{len(pairs)} that {reason}")
            continue
        names = ", ".join(map(str, pairs)) if len(pairs) <= MOST_NAMED else list_names(pairs)
        parts.append(f"{len(pairs)} that {reason} ({names})")
    without = list(bare)
    shapeless = f"; links without a shape: {list_names(without)}" if without else ""
    return (
        f"pairs of links and obstacles: {checked} checked, left out {', '.join(parts) or 'none'}{shapeless}"
    )
