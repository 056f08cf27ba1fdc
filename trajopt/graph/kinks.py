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
from typing import Any, Literal

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.dual_numbers import DualNumber, Operation
from trajopt.graph.expression import ExpressionBlock

NODES = 24  # of a motion, from which borders are looked for
SPREADS = (0.1, 2.0)  # of the points beside them, relative to the largest value of an input and one
PAIRS = 6  # brackets of one border
SECTIONS, PASSES = 64, 9  # a bracket is cut 64 ** 9 = 2 ** 54 times, to rounding
VALUE_GAP, SLOPE_GAP = 1e-7, 1e-6  # relative; those of smooth terms at the ends of a bracket are rounding


@dataclass(frozen=True)
class Kink:
    """Where a component of a term has two values, or two slopes.

    operation : the operation that changes its side there
    entry : the output and its component
    before, after : its values, or its slopes by an input and its component, `by`
    where : the input that changes the side most, its component, and its value at the border
    """

    operation: Operation
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
    free = [name for name in block.inputs if name not in fixed]
    if not block.has_borders or not free:
        return None
    moves = np.array([name not in fixed for name, _ in _entries(block.inputs)])
    one, other = _pairs(np.concatenate([values[name] for name in block.inputs], axis=1), moves)
    try:
        before, after = _Evaluated.of(block, one), _Evaluated.of(block, other)
    except NotImplementedError:  # an operation without slopes here, such as a remainder
        return None
    for number in range(before.sides.shape[1]):
        rows = np.flatnonzero(before.sides[:, number] != after.sides[:, number])
        rows = rows[np.unique(np.linspace(0, rows.size - 1, PAIRS).astype(int))] if rows.size else rows
        found = _at_border(block, one[rows], other[rows], number, moves) if rows.size else None
        if found is not None:
            return found
    return None


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """Values (P, m) and slopes (P, m, n) of a term at P points, and the sides of its borders, (P, b)."""

    values: Array
    slopes: Array
    sides: Any
    slopes_of_borders: Array
    operations: tuple[Operation, ...]

    @classmethod
    def of(cls, block: ExpressionBlock, points: Array) -> _Evaluated:
        borders: list[tuple[Operation, DualNumber]] = []
        inputs = DualNumber.inputs(points, borders)
        edges = np.cumsum([0, *block.inputs.values()])
        u = {name: inputs[a:b] for name, a, b in zip(block.inputs, edges[:-1], edges[1:], strict=True)}
        constant = DualNumber.constants(points.shape, borders)
        with np.errstate(all="ignore"):
            outputs = [each for part in block.value_over(u, constant).values() for each in part]
        given = [each if isinstance(each, DualNumber) else constant(each) for each in outputs]
        met = [border for _, border in borders]
        return cls(
            np.stack([each.value for each in given], axis=1),
            np.stack([each.slope for each in given], axis=1),
            np.stack([each.value for each in met], axis=1) > 0.0,
            np.stack([each.slope for each in met], axis=1),
            tuple(operation for operation, _ in borders),
        )


def _entries(widths: Mapping[str, int]) -> list[tuple[str, int]]:
    """Names and components, one after the other."""
    return [(name, j) for name, width in widths.items() for j in range(width)]


def _pairs(points: Array, moves: Any) -> tuple[Array, Array]:
    """Points of a motion, and others with other moving inputs: of other nodes, and random ones nearby."""
    rng = np.random.default_rng(0)
    some = points[np.unique(np.linspace(0, len(points) - 1, NODES).astype(int))]
    size = 1.0 + np.abs(points).max(axis=0)
    others = [some[::-1], *(some + spread * size * rng.uniform(-1.0, 1.0, some.shape) for spread in SPREADS)]
    one = np.tile(some, (len(others), 1))
    return one, np.where(moves, np.concatenate(others), one)


def _at_border(block: ExpressionBlock, one: Array, other: Array, number: int, moves: Any) -> Kink | None:
    """The kink at a border between points on its two sides, if there is one."""
    for _ in range(PASSES):
        one, other = _narrowed(block, one, other, number)
    before, after = _Evaluated.of(block, one), _Evaluated.of(block, other)
    columns, entries = _entries(block.inputs), _entries(block.outputs)

    def kink(what: Literal["value", "slope"], place: Any, first: Array, second: Array) -> Kink:
        row, component = place[:2]
        at = int(np.argmax(np.abs(np.where(moves, before.slopes_of_borders[row, number], 0.0))))
        sides = float(first[tuple(place)]), float(second[tuple(place)])
        by = columns[place[2]] if what == "slope" else columns[at]
        where = (*columns[at], float(one[row, at]))
        return Kink(before.operations[number], entries[component], what, *sides, by, where)

    size = 1.0 + np.abs(before.values)
    jumps = np.argwhere(np.abs(after.values - before.values) > VALUE_GAP * size)
    if jumps.size:
        return kink("value", jumps[0], before.values, after.values)
    largest = 1.0 + np.abs(before.slopes).max(axis=2, keepdims=True)
    kinks = np.argwhere((np.abs(after.slopes - before.slopes) > SLOPE_GAP * largest) & moves)
    return kink("slope", kinks[0], before.slopes, after.slopes) if kinks.size else None


def _narrowed(block: ExpressionBlock, one: Array, other: Array, number: int) -> tuple[Array, Array]:
    """The first of 64 equal sections between two points in which the side of a border changes."""
    parts = np.linspace(0.0, 1.0, SECTIONS + 1)[None, :, None]
    points = (1.0 - parts) * one[:, None] + parts * other[:, None]
    sides = _Evaluated.of(block, points.reshape(-1, one.shape[1])).sides[:, number].reshape(points.shape[:2])
    last = np.argmax(sides[:, 1:] != sides[:, :1], axis=1)
    rows = np.arange(len(one))
    return points[rows, last], points[rows, last + 1]
