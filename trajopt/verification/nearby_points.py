"""Points near a stationary point of a program that keep its active rows and bounds.

With A the gradients of the active rows over the unknowns that are not at a bound, each of length one, the
projection onto directions along which all of them stay and the least correction of a miss r follow from one
factorization of

    | I   A'     | | x |   | v |
    | A  -delta  | | z | = | r |,

delta a small number for rows that depend on each other. Active rows are all held, also those whose multiplier
is zero: what is better among these points is better among all nearby.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from trajopt.base.arrays import Array
from trajopt.solvers.optimality.kkt import active_set, largest_violation
from trajopt.solvers.solver import Program, WarmStart

ACTIVE = 1e-6  # scaled distance to a bound within which it is held
DEPENDENT = 1e-10  # delta above
CORRECTIONS = 12  # steps back to the active rows, which contract like the length of the way from them
MET = 1e-9  # scaled violation that counts as none


@dataclass(frozen=True, eq=False)
class NearbyPoints:
    """The points near one with its multipliers; vectors are over the unknowns not at a bound."""

    nlp: Program
    point: WarmStart

    @cached_property
    def free(self) -> Array:
        """Which unknowns are not at a bound."""
        active = active_set(self.nlp, self.point.y, ACTIVE)
        return np.flatnonzero(~(active.at_lower | active.at_upper))

    def projected(self, v: Array) -> Array:
        """The part of v (count,) or (count, k) along which no active row changes."""
        return self._solve(v, np.zeros((self._held[0].size, *v.shape[1:])))

    @cached_property
    def hessian(self) -> sparse.csr_array:
        """The Hessian of the Lagrangian, (count, count)."""
        nlp, y, multipliers = self.nlp, self.point.y, self.point.row_multipliers
        assert multipliers is not None
        shape = (nlp.variable_count, nlp.variable_count)
        places = (nlp.hessian_rows, nlp.hessian_columns)
        lower = sparse.coo_array((nlp.hessian(y, multipliers, 1.0), places), shape=shape).tocsr()
        whole = sparse.csr_array(lower + sparse.tril(lower, -1).T)
        return whole[self.free][:, self.free]

    def moved(self, y: Array) -> Array | None:
        """The point near y, (n,), on the active rows, all of whose rows and bounds are met; or None."""
        rows, values = self._held
        best = y.copy()
        for _ in range(CORRECTIONS):
            miss = self.nlp.rows(best)[rows] - values
            if not np.all(np.isfinite(miss)):
                return None
            if np.abs(miss).max(initial=0.0) <= 0.1 * MET:
                break
            best[self.free] -= self._solve(np.zeros(self.free.size), miss / self._lengths)
        return best if largest_violation(self.nlp, best, self.nlp.rows(best)) <= MET else None

    @cached_property
    def _held(self) -> tuple[Array, Array]:
        """The active rows, and the values that they keep."""
        nlp, active = self.nlp, active_set(self.nlp, self.point.y, ACTIVE)
        rows = np.flatnonzero(active.rows_at_lower | active.rows_at_upper)
        return rows, np.where(active.rows_at_lower, nlp.row_lower, nlp.row_upper)[rows]

    @cached_property
    def _gradients(self) -> sparse.csr_array:
        """Gradients of the active rows, not yet of length one."""
        nlp = self.nlp
        shape, places = (nlp.row_count, nlp.variable_count), (nlp.jacobian_rows, nlp.jacobian_columns)
        whole = sparse.coo_array((nlp.jacobian(self.point.y), places), shape=shape).tocsr()
        return sparse.csr_array(whole[self._held[0]][:, self.free])

    @cached_property
    def _lengths(self) -> Array:
        squares = np.asarray(self._gradients.multiply(self._gradients).sum(axis=1)).ravel()
        return np.sqrt(np.where(squares > 0.0, squares, 1.0))

    @cached_property
    def _factors(self) -> Any:
        A = sparse.diags_array(1.0 / self._lengths) @ self._gradients
        delta = -DEPENDENT * sparse.identity(A.shape[0])
        return splu(sparse.block_array([[sparse.identity(A.shape[1]), A.T], [A, delta]], format="csc"))

    def _solve(self, v: Array, r: Array) -> Array:
        return self._factors.solve(np.concatenate([v, r]))[: self.free.size]
