"""Derivatives of a program as matrices: arrays, or sparse ones whose products take microseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from trajopt.solvers.solver import Program
from trajopt.solvers.solver_constants import ROUNDING


class MatrixPlaces:
    """Where the entries of a matrix stand; those that stand twice add up.

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
        return np.bincount(self.rows, self.data * x[self.columns], minlength=self.shape[0])

    def __truediv__(self, column: np.ndarray) -> Triplets:
        """Every row divided by the number in its row of a column, (m, 1)."""
        return Triplets(self.rows, self.columns, self.data / column[self.rows, 0], self.shape)

    def __getitem__(self, rows: Any) -> Any:
        """Some of its rows, in their order, or one as an array."""
        if isinstance(rows, int):
            mine = self.rows == rows
            return np.bincount(self.columns[mine], self.data[mine], minlength=self.shape[1])
        place = np.full(self.shape[0], -1)
        place[rows] = np.arange(len(rows))
        mine = place[self.rows]
        kept = np.flatnonzero(mine >= 0)
        return Triplets(mine[kept], self.columns[kept], self.data[kept], (len(rows), self.shape[1]))

    def tocsc(self) -> Any:
        """SciPy's matrix of compressed columns."""
        from scipy.sparse import coo_array

        return coo_array((self.data, (self.rows, self.columns)), shape=self.shape).tocsc()

    def toarray(self) -> np.ndarray:
        return MatrixPlaces(self.rows, self.columns, self.shape).dense(self.data)


def dense_jacobian(nlp: Program, values: np.ndarray) -> np.ndarray:
    """The (m, n) matrix of a program's entries."""
    return MatrixPlaces(nlp.jacobian_rows, nlp.jacobian_columns, (nlp.row_count, nlp.variable_count)).dense(
        values
    )


def scattered(values: np.ndarray, places: Any, size: int) -> np.ndarray:
    """Values at places, numbers or a mask, of a vector (size,) that is zero elsewhere."""
    whole = np.zeros(size)
    whole[places] = values
    return whole


def largest_entry(H: Any) -> float:
    """The largest absolute entry, or 1 where that is larger."""
    entries = H.data if isinstance(H, Triplets) else H
    return max(1.0, float(np.abs(entries).max(initial=0.0)))


def row_lengths(A: Any) -> np.ndarray:
    """Of every row; of an entry that stands twice in a sparse matrix, both count."""
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


def shifted(H: Any, amount: float) -> Any:
    """H + amount times the identity, whose entries stand at the end of sparse ones."""
    if isinstance(H, Triplets):
        data = H.data.copy()
        data[-H.shape[0] :] += amount
        return Triplets(H.rows, H.columns, data, H.shape)
    return H + amount * np.eye(len(H))
