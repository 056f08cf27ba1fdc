"""Polynomials fitted to lengths and moment arms of paths together, stretch by stretch.

    minimize over c  sum (L - A c)^2 / l^2 + sum (r + dA/dq c)^2 / a^2

with l and a the tolerances of lengths and moment arms. The squared length of a straight stretch is fitted in
place of L, and -2 L r in place of -r: it is smooth where the stretch is short, and an exact sum of products
of 1, cos q and sin q in coordinates that turn one hinge. The order in the other coordinates rises until the
tolerances hold at poses that were not fitted; where they never hold, the order that comes nearest stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from dynamics.muscles.packed_paths import Stretch
from dynamics.muscles.path_polynomials import (
    COSINE,
    SHORTEST,
    SINE,
    PathSurrogate,
    Products,
    all_exponents,
)

Array = np.ndarray
ORDERS = range(2, 13)
MOST_TERMS = 800
MOST_COORDINATES = 6
EQUATIONS_PER_TERM = 3  # at least, else the fit follows its samples
SMALLEST_SQUARE = 4e-15  # times their count, added to the squared lengths of columns, which are 1


@dataclass(frozen=True, eq=False)
class PathSamples:
    """Poses (K, n) with lengths (K, m) and moment arms (K, m, n) of paths, and how much each counts (K,)."""

    q: Array
    lengths: Array
    arms: Array
    weights: Array

    def counting_fully(self) -> PathSamples:
        """The samples whose weight is 1 alone."""
        full = self.weights == 1.0
        return PathSamples(self.q[full], self.lengths[full], self.arms[full], self.weights[full])


@dataclass(frozen=True, eq=False)
class OnePolynomial:
    """The polynomial of one stretch with its errors, m."""

    exponents: Array
    weights: Array
    length_error: float
    arm_error: float

    def badness(self, tolerances: tuple[float, float]) -> float:
        """The larger error in tolerances."""
        return max(self.length_error / tolerances[0], self.arm_error / tolerances[1])


def latin_hypercube(lower: Array, upper: Array, count: int, rng: np.random.Generator) -> Array:
    """(count, n) poses, of which every coordinate is once in each of `count` equal parts of its range."""
    places = np.array([rng.permutation(count) for _ in lower]).T + rng.uniform(size=(count, len(lower)))
    return lower + (upper - lower) * places / count


def fitted_surrogate(
    names: tuple[str, ...], joint_names: tuple[str, ...], owners: Array, stretches: list[Stretch],
    fit: PathSamples, check: PathSamples, tolerances: tuple[float, float],
) -> PathSurrogate:  # fmt: skip
    """Polynomials of all stretches, fitted to samples of these and checked at others.

    owners : (stretches,) the path of each, in order
    """
    moving = [i for i, each in enumerate(stretches) if each.coordinates]
    still = np.bincount(owners, fit.lengths[0] * [not each.coordinates for each in stretches], len(names))
    own = {i: largest_arms(stretches[i].coordinates, fit.arms[:, i]) for i in moving}
    of_path = [
        sorted(set[int]().union(*(own[i] for i in moving if owners[i] == path))) for path in range(len(names))
    ]
    k = max([1, *map(len, of_path)])
    table, centres, scales = np.full((len(names), k), -1), np.zeros((len(names), k)), np.ones((len(names), k))
    low, high = fit.q.min(0, initial=np.inf), fit.q.max(0, initial=-np.inf)
    centre, scale = 0.5 * (low + high), np.where(high > low, 0.5 * (high - low), 1.0)
    for path, places in enumerate(of_path):
        table[path, : len(places)] = places
        centres[path, : len(places)], scales[path, : len(places)] = centre[places], scale[places]
    alike: dict[tuple[tuple[int, ...], tuple[int, ...], bool], list[int]] = {}
    for i in moving:
        is_straight = stretches[i].is_straight
        hinges = tuple(stretches[i].hinges) if is_straight else ()
        alike.setdefault((tuple(own[i]), hinges, is_straight), []).append(i)
    best: dict[int, OnePolynomial] = {}
    for (places, hinges, is_root), pieces in alike.items():
        kind = Kind(list(places), np.isin(places, hinges), is_root, centre[list(places)], scale[list(places)])
        best |= best_polynomials(pieces, kind, fit, check, tolerances)
    pieces = list[tuple[int, Array, Array, bool]]()  # path, exponents, weights, whether a root is taken
    for path, places in enumerate(of_path):
        for i in moving:
            if owners[i] == path:
                exponents = np.zeros((len(best[i].exponents), k), np.int64)
                exponents[:, np.searchsorted(places, own[i])] = best[i].exponents
                pieces.append((path, exponents, best[i].weights, stretches[i].is_straight))
        if still[path] > 0.0 or not places:
            pieces.append((path, np.zeros((1, k), np.int64), still[path : path + 1], False))
    unknown = np.full(len(names), np.nan)
    return PathSurrogate(
        names, joint_names, table, centres, scales, np.cumsum([0, *(len(each[1]) for each in pieces)]),
        np.concatenate([each[1] for each in pieces]) if pieces else np.zeros((0, k), np.int64),
        np.concatenate([each[2] for each in pieces]) if pieces else np.zeros(0), unknown, unknown,
        np.array([each[0] for each in pieces], np.int64), np.array([each[3] for each in pieces], bool),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Kind:
    """Stretches of the same coordinates, `places` in q; `hinges` enter by cos and sin."""

    places: list[int]
    hinges: Array
    is_root: bool
    centre: Array
    scale: Array

    def products(self, order: int) -> Products:
        """Products up to an order in all but the hinges, which have 1, cos and sin."""
        others = all_exponents(int((~self.hinges).sum()), order)
        turns = np.array(list(product((0, COSINE, SINE), repeat=int(self.hinges.sum()))), np.int64)
        found = np.zeros((len(turns) * len(others), len(self.places)), np.int64)
        found[:, self.hinges] = np.repeat(turns, len(others), axis=0)
        found[:, ~self.hinges] = np.tile(others, (len(turns), 1))
        return Products(np.zeros(len(found), np.int64), found, self.scale[None])


def best_polynomials(
    pieces: list[int], kind: Kind, fit: PathSamples, check: PathSamples, tolerances: tuple[float, float]
) -> dict[int, OnePolynomial]:
    """Stretch -> its polynomial of lowest order within the tolerances at the checks, or the nearest one.

    The stretches are of one kind, so that one factorization serves all of an order.
    """
    best: dict[int, OnePolynomial] = {}
    left, count = pieces, len(check.q)
    for order in ORDERS if not all(kind.hinges) else [1]:
        products = kind.products(order)
        exponents = products.rows[:, 1:]
        equations = len(fit.q) * (1 + len(kind.places))
        if best and (len(exponents) > MOST_TERMS or len(exponents) * EQUATIONS_PER_TERM > equations):
            break
        weights = least_squares(*equations_of(left, kind, fit, products, tolerances))
        matrix, _ = equations_of(left, kind, check, products)
        values = (matrix @ weights).reshape(1 + len(kind.places), count, len(left))
        if kind.is_root:
            values[0] = np.sqrt(np.fmax(values[0], SHORTEST**2))
            values[1:] /= 2.0 * values[0]
        lengths = np.abs(values[0] - check.lengths[:, left]).max(axis=0, initial=0.0)
        arms = np.moveaxis(check.arms[:, left][:, :, kind.places], 2, 0)
        missed = np.abs(values[1:] + arms).max(axis=(0, 1), initial=0.0)
        for i, piece in enumerate(left):
            one = OnePolynomial(exponents, weights[:, i], float(lengths[i]), float(missed[i]))
            if piece not in best or one.badness(tolerances) < best[piece].badness(tolerances):
                best[piece] = one
        left = [piece for piece in left if best[piece].badness(tolerances) > 1.0]
        if not left:
            break
    return best


def least_squares(matrix: Array, right: Array) -> Array:
    """(terms, m) of least |matrix @ x - right|, by normal equations of columns of one length.

    A second step with what is missing gives the digits back that squaring loses. Columns without entries, of
    a coordinate that never moves, get zero. What is added to the squares is above the rounding of the normal
    matrix, so that columns that depend on each other, of coordinates that move together, stay small.
    """
    size = np.linalg.norm(matrix, axis=0)
    matrix = matrix / np.where(size > 0.0, size, 1.0)
    normal = matrix.T @ matrix
    normal[np.diag_indices_from(normal)] += SMALLEST_SQUARE * len(normal)
    found = np.linalg.solve(normal, matrix.T @ right)
    found += np.linalg.solve(normal, matrix.T @ (right - matrix @ found))
    return found / np.where(size > 0.0, size, 1.0)[:, None]


def equations_of(
    pieces: list[int], kind: Kind, samples: PathSamples, products: Products,
    tolerances: tuple[float, float] | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Rows of lengths, or of squared ones, then of derivatives by each coordinate, and what they give.

    tolerances : by which rows are divided, and multiplied by the weights of the samples; None for neither
    """
    terms = products.values(samples.q.T[None, kind.places], kind.centre[None], kind.scale[None])
    blocks = [terms.T, *((slope @ terms).T for slope in products.slopes)]
    lengths = samples.lengths[:, pieces]
    right = [lengths, *(-samples.arms[:, pieces, place] for place in kind.places)]
    if kind.is_root:
        right = [lengths**2, *(2.0 * lengths * by_place for by_place in right[1:])]
    if tolerances is not None:
        for i, (block, value) in enumerate(zip(blocks, right, strict=True)):
            rows = samples.weights[:, None] / tolerances[min(i, 1)]
            blocks[i], right[i] = block * rows, value * rows
    return np.concatenate(blocks), np.concatenate(right)


def largest_arms(own: list[int], arms: Array) -> list[int]:
    """The coordinates with the largest moment arms (K, n) where a path has more than polynomials take."""
    if len(own) <= MOST_COORDINATES:
        return own
    largest = np.abs(arms[:, own]).max(0)
    return sorted(own[i] for i in np.argsort(-largest)[:MOST_COORDINATES])
