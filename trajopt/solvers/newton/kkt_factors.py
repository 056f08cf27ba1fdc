"""Factors of the matrix of a quadratic program with active constraints, which change one at a time.

    K = [H  A_W'; A_W  0]      H (n, n), A_W the rows of the active constraints

The first K is factorized, dense or sparse, and the Schur complement tells what changed since then.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from scipy.linalg import lapack

from trajopt.solvers.matrices import Triplets, largest_entry
from trajopt.solvers.tolerances import FEASIBILITY, REGULARIZATION, ROUNDING


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
    first : the first K; its `is_strict` tells whether H is positive definite along its constraints
    """

    def __init__(self, first: DenseKkt | SparseKkt, n: int, active: list[int]) -> None:
        self.first, self.n, self.active = first, n, list(active)
        size = n + len(active)
        self._left = np.arange(size)  # places of unknowns and first constraints that are left
        self._set_borders(np.zeros((size, 0)), np.zeros((size, 0)), np.zeros(0, dtype=bool))

    def solve(self, right: np.ndarray) -> np.ndarray:
        """K^-1 right; a right-hand side of n entries has zeros for the constraints."""
        first, of_added = np.zeros(len(self._borders)), right[self._left.size :]
        left = self._left[: right.size]
        first[left] = right[: left.size]
        found = self.first.solve(first)
        if not self._borders.shape[1]:
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
        """V, K^-1 V, and which borders add a constraint."""
        self._borders, self._solved_borders, self._of_added = borders, solved, of_added
        self._schur = borders.T @ solved


class DenseKkt:
    """The inverse of K: with A' = Y R and Z the rest of an orthogonal basis,

        K^-1 = [P  B; B'  -G' H B],    P = Z (Z' H Z)^-1 Z',    B = G - P H G,    G = Y R^-T.

    Nocedal and Wright, Numerical Optimization (2006), section 16.2.
    """

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


class SparseKkt:
    """L D L' of K by SuperLU without exchanges of rows.

    The signs of the pivots tell whether H is positive definite along the constraints (Sylvester).
    """

    def __init__(self, H: Any, A: Any, active: list[int], patterns: Patterns) -> None:
        self._n = H.shape[0]
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

    @property
    def exists(self) -> bool:
        """Whether K is regular: where constraints depend on each other, limits of size 1 are missed."""
        if self._lu is None:
            return False
        limits = np.concatenate([np.zeros(self._n), np.cos(np.arange(self._K.shape[0] - self._n))])
        missed = limits - self._K @ self.solve(limits)
        return bool(np.abs(missed).max(initial=0.0) <= FEASIBILITY)

    @functools.cached_property
    def is_strict(self) -> bool:
        return self._lu is not None and int(np.count_nonzero(self._lu.U.diagonal() > 0.0)) == self._n

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution, corrected by its residual once."""
        found = self._lu.solve(right)
        return found + self._lu.solve(right - self._K @ found)
