"""Polynomials fitted to lengths and moment arms of paths together, and how far they are off between samples.

    minimize over c  sum (L - A c)^2 / l^2 + sum (r + dA/dq c)^2 / a^2

with l and a the tolerances of lengths and moment arms. A path's length is a sum over stretches, so that the
only products are of coordinates of one stretch. The order rises until the tolerances hold at poses that were
not fitted; where they never hold, the order that comes nearest stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.muscles.path_polynomials import PathSurrogate, all_exponents

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
    """The polynomial of one path with its errors, m."""

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
    names: tuple[str, ...], joint_names: tuple[str, ...], stretches: list[list[list[int]]],
    fit: PathSamples, check: PathSamples, tolerances: tuple[float, float],
) -> PathSurrogate:  # fmt: skip
    """Polynomials of all paths, fitted to samples and checked at others.

    stretches : of every path, with the coordinates of each
    """
    alike: dict[frozenset[frozenset[int]], list[int]] = {}
    for path, parts in enumerate(stretches):
        own = largest_arms(sorted(set[int]().union(*parts)), fit.arms[:, path])
        alike.setdefault(frozenset(frozenset(part) & set(own) for part in parts), []).append(path)
    k = max((len(frozenset[int]().union(*parts)) for parts in alike), default=0)
    table, centres, scales = np.full((len(names), k), -1), np.zeros((len(names), k)), np.ones((len(names), k))
    best: dict[int, OnePolynomial] = {}
    for parts, paths in alike.items():
        own = sorted(frozenset[int]().union(*parts))
        d, low, high = len(own), fit.q[:, own].min(0, initial=np.inf), fit.q[:, own].max(0, initial=-np.inf)
        centre, scale = 0.5 * (low + high), np.where(high > low, 0.5 * (high - low), 1.0)
        table[paths, :d], centres[paths, :d], scales[paths, :d] = own, centre, scale
        together = np.array([[place in part for place in own] for part in parts], dtype=bool)
        best |= best_polynomials(paths, own, together, fit, check, (centre, scale), tolerances)
    found = [best[path] for path in range(len(names))]
    exponents = [np.pad(one.exponents, ((0, 0), (0, k - one.exponents.shape[1]))) for one in found]
    return PathSurrogate(
        names, joint_names, table, centres, scales, np.cumsum([0, *map(len, exponents)]),
        np.concatenate(exponents) if exponents else np.zeros((0, k), np.int64),
        np.concatenate([one.weights for one in found]) if found else np.zeros(0),
        np.array([one.length_error for one in found]), np.array([one.arm_error for one in found]),
    )  # fmt: skip


def best_polynomials(
    paths: list[int], own: list[int], together: Array, fit: PathSamples, check: PathSamples,
    scaling: tuple[Array, Array], tolerances: tuple[float, float],
) -> dict[int, OnePolynomial]:  # fmt: skip
    """Path -> its polynomial of lowest order within the tolerances where it is checked, or the nearest one.

    The paths depend on the same coordinates, own, so that one factorization serves all of an order.
    together : (stretches, own) the coordinates of every stretch
    """
    best: dict[int, OnePolynomial] = {}
    left = paths
    for order in ORDERS:
        exponents = all_exponents(len(own), order)
        exponents = exponents[np.any(np.all((exponents > 0)[:, None] <= together, axis=2), axis=1)]
        equations = len(fit.q) * (1 + len(own))
        if best and (len(exponents) > MOST_TERMS or len(exponents) * EQUATIONS_PER_TERM > equations):
            break
        weights = least_squares(*equations_of(left, own, fit, scaling, exponents, tolerances))
        matrix, right = equations_of(left, own, check, scaling, exponents)
        errors, count = np.abs(matrix @ weights - right), len(check.q)
        lengths, arms = (part.max(axis=0, initial=0.0) for part in (errors[:count], errors[count:]))
        for i, path in enumerate(left):
            one = OnePolynomial(exponents, weights[:, i], float(lengths[i]), float(arms[i]))
            if path not in best or one.badness(tolerances) < best[path].badness(tolerances):
                best[path] = one
        left = [path for path in left if best[path].badness(tolerances) > 1.0]
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
    paths: list[int], own: list[int], samples: PathSamples, scaling: tuple[Array, Array], exponents: Array,
    tolerances: tuple[float, float] | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Rows of lengths, then of derivatives by each coordinate, and what they give (rows, paths).

    tolerances : by which rows are divided, and multiplied by the weights of the samples; None for neither
    """
    centre, scale = scaling
    x = (samples.q[:, own] - centre) / scale
    powers = x[:, :, None] ** np.arange(exponents.max(initial=0) + 1)
    factors = [powers[:, j, exponents[:, j]] for j in range(len(own))]
    blocks = [np.prod(factors, axis=0) if own else np.ones((len(x), 1))]
    right = [samples.lengths[:, paths]]
    for j, coordinate in enumerate(own):
        e = exponents[:, j]
        slope = e * powers[:, j, np.maximum(e - 1, 0)] / scale[j]
        others = [factor for i, factor in enumerate(factors) if i != j]
        blocks.append(slope * np.prod(others, axis=0) if others else slope)
        right.append(-samples.arms[:, paths, coordinate])
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
