"""Sparse factors L D L' of the matrix of a quadratic program with active constraints.

    K = [H  A_W'; A_W  0]      H (n, n), A_W the rows of the active constraints

Pivots have an order that is found once, and stays with the program: a factorization is then one compiled loop
over the entries of L. What it does not solve, SuperLU factorizes, last with exchanges of rows.

The order of pivots is found from where the entries of the matrix stand:

    K = [H  A'; A  0]      H (n, n), A (m, n)

Every constraint is paired with an unknown of its own, and both are one pivot, a block of two: [h a; a 0] has
pivots of both signs however small h is, so that no rows need to be exchanged. The pairing has the largest
product of |a| (Duff and Pralet, SIAM J. Matrix Anal. Appl. 27, 2005, 313); the blocks follow each other by
least degree, which keeps L sparse.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from trajopt.base.tolerances import NOT_ZERO
from trajopt.solvers.matrices import Triplets, largest_entry
from trajopt.solvers.solver import DEPENDENT, FEASIBILITY, REGULARIZATION, ROUNDING

if TYPE_CHECKING:
    from scipy.sparse.linalg import SuperLU

EPS = float(np.finfo(float).eps)
MOST_PATTERNS = 4  # that are kept: the active sets of steps and of checks, and those of a few inputs


class KktPattern:
    """Places of the entries of K.

    kept : the entries of A in rows of active constraints, at (held_rows, held_columns) of A_W
    """

    def __init__(self, H: Triplets, A: Triplets, active: list[int]) -> None:
        n, row = H.shape[0], np.full(A.shape[0], -1)
        row[active] = np.arange(len(active))
        self.kept = np.flatnonzero(row[A.rows] >= 0)
        held = Triplets(row[A.rows[self.kept]], A.columns[self.kept], A.data[self.kept], (len(active), n))
        self._parts = H, held
        self.held_rows, self.held_columns = held.rows, held.columns
        self.rows = np.concatenate([H.rows, n + held.rows, held.columns])
        self.columns = np.concatenate([H.columns, held.columns, n + held.rows])
        self.shape = (n + len(active), n + len(active))

    @functools.cached_property
    def order(self) -> PivotOrder | None:
        """The order of pivots; None where a constraint has no unknown of its own, and K is singular."""
        H, held = self._parts
        partner = paired(held)
        return None if partner is None else PivotOrder(H, held, partner)


Factors: TypeAlias = Any  # `OrderedFactors` or `SuperLuFactors`; None where K is singular
Patterns = dict[tuple[int, ...], KktPattern]  # by active constraints: the last ones


def pattern_of(H: Triplets, A: Triplets, active: list[int], patterns: Patterns) -> KktPattern:
    """The pattern of K for these constraints, made where it is not among the last ones."""
    key = tuple(active)
    found = patterns.get(key)
    if found is None:
        for old in list(patterns)[: max(0, len(patterns) - MOST_PATTERNS + 1)]:
            patterns.pop(old, None)  # another thread may have done so
        found = patterns[key] = KktPattern(H, A, active)
    return found


class SparseKkt:
    """K and its factors, those of a fixed order of pivots first.

    The signs of the pivots show whether H is positive definite along the constraints (Sylvester).

    is_single : for few factorizations with this pattern: SuperLU says how definite H is, where it can, which
        takes a tenth of the time that the order of pivots does
    """

    corrects = True  # `solve` corrects its solution by the residual

    def __init__(
        self, H: Triplets, A: Triplets, active: list[int], patterns: Patterns, is_single: bool = False
    ) -> None:
        self._n, self._m, self._is_single = H.shape[0], len(active), is_single
        self._pattern = pattern_of(H, A, active, patterns)
        self._H, self._held, self._size = H, A.data[self._pattern.kept], largest_entry(H)

    @functools.cached_property
    def _factors(self) -> Factors:
        order = self._pattern.order
        return None if order is None else OrderedFactors(order, self._H.data, self._held, self._size)

    @property
    def exists(self) -> bool:
        """True if K is regular: else a right-hand side of size 1 in the rows of constraints is not solved."""
        if self._probed is not None and self._probed[1] <= FEASIBILITY:
            return True
        self._factors = self._by_superlu
        if self._factors is not None and self._factors.solve(self._probe)[1] <= FEASIBILITY:
            return True
        self._factors = superlu_factors(self._K, self._lowered, exchanges=True)
        return self._factors is not None and self._is_unique

    @property
    def _is_unique(self) -> bool:
        """True if the factors solve the probe and find a known solution again, as those of a regular K do."""
        known = np.cos(np.arange(self._n + self._m))
        found = self._factors.solve(self._K @ known)[0]
        return max(self._factors.solve(self._probe)[1], np.abs(found - known).max(initial=0.0)) <= FEASIBILITY

    @property
    def dependent(self) -> np.ndarray:
        """Places of active constraints of which a combination w is zero, A_W' w = 0, as far as K tells.

        The solution for a right-hand side in the rows of constraints grows along all such w.
        """
        w = np.zeros(self._m) if self._probed is None else self._probed[0][self._n :]
        w = w / max(float(np.abs(w).max(initial=0.0)), NOT_ZERO)
        rest = np.bincount(self._pattern.held_columns, self._held * w[self._pattern.held_rows], self._n)
        is_one = w.any() and np.abs(rest).max() <= DEPENDENT
        return np.flatnonzero(np.abs(w) > np.sqrt(DEPENDENT)) if is_one else np.zeros(0, dtype=int)

    @property
    def _probe(self) -> np.ndarray:
        return np.append(np.zeros(self._n), np.cos(np.arange(self._m)))

    @functools.cached_property
    def _probed(self) -> tuple[np.ndarray, float] | None:
        """The solution for the probe by the factors in the order of pivots, and its residual."""
        return None if self._factors is None else self._factors.solve(self._probe)

    @functools.cached_property
    def is_strict(self) -> bool:
        """True if H is positive definite along the constraints."""
        return self.negative == 0

    @functools.cached_property
    def negative(self) -> int:
        """The number of directions along the constraints in which H is negative; n where none is known."""
        factors = self._sure_factors
        return self._n if factors is None or factors.positive > self._n else self._n - factors.positive

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution, corrected by its residual once."""
        return self._factors.solve(right)[0]

    def solve_along(self, right: np.ndarray) -> np.ndarray:
        """x (n,) of K [x; z] = [right; 0], along the constraints, where H is strict along them."""
        return self._sure_factors.solve(np.concatenate([right, np.zeros(self._m)]))[0][: self._n]

    @functools.cached_property
    def _sure_factors(self) -> Factors:
        """The factors whose signs of pivots are certain; None where there are none."""
        if self._is_single and self._by_superlu is not None:
            return self._by_superlu
        if self._factors is None or not self._factors.is_sure:
            return self._by_superlu
        return self._factors

    @functools.cached_property
    def _K(self) -> Triplets:
        pattern = self._pattern
        data = np.concatenate([self._H.data, self._held, self._held])
        return Triplets(pattern.rows, pattern.columns, data, pattern.shape)

    @functools.cached_property
    def _by_superlu(self) -> SuperLuFactors | None:
        return superlu_factors(self._K, self._lowered)

    @property
    def _lowered(self) -> np.ndarray:
        # Of 1 / |H|, so that no pivot is zero: what that changes is corrected by the residual of a solve.
        return np.repeat([0.0, -REGULARIZATION / self._size], [self._n, self._m])


