"""Gaussian elimination with complete pivoting of one connected component of linear equations.

Joints with the same conditions have equal components, and so have the problems of a study, of a sequence of
meshes or of a controller: solutions of small ones are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.content_cache import cached_if_small
from trajopt.base.tolerances import AGREEMENT

RANK_TOLERANCE = 1e-10  # of entries where rows and columns are scaled to a largest entry near one
CANCELLED = 1e-14  # of the largest entry of a row: what is smaller came about by rounding
COLUMN_SHARE = 0.5  # of the largest entry of a row, scaled: unknowns as strong as that may be its pivot
PIVOT_SHARE = 0.9  # of the largest entry left: rows as large as that are taken in their order
SCALING_PASSES = 8  # of scaling rows and columns in turn


@dataclass(frozen=True, eq=False)
class ComponentSolution:
    """A component in reduced echelon form: x[pivots] = by_right_side b - reduced[:, free] x[free].

    left_over : rows that follow from the others, or contradict them
    """

    pivots: Array  # (rank,)
    reduced: Array  # (rank, columns), column pivots[i] is column i of the identity
    by_right_side: Array  # (rank, rows)
    left_over: Array
    row_scale: Array  # factors of the rows of A
    column_scale: Array

    @cached_property
    def others(self) -> Array:
        """The columns that are no pivots."""
        free = np.ones(self.reduced.shape[1], dtype=bool)
        free[self.pivots] = False
        return np.flatnonzero(free)

    @cached_property
    def by_others(self) -> tuple[Array, Array, Array]:
        """Entries of x[pivots] = ... x[others]: number of the pivot, column, value."""
        rank, column = np.nonzero(self.reduced[:, self.others])
        return rank, self.others[column], -self.reduced[rank, self.others[column]]

    @cached_property
    def by_rows(self) -> tuple[Array, Array, Array]:
        """Entries of x[pivots] = ... b: number of the pivot, row, value."""
        rank, row = np.nonzero(self.by_right_side)
        return rank, row, self.by_right_side[rank, row]


@cached_if_small
def solution_of_component(A: Array, last: Array) -> ComponentSolution:
    """Solve A x = b, whatever b is, for the pivots of A; columns in `last` are pivots of last resort."""
    if A.shape == (1, 1):  # most boundary values: a control point at an end
        one, scale = np.ones(1), np.exp2(np.round(-np.log2(np.abs(A[0]))))
        return ComponentSolution(
            np.zeros(1, dtype=int), np.ones((1, 1)), 1.0 / A, np.empty(0, dtype=int), scale, one
        )
    row_scale, column_scale = scales(A)
    n = last.size
    work = np.column_stack([row_scale[:, None] * A * column_scale, np.diag(row_scale)])
    rows: list[int] = []
    pivots: list[int] = []
    for allowed in (~last, np.ones(n, dtype=bool)):
        _eliminate_downwards(work, allowed, column_scale, rows, pivots)
    for k in range(len(rows) - 1, 0, -1):
        above = np.array(rows[:k])
        above = above[work[above, pivots[k]] != 0.0]
        _subtract(work, rows[k], pivots[k], above)
    order, places = np.array(rows, dtype=int), np.array(pivots, dtype=int)
    reduced = work[order]
    reduced /= reduced[np.arange(order.size), places][:, None]
    matrix, by_right_side = reduced[:, :n], reduced[:, n:]
    matrix[np.abs(matrix) <= CANCELLED * np.abs(matrix).max(axis=1, initial=0.0)[:, None]] = 0.0
    # The scaled unknowns are x / column_scale.
    matrix *= column_scale[places][:, None] / column_scale
    return ComponentSolution(
        places,
        matrix,
        by_right_side * column_scale[places][:, None],
        np.setdiff1d(np.arange(len(A)), order),
        row_scale,
        column_scale,
    )


def _eliminate_downwards(
    work: Array, allowed: Array, column_scale: Array, rows: list[int], pivots: list[int]
) -> None:
    """Pivot on allowed columns until none holds more than rounding.

    work : the scaled matrix, and behind its columns its rows in terms of the right-hand sides
    """
    allowed, n = allowed.copy(), allowed.size
    allowed[pivots] = False
    columns = np.flatnonzero(allowed)
    open_rows = np.ones(len(work), dtype=bool)
    open_rows[rows] = False
    largest = np.where(open_rows, np.abs(work[:, columns]).max(axis=1, initial=0.0), 0.0)
    while largest.max(initial=0.0) > RANK_TOLERANCE:
        row = int(np.argmax(largest >= PIVOT_SHARE * largest.max()))
        size = np.where(allowed, np.abs(work[row, :n]), 0.0)
        natural = np.where(size >= COLUMN_SHARE * largest[row], size / column_scale, 0.0)
        pivot = int(np.argmax(natural >= (1.0 - AGREEMENT) * natural.max()))
        rows.append(row)
        pivots.append(pivot)
        open_rows[row], allowed[pivot], largest[row] = False, False, 0.0
        below = np.flatnonzero(open_rows & (work[:, pivot] != 0.0))
        _subtract(work, row, pivot, below)
        largest[below] = np.abs(work[below, :n][:, allowed]).max(axis=1, initial=0.0)
    work[np.ix_(open_rows, columns)] = 0.0


def _subtract(work: Array, row: int, pivot: int, others: Array) -> None:
    """Make column `pivot` zero in the other rows; the rounding that a cancellation leaves becomes zero."""
    if others.size == 0:
        return
    columns = np.flatnonzero(work[row])
    places = np.ix_(others, columns)
    before = work[places]
    change = (work[others, pivot] / work[row, pivot])[:, None] * work[row, columns]
    after = before - change
    after[np.abs(after) <= CANCELLED * (np.abs(before) + np.abs(change))] = 0.0
    work[places] = after
    work[others, pivot] = 0.0


def scales(A: Array) -> tuple[Array, Array]:
    """Powers of two for the rows and the columns of A that bring its entries near one.

    First the geometric mean of each row and column, in turn, which finds factors that rows and columns were
    multiplied by; then the largest entry of every column, and of every row.
    """
    there = A != 0.0
    size = np.log2(np.where(there, np.abs(A), 1.0))
    rows, columns = np.zeros(A.shape[0]), np.zeros(A.shape[1])
    for _ in range(SCALING_PASSES):
        rows = -_mean(size + columns, there, axis=1)
        columns = -_mean(size + rows[:, None], there, axis=0)
    columns = -_largest(size + rows[:, None], there, axis=0)
    rows = -_largest(size + columns, there, axis=1)
    return np.exp2(np.round(rows)), np.exp2(np.round(columns))


def _mean(values: Array, there: Array, axis: int) -> Array:
    return np.where(there, values, 0.0).sum(axis) / np.maximum(there.sum(axis), 1)


def _largest(values: Array, there: Array, axis: int) -> Array:
    largest = np.where(there, values, -np.inf).max(axis, initial=-np.inf)
    return np.where(np.isfinite(largest), largest, 0.0)
