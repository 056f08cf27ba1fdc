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


def eliminate(A: sparse.csr_array, b: Array, labels: Sequence[object], last_resort: Array) -> Elimination:
    """Solve A x = b for as many unknowns as A has independent rows.

    Gauss-Jordan with the largest remaining entry of each row as pivot. Unknowns in `last_resort` (durations,
    whose bounds are better kept as bounds) are pivots only where a row has no other entry. A row that follows
    from earlier ones is dropped; one that contradicts them raises DegreesOfFreedomError with their labels.
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
        # Kept rows vanish at each other's pivots, so that none changes the factor of another.
        for i in np.flatnonzero(dense[row, pivots]):
            factor = dense[row, pivots[i]]
            dense[row] -= factor * dense[kept[i]]
            rhs[row] -= factor * rhs[kept[i]]
            dense[row, pivots[i]] = 0.0
        tiny = RANK_TOLERANCE * max(scale[row], 1.0)
        dense[row, np.abs(dense[row]) <= tiny] = 0.0
        if not dense[row].any():
            if abs(rhs[row]) > 1e3 * tiny:
                partners = combined(A.toarray()[kept], A.toarray()[row], kept)
                raise _contradiction(labels[row], [labels[i] for i in partners], abs(rhs[row]))
            continue
        magnitude = np.abs(dense[row])
        preferred = magnitude * preference
        pivot = int(np.argmax(preferred if preferred.any() else magnitude))
        value = dense[row, pivot]
        dense[row] /= value
        rhs[row] /= value
        earlier = np.array(kept, dtype=int)[np.flatnonzero(dense[kept, pivot])]
        factors = dense[earlier, pivot]
        dense[earlier] -= factors[:, None] * dense[row]
        rhs[earlier] -= factors * rhs[row]
        dense[earlier, pivot] = 0.0
        kept.append(row)
        pivots.append(pivot)
    return _solved(dense[kept], rhs[kept], np.array(pivots, dtype=int))


def _solved(reduced: Array, rhs: Array, pivots: Array) -> Elimination:
    """Solve rows in reduced echelon form for their pivots.

    reduced : (m, n), column pivots[i] is column i of the identity, so that row i reads
        x[pivots[i]] = rhs[i] - reduced[i, free] x[free]
    """
    size = reduced.shape[1]
    free = np.setdiff1d(np.arange(size), pivots)
    c = np.zeros(size)
    c[pivots] = rhs
    others = -reduced[:, free]
    row, column = np.nonzero(others)
    places = np.concatenate([free, pivots[row]]), np.concatenate([np.arange(free.size), column])
    values = np.concatenate([np.ones(free.size), others[row, column]])
    return Elimination(sparse.coo_array((values, places), shape=(size, free.size)).tocsr(), c, free)


def _contradiction(label: object, partners: Sequence[object], gap: float) -> DegreesOfFreedomError:
    return DegreesOfFreedomError(
        f"the condition '{label}' contradicts {listed(partners)} by {gap:.3g}: drop one of the two where the "
        "same thing is fixed twice, else use more intervals or a higher degree"
    )


def combined(rows: Array, row: Array, numbers: Sequence[int]) -> list[int]:
    """Those of the `numbers` of `rows` (m, n), the heaviest first, of which `row` (n,) is a combination."""
    weights = np.abs(np.linalg.lstsq(rows.T, row, rcond=None)[0])
    heavy = np.flatnonzero(weights > PARTNER * weights.max(initial=0.0))
    return [numbers[i] for i in heavy[np.argsort(-weights[heavy], kind="stable")]]


def listed(labels: Sequence[object]) -> str:
    """At most four of some labels, in quotes."""
    different = list(dict.fromkeys(map(str, labels)))
    more = f" and {len(different) - MOST_LISTED} more" if len(different) > MOST_LISTED else ""
    return ", ".join(f"'{label}'" for label in different[:MOST_LISTED]) + more
