"""J' S J of a matrix J whose rows have entries in windows of neighbouring columns, as on splines.

A row of a program on splines depends on the few control points of its span, and on durations and parameters.
Rows in order of their windows form groups of which each needs few columns, so that J' S J is the sum of one
small product per group.
"""

from __future__ import annotations

import numpy as np

SHARE = 0.2  # of the multiplications of the whole product: the most that the groups may need


class RowWindows:
    """Rows (rows, n) in groups, and the columns of every group.

    rows : (groups, slots) the rows of every group, some of them again where they do not go round
    present : (groups, slots) whether a slot holds a row for the first time
    columns : (groups, width) different ones, which hold all entries of the group's rows
    n : number of columns
    """

    def __init__(self, rows: np.ndarray, present: np.ndarray, columns: np.ndarray, n: int) -> None:
        self.rows, self.present, self.columns, self.n = rows, present, columns, n
        self._entries = rows[:, :, None] * n + columns[:, None, :]
        self._into = (columns[:, :, None] * n + columns[:, None, :]).ravel()

    def gram(self, J: np.ndarray, S: np.ndarray) -> np.ndarray:
        """J' diag(S) J, (n, n), for J (rows, n) and S >= 0, (rows,)."""
        weights = np.sqrt(S)[self.rows] * self.present
        weighted = J.ravel().take(self._entries) * weights[:, :, None]
        products = np.matmul(weighted.transpose(0, 2, 1), weighted)
        return np.bincount(self._into, products.ravel(), minlength=self.n**2).reshape(self.n, self.n)


def row_windows(row: np.ndarray, column: np.ndarray, shape: tuple[int, int]) -> RowWindows | None:
    """The groups of a matrix with entries at (row, column); None where one product of all rows is as fast."""
    count, n = shape
    # A column with entries in more than half of the rows is in every group.
    inner = np.bincount(column, minlength=n)[column] <= 0.5 * count
    first = np.full(count, n)
    np.minimum.at(first, row[inner], column[inner])
    order = np.argsort(first, kind="stable")
    slots = max(1, int(np.sqrt(count)))  # so that groups, which take time of their own, are as few
    group = np.empty(count, dtype=int)
    group[order] = np.arange(count) // slots
    used = np.zeros((-(-count // slots), n), dtype=bool)
    used[group[row], column] = True
    width = int(used.sum(axis=1).max(initial=0))
    if used.shape[0] * slots * width**2 >= SHARE * count * n**2:
        return None
    rows = np.resize(order, (len(used), slots))
    present = (np.arange(rows.size) < count).reshape(rows.shape)
    # Columns without entries fill up those of groups with fewer.
    return RowWindows(rows, present, np.argsort(~used, axis=1, kind="stable")[:, :width], n)
