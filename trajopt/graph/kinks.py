"""Kinks and jumps of traced terms: where an absolute value, a maximum or a comparison changes its side.

    |x|, sign(x)            change side at   x = 0
    max(x, y), min(x, y)                     x = y
    x < y, x <= y                            x = y

A term of them is smooth to first order all the same where value and slope agree on both sides of such a
border, as those of max(x, 0)^2 do. A point of the border is bracketed between two points on different sides,
down to rounding, and the term and its slope are evaluated at both ends of the bracket.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.any_arithmetic import Border
from trajopt.graph.expression import ExpressionBlock

NODES = 24  # of a motion, from which borders are looked for, and brackets of one border
SPREADS = (0.1, 2.0)  # of the points beside them, relative to the largest value of an input and one
GAP = 1e-7  # of values and slopes, relative; that of smooth terms at the ends of a bracket is rounding


@dataclass(frozen=True)
class Kink:
    """A place where a component of a term has two values, or two slopes.

    operation : the operation that changes its side there
    entry : the output and its component
    before, after : its values, or its slopes by an input and its component, `by`
    where : the input that changes the side most, its component, and its value at the border
    """

    operation: Border
    entry: tuple[str, int]
    what: Literal["value", "slope"]
    before: float
    after: float
    by: tuple[str, int]
    where: tuple[str, int, float]


def kink_of(block: ExpressionBlock, values: Mapping[str, Array], fixed: Set[str]) -> Kink | None:
    """A kink or jump of a traced term near a motion; None where none is found.

    values : every input at the nodes, (K, width); fixed : inputs that no unknown changes, whose sides change
    at given times, where nothing is differentiated
    """
    if not block.borders or set(block.inputs) <= fixed:
        return None
    moves, whole = np.array([name not in fixed for name, _ in entries_of(block.inputs)]), block.with_borders()
    one, other = pairs_of_points(np.concatenate([values[name] for name in block.inputs], axis=1), moves)
    with np.errstate(all="ignore"):
        for number, changes in enumerate((_sides(whole, one) != _sides(whole, other)).T):
            rows = np.flatnonzero(changes)
            rows = rows[np.unique(np.linspace(0, rows.size - 1, NODES).astype(int))] if rows.size else rows
            found = _at_border(block, whole, one[rows], other[rows], number, moves) if rows.size else None
            if found is not None:
                return found
    return None


def _sides(whole: ExpressionBlock, points: Array) -> Array:
    """The sides of all borders at P points, boolean (P, borders)."""
    return whole.value({"u": points})["borders"] > 0.0


def _slopes(whole: ExpressionBlock, points: Array, output: str) -> Array:
    """Slopes (P, components, inputs) of an output at P points."""
    shape = len(points), whole.outputs[output], points.shape[1]
    return whole.partials({"u": points}).get((output, "u"), np.zeros(shape))


def entries_of(widths: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names and components, one after the other."""
    return [(name, j) for name, width in widths.items() for j in range(width)]


def pairs_of_points(points: Array, moves: Array, spreads: tuple[float, ...] = SPREADS) -> tuple[Array, Array]:
    """Points of a motion, and others with other moving inputs: of other nodes, and random ones nearby.

    spreads : of the random ones, relative to the largest value of an input and one
    """
    rng = np.random.default_rng(0)
    some = points[np.unique(np.linspace(0, len(points) - 1, NODES).astype(int))]
    size = 1.0 + np.abs(points).max(axis=0)
    others = [some[::-1], *(some + spread * size * rng.uniform(-1.0, 1.0, some.shape) for spread in spreads)]
    one = np.tile(some, (len(others), 1))
    return one, np.where(moves, np.concatenate(others), one)


def _at_border(
    block: ExpressionBlock, whole: ExpressionBlock, one: Array, other: Array, number: int, moves: Array
) -> Kink | None:
    """The kink at a border between points on its two sides, if there is one; whole : `with_borders`."""
    for _ in range(np.finfo(float).nmant + 2):  # halved to rounding
        middle = 0.5 * (one + other)
        same = _sides(whole, middle)[:, number, None] == _sides(whole, one)[:, number, None]
        one, other = np.where(same, middle, one), np.where(same, other, middle)
    border, one, other = one, 2.0 * one - other, 2.0 * other - one  # sides: either end may be on the border
    columns, entries = entries_of(block.inputs), entries_of(block.outputs)
    size_of_border = np.abs(np.where(moves, _slopes(whole, one, "borders")[:, number], 0.0))

    def kink(what: Literal["value", "slope"], place: Array, before: Array, after: Array) -> Kink:
        row, component = place[:2]
        at = int(np.argmax(size_of_border[row]))
        sides = float(before[tuple(place)]), float(after[tuple(place)])
        by = columns[place[2]] if what == "slope" else columns[at]
        where = (*columns[at], float(border[row, at]))
        return Kink(block.borders[number][0], entries[component], what, *sides, by, where)

    before, after = (whole.value({"u": points})["y"] for points in (one, other))
    jumps = np.argwhere(np.abs(after - before) > GAP * (1.0 + np.abs(before)))
    if jumps.size:
        return kink("value", jumps[0], before, after)
    before, after = (_slopes(whole, points, "y") for points in (one, other))
    largest = 1.0 + np.abs(before).max(axis=2, keepdims=True)
    kinks = np.argwhere((np.abs(after - before) > GAP * largest) & moves)
    return kink("slope", kinks[0], before, after) if kinks.size else None
