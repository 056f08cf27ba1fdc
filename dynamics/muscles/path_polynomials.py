"""`PathSurrogate`: lengths of paths as polynomials of their coordinates, with exact derivatives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import list_names, real_array
from dynamics.errors import MuscleError, ShapeError
from dynamics.kernels.compile import kernel, subroutine

Array = np.ndarray
LANES = 64  # poses at a time, whose tables of powers stay in the processor's cache


@dataclass(frozen=True, eq=False)
class SurrogateValues:
    """Lengths (K, m) of paths, and first (K, m, k) and second (K, m, k, k) derivatives by own coordinates."""

    lengths: Array
    first: Array
    second: Array


@dataclass(frozen=True, eq=False)
class PathSurrogate:
    """Lengths of m paths on a robot with n coordinates, each a polynomial of at most k of them.

        L = sum_t c_t prod_j x_j^e_tj,   x_j = (q_j - centre_j) / scale_j

    names : of the muscles;  joint_names : of the coordinates of q
    coordinates : (m, k) which each path depends on, -1 where it has fewer than k
    centres, scales : (m, k);  spans : (m + 1,) where the terms of each path begin
    exponents : (terms, k);  weights : (terms,) m, the c
    length_errors, arm_errors : (m,) m, the largest that were found, NaN if never looked for
    """

    names: tuple[str, ...]
    joint_names: tuple[str, ...]
    coordinates: Array
    centres: Array
    scales: Array
    spans: Array
    exponents: Array
    weights: Array
    length_errors: Array
    arm_errors: Array

    def values(self, q: ArrayLike) -> SurrogateValues:
        """Lengths and both derivatives by the paths' own coordinates, at poses (K, n)."""
        q = real_array(q, "q")
        if q.ndim != 2 or q.shape[1] != len(self.joint_names):
            raise ShapeError(
                f"q has shape {q.shape}; (K, {len(self.joint_names)}) for {list_names(self.joint_names)}"
            )
        x = (q.T[self.coordinates] - self.centres[:, :, None]) / self.scales[:, :, None]
        length, first, second = polynomials(x, self.spans, self.exponents, self.weights)
        first /= self.scales[:, :, None]
        second /= self.scales[:, :, None, None] * self.scales[:, None, :, None]
        return SurrogateValues(length.T, np.moveaxis(first, 2, 0), np.moveaxis(second, 3, 0))

    def lengths(self, q: ArrayLike) -> Array:
        """(K, m) m, at poses (K, n)."""
        return self.values(q).lengths

    def gradient(self, q: ArrayLike) -> Array:
        """(K, m, n) dL/dq at poses (K, n)."""
        first, n = self.values(q).first, len(self.joint_names)
        found = np.zeros((len(first), len(self.names), n + 1))  # the last column takes what is no coordinate
        np.put_along_axis(found, np.broadcast_to(self.coordinates % (n + 1), first.shape), first, 2)
        return found[:, :, :n]

    def moment_arms(self, q: ArrayLike) -> Array:
        """(K, m, n) m, or 1 for a coordinate in m, -dL/dq at poses (K, n)."""
        return -self.gradient(q)

    def hessian(self, q: ArrayLike) -> Array:
        """(K, m, k, k) second derivatives by the paths' own `coordinates`, zero where these are -1."""
        return self.values(q).second

    def only(self, names: Iterable[str]) -> PathSurrogate:
        """The polynomials of these muscles, in this order; MuscleError for a name that none has."""
        chosen = tuple(names)
        missing = [name for name in chosen if name not in self.names]
        if missing:
            raise MuscleError(f"there is no muscle {list_names(missing)}; there are {list_names(self.names)}")
        rows = [self.names.index(name) for name in chosen]
        terms = [np.arange(self.spans[row], self.spans[row + 1]) for row in rows]
        flat = np.concatenate(terms) if terms else np.zeros(0, np.int64)
        return PathSurrogate(
            chosen, self.joint_names, self.coordinates[rows], self.centres[rows], self.scales[rows],
            np.cumsum([0, *map(len, terms)]), self.exponents[flat], self.weights[flat],
            self.length_errors[rows], self.arm_errors[rows],
        )  # fmt: skip

    def misses(self, length: float = 1e-3, arm: float = 2e-3) -> tuple[str, ...]:
        """The muscles whose errors exceed these, m, the worst first."""
        worst = np.fmax(self.length_errors / length, self.arm_errors / arm)
        order = np.argsort(-worst)
        return tuple(self.names[i] for i in order if worst[i] > 1.0)

    def __str__(self) -> str:
        rows = [f"{'muscle':24} {'order':>5} {'terms':>5} {'length mm':>9} {'arm mm':>7}  coordinates"]
        for i, name in enumerate(self.names):
            terms = self.exponents[self.spans[i] : self.spans[i + 1]]
            own = [self.joint_names[c] for c in self.coordinates[i] if c >= 0]
            rows.append(
                f"{name:24} {terms.sum(1).max(initial=0):5d} {len(terms):5d} "
                f"{1e3 * self.length_errors[i]:9.3f} {1e3 * self.arm_errors[i]:7.3f}  {', '.join(own)}"
            )
        missed = ", ".join(self.misses()) or "none"
        return "\n".join([*rows, f"beyond 1 mm of length or 2 mm of moment arm: {missed}"])


def all_exponents(count: int, order: int) -> Array:
    """(terms, count) exponents of all terms up to an order, the last coordinate's rising first."""
    found = np.zeros((1, 0), np.int64)
    for _ in range(count):
        found = np.array([(*row, e) for row in found.tolist() for e in range(order - sum(row) + 1)], np.int64)
    return found


@subroutine
def add_term(out, weight, powers, table, exponents, lanes):
    """Add weight times the product of powers (coordinate, exponent, lane) to `out`."""
    for lane in range(lanes):
        powers[lane] = weight
    for j in range(len(exponents)):
        if exponents[j] > 0:
            for lane in range(lanes):
                powers[lane] *= table[j, exponents[j], lane]
    for lane in range(lanes):
        out[lane] += powers[lane]


@kernel
def polynomials(x, spans, exponents, weights):
    """Values (m, K) and derivatives (m, k, K), (m, k, k, K) of m polynomials at x (m, k, K)."""
    m, k, poses = x.shape
    value, first, second = np.zeros((m, poses)), np.zeros((m, k, poses)), np.zeros((m, k, k, poses))
    order = exponents.max() if exponents.size else 0
    table, product, e = np.ones((k, order + 1, LANES)), np.zeros(LANES), np.zeros(k, np.int64)
    for path in range(m):
        for start in range(0, poses, LANES):
            lanes = min(LANES, poses - start)
            for j in range(k):
                for power in range(order):
                    for lane in range(lanes):
                        table[j, power + 1, lane] = table[j, power, lane] * x[path, j, start + lane]
            for term in range(spans[path], spans[path + 1]):
                weight = weights[term]
                for j in range(k):
                    e[j] = exponents[term, j]
                add_term(value[path, start:], weight, product, table, e, lanes)
                for i in range(k):
                    if e[i] == 0:
                        continue
                    once = weight * e[i]
                    e[i] -= 1
                    add_term(first[path, i, start:], once, product, table, e, lanes)
                    for j in range(i, k):
                        if e[j] > 0:
                            twice = once * e[j]
                            e[j] -= 1
                            add_term(second[path, i, j, start:], twice, product, table, e, lanes)
                            e[j] += 1
                    e[i] += 1
        for i in range(k):
            for j in range(i):
                second[path, i, j] = second[path, j, i]
    return value, first, second
