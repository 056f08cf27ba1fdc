"""Uses of terms: a constant sparse matrix over the nodes says where, and how summed, a term counts.

Identity rows hold at nodes, selected rows over a window or at an end, quadrature rows integrate, signed
differences compare two nodes. A use adds no curvature.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from trajopt.arrays import Array


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Rows lower <= weights @ quantity <= upper of the NLP, one per row of weights and component.

    order : which component of the first node each component is compared with, None for itself
    """

    name: str
    quantity: str
    weights: sparse.csr_array  # (rows, K)
    lower: Array  # (rows, width)
    upper: Array  # (rows, width)
    order: Array | None = None  # (width,)

    @cached_property
    def kept(self) -> Array:
        """Which entries of (rows, width), flattened, have a finite bound; others are no rows of the NLP."""
        return np.ravel(np.isfinite(self.lower) | np.isfinite(self.upper))

    @property
    def count(self) -> int:
        return int(self.kept.sum())

    @property
    def matrix(self) -> sparse.csr_array:
        """The rows of the NLP as a matrix times the quantity, node by node, (count, K width)."""
        width = self.lower.shape[1]
        whole = sparse.kron(self.weights, sparse.identity(width), format="csr")[self.kept]
        if self.order is not None:
            of_first = whole.indices < width
            whole.indices[of_first] = self.order[whole.indices[of_first]]
            whole.has_sorted_indices = False
        return whole

    def spread(self, values: Array) -> Array:
        """One value per row of the NLP as (rows, width), zero where there is none."""
        full = np.zeros(self.lower.size, dtype=values.dtype)
        full[self.kept] = values
        return full.reshape(self.lower.shape)

    @property
    def node(self) -> Array:
        """The node that stands for each row in reports: the last one it looks at."""
        last = [self.weights.indices[end - 1] for end in self.weights.indptr[1:]]
        return np.array(last, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Objective:
    """weight * sum over nodes and components of node_weights * quantity."""

    name: str
    quantity: str
    weight: float
    node_weights: Array  # (K,)
