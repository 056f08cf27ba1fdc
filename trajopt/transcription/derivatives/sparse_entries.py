"""Constant sparse maps from raw derivatives at the nodes to the entries of a Jacobian or Hessian.

Sums over nodes, elimination and scaling are linear and constant, so each assembly is one sparse matrix-vector
product whose pattern follows from structure, never from values. "Raw" derivatives are those by the numerators
Q of the leaves and the arc's duration T (see `leaf_map.py`), of all nodes in one flat array.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.solvers.solver import Program


@dataclass(frozen=True, eq=False)
class EntryMap:
    """values = matrix @ raw, for the entries (rows, columns)."""

    matrix: sparse.csr_array
    rows: Array
    columns: Array

    def chosen(self, mask: Array, width: int) -> tuple[sparse.csr_array, Array]:
        """The map to the entries in `mask` from the lines of raw that they need, and which lines these are.

        A line is `width` raw derivatives, one after the other.
        """
        matrix = self.matrix[np.flatnonzero(mask)]
        line, column = np.divmod(matrix.indices, width)
        lines, place = np.unique(line, return_inverse=True)
        parts = (matrix.data, place * width + column, matrix.indptr)
        return sparse.csr_array(parts, shape=(matrix.shape[0], lines.size * width)), lines

    def scaled(self, factors: Array) -> EntryMap:
        """The map to the entries times the factor of their row."""
        return replace(self, matrix=row_scaled(self.matrix, factors[self.rows]))


@dataclass(frozen=True, eq=False)
class Entries:
    """Raw derivative `index`, times a factor, belongs to (row, column)."""

    index: Array
    row: Array
    column: Array
    factor: Array


def jacobian_map(entries: Entries, weights: sparse.csr_array, raw_size: int, first_row: int) -> EntryMap:
    """Entries of weights @ (raw Jacobian of every node and component), rows counted from `first_row`."""
    origin, row, weight = entries_of_rows(weights.tocsc(), entries.row)
    found = Entries(
        entries.index[origin], first_row + row, entries.column[origin], entries.factor[origin] * weight
    )
    return _entry_map(found, raw_size)


def hessian_map(entries: Entries, raw_size: int) -> EntryMap:
    """Lower triangle of M + M' from the entries of M."""
    a, b = entries.row, entries.column
    factor = entries.factor * np.where(a == b, 2.0, 1.0)
    return _entry_map(Entries(entries.index, np.maximum(a, b), np.minimum(a, b), factor), raw_size)


def product_entries(
    index: Array, left: sparse.csr_array, left_row: Array, right: sparse.csr_array, right_row: Array
) -> Entries:
    """Entries of raw second derivatives by two linear forms, a row of `left` and one of `right` each."""
    first, row, one = entries_of_rows(left, left_row)
    second, column, other = entries_of_rows(right, right_row[first])
    return Entries(index[first[second]], row[second], column, one[second] * other)


def all_entries(parts: Sequence[Entries]) -> Entries:
    """All entries of several parts."""
    fields = ("index", "row", "column", "factor")
    return Entries(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))


def matrix_of_parts(parts: Sequence[tuple[Array, Array, Array]], shape: tuple[int, int]) -> sparse.csr_array:
    """The matrix from (rows, columns, values) of its parts; the way through SciPy's COO takes twice as long.

    Zeros are left out, and entries that are given twice stay two.
    """
    if not parts:
        return sparse.csr_array(shape)
    row, column, value = map(np.concatenate, zip(*parts, strict=True))
    kept = np.flatnonzero(value)
    kept = kept[np.argsort(row[kept].astype(np.int64) * shape[1] + column[kept])]
    starts = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=shape[0]))])
    return sparse.csr_array((value[kept], column[kept], starts), shape=shape)


def sparse_jacobian(program: Program, values: Array) -> sparse.csr_array:
    """The (rows, variables) matrix of a program's entries."""
    places = (program.jacobian_rows, program.jacobian_columns)
    return sparse.coo_array((values, places), shape=(program.row_count, program.variable_count)).tocsr()


def sparse_hessian(program: Program, values: Array) -> sparse.csr_array:
    """The symmetric matrix of the entries of its lower triangle."""
    places, count = (program.hessian_rows, program.hessian_columns), program.variable_count
    lower = sparse.coo_array((values, places), shape=(count, count)).tocsr()
    return sparse.csr_array(lower + sparse.tril(lower, -1).T)


def row_scaled(matrix: sparse.csr_array, factors: Array) -> sparse.csr_array:
    """diag(factors) @ matrix, entries in their order; it shares their places, which are not checked again."""
    scaled = copy.copy(matrix)
    scaled.data = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
    return scaled


def entries_of_rows(matrix: sparse.csr_array | sparse.csc_array, rows: Array) -> tuple[Array, Array, Array]:
    """The entries of these rows, one row after the other: (which of `rows`, column, value).

    Of a matrix stored by columns, the entries of columns: (which of them, row, value).
    """
    first = matrix.indptr[rows]
    counts = matrix.indptr[rows + 1] - first
    origin = np.repeat(np.arange(rows.size), counts)
    place = np.arange(origin.size) + np.repeat(first - np.cumsum(counts) + counts, counts)
    return origin, matrix.indices[place], matrix.data[place]


def _entry_map(entries: Entries, raw_size: int) -> EntryMap:
    width = int(entries.column.max(initial=0)) + 1
    keys = entries.row.astype(np.int64) * width + entries.column
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    parts = (entries.factor[order], entries.index[order], np.append(starts, keys.size))
    matrix = sparse.csr_array(parts, shape=(starts.size, raw_size))
    return EntryMap(matrix, *np.divmod(keys[starts], width))
