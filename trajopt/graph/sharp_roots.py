"""Roots of traced terms that turn within a small part of their range: sqrt(u' u + e) with a small e.

Along a line through the least value of a root y = sqrt(r) such a root is a V: it rises on both sides, within
a small part of the way to another point, as steeply as on the whole way. A term that holds the root has a
corner there where its second difference is a part of its range in proportion to the step, not to its square.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.expression import ExpressionBlock
from trajopt.graph.kinks import entries_of, pairs_of_points

STEPS = 20  # of Newton's method to the least value of a root
SPREADS = (0.1, 0.5)  # of the points beside a motion, as of kinks
PART = 0.05  # of the way between two points
PARTS = 20  # looked at on the way, for the largest value
CORNER = 0.4  # second difference over PART of a way, relative to PART times the range: 2 of |x|, 0.1 of x^2
NEAR = 0.5  # how far beside a motion a least value is looked for, relative to the largest input and one
STARTS = 24  # of Newton's method
FLAT = 1e-9  # of the largest curvature: directions without one are left alone
STEEP = 0.5  # of the mean slope of the way, which a root with a corner has in its first part


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
    one, other = pairs_of_points(motion, moves, SPREADS)
    points = np.unique(np.concatenate([one, other]), axis=0)
    size = NEAR * (1.0 + np.abs(motion).max(axis=0))
    box = motion.min(axis=0) - size, motion.max(axis=0) + size
    whole = block.with_borders()
    with np.errstate(all="ignore"):
        for radicand in radicands:
            for least in _least_points(radicand, points[:: max(1, len(points) // STARTS)], moves, box):
                bottom, way = float(_root(radicand, least[None])[0]), np.where(moves, points - least, 0.0)
                parts = np.linspace(PART, 1.0, PARTS)
                usual = np.max([_root(radicand, least + part * way) for part in parts], axis=0)
                sides = [_root(radicand, least + side * way) - bottom for side in (-PART, PART)]
                corner = np.min(sides, axis=0) >= STEEP * PART * (usual - bottom)
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
    return np.any((bend >= CORNER * PART * ranges) & (ranges > 0.0), axis=1)


def _root(radicand: ExpressionBlock, points: Array) -> Array:
    """The root at points (P, inputs), (P,); NaN where it has none."""
    return np.sqrt(radicand.value({"u": points})["r"][:, 0])


def _least_points(radicand: ExpressionBlock, starts: Array, moves: Array, box: tuple[Array, Array]) -> Array:
    """Points of least radicand near starts (P, inputs), by Newton steps with positive curvatures."""
    at, one, count = starts.copy(), {"r": np.ones((len(starts), 1))}, starts.shape[1]
    for _ in range(STEPS):
        gradient = radicand.partials({"u": at}).get(("r", "u"), np.zeros((len(at), 1, count)))[:, 0, moves]
        curvature = radicand.curvature({"u": at}, one).get(("u", "u"), np.zeros((len(at), count, count)))
        curvature = curvature[:, moves][:, :, moves]
        fine = np.isfinite(gradient.sum(axis=1) + curvature.sum(axis=(1, 2)))
        sizes, axes = np.linalg.eigh(np.where(fine[:, None, None], curvature, 0.0))
        sizes = np.abs(sizes)
        along = np.einsum("pji,pj->pi", axes, np.where(fine[:, None], gradient, 0.0))
        kept = sizes > FLAT * sizes.max(axis=1, initial=0.0, keepdims=True)
        at[:, moves] -= np.einsum("pij,pj->pi", axes, np.where(kept, along / np.where(kept, sizes, 1.0), 0.0))
        at = np.where(moves, np.clip(at, *box), at)
    return at
