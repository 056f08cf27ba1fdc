"""J' S J of a matrix J whose rows have entries in windows of neighbouring columns, as on splines.

A row of a program on splines depends on the few control points of its span, and on durations and parameters.
Rows in order of their windows form groups, each with the same window, so that J' S J is the sum of one small
product per group.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

__all__ = ["RowWindows", "row_windows"]

WORTH = 2_000_000  # multiplications of the whole product: below, it takes no longer than the parts
SHARE = 0.3  # of them, the most that the groups may need
SUMMED = 16  # rows of a group that take as long as adding its product to the sum


class RowWindows:
    """Rows (rows, n) in groups, and the columns of every group.

    rows : (groups, slots) the rows of every group, the first one again where there are fewer
    present : (groups, slots) 1, or 0 where a slot is empty
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
    if count * n * n < WORTH:
        return None
    # A column with entries in more than half of the rows is in every group.
    everywhere = np.bincount(column, minlength=n) > 0.5 * count
    border, inner = np.flatnonzero(everywhere), np.flatnonzero(~everywhere)
    if not inner.size:
        return None
    kept = ~everywhere[column]
    row, place = row[kept], (np.cumsum(~everywhere) - 1)[column[kept]]
    first, last = _first(row, place, count, inner.size), _first(row, -1 - place, count, inner.size)
    last = np.where(np.bincount(row, minlength=count), inner.size - 1 - last, 0)
    order = np.argsort(first, kind="stable")
    width = int((last - first).max()) + 1
    starts, ends = [0], np.maximum.accumulate(last[order])
    while starts[-1] < count:
        starts.append(int(np.searchsorted(ends, first[order[starts[-1]]] + width)))
    sizes = np.diff(starts)
    slots = np.unique(sizes)  # larger groups are divided
    groups = (-(-sizes[:, None] // slots)).sum(axis=0)
    best = int(np.argmin(groups * (slots + SUMMED)))
    if groups[best] * (slots[best] + SUMMED) * (width + border.size) ** 2 > SHARE * count * n * n:
        return None
    most = int(slots[best])
    parts = [(i, min(i + most, end)) for begin, end in pairwise(starts) for i in range(begin, end, most)]
    own = np.array(parts)[:, :1] + np.arange(most)
    present = own < np.array(parts)[:, 1:]
    rows = order[np.where(present, own, own[:, :1])]
    begin = np.minimum(first[rows[:, 0]], inner.size - width)
    columns = inner[begin[:, None] + np.arange(width)]
    columns = np.concatenate([columns, np.broadcast_to(border, (len(parts), border.size))], axis=1)
    return RowWindows(rows, present.astype(float), columns, n)


def _first(row: np.ndarray, place: np.ndarray, rows: int, places: int) -> np.ndarray:
    """The first place of every row, (rows,), 0 where it has none; places below 0 count from the end."""
    found = np.zeros((rows, places), dtype=bool)
    found[row, place] = True
    return found.argmax(axis=1)
