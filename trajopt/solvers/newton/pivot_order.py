"""An order of pivots for the matrix of a quadratic program, found once from where its entries stand.

    K = [H  A'; A  0]      H (n, n), A (m, n)

Every constraint is paired with an unknown of its own, and both are one pivot, a block of two: [h a; a 0] has
pivots of both signs however small h is, so that no rows need to be exchanged. The pairing has the largest
product of |a| (Duff and Pralet, SIAM J. Matrix Anal. Appl. 27, 2005, 313); the blocks follow each other by
least degree, which keeps L sparse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trajopt.base.tolerances import NOT_ZERO
from trajopt.solvers.matrices import Triplets


class FactorLayout(NamedTuple):
    """Places of entries; all arrays are of integers, and rows are counted in the order of the pivots.

    starts : (blocks + 1,), the first row of every block, and behind the last the number of rows
    heads, own : columns of the upper triangle of K: column k has the rows own[heads[k]:heads[k + 1]]
    first, below : columns of L, which a block's rows share: rows below[first[b]:first[b + 1]], ascending
    needs, needed : rows of L: those of block b have entries in the blocks needed[needs[b]:needs[b + 1]],
        ascending
    """

    starts: np.ndarray
    heads: np.ndarray
    own: np.ndarray
    first: np.ndarray
    below: np.ndarray
    needs: np.ndarray
    needed: np.ndarray


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
    """`first`, `below`, `needs` and `needed` of a matrix with entries in blocks (i, j), i <= j.

    A column of L has the rows of K's column and of all columns whose first row below the diagonal it is.
    """
    blocks = starts.size - 1
    columns: list[set[int]] = [set() for _ in range(blocks)]
    for one, other in zip(i[i < j].tolist(), j[i < j].tolist(), strict=True):
        columns[one].add(other)
    for column in columns:
        if column:
            parent = min(column)
            columns[parent] |= column - {parent}
    counts = np.array([len(column) for column in columns])
    of = np.repeat(np.arange(blocks), counts)
    rows = np.array([row for column in columns for row in sorted(column)], dtype=np.int64)
    by_row = np.lexsort((of, rows))
    needs = np.searchsorted(rows[by_row], np.arange(blocks + 1))
    lengths = np.diff(starts)[rows]
    last = np.cumsum(lengths)
    below = np.repeat(starts[rows] - last + lengths, lengths) + np.arange(lengths.sum())
    first = np.append(0, last)[np.append(0, np.cumsum(counts))]
    return first, below, needs, of[by_row]
