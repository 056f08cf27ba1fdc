"""The constraint matrix and the Hessian of a program for Newton's steps, dense or sparse.

Constraints are the rows of the program, then the bounds of its unknowns: A = [J; I], (m + n, n).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trajopt.solvers.matrices import Entries
from trajopt.solvers.solver import Program

__all__ = ["Matrices", "sparse_steps_pay"]

# Sparse factors pay from about so many unknowns on, where so few entries of a step's matrix are not zero:
# a cart-pole's horizon, 260 unknowns and 2 % of the entries, takes a tenth of the time.
LEAST_SPARSE, DENSEST = 100, 0.1


def sparse_steps_pay(nlp: Program) -> bool:
    """Whether the matrices of a step are large and nearly empty."""
    n = nlp.variable_count
    equations = int(np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper))
    entries = 2 * (len(nlp.hessian_rows) + len(nlp.jacobian_rows))
    return n >= LEAST_SPARSE and entries <= DENSEST * (n + equations) ** 2


class Matrices:
    """Makes the matrices from the entries of a program's derivatives: `Triplets` where they are sparse."""

    def __init__(self, nlp: Program, is_sparse: bool) -> None:
        self.is_sparse = is_sparse
        n, m = nlp.variable_count, nlp.row_count
        own = np.arange(n)
        rows, columns = np.append(nlp.jacobian_rows, m + own), np.append(nlp.jacobian_columns, own)
        self._constraints = Entries(rows, columns, (m + n, n))
        i, j = np.asarray(nlp.hessian_rows), np.asarray(nlp.hessian_columns)
        off_diagonal = np.flatnonzero(i != j)
        self._both_triangles = np.concatenate([np.arange(i.size), off_diagonal])
        # The entries of a shift of the diagonal stand at the end.
        rows, columns = np.concatenate([i, j[off_diagonal], own]), np.concatenate([j, i[off_diagonal], own])
        self._hessian = Entries(rows, columns, (n, n))
        self._ones, self._zeros = np.ones(n), np.zeros(n)

    def constraints(self, jacobian: np.ndarray) -> Any:
        """A from the entries of the Jacobian."""
        return self._of(self._constraints, np.append(jacobian, self._ones))

    def hessian(self, entries: np.ndarray) -> Any:
        """Both triangles from the entries of the lower one."""
        return self._of(self._hessian, np.append(entries[self._both_triangles], self._zeros))

    def _of(self, places: Entries, values: np.ndarray) -> Any:
        return places.sparse(values) if self.is_sparse else places.dense(values)
