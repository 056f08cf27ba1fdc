"""Constant sparse maps from raw derivative entries at the nodes to the entries that a solver asks for.

Uses, elimination and scaling are linear and constant, so each assembly is one sparse matrix-vector product
whose pattern follows from structure, never from values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from trajopt.block import Array
from trajopt.elimination import Elimination


@dataclass(frozen=True, eq=False)
class EntryMap:
    """values = matrix @ raw, for the entries (rows, columns)."""

    matrix: sparse.csr_array
    rows: Array
    columns: Array

    def __call__(self, raw: Array) -> Array:
        return self.matrix @ raw


@dataclass(frozen=True, eq=False)
class RawEntries:
    """Entry i of a raw array belongs to (row, column) with a factor; index says which raw entry it is."""

    index: Array
    row: Array
    column: Array
    factor: Array


def gather_jacobian(parts: list[RawEntries], elimination: Elimination, raw_size: int) -> EntryMap:
    """J_y = J_x N, entry by entry."""
    index, row, column, factor = _joined(parts)
    origin, y_column, weight = _expand(elimination.N, column)
    return _entry_map(index[origin], row[origin], y_column, factor[origin] * weight, raw_size)


def gather_hessian(part: RawEntries, elimination: Elimination, raw_size: int) -> EntryMap:
    """Lower triangle of N' (M + M') N from the raw entries of M."""
    first, a, left = _expand(elimination.N, part.row)
    second, b, right = _expand(elimination.N, part.column[first])
    a, left = a[second], left[second]
    origin = first[second]
    factor = part.factor[origin] * left * right * np.where(a == b, 2.0, 1.0)
    return _entry_map(part.index[origin], np.maximum(a, b), np.minimum(a, b), factor, raw_size)


def _joined(parts: list[RawEntries]) -> tuple[Array, Array, Array, Array]:
    if not parts:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, empty, np.zeros(0)
    fields = ("index", "row", "column", "factor")
    index, row, column, factor = (np.concatenate([getattr(part, name) for part in parts]) for name in fields)
    return index, row, column, factor


def _expand(N: sparse.csr_array, column: Array) -> tuple[Array, Array, Array]:
    """For every entry in a column of x, the entries of that row of N: (which entry, column of y, value)."""
    counts = np.diff(N.indptr)[column]
    origin = np.repeat(np.arange(column.size), counts)
    starts = np.repeat(N.indptr[column], counts)
    within = np.arange(origin.size) - np.repeat(np.cumsum(counts) - counts, counts)
    place = starts + within
    return origin, N.indices[place], N.data[place]


def _entry_map(index: Array, row: Array, column: Array, factor: Array, raw_size: int) -> EntryMap:
    width = int(column.max(initial=0)) + 1
    keys, entry = np.unique(row.astype(np.int64) * width + column, return_inverse=True)
    matrix = sparse.coo_array((factor, (entry.ravel(), index)), shape=(keys.size, raw_size)).tocsr()
    return EntryMap(matrix, keys // width, keys % width)
