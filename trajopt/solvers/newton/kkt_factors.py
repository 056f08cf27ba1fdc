"""The matrices of a quadratic program, and factors of K, whose active constraints change one at a time.

    K = [H  A_W'; A_W  0]      H (n, n), A_W the rows of the active constraints

Constraints are the rows of a program, then the bounds of its unknowns: A = [J; I], (m + n, n). The first K is
factorized, dense or sparse, and the Schur complement holds what changed since then.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy.linalg import lapack

from trajopt.solvers.matrices import MatrixPlaces, Triplets
from trajopt.solvers.newton.sparse_kkt import Patterns, SparseKkt
from trajopt.solvers.solver import Program
from trajopt.solvers.solver_constants import ROUNDING

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


def factorized(H: Any, A: Any, active: list[int], patterns: Patterns) -> KktFactors | None:
    """The factors for active constraints of A (m, n); None where K is singular up to rounding."""
    first = SparseKkt(H, A, active, patterns) if isinstance(H, Triplets) else DenseKkt(H, A[active])
    return KktFactors(first, H.shape[0], active) if first.exists else None


class KktFactors:
    """The first K and the Schur complement of its changes.

    With borders V, one column for each change, the matrix is [K V; V' 0]: (row, 0) adds a constraint, the
    unit vector of its multiplier drops one (Gill, Murray, Saunders and Wright, SIAM J. Sci. Stat. Comput. 5,
    1984, 562).

    active : the constraints of K, in the order of its last rows
    first : the first K; its `is_strict` says whether H is positive definite along its constraints
    """

    def __init__(self, first: DenseKkt | SparseKkt, n: int, active: list[int]) -> None:
        self.first, self.n, self.active = first, n, list(active)
        size = n + len(active)
        self._left = np.arange(size)  # places of unknowns and first constraints that are left
        self._set_borders(np.zeros((size, 0)), np.zeros((size, 0)), np.zeros(0, dtype=bool))

    def solve(self, right: np.ndarray) -> np.ndarray:
        """K^-1 right; a right-hand side of n entries has zeros for the constraints."""
        if self.is_first and right.size == self._left.size:
            return self.first.solve(right)
        first, of_added = np.zeros(len(self._borders)), right[self._left.size :]
        left = self._left[: right.size]
        first[left] = right[: left.size]
        found = self.first.solve(first)
        if self.is_first:
            return found
        of_borders = np.zeros(self._of_added.size)
        if of_added.size:
            of_borders[self._of_added] = of_added
        z = np.linalg.solve(self._schur, self._borders.T @ found - of_borders)
        found = found - self._solved_borders @ z
        return np.concatenate([found[self._left], z[self._of_added]])

    def flexibility(self, place: int) -> float:
        """The entry on the diagonal of K^-1 of an active constraint: negative where it may be dropped."""
        unit = np.zeros(self.n + len(self.active))
        unit[self.n + place] = 1.0
        return float(self.solve(unit)[self.n + place])

    def add(self, constraint: int, row: np.ndarray) -> None:
        """Add a constraint with this row of A."""
        self._border(np.concatenate([row, np.zeros(len(self._borders) - self.n)]), True)
        self.active.append(constraint)

    def drop(self, place: int) -> None:
        """Drop an active constraint."""
        self.active.pop(place)
        place += self.n
        if place < self._left.size:
            unit = np.zeros(len(self._borders))
            unit[self._left[place]] = 1.0
            self._border(unit, False)
            self._left = np.delete(self._left, place)
        else:
            border = np.flatnonzero(self._of_added)[place - self._left.size]
            every = (self._borders, self._solved_borders, self._of_added)
            self._set_borders(*(np.delete(each, border, axis=-1) for each in every))

    def _border(self, column: np.ndarray, adds: bool) -> None:
        self._set_borders(
            np.column_stack([self._borders, column]),
            np.column_stack([self._solved_borders, self.first.solve(column)]),
            np.append(self._of_added, adds),
        )

    def _set_borders(self, borders: np.ndarray, solved: np.ndarray, of_added: np.ndarray) -> None:
        """V, K^-1 V, and which borders add a constraint; `is_first` is whether there are none."""
        self.is_first = not borders.shape[1]
        self._borders, self._solved_borders, self._of_added = borders, solved, of_added
        self._schur = borders.T @ solved


class DenseKkt:
    """The inverse of K: with A' = Y R and Z the rest of an orthogonal basis,

        K^-1 = [P  B; B'  -G' H B],    P = Z (Z' H Z)^-1 Z',    B = G - P H G,    G = Y R^-T.

    Nocedal and Wright, Numerical Optimization (2006), section 16.2.
    """

    corrects = False  # whether `solve` corrects its solution by the residual

    def __init__(self, H: np.ndarray, A: np.ndarray) -> None:
        n, k, self.exists = len(H), len(A), False
        basis, R = np.linalg.qr(A.T, mode="complete")
        Z = basis[:, k:]
        transposed, singular = lapack.dtrtrs(R[:k], basis[:, :k].T) if k else (np.empty((0, n)), 0)
        along = Z.T @ H @ Z
        factor, bent = lapack.dpotrf(along) if k < n else (along, 0)
        self.is_strict = bent == 0
        if bent == 0:
            half = lapack.dtrtrs(factor, Z.T, trans=1)[0] if k < n else np.empty((0, n))
            P = half.T @ half
        else:
            _, _, P, singular_along = lapack.dgesv(along, Z.T)
            singular, P = singular or singular_along, Z @ P
        if singular:
            return
        G = transposed.T
        HG = H @ G
        B = G - P @ HG
        self._inverse = np.block([[P, B], [B.T, -HG.T @ B]])
        self.exists = bool(np.abs(self._inverse).max(initial=0.0) < 1.0 / ROUNDING)

    def solve(self, right: np.ndarray) -> np.ndarray:
        return self._inverse @ right
