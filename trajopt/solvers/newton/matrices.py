"""The constraint matrix and the Hessian of a program, as dense arrays or sparse ones.

Constraints are the rows of the program, then the bounds of its unknowns: A = [J; I], (m + n, n).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from trajopt.solvers.solver import Program

__all__ = [
    "DenseMatrices",
    "Matrices",
    "SparseMatrices",
    "Triplets",
    "dense_row",
    "divided_rows",
    "largest_entry",
    "matrices_of",
    "row_lengths",
    "summed_rows",
]

# Sparse factors pay from about so many unknowns on, where so few entries of a step's matrix are not zero:
# a cart-pole's horizon, 260 unknowns and 2 % of the entries, takes a tenth of the time.
LEAST_SPARSE, DENSEST = 100, 0.1


class Matrices(Protocol):
    """How a program's matrices are made; the sparse ones are `Triplets`."""

    def constraints(self, jacobian: np.ndarray) -> Any: ...
    def hessian(self, entries: np.ndarray) -> Any: ...
    def shifted(self, H: Any, amount: float) -> Any: ...


def matrices_of(nlp: Program) -> Matrices:
    """Dense matrices, or sparse ones where those of a step are large and nearly empty."""
    n = nlp.variable_count
    equations = int(np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper))
    entries = 2 * (len(nlp.hessian_rows) + len(nlp.jacobian_rows))
    sparse = n >= LEAST_SPARSE and entries <= DENSEST * (n + equations) ** 2
    return SparseMatrices(nlp) if sparse else DenseMatrices(nlp)


class DenseMatrices:
    """Arrays."""

    def __init__(self, nlp: Program) -> None:
        self.n, self.m = n, _ = nlp.variable_count, nlp.row_count
        self._jacobian_places = np.asarray(nlp.jacobian_rows) * n + nlp.jacobian_columns
        i, j = np.asarray(nlp.hessian_rows), np.asarray(nlp.hessian_columns)
        off_diagonal = np.flatnonzero(i != j)
        #: of the entries of both triangles: their places in H, and which entry of the lower one each is
        self._hessian_places = np.concatenate([i * n + j, (j * n + i)[off_diagonal]])
        self._hessian_entries = np.concatenate([np.arange(i.size), off_diagonal])
        self._identity = np.eye(n)

    def constraints(self, jacobian: np.ndarray) -> np.ndarray:
        """A from the entries of the Jacobian."""
        J = np.bincount(self._jacobian_places, jacobian, minlength=self.m * self.n)
        return np.concatenate([J.reshape(self.m, self.n), self._identity])

    def hessian(self, entries: np.ndarray) -> np.ndarray:
        """Both triangles from the entries of the lower one."""
        n = self.n
        return np.bincount(self._hessian_places, entries[self._hessian_entries], n * n).reshape(n, n)

    def shifted(self, H: np.ndarray, amount: float) -> np.ndarray:
        return H + amount * self._identity


class SparseMatrices:
    """Triplets."""

    def __init__(self, nlp: Program) -> None:
        n, m = nlp.variable_count, nlp.row_count
        own = np.arange(n)
        self._of_constraints = np.append(nlp.jacobian_rows, m + own), np.append(nlp.jacobian_columns, own)
        i, j = np.asarray(nlp.hessian_rows), np.asarray(nlp.hessian_columns)
        off_diagonal = np.flatnonzero(i != j)
        # The entries of a shift of the diagonal stand at the end.
        self._of_hessian = (
            np.concatenate([i, j[off_diagonal], own]),
            np.concatenate([j, i[off_diagonal], own]),
        )
        self._hessian_entries = np.concatenate([np.arange(i.size), off_diagonal])
        self._shape, self._zeros, self._ones = (m + n, n), np.zeros(n), np.ones(n)

    def constraints(self, jacobian: np.ndarray) -> Triplets:
        """A from the entries of the Jacobian."""
        return Triplets(*self._of_constraints, np.append(jacobian, self._ones), self._shape)

    def hessian(self, entries: np.ndarray) -> Triplets:
        """Both triangles from the entries of the lower one."""
        n, values = self._shape[1], np.append(entries[self._hessian_entries], self._zeros)
        return Triplets(*self._of_hessian, values, (n, n))

    def shifted(self, H: Triplets, amount: float) -> Triplets:
        data = H.data.copy()
        data[-self._zeros.size :] += amount
        return replace(H, data=data)


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

    def __getitem__(self, rows: np.ndarray) -> Triplets:
        """Some of its rows, in their order."""
        place = np.full(self.shape[0], -1)
        place[rows] = np.arange(len(rows))
        found = place[self.rows]
        kept = np.flatnonzero(found >= 0)
        return Triplets(found[kept], self.columns[kept], self.data[kept], (len(rows), self.shape[1]))

    def toarray(self) -> np.ndarray:
        m, n = self.shape
        return np.bincount(self.rows * n + self.columns, self.data, minlength=m * n).reshape(m, n)


def largest_entry(H: Any) -> float:
    """The largest absolute entry, or 1 where that is larger."""
    entries = H.data if isinstance(H, Triplets) else H
    return max(1.0, float(np.abs(entries).max(initial=0.0)))


def row_lengths(A: Any) -> np.ndarray:
    """Of every row; of an entry that stands twice in a sparse matrix, both count."""
    if isinstance(A, Triplets):
        return np.sqrt(np.bincount(A.rows, A.data**2, minlength=A.shape[0]))
    return np.sqrt(np.einsum("ij,ij->i", A, A))


def divided_rows(A: Any, lengths: np.ndarray) -> Any:
    """A with every row divided by a number."""
    return replace(A, data=A.data / lengths[A.rows]) if isinstance(A, Triplets) else A / lengths[:, None]


def dense_row(A: Any, row: int) -> np.ndarray:
    """One row as an array."""
    if isinstance(A, Triplets):
        mine = A.rows == row
        return np.bincount(A.columns[mine], A.data[mine], minlength=A.shape[1])
    return A[row]


def summed_rows(A: Any, rows: list[int], weights: np.ndarray) -> np.ndarray:
    """weights @ A[rows]."""
    if isinstance(A, Triplets):
        every = np.zeros(A.shape[0])
        every[rows] = weights
        return A.T @ every
    return weights @ A[rows]
