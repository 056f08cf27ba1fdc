"""`PathSurrogate`: lengths of paths as sums of polynomials and roots of them, with exact derivatives."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import list_names, real_array
from dynamics.errors import MuscleError, ShapeError
from dynamics.kernels.compile import inlined, kernel, subroutine

Array = np.ndarray
LANES = 64  # poses at a time, whose tables of powers stay in the processor's cache
COSINE, SINE = -1, -2  # exponents that stand for cos q and sin q
SHORTEST = 1e-3  # m, below which a root is continued by its tangent


@dataclass(frozen=True, eq=False)
class SurrogateValues:
    """Lengths (K, m) of paths, and first (K, m, k) and second (K, m, k, k) derivatives by own coordinates."""

    lengths: Array
    first: Array
    second: Array


@dataclass(frozen=True, eq=False)
class PathSurrogate:
    """Lengths of m paths on a robot with n coordinates, of at most k of them each, as sums over pieces.

        L = sum over its pieces of P or sqrt(P)
        P = sum_t c_t prod_j x_j^e_tj,   x_j = (q_j - centre_j) / scale_j

    where an exponent of -1 stands for cos q_j and -2 for sin q_j.

    names : of the muscles;  joint_names : of the coordinates of q
    coordinates : (m, k) which each path depends on, -1 where it has fewer than k
    centres, scales : (m, k);  spans : (pieces + 1,) where the terms of each piece begin
    exponents : (terms, k);  weights : (terms,) m, or m^2 under a root, the c
    length_errors, arm_errors : (m,) m, the largest that were found, NaN if never looked for
    owners : (pieces,) the path of each, in order, by default one piece for each path
    roots : (pieces,) whether P is a squared length, by default none; below 1 mm its tangent counts
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
    owners: Array = field(default_factory=lambda: np.zeros(0, np.int64))
    roots: Array = field(default_factory=lambda: np.zeros(0, bool))

    def __post_init__(self) -> None:
        if not len(self.owners):
            object.__setattr__(self, "owners", np.arange(len(self.names)))
            object.__setattr__(self, "roots", np.zeros(len(self.names), bool))

    def values(self, q: ArrayLike) -> SurrogateValues:
        """Lengths and both derivatives by the paths' own coordinates, at poses (K, n)."""
        length, first, second, _ = self._pieces(q, np.zeros((0, 0, 0)))
        return SurrogateValues(length.T, np.moveaxis(first, 2, 0), np.moveaxis(second, 3, 0))

    def third(self, q: ArrayLike, direction: Array) -> Array:
        """(K, m, k, k) third derivatives by own coordinates times a direction (K, m, k) of these."""
        return np.moveaxis(self._pieces(q, np.ascontiguousarray(np.moveaxis(direction, 0, 2)))[3], 3, 0)

    def _pieces(self, q: ArrayLike, direction: Array) -> tuple[Array, Array, Array, Array]:
        q = real_array(q, "q")
        if q.ndim != 2 or q.shape[1] != len(self.joint_names):
            raise ShapeError(
                f"q has shape {q.shape}; (K, {len(self.joint_names)}) for {list_names(self.joint_names)}"
            )
        return sums_of_pieces(
            q.T[self.coordinates], self.centres, self.scales, self.spans, self.owners, self.roots,
            self.exponents, self.weights, direction,
        )  # fmt: skip

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
        pieces = [np.flatnonzero(self.owners == row) for row in rows]
        terms = [np.arange(self.spans[i], self.spans[i + 1]) for each in pieces for i in each]
        flat, own = (np.concatenate(each) if each else np.zeros(0, np.int64) for each in (terms, pieces))
        return PathSurrogate(
            chosen, self.joint_names, self.coordinates[rows], self.centres[rows], self.scales[rows],
            np.cumsum([0, *map(len, terms)]), self.exponents[flat], self.weights[flat],
            self.length_errors[rows], self.arm_errors[rows],
            np.repeat(np.arange(len(rows)), [len(each) for each in pieces]), self.roots[own],
        )  # fmt: skip

    def misses(self, length: float = 1e-3, arm: float = 2e-3) -> tuple[str, ...]:
        """The muscles whose errors exceed these, m, the worst first."""
        worst = np.fmax(self.length_errors / length, self.arm_errors / arm)
        order = np.argsort(-worst)
        return tuple(self.names[i] for i in order if worst[i] > 1.0)

    def __str__(self) -> str:
        rows = [f"{'muscle':24} {'order':>5} {'terms':>5} {'length mm':>9} {'arm mm':>7}  coordinates"]
        for i, name in enumerate(self.names):
            terms = self.exponents[np.repeat(self.owners, np.diff(self.spans)) == i]
            own = [self.joint_names[c] for c in self.coordinates[i] if c >= 0]
            rows.append(
                f"{name:24} {np.fmax(terms, 0).sum(1).max(initial=0):5d} {len(terms):5d} "
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
def take_product(product, weight, table, exponents, orders, lanes):
    """Weight times a product of functions of coordinates, or of their derivatives of these orders."""
    for j in range(len(exponents)):
        if exponents[j] != 0 and exponents[j] == orders[j]:
            weight *= table[orders[j], j, exponents[j] - SINE, 0]
    for lane in range(lanes):
        product[lane] = weight
    for j in range(len(exponents)):
        if exponents[j] != 0 and exponents[j] != orders[j]:
            values = table[orders[j], j, exponents[j] - SINE]
            for lane in range(lanes):
                product[lane] *= values[lane]


@subroutine
def add(out, product, lanes):
    """Add a product to a sum, lane by lane."""
    for lane in range(lanes):
        out[lane] += product[lane]


@subroutine
def add_along(out, product, direction, start, lanes):
    """Add a product times a component of the direction."""
    for lane in range(lanes):
        out[lane] += product[lane] * direction[start + lane]


@subroutine
def fill_table(table, q, start, lanes, centres, scales, ends, orders):
    """Functions of coordinates by exponent, from SINE on, and derivatives, (orders, k, exponents, lanes).

    ends : (2, k) the least and the largest exponent of every coordinate
    """
    for j in range(len(q)):
        for e in range(1, ends[1, j] + 1):
            row = e - SINE
            for lane in range(lanes):
                x = (q[j, start + lane] - centres[j]) / scales[j]
                table[0, j, row, lane] = table[0, j, row - 1, lane] * x
            for order in range(1, orders):
                slope = e / scales[j]
                for lane in range(lanes):
                    table[order, j, row, lane] = slope * table[order - 1, j, row - 1, lane]
        if ends[0, j] < 0:
            for lane in range(lanes):
                cosine, sine = math.cos(q[j, start + lane]), math.sin(q[j, start + lane])
                for order in range(orders):
                    table[order, j, COSINE - SINE, lane], table[order, j, 0, lane] = cosine, sine
                    cosine, sine = -sine, cosine


@kernel
def sums_of_pieces(q, centres, scales, spans, owners, roots, exponents, weights, direction):
    """Lengths (m, K), first (m, k, K), second (m, k, k, K) derivatives at own coordinates q (m, k, K).

    direction : (m, k, K), of which the third derivatives (m, k, k, K) are taken, or empty for none
    """
    m, k, poses = q.shape
    third_too = len(direction) > 0
    value, first, second = np.zeros((m, poses)), np.zeros((m, k, poses)), np.zeros((m, k, k, poses))
    third = np.zeros((m, k, k, poses if third_too else 0))
    rows = (exponents.max() if exponents.size else 0) - SINE + 1
    table, product, orders = np.zeros((4, k, rows, LANES)), np.zeros(LANES), np.zeros(k, np.int64)
    table[0, :, -SINE] = 1.0
    P, P1, P2, P3 = np.zeros(LANES), np.zeros((k, LANES)), np.zeros((k, k, LANES)), np.zeros((k, k, LANES))
    ends = np.zeros((2, k), np.int64)
    for piece in range(len(owners)):
        path, begin, end = owners[piece], spans[piece], spans[piece + 1]
        for j in range(k):
            ends[0, j] = ends[1, j] = 0
            for term in range(begin, end):
                ends[0, j], ends[1, j] = (
                    min(ends[0, j], exponents[term, j]),
                    max(ends[1, j], exponents[term, j]),
                )
        for start in range(0, poses, LANES):
            lanes = min(LANES, poses - start)
            fill_table(table, q[path], start, lanes, centres[path], scales[path], ends, 4 if third_too else 3)
            clear(P, P1, P2, P3, third_too)
            for term in range(begin, end):
                weight, e = weights[term], exponents[term]
                take_product(product, weight, table, e, orders, lanes)
                add(P, product, lanes)
                for i in range(k):
                    if e[i] == 0:
                        continue
                    orders[i] += 1
                    take_product(product, weight, table, e, orders, lanes)
                    add(P1[i], product, lanes)
                    for j in range(i, k):
                        if not depends(e, orders, j):
                            continue
                        orders[j] += 1
                        take_product(product, weight, table, e, orders, lanes)
                        add(P2[i, j], product, lanes)
                        for h in range(j, k if third_too else 0):
                            if not depends(e, orders, h):
                                continue
                            orders[h] += 1
                            take_product(product, weight, table, e, orders, lanes)
                            add_along(P3[i, j], product, direction[path, h], start, lanes)
                            if h != j:
                                add_along(P3[i, h], product, direction[path, j], start, lanes)
                            if i != j:
                                add_along(P3[j, h], product, direction[path, i], start, lanes)
                            orders[h] -= 1
                        orders[j] -= 1
                    orders[i] -= 1
            if roots[piece]:
                take_root(P, P1, P2, P3, direction, path, start, lanes)
            add(value[path, start:], P, lanes)
            for i in range(k):
                add(first[path, i, start:], P1[i], lanes)
                for j in range(i, k):
                    add(second[path, i, j, start:], P2[i, j], lanes)
                    if third_too:
                        add(third[path, i, j, start:], P3[i, j], lanes)
    for path in range(m):
        for i in range(k):
            for j in range(i):
                second[path, i, j], third[path, i, j] = second[path, j, i], third[path, j, i]
    return value, first, second, third


@inlined
def depends(exponents, orders, j):
    """True where a product that was derived so often is not constant in coordinate j."""
    return exponents[j] < 0 or exponents[j] > orders[j]


@subroutine
def clear(P, P1, P2, P3, third_too):
    """Fill with zeros."""
    for lane in range(len(P)):
        P[lane] = 0.0
    for i in range(len(P1)):
        for lane in range(len(P)):
            P1[i, lane] = 0.0
        for j in range(i, len(P1)):
            for lane in range(len(P)):
                P2[i, j, lane] = 0.0
            if third_too:
                for lane in range(len(P)):
                    P3[i, j, lane] = 0.0


@subroutine
def take_root(P, P1, P2, P3, direction, path, start, lanes):
    """Put L = sqrt(P), its derivatives, and the third along a direction, in place of those of P, for i <= j.

    L L_i = P_i / 2,   L L_ij = P_ij / 2 - L_i L_j,
    L L_ijh d_h = P_ijh d_h / 2 - L_ij L_h d_h - L_i L_jh d_h - L_j L_ih d_h
    """
    k = len(P1)
    turned = np.zeros(k)
    for lane in range(lanes):
        tangent = P[lane] < SHORTEST * SHORTEST
        L = SHORTEST if tangent else math.sqrt(P[lane])
        P[lane] = 0.5 * (P[lane] / L + L)
        bends = 0.0 if tangent else 1.0
        for i in range(k):
            P1[i, lane] *= 0.5 / L
            for j in range(i + 1):
                P2[j, i, lane] = (0.5 * P2[j, i, lane] - bends * P1[i, lane] * P1[j, lane]) / L
        if len(direction) == 0:
            continue
        along = 0.0
        for i in range(k):
            along += P1[i, lane] * direction[path, i, start + lane]
            turned[i] = 0.0
            for j in range(k):
                turned[i] += P2[min(i, j), max(i, j), lane] * direction[path, j, start + lane]
        for i in range(k):
            for j in range(i, k):
                bent = P2[i, j, lane] * along + P1[i, lane] * turned[j] + P1[j, lane] * turned[i]
                P3[i, j, lane] = (0.5 * P3[i, j, lane] - bends * bent) / L
