"""Linear equalities removed from the unknowns: A x = b becomes x = N y + c with constant sparse N."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from trajopt.arrays import Array
from trajopt.errors import DegreesOfFreedomError

RANK_TOLERANCE = 1e-10  # of rows that are scaled to a largest entry of one
PARTNER = 1e-6  # of the heaviest: the weight from which a row takes part in a combination
MOST_LISTED = 4


@dataclass(frozen=True, eq=False)
class Elimination:
    """x = N y + c, where y are the entries `free` of x."""

    N: sparse.csr_array
    c: Array
    free: Array

    def expand(self, y: Array) -> Array:
        return self.N @ y + self.c

    def reduce(self, x: Array) -> Array:
        """The y whose free entries are those of x; the others follow from the equalities."""
        return x[self.free]


def eliminate(A: sparse.csr_array, b: Array, names: Sequence[str], last_resort: Array) -> Elimination:
    """Solve A x = b for as many unknowns as A has independent rows.

    Gauss-Jordan with the largest remaining entry of each row as pivot. Unknowns in `last_resort` (durations,
    whose bounds are better kept as bounds) are pivots only where a row has no other entry. A row that follows
    from earlier ones is dropped; one that contradicts them raises DegreesOfFreedomError with all their names.
    """
    size = A.shape[1]
    dense = A.toarray()
    rhs = np.array(b, dtype=float)
    scale = np.abs(dense).max(axis=1, initial=0.0)
    preference = np.ones(size)
    preference[last_resort] = 0.0
    pivots: list[int] = []
    kept: list[int] = []
    for row in range(dense.shape[0]):
        for earlier, pivot in zip(kept, pivots, strict=True):
            factor = dense[row, pivot]
            if factor != 0.0:
                dense[row] -= factor * dense[earlier]
                rhs[row] -= factor * rhs[earlier]
                dense[row, pivot] = 0.0
        tiny = RANK_TOLERANCE * max(scale[row], 1.0)
        dense[row, np.abs(dense[row]) <= tiny] = 0.0
        if not dense[row].any():
            if abs(rhs[row]) > 1e3 * tiny:
                partners = combined(A.toarray()[kept], A.toarray()[row], kept)
                raise _contradiction(names[row], [names[i] for i in partners], abs(rhs[row]))
            continue
        magnitude = np.abs(dense[row])
        preferred = magnitude * preference
        pivot = int(np.argmax(preferred if preferred.any() else magnitude))
        value = dense[row, pivot]
        dense[row] /= value
        rhs[row] /= value
        for earlier in kept:
            factor = dense[earlier, pivot]
            if factor != 0.0:
                dense[earlier] -= factor * dense[row]
                rhs[earlier] -= factor * rhs[row]
                dense[earlier, pivot] = 0.0
        kept.append(row)
        pivots.append(pivot)
    return _solved(dense[kept], rhs[kept], pivots)


def _solved(reduced: Array, rhs: Array, pivots: list[int]) -> Elimination:
    """The elimination that rows (m, n) in reduced form say, each with a one at its pivot alone."""
    size = reduced.shape[1]
    free = np.setdiff1d(np.arange(size), pivots)
    c = np.zeros(size)
    N = sparse.lil_array((size, free.size))
    N[free, np.arange(free.size)] = 1.0
    if pivots:
        c[pivots] = rhs
        block = reduced[:, free]
        rows, columns = np.nonzero(block)
        N[np.asarray(pivots)[rows], columns] = -block[rows, columns]
    return Elimination(N.tocsr(), c, free)


def _contradiction(name: str, partners: Sequence[str], gap: float) -> DegreesOfFreedomError:
    return DegreesOfFreedomError(
        f"the condition '{name}' contradicts {listed(partners)} by {gap:.3g}: drop one of the two where the "
        "same thing is fixed twice, else use more intervals or a higher degree"
    )


def combined(rows: Array, row: Array, numbers: Sequence[int]) -> list[int]:
    """Those of the `numbers` of `rows` (m, n), the heaviest first, of which `row` (n,) is a combination."""
    weights = np.abs(np.linalg.lstsq(rows.T, row, rcond=None)[0])
    heavy = np.flatnonzero(weights > PARTNER * weights.max(initial=0.0))
    return [numbers[i] for i in heavy[np.argsort(-weights[heavy], kind="stable")]]


def listed(names: Sequence[str]) -> str:
    """At most four of some names, in quotes."""
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - MOST_LISTED} more" if len(different) > MOST_LISTED else ""
    return ", ".join(f"'{name}'" for name in different[:MOST_LISTED]) + more
