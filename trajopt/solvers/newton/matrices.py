"""The constraint matrix and the Hessian of a program for Newton's steps, dense or sparse.

Constraints are the rows of the program, then the bounds of its unknowns: A = [J; I], (m + n, n).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from trajopt.solvers.matrices import MatrixPlaces
from trajopt.solvers.newton.sparse_kkt import Patterns
from trajopt.solvers.solver import Program

# Sparse factors pay where so few entries of a step's matrix are not zero: a cart-pole's horizon, 260 unknowns
# and 2 % of the entries, takes a tenth of the time.
DENSEST = 0.1


def sparse_steps_pay(nlp: Program) -> bool:
    """Whether the matrices of a step are nearly empty."""
    n = nlp.variable_count
    equations = int(np.count_nonzero(np.asarray(nlp.row_lower) == nlp.row_upper))
    entries = 2 * (len(nlp.hessian_rows) + len(nlp.jacobian_rows))
    return entries <= DENSEST * (n + equations) ** 2


class Matrices:
    """Makes the matrices from the entries of a program's derivatives: `Triplets` where they are sparse."""

    def __init__(self, nlp: Program, is_sparse: bool) -> None:
        self.is_sparse = is_sparse
        self.patterns: Patterns = {}
        n, m = nlp.variable_count, nlp.row_count
        own = np.arange(n)
        rows, columns = np.append(nlp.jacobian_rows, m + own), np.append(nlp.jacobian_columns, own)
        self._constraints = MatrixPlaces(rows, columns, (m + n, n))
        self.nlp, self._ones, self._zeros = nlp, np.ones(n), np.zeros(n)

    @functools.cached_property
    def _hessian(self) -> tuple[MatrixPlaces, np.ndarray]:
        """Where the entries of both triangles stand, and which of the lower one they are.

        The entries of a shift of the diagonal stand at the end.
        """
        i, j, n = np.asarray(self.nlp.hessian_rows), np.asarray(self.nlp.hessian_columns), self._ones.size
        off, own = np.flatnonzero(i != j), np.arange(n)
        places = MatrixPlaces(np.concatenate([i, j[off], own]), np.concatenate([j, i[off], own]), (n, n))
        return places, np.concatenate([np.arange(i.size), off])

    def fits(self, nlp: Program) -> bool:
        """Whether the entries of the derivatives of a program stand where they did in this one's."""
        names = ("jacobian_rows", "jacobian_columns", "hessian_rows", "hessian_columns")
        both = [(getattr(self.nlp, name), getattr(nlp, name)) for name in names]
        same = all(own is other or np.array_equal(own, other) for own, other in both)
        return same and self.nlp.row_count == nlp.row_count

    def constraints(self, jacobian: np.ndarray) -> Any:
        """A from the entries of the Jacobian."""
        return self._of(self._constraints, np.append(jacobian, self._ones))

    def hessian(self, entries: np.ndarray) -> Any:
        """Both triangles from the entries of the lower one."""
        places, both = self._hessian
        return self._of(places, np.append(entries[both], self._zeros))

    def _of(self, places: MatrixPlaces, values: np.ndarray) -> Any:
        return places.sparse(values) if self.is_sparse else places.dense(values)
