"""Matrices by the places of their entries: those of a program's derivatives, and maps to such entries.

Arrays, or sparse ones whose products take microseconds. Sums over nodes, elimination and scaling are linear
and constant, so that entries follow from "raw" derivatives by one sparse matrix-vector product, whose pattern
follows from structure, never from values. "Raw" derivatives are those by the numerators Q of the leaves and
the arc's duration T (see `transcription/leaf_map.py`), of all nodes in one flat array.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, overload

import numpy as np
from scipy import sparse
from scipy.linalg import lapack

from trajopt.base.arrays import Array
from trajopt.solvers.solver import ROUNDING, Program

try:  # private functions: another SciPy may be without them
    from scipy.sparse._sparsetools import coo_matvec, csr_matvec
except ImportError:
    coo_matvec = csr_matvec = None

# Sparse factors pay where so few entries of a step's matrix are not zero: a cart-pole's horizon, 260 unknowns
# and 2 % of the entries, takes a tenth of the time.
DENSEST = 0.1


class MatrixPlaces:
    """Places of the entries of a matrix; those that stand twice add up.

    rows, columns : (entries,); a dense matrix lacks the entries of which one of them is negative
    """

    def __init__(self, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> None:
        self.rows, self.columns, self.shape = np.asarray(rows), np.asarray(columns), shape
        self.size = shape[0] * shape[1]
        absent = (self.rows < 0) | (self.columns < 0)
        self._places = np.where(absent, self.size, self.rows * shape[1] + self.columns)

    def dense(self, values: np.ndarray) -> np.ndarray:
        found = np.bincount(self._places, values, minlength=self.size)
        return (
            found[: self.size].reshape(self.shape).astype(float, copy=False)
        )  # of no entries they are integers

    def sparse(self, values: np.ndarray) -> Triplets:
        return Triplets(self.rows, self.columns, values, self.shape)


@dataclass(frozen=True, eq=False)
class Triplets:
    """A sparse matrix with `data` at (rows, columns); entries that stand twice add up.

    Its products take a few microseconds, where SciPy's take tens of them for matrices as small as these.
    """

    rows: np.ndarray
    columns: np.ndarray
    data: np.ndarray
    shape: tuple[int, int]

    @property
    def T(self) -> Triplets:
        return Triplets(self.columns, self.rows, self.data, (self.shape[1], self.shape[0]))

    def __matmul__(self, x: np.ndarray) -> np.ndarray:
        rows, columns = self.rows, self.columns
        known = x.dtype == self.data.dtype == float and x.shape == self.shape[1:]
        if coo_matvec is None or not known or rows.dtype != columns.dtype:
            return np.bincount(rows, self.data * x[columns], minlength=self.shape[0])
        found = np.zeros(self.shape[0])
        coo_matvec(rows.size, rows, columns, self.data, x, found)  # no entry is copied
        return found

    def __truediv__(self, column: np.ndarray) -> Triplets:
        """Every row divided by the number in its row of a column, (m, 1)."""
        return Triplets(self.rows, self.columns, self.data / column[self.rows, 0], self.shape)

    @overload
    def __getitem__(self, rows: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, rows: np.ndarray | Sequence[int]) -> Triplets: ...
    def __getitem__(self, rows: int | np.ndarray | Sequence[int]) -> np.ndarray | Triplets:
        """Some of its rows, in their order, or one as an array."""
        if isinstance(rows, int):
            mine = self.rows == rows
            return np.bincount(self.columns[mine], self.data[mine], minlength=self.shape[1])
        place = np.full(self.shape[0], -1)
        place[rows] = np.arange(len(rows))
        mine = place[self.rows]
        kept = np.flatnonzero(mine >= 0)
        return Triplets(mine[kept], self.columns[kept], self.data[kept], (len(rows), self.shape[1]))

    def tocsc(self) -> sparse.csc_array:
        """SciPy's matrix of compressed columns."""
        return sparse.coo_array((self.data, (self.rows, self.columns)), shape=self.shape).tocsc()

    def toarray(self) -> np.ndarray:
        return MatrixPlaces(self.rows, self.columns, self.shape).dense(self.data)


def sparse_steps_pay(nlp: Program, often: bool = False) -> bool:
    """True if the matrices of a step are so empty that sparse factors are faster.

    often : whether programs with entries at the same places are solved again and again, so that the search
        for an order of pivots is made once for all of them
    """
    n, m = nlp.variable_count, nlp.row_count
    equations = int(np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper))
    H, J = len(nlp.hessian_rows), len(nlp.jacobian_rows)
    if DENSEST * (n + equations) ** 2 >= 2 * (H + J):
        return True
    # No more rows bind than there are unknowns. An arm of 39 unknowns takes a tenth longer with sparse
    # factors, one of 115 three quarters of the time, of 355 a third
    active = min(m, n)
    return often and n >= 100 and 2 * (H + J * active / max(m, 1)) <= 0.25 * (n + active) ** 2


Matrix: TypeAlias = Any  # an array, or `Triplets`: those of one program are all of one kind


