"""Kinks and jumps of traced terms: where an absolute value, a maximum or a comparison changes its side.

    |x|, sign(x)            change side at   x = 0
    max(x, y), min(x, y)                     x = y
    x < y, x <= y                            x = y

A term of them is smooth to first order all the same where value and slope agree on both sides of such a
border, as those of max(x, 0)^2 do. A point of the border is bracketed between two points on different sides,
down to rounding, and the term and its slope are evaluated at both ends of the bracket.

Roots of traced terms may turn within a small part of their range: sqrt(u' u + e) with a small e.

Along a line through the least value of a root y = sqrt(r) such a root is a V: it rises on both sides, within
a small part of the way to another point, as steeply as on the whole way. A term that holds the root has a
corner there where its second difference is a part of its range in proportion to the step, not to its square.
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


PART = 0.05  # of the way between two points
PARTS = round(1.0 / PART)  # looked at on the way, for the largest value


@dataclass(frozen=True)
class SharpRoot:
    """A root that turns: its least and a usual value, and where: an input, its component and its value."""

    least: float
    usual: float
    where: tuple[str, int, float]


def sharp_root_of(block: ExpressionBlock, values: Mapping[str, Array], fixed: Set[str]) -> SharpRoot | None:
    """A root of a traced term that turns sharply near a motion; None where none is found.

    values : every input at the nodes, (K, width); fixed : inputs that no unknown changes
    """
    radicands = list(block.radicands())
    if not radicands:
        return None
    columns = entries_of(block.inputs)
    moves = np.array([name not in fixed for name, _ in columns])
    motion = np.concatenate([values[name] for name in block.inputs], axis=1)
    one, other = pairs_of_points(motion, moves, (0.1, 0.5))  # nearer to the motion than those for kinks
    points = np.unique(np.concatenate([one, other]), axis=0)
    # A least value is looked for beside the motion by half of the largest input and one
    size = 0.5 * (1.0 + np.abs(motion).max(axis=0))
    box = motion.min(axis=0) - size, motion.max(axis=0) + size
    whole = block.with_borders()
    with np.errstate(all="ignore"):
        for radicand in radicands:
            # About 24 starts of Newton's method
            for least in _least_points(radicand, points[:: max(1, len(points) // 24)], moves, box):
                bottom, way = float(_root(radicand, least[None])[0]), np.where(moves, points - least, 0.0)
                parts = np.linspace(PART, 1.0, PARTS)
                usual = np.max([_root(radicand, least + part * way) for part in parts], axis=0)
                sides = [_root(radicand, least + side * way) - bottom for side in (-PART, PART)]
                # A root with a corner has at least half of the mean slope of the way in its first part
                corner = np.min(sides, axis=0) >= 0.5 * PART * (usual - bottom)
                corner &= (usual > 0.0) & (bottom <= 2.0 * PART * usual)
                corner &= _has_corners(whole, least, way, parts)
                if np.any(corner):
                    k = int(np.argmax(np.where(corner, usual, -1.0)))
                    j = int(np.argmax(np.abs(way[k])))
                    return SharpRoot(bottom, float(usual[k]), (*columns[j], float(least[j])))
    return None


def _has_corners(whole: ExpressionBlock, least: Array, way: Array, parts: Array) -> Array:
    """True for each way (P, inputs) along which a component of a term has a corner at a point, (P,)."""
    middle = whole.value({"u": least[None]})["y"]
    along = np.array([whole.value({"u": least + part * way})["y"] - middle for part in parts])
    bend = np.abs(along[0] + whole.value({"u": least - PART * way})["y"] - middle)
    ranges = np.abs(along).max(axis=0)
    # The second difference relative to PART times the range is 2 for |x| and 0.1 for x^2
    return np.any((bend >= 0.4 * PART * ranges) & (ranges > 0.0), axis=1)


def _root(radicand: ExpressionBlock, points: Array) -> Array:
    """The root at points (P, inputs), (P,); NaN where it has none."""
    return np.sqrt(radicand.value({"u": points})["r"][:, 0])


def _least_points(radicand: ExpressionBlock, starts: Array, moves: Array, box: tuple[Array, Array]) -> Array:
    """Points of least radicand near starts (P, inputs), by Newton steps with positive curvatures."""
    at, one, count = starts.copy(), {"r": np.ones((len(starts), 1))}, starts.shape[1]
    for _ in range(20):  # steps of Newton's method to the least value of a root
        gradient = radicand.partials({"u": at}).get(("r", "u"), np.zeros((len(at), 1, count)))[:, 0, moves]
        curvature = radicand.curvature({"u": at}, one).get(("u", "u"), np.zeros((len(at), count, count)))
        curvature = curvature[:, moves][:, :, moves]
        fine = np.isfinite(gradient.sum(axis=1) + curvature.sum(axis=(1, 2)))
        sizes, axes = np.linalg.eigh(np.where(fine[:, None, None], curvature, 0.0))
        sizes = np.abs(sizes)
        along = np.einsum("pji,pj->pi", axes, np.where(fine[:, None], gradient, 0.0))
        # Directions with less than 1e-9 of the largest curvature are left alone
        kept = sizes > 1e-9 * sizes.max(axis=1, initial=0.0, keepdims=True)
        at[:, moves] -= np.einsum("pij,pj->pi", axes, np.where(kept, along / np.where(kept, sizes, 1.0), 0.0))
        at = np.where(moves, np.clip(at, *box), at)
    return at