class OrderedFactors:
    """L D L' in a fixed order of pivots.

    A pivot below 1e-9 of |H|, or of 1 / |H| of a constraint, is lifted to that.

    H, A : the entries of both
    size : of the largest entry of H
    positive : the number of positive pivots
    is_sure : whether no pivot was lifted, and rounding has changed the diagonal by less than such a pivot
    """

    def __init__(self, order: PivotOrder, H: np.ndarray, A: np.ndarray, size: float) -> None:
        from trajopt.solvers.newton import ldl_kernels

        self._kernels, self._order = ldl_kernels, order
        layout, rows = order.layout, order.order.size
        self._values = np.empty(layout.own.size)
        ldl_kernels.upper_triangle(order.slots, H, A, self._values)
        self._L, self._inverse = np.zeros((2, layout.below.size)), np.empty((rows, 2))
        least = np.where(order.is_unknown, REGULARIZATION * size, -REGULARIZATION / size)
        self._layout = tuple(layout)
        found = ldl_kernels.factorize(self._layout, self._values, least, ROUNDING, self._L, self._inverse)
        self.positive, lifted, growth = found
        self.is_sure = bool(lifted == 0 and growth * EPS <= 1.0)

    def solve(self, right: np.ndarray) -> tuple[np.ndarray, float]:
        """The solution, corrected by its residual once, and the largest entry of the residual."""
        order, L, inverse = self._order, self._L, self._inverse
        return self._kernels.corrected_solution(self._layout, order.order, self._values, L, inverse, right)


