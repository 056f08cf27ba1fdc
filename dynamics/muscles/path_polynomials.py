"""`PathSurrogate`: lengths of paths as sums of polynomials and roots of them, with exact derivatives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations_with_replacement, pairwise, permutations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import list_names, real_array
from dynamics.errors import MuscleError, ShapeError

if TYPE_CHECKING:
    from scipy import sparse

Array = np.ndarray
LANES = 128  # poses at a time, whose products stay in the processor's cache
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

    @cached_property
    def _sums(self) -> tuple[Products, sparse.csr_array, sparse.csr_array]:
        """Products of the terms, and what to sum of them: P of all pieces, then all P_i, P_ij; and all P_ijh.

        Derivatives are those of i <= j <= h, the last rising first.
        """
        from scipy import sparse  # a quarter of a second

        piece = np.repeat(np.arange(len(self.owners)), np.diff(self.spans))
        products = Products(self.owners[piece], self.exponents, self.scales)
        places = piece, products.places(self.owners[piece], self.exponents)
        shape = len(self.owners), len(products.rows)
        level, levels = {(0,): sparse.csr_array((self.weights, places), shape)}, list[sparse.csr_array]()
        for _ in range(4):
            levels.append(sparse.vstack(list(level.values()), "csr"))
            level = {
                (j, *lower): matrix @ products.slopes[j]
                for lower, matrix in level.items() for j in range(lower[0], len(products.slopes))
            }  # fmt: skip
        return products, sparse.vstack(levels[:3], "csr"), levels[3]

    def values(self, q: ArrayLike) -> SurrogateValues:
        """Lengths and both derivatives by the paths' own coordinates, at poses (K, n)."""
        return SurrogateValues(*self._pieces(q)[:3])

    def third(self, q: ArrayLike, direction: Array) -> Array:
        """(K, m, k, k) third derivatives by own coordinates times a direction (K, m, k) of these."""
        return self._pieces(q, direction)[3]

    def _pieces(self, q: ArrayLike, direction: Array | None = None) -> list[Array]:
        """Lengths, first and second derivatives, and the third ones along a direction, if one is given."""
        q = real_array(q, "q")
        if q.ndim != 2 or q.shape[1] != len(self.joint_names):
            raise ShapeError(
                f"q has shape {q.shape}; (K, {len(self.joint_names)}) for {list_names(self.joint_names)}"
            )
        products, of_values, of_third = self._sums
        k, starts = self.coordinates.shape[1], np.searchsorted(self.owners, np.arange(len(self.names)))
        _, _, pair, triple = pairs(k)
        blocks = list[list[Array]]()
        for start in range(0, max(len(q), 1), LANES):
            own = q[start : start + LANES].T[self.coordinates]
            terms = products.values(own, self.centres, self.scales)
            P = (of_values @ terms).reshape(-1, len(self.owners), own.shape[2])
            parts, along = [P[0], P[1 : k + 1], P[k + 1 :]], np.zeros((k, *P.shape[1:]))
            if direction is not None:
                along = direction[start : start + LANES].T[:, self.owners]
                P3 = (of_third @ terms).reshape(-1, *P.shape[1:])
                parts.append(sum((P3[triple[h]] * along[h] for h in range(k)), np.zeros_like(parts[2])))
            on_roots = take_roots([each[..., self.roots, :] for each in parts], along[:, self.roots])
            for each, rooted in zip(parts, on_roots, strict=True):
                each[..., self.roots, :] = rooted
            blocks.append([np.add.reduceat(each, starts, axis=-2) for each in parts])
        found = [np.concatenate(each, axis=-1) for each in zip(*blocks, strict=True)]
        return [*(each.T for each in found[:2]), *(each.T[..., pair] for each in found[2:])]

    def lengths(self, q: ArrayLike) -> Array:
        """(K, m) m, at poses (K, n)."""
        return self.values(q).lengths

    def among_all(self, own: Array) -> Array:
        """(K, m, n) of all coordinates from (K, m, k) of every path's own."""
        n = len(self.joint_names)
        found = np.zeros((*own.shape[:2], n + 1))  # the last column takes what is no coordinate
        np.put_along_axis(found, np.broadcast_to(self.coordinates % (n + 1), own.shape), own, 2)
        return found[:, :, :n]

    def gradient(self, q: ArrayLike) -> Array:
        """(K, m, n) dL/dq at poses (K, n)."""
        return self.among_all(self.values(q).first)

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


