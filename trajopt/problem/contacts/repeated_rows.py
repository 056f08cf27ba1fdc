"""Rows of a contact that repeat those of others which stand with it, found by rank at poses on the ground.

Four points of one sole given as contacts of their own have 12 rows of rank 6, four edges under legs of three
joints 20 rows of rank 15. Rows that repeat others at every pose looked at are not stated, since no forces
are determined by them; what they would hold is held by the others, and `verify` looks at all points. Of a
contact that is held along all axes they are rows in axes of its link, as a heel holds its ball along their
line, wherever the foot heads.

Rows may depend on each other at one pose alone, those of two soles on legs of five joints as far apart as
their hips for instance. Such a row stays: the robot would leave the pose without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.problem.contacts.contact import Contact, StatedRows
from trajopt.problem.contacts.loop_ends import pose_at
from trajopt.problem.contacts.loop_poses import REPEATED, independent
from trajopt.problem.contacts.pose_search import SEED
from trajopt.problem.contacts.reach import FeetOnGround
from trajopt.splines.node_sets import START
from trajopt.terms.term import ExpressionTerm

POSES, NEAR = 4, 0.2  # poses on the ground, and how far around the first others are looked for, rad or m
FEWEST = 2  # poses on the ground without which nothing is left out


def stated_rows(problem: Any, contact: Contact) -> dict[int, StatedRows]:
    """`Contact.stated` of a contact that is added to those of a problem."""
    found: dict[int, StatedRows] = {}
    known: dict[Any, StatedRows | None] = {}
    for arc in contact.arcs:
        others = [each for each in problem.contacts.values() if arc in each.arcs]
        every = [*others, contact]
        alike = tuple((each.frame, each.ground[arc], each.held[arc], each.stated.get(arc)) for each in every)
        if alike not in known:
            known[alike] = _independent_rows(problem, others, contact, arc)
        rows = known[alike]
        if rows is not None:
            found[arc] = rows
    return found


def _independent_rows(
    problem: Any, others: Sequence[Contact], contact: Contact, arc: int
) -> StatedRows | None:
    """None where all are, and where too few poses on the ground are found."""
    upwards = any(each.is_held_upwards(arc) for each in (*others, contact))
    if not upwards or _moves_alone(problem.dynamics, others, contact, arc):
        return None
    rows = [_row(each, each.stated_velocity, arc) for each in others if each.velocity_units(arc)]
    own = _row(contact, contact.own_velocity, arc)
    poses = PosesOnGround(problem, [*others, contact], arc, [*rows, own])
    near, still = poses.near(pose_at(problem, START)), np.zeros(poses.n)
    if len(near) < FEWEST:
        return None
    every = np.array([poses.slope(q, still, [each.quantity for each in (*rows, own)], "v") for q in near])
    count = len(contact.rows_of(arc))
    mine = every[:, -count:]
    velocity = tuple(sorted(independent(mine, every[:, :-count])))
    heights = range(len(contact.corners))
    if len(velocity) == count:
        return None
    if contact.is_held_upwards(arc):
        slopes = np.array([poses.misfit_slope(q) for q in near])
        first = slopes.shape[1] - len(contact.points)
        mine = slopes[:, first:][:, contact.corners]
        heights = sorted(independent(mine, slopes[:, :first]))
    return StatedRows(velocity, tuple(heights))


def _row(contact: Contact, read: Any, arc: int) -> ExpressionTerm:
    return ExpressionTerm(partial(read, arc=arc), f"{contact.frame} held, arc {arc}")


def _moves_alone(dynamics: Any, others: Sequence[Contact], contact: Contact, arc: int) -> bool:
    """True where joints on which no other contact depends move what is held along all rows, at some pose."""
    own, *rest = (_depends(dynamics, each, arc) for each in (contact, *others))
    alone = own & ~np.any([np.zeros_like(own), *rest], axis=0)
    if np.count_nonzero(alone) < len(contact.velocity_units(arc)):
        return False
    q = np.random.default_rng(SEED).uniform(-NEAR, NEAR, (1, dynamics.n))
    block = dynamics.block(_frames(contact.frame))
    u = {"q": q, **{name: np.zeros((1, width)) for name, width in block.inputs.items() if name != "q"}}
    values, slopes = block.value(u), block.partials(u)
    place, turn = _frames(contact.frame)
    R, by_q = values[turn].reshape(3, 3), slopes[turn, "q"][0].reshape(3, 3, -1)
    moved = slopes[place, "q"][0] + np.einsum("ijn,j->in", by_q, contact.points[0])
    spin = np.einsum("ijn,kj->ikn", by_q, R)
    turned = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    wanted = moved if contact.is_point else np.concatenate([turned, moved])
    sizes = np.linalg.svd(wanted[:, alone], compute_uv=False)
    return bool(sizes[len(wanted) - 1] > REPEATED * sizes[0]) if sizes.size >= len(wanted) else False


def _frames(frame: str) -> tuple[str, str]:
    return f"position:{frame}", f"orientation:{frame}"


def _depends(dynamics: Any, contact: Contact, arc: int) -> Array:
    """(n,) the coordinates that move a contact or what it stands on."""
    surface = contact.ground[arc].frame
    names = [name for frame in (contact.frame, surface) if frame for name in _frames(frame)]
    pattern = dynamics.block(tuple(names)).pattern()
    depends = [np.any(part, axis=0) for (_, by), part in pattern.items() if by == "q"]
    return np.any([np.zeros(dynamics.n, bool), *depends], axis=0)


class PosesOnGround(FeetOnGround):
    """Poses at which feet are on the ground to rounding, and rows of contacts there."""

    def near(self, start: Array) -> list[Array]:
        """Up to `POSES` of them, around the one that is found from a start."""
        first = self.exact(self.best(start))
        if first is None:
            return []
        random = np.random.default_rng(SEED)
        others = [self.exact(first + random.uniform(-NEAR, NEAR, self.n)) for _ in range(POSES)]
        return [pose for pose in others if pose is not None]
