"""The tree of the coordinates: which lie on the way from the ground to each, and what two of them share.

Where bodies that share a coordinate share their parent, a coordinate has one parent as well, and M is nonzero
only where one of two coordinates lies on the path of the other. Matrices of such a pattern are kept by paths:
row i has an entry for each coordinate on the path of i, the one nearest to the ground first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True, eq=False)
class CoordinateTree:
    """The tree of n coordinates, parents before children in `order`.

    order : (n,) the coordinates
    lengths : (n,) coordinates on the path of each, itself among them
    paths : (n, n) the path of each, from the ground to itself; what follows its length means nothing
    shared : (n, n) coordinates at the beginning of both paths
    """

    order: np.ndarray
    lengths: np.ndarray
    paths: np.ndarray
    shared: np.ndarray

    @cached_property
    def related(self) -> np.ndarray:
        """(n, n) bool, whether one of two coordinates lies on the path of the other."""
        return self.shared == np.minimum.outer(self.lengths, self.lengths)

    @cached_property
    def reached(self) -> np.ndarray:
        """(n, n) coordinates at the beginning of the path of i that are related to c: of [i, c]."""
        carried = self.related & (self.lengths[:, None] > self.lengths)
        return np.where(carried, self.lengths[:, None], self.shared)

    @cached_property
    def relatives(self) -> tuple[np.ndarray, np.ndarray]:
        """The coordinates related to each, its path and then what it carries; and where each one's begin.

        So those that coordinate k carries, and itself, are the last ones of k, from place lengths[k] - 1 on.
        """
        places = [self.order[self.related[i, self.order]] for i in range(len(self.order))]
        return np.concatenate(places), np.cumsum([0, *map(len, places)])

    @cached_property
    def pairs(self) -> np.ndarray:
        """(m, 2) all coordinates in pairs: a carrier and one on it, or twice one that is left over."""
        found: list[tuple[int, int]] = []
        left = set(self.order.tolist())
        for i in reversed(self.order.tolist()):
            if i in left:
                above = int(self.paths[i, max(self.lengths[i] - 2, 0)])
                found.append((above, i) if above in left else (i, i))
                left -= {above, i}
        return np.array(found)


def coordinate_tree(carriers: list[tuple[int, int]]) -> CoordinateTree:
    """The tree of these coordinates.

    carriers : every coordinate once, after the one that carries it: (coordinate, carrier), -1 = the ground
    """
    n = len(carriers)
    lengths, paths = np.zeros(n, dtype=np.int64), np.zeros((n, n), dtype=np.int64)
    for i, carrier in carriers:
        length = int(lengths[carrier]) if carrier >= 0 else 0
        paths[i, :length], paths[i, length] = paths[carrier, :length], i
        lengths[i] = length + 1
    both = np.arange(n) < np.minimum.outer(lengths, lengths)[:, :, None]
    shared = (both & (paths[:, None] == paths)).sum(axis=2)
    return CoordinateTree(np.array([i for i, _ in carriers], np.int64), lengths, paths, shared)