class Products:
    """Products of powers of x_j = (q_j - centre_j) / scale_j, of cos q_j and of sin q_j, on several paths.

    paths : (T,), and exponents : (T, k), as in `PathSurrogate`;  scales : (paths, k)
    rows : (T', 1 + k), path and exponents of these and of all that their derivatives consist of, in an order
        in which each is one before it times one function
    slopes : k matrices (T', T'), d product / d q_j = slopes[j] @ products
    """

    def __init__(self, paths: Array, exponents: Array, scales: Array) -> None:
        from scipy import sparse

        rows = np.unique(np.column_stack([paths, exponents]), axis=0)
        while len(more := np.unique(np.concatenate([rows, *lower(rows)]), axis=0)) > len(rows):
            rows = more
        steps = np.where(rows[:, 1:] < 0, 1, rows[:, 1:]).sum(axis=1)
        self.rows = rows = rows[np.argsort(steps, kind="stable")]
        self.radix = (rows.max(initial=0) + 1 - SINE) ** np.arange(rows.shape[1])
        self.order = np.argsort(rows @ self.radix)
        self.levels = np.searchsorted(np.sort(steps), np.arange(steps.max(initial=0) + 2))
        k, every, path = rows.shape[1] - 1, np.arange(len(rows)), rows[:, 0]
        last = k - 1 - np.argmax(rows[:, :0:-1] != 0, axis=1)
        exponent, parents = rows[every, 1 + last], rows.copy()
        parents[every, 1 + last] = np.maximum(exponent - 1, 0)
        self.parents = self.places(parents[:, 0], parents[:, 1:])
        self.functions = (3 * path + np.maximum(-exponent, 0)) * k + last
        self.slopes = list[sparse.csr_array]()
        for j in range(k):
            e = rows[:, 1 + j]
            derived = rows.copy()
            derived[:, 1 + j] = np.where(e < 0, COSINE + SINE - e, e - 1)
            factor = np.where(e < 0, np.where(e == COSINE, -1.0, 1.0), e / scales[path, j])
            some = np.flatnonzero(e)
            places = some, self.places(path[some], derived[some, 1:])
            self.slopes.append(sparse.csr_array((factor[some], places), (len(rows), len(rows))))

    def places(self, paths: Array, exponents: Array) -> Array:
        """(t,) the rows with these paths (t,) and exponents (t, k)."""
        codes = np.column_stack([paths, exponents]) @ self.radix
        return self.order[np.searchsorted((self.rows @ self.radix)[self.order], codes)]

    def values(self, q: Array, centres: Array, scales: Array) -> Array:
        """(T', K) of coordinates q (paths, k, K), with centres and scales (paths, k)."""
        x = (q - centres[:, :, None]) / scales[:, :, None]
        functions = np.stack([x, np.cos(q), np.sin(q)], axis=1).reshape(-1, q.shape[2])
        found = np.empty((len(self.rows), q.shape[2]))
        found[: self.levels[1]] = 1.0
        for begin, end in pairwise(self.levels[1:]):
            found[begin:end] = found[self.parents[begin:end]] * functions[self.functions[begin:end]]
        return found


@cache
def pairs(k: int) -> tuple[Array, Array, Array, Array]:
    """i and j of all pairs i <= j below k, in order, (k, k) the place of each, and (k, pairs) of i, j and h.

    The last are places among all i <= j <= h, for every h, sorted.
    """
    i, j = np.triu_indices(k)
    place = np.zeros((k, k), np.int64)
    place[i, j] = place[j, i] = np.arange(len(i))
    triple = np.zeros((k, k, k), np.int64)
    for row, each in enumerate(combinations_with_replacement(range(k), 3)):
        for order in permutations(each):
            triple[order] = row
    return i, j, place, triple[i, j].T


def lower(rows: Array) -> Iterator[Array]:
    """Rows of `Products` with one power less, without a cosine or sine, or with one in place of the other."""
    for j in range(1, rows.shape[1]):
        e = rows[:, j]
        for chosen, exponent in ((e > 0, e - 1), (e < 0, 0 * e), (e < 0, COSINE + SINE - e)):
            found = rows[chosen]
            found[:, j] = exponent[chosen]
            yield found


def take_roots(parts: list[Array], direction: Array) -> list[Array]:
    """L = sqrt(P), and its derivatives, for those of P by i <= j; below 1 mm the tangent.

    L L_i = P_i / 2,   L L_ij = P_ij / 2 - L_i L_j,
    L L_ijh d_h = P_ijh d_h / 2 - L_ij L_h d_h - L_i L_jh d_h - L_j L_ih d_h
    """
    P, P1, P2, *P3 = parts
    bends, (i, j, pair, _) = P >= SHORTEST**2, pairs(len(P1))
    L = np.sqrt(np.where(bends, P, SHORTEST**2))
    L1 = 0.5 * P1 / L
    L2 = (0.5 * P2 - bends * L1[i] * L1[j]) / L
    found = [0.5 * (P / L + L), L1, L2]
    for each in P3:
        turned = (L2[pair] * direction).sum(axis=1)
        bent = L2 * (L1 * direction).sum(axis=0) + L1[i] * turned[j] + L1[j] * turned[i]
        found.append((0.5 * each - bends * bent) / L)
    return found
