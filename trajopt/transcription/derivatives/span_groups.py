"""Nodes grouped by the span they lie on, so that sums over a span are single matrix products."""

from __future__ import annotations

import numpy as np

from trajopt.base.arrays import Array


class SpanGroups:
    """Nodes grouped by span; groups of unequal size are padded.

    index : (spans, slots) the nodes of every span, the last one again where there are fewer
    """

    def __init__(self, span: Array) -> None:
        self.first_node = np.flatnonzero(np.diff(span, prepend=-1))
        self.count = self.first_node.size
        sizes = np.diff(np.append(self.first_node, span.size))
        slots = np.arange(sizes.max())
        self.index = self.first_node[:, None] + np.minimum(slots, sizes[:, None] - 1)
        self._empty = slots >= sizes[:, None]

    def gather(self, per_node: Array) -> Array:
        """(K, ...) to (spans, slots, ...), padding slots zero."""
        gathered = per_node[self.index]
        gathered[self._empty] = 0
        return gathered
