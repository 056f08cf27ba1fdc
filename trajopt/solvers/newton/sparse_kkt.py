"""Sparse factors L D L' of the matrix of a quadratic program with active constraints.

    K = [H  A_W'; A_W  0]      H (n, n), A_W the rows of the active constraints

Pivots have an order that is found once, and stays with the program: a factorization is then one compiled loop
over the entries of L. What it does not solve, SuperLU factorizes.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from trajopt.solvers.matrices import Triplets, largest_entry
from trajopt.solvers.newton.pivot_order import PivotOrder, paired
from trajopt.solvers.solver_constants import FEASIBILITY, REGULARIZATION, ROUNDING

EPS = float(np.finfo(float).eps)
MOST_PATTERNS = 4  # that are kept: the active sets of steps and of checks, and those of a few inputs


class KktPattern:
    """Places of the entries of K.

    kept : the entries of A in rows of active constraints
    order : of the pivots; None where not every constraint has an unknown of its own, and K is singular
    """

    def __init__(self, H: Triplets, A: Triplets, active: list[int]) -> None:
        n, row = H.shape[0], np.full(A.shape[0], -1)
        row[active] = np.arange(len(active))
        self.kept = np.flatnonzero(row[A.rows] >= 0)
        held = Triplets(row[A.rows[self.kept]], A.columns[self.kept], A.data[self.kept], (len(active), n))
        partner = paired(held)
        self.order = None if partner is None else PivotOrder(H, held, partner)
        self.rows = np.concatenate([H.rows, n + held.rows, held.columns])
        self.columns = np.concatenate([H.columns, held.columns, n + held.rows])
        self.shape = (n + len(active), n + len(active))


Patterns = dict[tuple[int, ...], KktPattern]  # by active constraints: the last ones


def pattern_of(H: Triplets, A: Triplets, active: list[int], patterns: Patterns) -> KktPattern:
    """The pattern of K for these constraints, made where it is not among the last ones."""
    key = tuple(active)
    found = patterns.get(key)
    if found is None:
        for old in list(patterns)[: max(0, len(patterns) - MOST_PATTERNS + 1)]:
            patterns.pop(old, None)  # another thread may have done so
        found = patterns[key] = KktPattern(H, A, active)
    return found


class SparseKkt:
    """K and its factors, those of a fixed order of pivots first.

    The signs of the pivots show whether H is positive definite along the constraints (Sylvester).
    """

    corrects = True  # `solve` corrects its solution by the residual

    def __init__(self, H: Triplets, A: Triplets, active: list[int], patterns: Patterns) -> None:
        self._n, self._m = H.shape[0], len(active)
        self._pattern = pattern_of(H, A, active, patterns)
        self._H, self._held, self._size = H, A.data[self._pattern.kept], largest_entry(H)
        order = self._pattern.order
        self._factors: Any = None if order is None else OrderedFactors(order, H.data, self._held, self._size)

    @property
    def exists(self) -> bool:
        """True if K is regular: else a right-hand side of size 1 in the rows of constraints is not solved."""
        limits = np.zeros(self._n + self._m)
        limits[self._n :] = np.cos(np.arange(self._m))
        if self._factors is not None and self._factors.solve(limits)[1] <= FEASIBILITY:
            return True
        self._factors = self._by_superlu
        return self._factors is not None and self._factors.solve(limits)[1] <= FEASIBILITY

    @functools.cached_property
    def is_strict(self) -> bool:
        """True if H is positive definite along the constraints."""
        factors = self._sure_factors
        return factors is not None and factors.positive == self._n

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution, corrected by its residual once."""
        return self._factors.solve(right)[0]

    def solve_along(self, right: np.ndarray) -> np.ndarray:
        """x (n,) of K [x; z] = [right; 0], along the constraints, where H is strict along them."""
        return self._sure_factors.solve(np.concatenate([right, np.zeros(self._m)]))[0][: self._n]

    @property
    def _sure_factors(self) -> Any:
        """The factors whose signs of pivots are certain; None where there are none."""
        if self._factors is None or not self._factors.is_sure:
            return self._by_superlu
        return self._factors

    @functools.cached_property
    def _K(self) -> Triplets:
        pattern = self._pattern
        data = np.concatenate([self._H.data, self._held, self._held])
        return Triplets(pattern.rows, pattern.columns, data, pattern.shape)

    @functools.cached_property
    def _by_superlu(self) -> SuperLuFactors | None:
        # Of 1 / |H|, so that no pivot is zero: what that changes is corrected by the residual of a solve.
        lowered = np.repeat([0.0, -REGULARIZATION / self._size], [self._n, self._m])
        return superlu_factors(self._K, lowered)


class OrderedFactors:
    """L D L' in a fixed order of pivots.

    A pivot below 1e-9 of |H|, or of 1 / |H| of a constraint, is lifted to that.

    H, A : the entries of both
    size : of the largest entry of H
    positive : the number of positive pivots
    is_sure : whether no pivot was lifted, and rounding has changed the diagonal by less than such a pivot
    """

    def __init__(self, order: PivotOrder, H: np.ndarray, A: np.ndarray, size: float) -> None:
        from trajopt.solvers.newton import ldl_kernels

        self._kernels, self._order = ldl_kernels, order
        layout, rows = order.layout, order.order.size
        self._values = np.empty(layout.own.size)
        ldl_kernels.upper_triangle(order.slots, H, A, self._values)
        self._L, self._inverse = np.zeros((layout.below.size, 2)), np.empty((rows, 2))
        least = np.where(order.is_unknown, REGULARIZATION * size, -REGULARIZATION / size)
        self._layout = tuple(layout)
        found = ldl_kernels.factorize(self._layout, self._values, least, ROUNDING, self._L, self._inverse)
        self.positive, lifted, growth = found
        self.is_sure = bool(lifted == 0 and growth * EPS <= 1.0)

    def solve(self, right: np.ndarray) -> tuple[np.ndarray, float]:
        """The solution, corrected by its residual once, and the largest entry of the residual."""
        order, L, inverse = self._order, self._L, self._inverse
        return self._kernels.corrected_solution(self._layout, order.order, self._values, L, inverse, right)


class SuperLuFactors:
    """L D L' by SuperLU without exchanges of rows."""

    is_sure = True

    def __init__(self, K: Triplets, factors: Any) -> None:
        self._K, self._factors = K, factors

    @functools.cached_property
    def positive(self) -> int:
        """The number of positive pivots."""
        return int(np.count_nonzero(self._factors.U.diagonal() > 0.0))

    def solve(self, right: np.ndarray) -> tuple[np.ndarray, float]:
        """Solve as `OrderedFactors.solve` does."""
        found = self._factors.solve(right)
        found = found + self._factors.solve(right - self._K @ found)
        return found, float(np.abs(right - self._K @ found).max(initial=0.0))


def superlu_factors(K: Triplets, added: np.ndarray) -> SuperLuFactors | None:
    """Factors of K + diag(added); None where a pivot is zero or rows would have to be exchanged."""
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import splu

    try:
        found = splu(
            (K.tocsc() + diags_array(added)).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            panel_size=1,  # faster for columns as short as these
            options={"SymmetricMode": True},
        )
    except RuntimeError:
        return None
    return SuperLuFactors(K, found) if np.array_equal(found.perm_r, found.perm_c) else None
