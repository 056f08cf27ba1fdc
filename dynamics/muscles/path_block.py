"""Paths by polynomials in a block: own coordinates of every path among those of the robot."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from dynamics.muscles.path_polynomials import PathSurrogate, SurrogateValues

Array = np.ndarray


class PathBlock:
    """Polynomials of m paths, each of k of the n coordinates, `own` (m, k), which is n where it has fewer."""

    def __init__(self, paths: PathSurrogate) -> None:
        self.paths, self.n, self.m = paths, len(paths.joint_names), len(paths.names)
        self.own = paths.coordinates % (self.n + 1)
        self._known: tuple[Array, SurrogateValues] | None = None

    def _along(self, q: Array) -> SurrogateValues:
        """The polynomials at poses (K, n), of which the last are kept: values and both derivatives ask."""
        if self._known is None or not np.array_equal(self._known[0], q):
            self._known = q.copy(), self.paths.values(q)
        return self._known[1]

    @cached_property
    def _spans(self) -> Array:
        """(m, n) bool, the coordinates of every path."""
        found = np.zeros((self.m, self.n + 1), dtype=bool)
        np.put_along_axis(found, self.own, True, 1)
        return found[:, : self.n]

    def _local(self, x: Array) -> Array:
        """(K, m, k) of every path's own coordinates, of x (K, n); zero where it has fewer."""
        return np.concatenate([x, np.zeros((len(x), 1))], axis=1)[:, self.own]

    def _planes(self, own: Array) -> Array:
        """(K, n, n), the sum over paths of (K, m, k, k) by their own coordinates."""
        found = np.zeros((len(own), self.n + 1, self.n + 1))
        for i, place in enumerate(self.own):
            found[:, place[:, None], place[None, :]] += own[:, i]
        return found[:, : self.n, : self.n]


def outer(left: Array, right: Array) -> Array:
    """(K, m, k, k) products of (K, m, k)."""
    return left[:, :, :, None] * right[:, :, None, :]