class Matrices:
    """Makes the matrices from the entries of a program's derivatives: `Triplets` where they are sparse."""

    def __init__(self, nlp: Program, is_sparse: bool) -> None:
        self.is_sparse = is_sparse
        self.patterns: dict[tuple[int, ...], Any] = {}  # of factors, by active constraints: see `SparseKkt`
        n, m = nlp.variable_count, nlp.row_count
        own = np.arange(n)
        rows, columns = np.append(nlp.jacobian_rows, m + own), np.append(nlp.jacobian_columns, own)
        self._constraints = MatrixPlaces(rows, columns, (m + n, n))
        self.nlp, self._ones, self._zeros = nlp, np.ones(n), np.zeros(n)

    @functools.cached_property
    def _hessian(self) -> tuple[MatrixPlaces, np.ndarray]:
        """Places of the entries of both triangles, and their numbers in the lower one.

        The entries of a shift of the diagonal stand at the end.
        """
        i, j, n = np.asarray(self.nlp.hessian_rows), np.asarray(self.nlp.hessian_columns), self._ones.size
        off, own = np.flatnonzero(i != j), np.arange(n)
        places = MatrixPlaces(np.concatenate([i, j[off], own]), np.concatenate([j, i[off], own]), (n, n))
        return places, np.concatenate([np.arange(i.size), off])

    def fits(self, nlp: Program) -> bool:
        """True if the entries of the derivatives of a program stand where they did in this one's."""
        names = ("jacobian_rows", "jacobian_columns", "hessian_rows", "hessian_columns")
        both = [(getattr(self.nlp, name), getattr(nlp, name)) for name in names]
        same = all(own is other or np.array_equal(own, other) for own, other in both)
        return same and self.nlp.row_count == nlp.row_count

    def constraints(self, jacobian: np.ndarray) -> Matrix:
        """A from the entries of the Jacobian."""
        return self._of(self._constraints, np.append(jacobian, self._ones))

    def hessian(self, entries: np.ndarray) -> Matrix:
        """Both triangles from the entries of the lower one."""
        places, both = self._hessian
        return self._of(places, np.append(entries[both], self._zeros))

    @property
    def both_triangles(self) -> np.ndarray:
        """The numbers of the entries of the lower triangle that both triangles have, in their order."""
        return self._hessian[1]

    @property
    def constraint_places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of A: those of the Jacobian, then those of bounds."""
        return self._constraints.rows, self._constraints.columns

    def _of(self, places: MatrixPlaces, values: np.ndarray) -> Matrix:
        return places.sparse(values) if self.is_sparse else places.dense(values)


def product(matrix: sparse.csr_array, x: Array) -> Array:
    """matrix @ x without most checks of SciPy, a dozen calls of Python for each of such small products.

    Raises ValueError for an x of another size, as SciPy does.
    """
    rows, columns = matrix.shape
    if csr_matvec is None or x.dtype != float or x.shape != (columns,):
        return matrix @ x
    found = np.zeros(rows)
    csr_matvec(rows, columns, matrix.indptr, matrix.indices, matrix.data, x, found)
    return found


def dense_jacobian(nlp: Program, values: np.ndarray) -> np.ndarray:
    """The (m, n) matrix of a program's entries."""
    return MatrixPlaces(nlp.jacobian_rows, nlp.jacobian_columns, (nlp.row_count, nlp.variable_count)).dense(
        values
    )


def sparse_jacobian(program: Program, values: Array) -> sparse.csr_array:
    """The (rows, variables) matrix of a program's entries."""
    places = (program.jacobian_rows, program.jacobian_columns)
    return sparse.coo_array((values, places), shape=(program.row_count, program.variable_count)).tocsr()


def sparse_hessian(program: Program, values: Array) -> sparse.csr_array:
    """The symmetric matrix of the entries of its lower triangle."""
    places, count = (program.hessian_rows, program.hessian_columns), program.variable_count
    lower = sparse.coo_array((values, places), shape=(count, count)).tocsr()
    return sparse.csr_array(lower + sparse.tril(lower, -1).T)


def scattered(values: np.ndarray, places: np.ndarray | list[int] | slice, size: int) -> np.ndarray:
    """Values at places, numbers, a mask or a slice, of a vector (size,) that is zero elsewhere."""
    whole = np.zeros(size)
    whole[places] = values
    return whole


def largest_entry(H: Matrix) -> float:
    """The largest absolute entry, or 1 where that is larger."""
    entries = H.data if isinstance(H, Triplets) else H
    return max(1.0, float(np.abs(entries).max(initial=0.0)))


def row_lengths(A: Matrix) -> np.ndarray:
    """Length of every row; of an entry that stands twice in a sparse matrix, both count."""
    if isinstance(A, Triplets):
        return np.sqrt(np.bincount(A.rows, A.data**2, minlength=A.shape[0]))
    return np.sqrt(np.einsum("ij,ij->i", A, A))


def independent_rows(A: np.ndarray, least: float) -> np.ndarray:
    """Numbers of the rows of A (m, n) of which all others are combinations, as pivoted QR takes them.

    least : of a row's length, what is left of it beside the rows that were taken
    """
    if not A.size:
        return np.zeros(0, dtype=int)
    length = np.maximum(np.linalg.norm(A, axis=1), ROUNDING)
    R, order, *_ = lapack.dgeqp3((A / length[:, None]).T)
    return order[: np.count_nonzero(np.abs(np.diagonal(R)) > least)] - 1


def shifted(H: Matrix, amount: float) -> Matrix:
    """H + amount times the identity, whose entries stand at the end of sparse ones."""
    if isinstance(H, Triplets):
        data = H.data.copy()
        data[-H.shape[0] :] += amount
        return Triplets(H.rows, H.columns, data, H.shape)
    return H + amount * np.eye(len(H))


@dataclass(frozen=True, eq=False)
class EntryMap:
    """values = matrix @ raw, for the entries (rows, columns)."""

    matrix: sparse.csr_array
    rows: Array
    columns: Array

    @staticmethod
    def of(entries: Entries, raw_size: int) -> EntryMap:
        """The map to entries in order of their rows and columns; those that stand twice add up."""
        width = int(entries.column.max(initial=0)) + 1
        keys = entries.row.astype(np.int64) * width + entries.column
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        parts = (entries.factor[order], entries.index[order], np.append(starts, keys.size))
        matrix = sparse.csr_array(parts, shape=(starts.size, raw_size))
        return EntryMap(matrix, *np.divmod(keys[starts], width))

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
