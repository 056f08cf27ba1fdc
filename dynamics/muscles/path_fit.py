"""Polynomials fitted to lengths and moment arms of paths together, and how far they are off between samples.

    minimize over c  sum (L - A c)^2 / l^2 + sum (r + dA/dq c)^2 / a^2

with l and a the tolerances of lengths and moment arms. The order rises until the tolerances hold at poses
that were not fitted; where they never hold, the order that comes nearest stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.muscles.path_polynomials import PathSurrogate, all_exponents

Array = np.ndarray
ORDERS = range(2, 10)
MOST_TERMS = 800
MOST_COORDINATES = 6
EQUATIONS_PER_TERM = 3  # at least, else the fit follows its samples


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
    names: tuple[str, ...], joint_names: tuple[str, ...], coordinates: list[list[int]],
    fit: PathSamples, check: PathSamples, tolerances: tuple[float, float],
) -> PathSurrogate:  # fmt: skip
    """Polynomials of all paths, each of its own coordinates, fitted to samples and checked at others."""
    k = max((len(own) for own in coordinates), default=0)
    table, centres, scales = np.full((len(names), k), -1), np.zeros((len(names), k)), np.ones((len(names), k))
    found: list[OnePolynomial] = []
    for path, own in enumerate(coordinates):
        table[path, : len(own)] = own
        low, high = fit.q[:, own].min(0, initial=np.inf), fit.q[:, own].max(0, initial=-np.inf)
        centres[path, : len(own)], half = 0.5 * (low + high), 0.5 * (high - low)
        scales[path, : len(own)] = np.where(half > 0.0, half, 1.0)
        scaled = centres[path, : len(own)], scales[path, : len(own)]
        found.append(best_polynomial(path, own, fit, check, *scaled, tolerances))
    exponents = [np.pad(one.exponents, ((0, 0), (0, k - one.exponents.shape[1]))) for one in found]
    return PathSurrogate(
        names, joint_names, table, centres, scales, np.cumsum([0, *map(len, exponents)]),
        np.concatenate(exponents) if exponents else np.zeros((0, k), np.int64),
        np.concatenate([one.weights for one in found]) if found else np.zeros(0),
        np.array([one.length_error for one in found]), np.array([one.arm_error for one in found]),
    )  # fmt: skip


def best_polynomial(
    path: int, own: list[int], fit: PathSamples, check: PathSamples, centre: Array, scale: Array,
    tolerances: tuple[float, float],
) -> OnePolynomial:  # fmt: skip
    """The polynomial of lowest order within the tolerances where it is checked, or the nearest to them."""
    best: OnePolynomial | None = None
    for order in ORDERS:
        exponents = all_exponents(len(own), order)
        equations = len(fit.q) * (1 + len(own))
        if best is not None and (
            len(exponents) > MOST_TERMS or len(exponents) * EQUATIONS_PER_TERM > equations
        ):
            break
        left, right, rows = equations_of(path, own, fit, centre, scale, exponents, tolerances)
        weights = np.linalg.lstsq(left * rows[:, None], right * rows, rcond=1e-12)[0]
        left, right, _ = equations_of(path, own, check, centre, scale, exponents, (1.0, 1.0))
        errors = np.abs(left @ weights - right)
        lengths, arms = errors[: len(check.q)], errors[len(check.q) :]
        one = OnePolynomial(exponents, weights, float(lengths.max(initial=0.0)), float(arms.max(initial=0.0)))
        if best is None or one.badness(tolerances) < best.badness(tolerances):
            best = one
        if one.badness(tolerances) <= 1.0:
            break
    assert best is not None
    return best


def equations_of(
    path: int, own: list[int], samples: PathSamples, centre: Array, scale: Array, exponents: Array,
    tolerances: tuple[float, float],
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Rows of lengths, then of derivatives by each coordinate; what they should give; and their weights."""
    x = (samples.q[:, own] - centre) / scale
    powers = x[:, :, None] ** np.arange(exponents.max(initial=0) + 1)
    factors = [powers[:, j, exponents[:, j]] for j in range(len(own))]
    blocks = [np.prod(factors, axis=0) if own else np.ones((len(x), 1))]
    right, rows = [samples.lengths[:, path]], [samples.weights / tolerances[0]]
    for j, coordinate in enumerate(own):
        e = exponents[:, j]
        slope = e * powers[:, j, np.maximum(e - 1, 0)] / scale[j]
        others = [factor for i, factor in enumerate(factors) if i != j]
        blocks.append(slope * np.prod(others, axis=0) if others else slope)
        right.append(-samples.arms[:, path, coordinate])
        rows.append(samples.weights / tolerances[1])
    return np.concatenate(blocks), np.concatenate(right), np.concatenate(rows)


def largest_arms(own: list[int], arms: Array) -> list[int]:
    """The coordinates with the largest moment arms (K, n) where a path has more than polynomials take."""
    if len(own) <= MOST_COORDINATES:
        return own
    largest = np.abs(arms[:, own]).max(0)
    return sorted(own[i] for i in np.argsort(-largest)[:MOST_COORDINATES])