class SuperLuFactors:
    """L D L' by SuperLU without exchanges of rows, or L U with them, whose pivots' signs tell nothing."""

    def __init__(self, K: Triplets, factors: SuperLU) -> None:
        self._K, self._factors = K.tocsc(), factors
        self.is_sure = np.array_equal(factors.perm_r, factors.perm_c)

    @functools.cached_property
    def positive(self) -> int:
        """The number of positive pivots."""
        return int(np.count_nonzero(self._factors.U.diagonal() > 0.0))

    def solve(self, right: np.ndarray) -> tuple[np.ndarray, float]:
        """Solve as `OrderedFactors.solve` does."""
        found = self._factors.solve(right)
        found = found + self._factors.solve(right - self._K @ found)
        return found, float(np.abs(right - self._K @ found).max(initial=0.0))


def superlu_factors(K: Triplets, added: np.ndarray, exchanges: bool = False) -> SuperLuFactors | None:
    """Factors of K + diag(added); None where a pivot is zero, or rows have to be exchanged and may not be."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import splu

    how: dict[str, Any] = (
        {"permc_spec": "COLAMD"}
        if exchanges
        else {
            "permc_spec": "MMD_AT_PLUS_A",
            "diag_pivot_thresh": 0.0,
            "panel_size": 1,  # faster for columns as short as these
            "options": {"SymmetricMode": True},
        }
    )
    try:
        found = SuperLuFactors(K, splu((K.tocsc() + diags_array(added)).tocsc(), **how))
    except RuntimeError:
        return None
    return found if exchanges or found.is_sure else None


class FactorLayout(NamedTuple):
    """Places of entries; all arrays are of integers, and rows are counted in the order of the pivots.

    starts : (blocks + 1,), the first row of every block, and behind the last the number of rows
    heads, own : columns of the upper triangle of K: column k has the rows own[heads[k]:heads[k + 1]]
    first, below : columns of L, which a block's rows share: rows below[first[b]:first[b + 1]], ascending
    needs, needed : rows of L: those of block b have entries in the blocks needed[needs[b]:needs[b + 1]],
        ascending
    runs, begins : of neighbouring rows: those of block b begin at the places begins[runs[b]:runs[b + 1]] of
        `below`, and each ends where the next one begins; last the number of all places
    """

    starts: np.ndarray
    heads: np.ndarray
    own: np.ndarray
    first: np.ndarray
    below: np.ndarray
    needs: np.ndarray
    needed: np.ndarray
    runs: np.ndarray
    begins: np.ndarray


class PivotOrder:
    """The order of the rows of K, and where entries of K and of its factors stand.

    order : (n + m,), row k of the factors is row order[k] of K
    is_unknown : (n + m,), which of its rows belong to unknowns
    slots : for every entry of H, which has both triangles, and of A its place in the upper triangle of K in
        this order; entries of the lower triangle have one more than there are
    """

    def __init__(self, H: Triplets, A: Triplets, partner: np.ndarray) -> None:
        """partner : (m,), the unknown that every constraint is paired with."""
        n, m = H.shape[0], A.shape[0]
        blocks = np.concatenate([np.arange(n), partner])
        rows, columns = np.concatenate([H.rows, A.columns]), np.concatenate([H.columns, n + A.rows])
        blocks = _least_degree(blocks[rows], blocks[columns], n)[blocks]
        self.order = np.lexsort((np.arange(n + m), blocks))
        place, self.is_unknown = np.argsort(self.order), self.order < n
        starts = np.searchsorted(blocks[self.order], np.arange(n + 1))
        above, below = place[rows], place[columns]
        above[H.rows.size :], below[H.rows.size :] = np.sort([above[H.rows.size :], below[H.rows.size :]], 0)
        is_upper = above <= below
        keys, found = np.unique((below * (n + m) + above)[is_upper], return_inverse=True)
        self.slots = np.full(rows.size, keys.size)
        self.slots[is_upper] = found
        heads = np.searchsorted(keys, (n + m) * np.arange(n + m + 1))
        pairs = blocks[self.order][np.array([keys % (n + m), keys // (n + m)])]
        self.layout = FactorLayout(starts, heads, keys % (n + m), *_rows_and_columns(starts, *pairs))


def paired(A: Triplets) -> np.ndarray | None:
    """An unknown for every row of A (m,), no two of them the same; None where there are no such pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    entries = coo_array((A.data, (A.rows, A.columns)), shape=A.shape).tocsr()
    sizes = np.abs(entries.data)
    ratio = sizes.max(initial=0.0) / np.maximum(sizes, NOT_ZERO)
    entries.data = 1.0 + np.log(np.maximum(ratio, 1.0))  # zero would be no entry
    try:
        rows, columns = min_weight_full_bipartite_matching(entries)
    except ValueError:  # there is none
        return None
    return columns[np.argsort(rows)] if len(rows) == A.shape[0] else None


