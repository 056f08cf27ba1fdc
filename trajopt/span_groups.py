"""Nodes grouped by the span they lie on, so that sums over a span are single matrix products."""

from __future__ import annotations

import numpy as np

from trajopt.block import Array


class SpanGroups:
    """Nodes grouped by span; groups of unequal size are padded with a node of weight zero."""

    def __init__(self, span: Array) -> None:
        self.first_node = np.flatnonzero(np.diff(span, prepend=-1))
        self.count = self.first_node.size
        sizes = np.diff(np.append(self.first_node, span.size))
        slots = np.arange(sizes.max())
        self._index = self.first_node[:, None] + np.minimum(slots, sizes[:, None] - 1)
        self._filled = slots < sizes[:, None]
        self._even = bool(self._filled.all())
        self._sizes = sizes

    def members(self, span: int) -> Array:
        return self.first_node[span] + np.arange(self._sizes[span])

    def gather(self, per_node: Array) -> Array:
        """(K, ...) to (spans, slots, ...), padding slots zero."""
        gathered = per_node[self._index]
        if not self._even:
            gathered[~self._filled] = 0.0
        return gathered

    def sum(self, per_node: Array) -> Array:
        """(K, ...) summed over the nodes of each span."""
        return np.add.reduceat(per_node, self.first_node, axis=0)
