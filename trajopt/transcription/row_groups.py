"""Uses of terms: a constant sparse matrix over the nodes says where, and how summed, a term counts.

Identity rows hold at nodes, selected rows over a window or at an end, quadrature rows integrate, signed
differences compare two nodes. A use adds no curvature.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

from trajopt.arrays import Array
from trajopt.errors import OptionError
from trajopt.splines.node_sets import WINDOW_TOLERANCE, Neighbours, border, selected_nodes
from trajopt.splines.trajectory import Nodes, Trajectory


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
        whole = sparse.kron(self.weights, sparse.eye_array(width), format="csr")[self.kept]
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


def selection(trajectory: Trajectory, over) -> sparse.csr_array:
    """One row per selected node, or per pair of neighbours."""
    if isinstance(over, Neighbours) and over.after is not None:
        earlier, later = border(trajectory, over.after)
        return difference(trajectory.nodes, later, earlier)
    if isinstance(over, Neighbours):
        count = trajectory.nodes.count
        rows = sparse.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(count - 1, count))
        return sparse.csr_array(rows)
    chosen = selected_nodes(trajectory, over)
    count = trajectory.nodes.count
    return sparse.csr_array(
        (np.ones(chosen.size), (np.arange(chosen.size), chosen)), shape=(chosen.size, count)
    )


def difference(nodes: Nodes, later: int, earlier: int, factor: float = 1.0) -> sparse.csr_array:
    """The row term(later) - factor * term(earlier)."""
    return sparse.csr_array(([1.0, -factor], ([0, 0], [later, earlier])), shape=(1, nodes.count))


def quadrature(trajectory: Trajectory, over) -> Array:
    """Gauss-Lobatto weights in each arc's normalised time, (K,); a window ends at breakpoints."""
    nodes = trajectory.nodes
    if over == "path":
        return nodes.weight
    weights = np.zeros(nodes.count)
    for arc_index, arc in enumerate(trajectory.arcs):
        points, unit = arc.unit_rule
        mine = np.flatnonzero(nodes.arc == arc_index)
        breaks = arc.basis.breakpoints
        window = np.array(over) * len(trajectory.arcs) - arc_index
        for end in window:
            if 0.0 < end < 1.0 and np.abs(breaks - end).min() > WINDOW_TOLERANCE:
                nearest = (breaks[np.argmin(np.abs(breaks - end))] + arc_index) / len(trajectory.arcs)
                raise OptionError(
                    f"an integral over {over} needs breakpoints at its ends: the nearest is {nearest:.6g}"
                )
        for left, right in pairwise(breaks):
            if left < window[0] - WINDOW_TOLERANCE or right > window[1] + WINDOW_TOLERANCE:
                continue
            for point, weight in zip(left + (right - left) * points, unit, strict=True):
                nearest = mine[np.argmin(np.abs(nodes.s[mine] - point))]
                weights[nearest] += (right - left) * weight
    return weights