def _least_degree(i: np.ndarray, j: np.ndarray, size: int) -> np.ndarray:
    """The place of every node of a graph with edges (i, j), by SuperLU, of a matrix without zero pivots."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import splu

    own = np.arange(size)
    ones = coo_array((np.ones(2 * i.size), (np.append(i, j), np.append(j, i))), shape=(size, size)).tocsr()
    ones.data[:] = -1.0
    dominant = ones + coo_array((np.full(size, 2.0 + size), (own, own)), shape=(size, size))
    options = {"SymmetricMode": True}
    factors = splu(dominant.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    return factors.perm_c.astype(np.int64)


def _rows_and_columns(starts: np.ndarray, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, ...]:
    """All but the first three arrays of a `FactorLayout` of a matrix with entries in blocks (i, j), i <= j.

    A column of L has the rows of K's column and of all columns whose first row below the diagonal it is.
    """
    from trajopt.solvers.newton import ldl_kernels

    blocks = starts.size - 1
    counts, rows = ldl_kernels.filled_columns(blocks, i[i < j], j[i < j])
    of = np.repeat(np.arange(blocks), counts)
    rows = np.sort(of * blocks + rows) - of * blocks
    by_row = np.lexsort((of, rows))
    needs = np.searchsorted(rows[by_row], np.arange(blocks + 1))
    lengths = np.diff(starts)[rows]
    last = np.cumsum(lengths)
    below = np.repeat(starts[rows] - last + lengths, lengths) + np.arange(lengths.sum())
    first = np.append(0, last)[np.append(0, np.cumsum(counts))]
    is_begin = np.diff(below, prepend=-2) != 1
    is_begin[first[:-1][first[:-1] < below.size]] = True
    begins = np.append(np.flatnonzero(is_begin), below.size)
    return first, below, needs, of[by_row], np.searchsorted(begins, first), begins
