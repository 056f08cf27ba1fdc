"""Factors of the matrix of a quadratic program with active constraints, which change one at a time.

    K = [H  A_W'; A_W  0]      H (n, n), A_W the rows of the active constraints

`DenseFactors` keeps the inverse of K and changes it by one row and column, `SparseFactors` keeps a sparse
factorization of the first K and the Schur complement of what changed since then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from trajopt.solvers.matrices import Triplets, largest_entry
from trajopt.solvers.tolerances import FEASIBILITY, REGULARIZATION, ROUNDING

__all__ = ["DenseFactors", "KktFactors", "Patterns", "SparseFactors", "factorized"]


def factorized(H: Any, A: Any, active: list[int], patterns: Patterns) -> KktFactors | None:
    """The factors for active constraints of A (m, n); None where K is singular up to rounding."""
    if isinstance(H, np.ndarray):
        found: KktFactors = DenseFactors(H, A[active], active)
    else:
        found = SparseFactors(H, A, active, patterns)
    return found if found.exists else None


class DenseFactors:
    """The inverse of K: with A' = Y R and Z the rest of an orthogonal basis,

        K^-1 = [P  B; B'  -G' H B],    P = Z (Z' H Z)^-1 Z',    B = G - P H G,    G = Y R^-T.

    Nocedal and Wright, Numerical Optimization (2006), section 16.2.
    """

    def __init__(self, H: np.ndarray, A: np.ndarray, active: list[int]) -> None:
        self.n, self.active, self.exists = len(H), list(active), False
        n, k = self.n, len(A)
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
        self._room = np.zeros((2 * n + 1, 2 * n + 1))
        inverse = self._inverse
        inverse[:n, :n], inverse[:n, n:], inverse[n:, :n] = P, B, B.T
        inverse[n:, n:] = -HG.T @ B
        self.exists = bool(np.abs(inverse).max(initial=0.0) < 1.0 / ROUNDING)

    @property
    def _inverse(self) -> np.ndarray:
        """K^-1: the corner of a room for more constraints, else zeros."""
        size = self.n + len(self.active)
        return self._room[:size, :size]

    def solve(self, right: np.ndarray) -> np.ndarray:
        """K^-1 right; a right-hand side of n entries has zeros for the constraints."""
        return self._inverse[:, : right.size] @ right

    def add(self, constraint: int, row: np.ndarray, solved: np.ndarray, square: float) -> None:
        """Add a constraint whose row gives K^-1 (row, 0) = solved, square = (row, 0)' solved."""
        self._subtract(np.append(solved, -1.0), square)  # its last row and column are new
        self.active.append(constraint)

    def column(self, place: int) -> np.ndarray:
        """The column of K^-1 of an active constraint."""
        return self._inverse[self.n + place]

    def drop(self, place: int) -> None:
        """Drop an active constraint."""
        place, last = self.n + place, self.n + len(self.active) - 1
        inverse = self._inverse
        self._subtract(inverse[place], float(inverse[place, place]))
        inverse[place], inverse[:, place] = inverse[last], inverse[:, last]
        inverse[place, place] = inverse[last, last]
        inverse[last] = inverse[:, last] = 0.0
        self.active[place - self.n] = self.active[-1]
        self.active.pop()

    def _subtract(self, column: np.ndarray, divisor: float) -> None:
        """Subtract column column' / divisor, in place, from K^-1 and the zeros after it."""
        whole = np.zeros(len(self._room))
        whole[: column.size] = column
        blas.dger(-1.0 / divisor, whole, whole, a=self._room.T, overwrite_x=0, overwrite_y=0, overwrite_a=1)


class KktPattern:
    """Where the entries of a sparse K stand, and those that regularize it.

    kept : the entries of A in rows of active constraints
    """

    def __init__(self, H: Triplets, A: Triplets, active: list[int]) -> None:
        n, row = H.shape[0], np.full(A.shape[0], -1)
        row[active] = np.arange(n, n + len(active))
        self.kept = np.flatnonzero(row[A.rows] >= 0)
        self.size = n + len(active)
        own, of_A, tail = row[A.rows[self.kept]], A.columns[self.kept], np.arange(n, self.size)
        self.rows = np.concatenate([H.rows, own, of_A, tail])
        self.columns = np.concatenate([H.columns, of_A, own, tail])
        keys = self.columns.astype(np.int64) * self.size + self.rows
        keys, self._entries = np.unique(keys, return_inverse=True)
        self._rows = (keys % self.size).astype(np.intc)
        self._starts = np.searchsorted(keys, self.size * np.arange(self.size + 1)).astype(np.intc)

    def factorized(self, data: np.ndarray) -> Any:
        """SuperLU's factors; None where a pivot is zero or rows would have to be exchanged."""
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        values = np.bincount(self._entries, data, self._rows.size)
        try:
            found = splu(
                csc_array((values, self._rows, self._starts), shape=(self.size, self.size)),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                panel_size=1,  # faster for columns as short as these
                options={"SymmetricMode": True},
            )
        except RuntimeError:
            return None
        return found if np.array_equal(found.perm_r, found.perm_c) else None


Patterns = dict[tuple[int, ...], KktPattern]  # by active constraints: the last ones


class SparseFactors:
    """L D L' of the first K by SuperLU without exchanges of rows, and the Schur complement of its changes.

    With borders V, one column for each change, the matrix is [K V; V' 0]: (row, 0) adds a constraint, the
    unit vector of its multiplier drops one (Gill, Murray, Saunders and Wright, SIAM J. Sci. Stat. Comput. 5,
    1984, 562). The signs of the pivots tell whether H is positive definite along the constraints (Sylvester).
    """

    def __init__(self, H: Any, A: Any, active: list[int], patterns: Patterns) -> None:
        self.n, self.active = H.shape[0], list(active)
        pattern = patterns.get(tuple(active))
        if pattern is None:
            patterns.clear()
            pattern = patterns[tuple(active)] = KktPattern(H, A, active)
        of_constraints, size = A.data[pattern.kept], pattern.size
        entries = np.concatenate([H.data, of_constraints, of_constraints])
        self._K = Triplets(
            pattern.rows[: entries.size], pattern.columns[: entries.size], entries, (size, size)
        )
        # Of 1 / |H|, so that no pivot is zero: what that changes is corrected by the residual of a solve.
        lowered = np.full(len(active), -REGULARIZATION / largest_entry(H))
        self._lu = pattern.factorized(np.append(entries, lowered))
        self._borders = self._solved_borders = np.zeros((size, 0))  # V and K^-1 V
        self._of_added = np.zeros(0, dtype=bool)  # which borders add a constraint
        self._left = np.arange(size)  # places of unknowns and first constraints that are left

    @property
    def exists(self) -> bool:
        """Whether K is regular: where constraints depend on each other, limits of size 1 are missed."""
        if self._lu is None:
            return False
        limits = np.concatenate([np.zeros(self.n), np.cos(np.arange(self._left.size - self.n))])
        missed = limits - self._K @ self._base_solve(limits)
        return bool(np.abs(missed).max(initial=0.0) <= FEASIBILITY)

    @property
    def is_strict(self) -> bool:
        return self._lu is not None and int(np.count_nonzero(self._lu.U.diagonal() > 0.0)) == self.n

    def _base_solve(self, right: np.ndarray) -> np.ndarray:
        """The solution with the first K, corrected by its residual once."""
        found = self._lu.solve(right)
        return found + self._lu.solve(right - self._K @ found)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """K^-1 right; a right-hand side of n entries has zeros for the constraints."""
        first, of_added = np.zeros(len(self._borders)), right[self._left.size :]
        left = self._left[: right.size]
        first[left] = right[: left.size]
        found = self._base_solve(first)
        if not self._borders.shape[1]:
            return found
        of_borders = np.zeros(self._of_added.size)
        if of_added.size:
            of_borders[self._of_added] = of_added
        schur = self._borders.T @ self._solved_borders
        z = np.linalg.solve(schur, self._borders.T @ found - of_borders)
        found = found - self._solved_borders @ z
        return np.concatenate([found[self._left], z[self._of_added]])

    def column(self, place: int) -> np.ndarray:
        """The column of K^-1 of an active constraint."""
        unit = np.zeros(self.n + len(self.active))
        unit[self.n + place] = 1.0
        return self.solve(unit)

    def add(self, constraint: int, row: np.ndarray, solved: np.ndarray, square: float) -> None:
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
            self._borders = np.delete(self._borders, border, axis=1)
            self._solved_borders = np.delete(self._solved_borders, border, axis=1)
            self._of_added = np.delete(self._of_added, border)

    def _border(self, column: np.ndarray, adds: bool) -> None:
        self._borders = np.column_stack([self._borders, column])
        self._solved_borders = np.column_stack([self._solved_borders, self._base_solve(column)])
        self._of_added = np.append(self._of_added, adds)


#: `active` are the constraints of K, in the order of its last rows; `is_strict` tells whether H is positive
#: definite along the first ones.
KktFactors = DenseFactors | SparseFactors
