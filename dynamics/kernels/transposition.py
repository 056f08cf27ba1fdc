"""Results of kernels, whose node axis is last, as arrays whose node axis is first."""

from __future__ import annotations

import numpy as np

from dynamics.kernels.compile import kernel
from dynamics.kernels.node_batch import LANES
from dynamics.kernels.simd import load, store_from, transposed


@kernel
def _nodes_first(first, rows, out):
    """Squares of LANES rows and as many nodes; the last rows are copied twice where squares do not fit."""
    nodes, blocks = out.shape[0], -(-out.shape[0] // LANES)
    for start in range(0, rows, LANES):
        row = min(start, rows - LANES)
        for block in range(blocks):
            at = row * blocks + block
            square = transposed(
                (
                    load(first, at),
                    load(first, at + blocks),
                    load(first, at + 2 * blocks),
                    load(first, at + 3 * blocks),
                    load(first, at + 4 * blocks),
                    load(first, at + 5 * blocks),
                    load(first, at + 6 * blocks),
                    load(first, at + 7 * blocks),
                )
            )
            node = block * LANES
            for i in range(min(LANES, nodes - node)):
                store_from(out, (node + i) * rows + row, square[i])


def nodes_first(nodes_last: np.ndarray) -> np.ndarray:
    """(*widths, nodes) -> contiguous (nodes, *widths), which is faster for products of small matrices.

    nodes_last : as `Batch.nodes_last` gives it, or the first ones of its leading axis; any other array, and
        complex ones, are copied by NumPy
    """
    *widths, nodes = nodes_last.shape
    found, rows = np.empty((nodes, *widths), nodes_last.dtype), nodes_last.size // max(nodes, 1)
    if nodes and rows >= LANES and in_slots(nodes_last):
        _nodes_first(nodes_last[(0,) * len(widths)], rows, found.reshape(nodes, rows))
    else:
        np.copyto(found.transpose(*range(1, found.ndim), 0), nodes_last)
    return found


def nodes_last_viewed(nodes_last: np.ndarray) -> np.ndarray:
    """(*widths, nodes) -> (nodes, *widths), a view: quick to copy to where nodes are last as well."""
    return nodes_last.transpose(-1, *range(nodes_last.ndim - 1))


def in_slots(nodes_last: np.ndarray) -> bool:
    """True if these are numbers of nodes in full blocks, row after row."""
    *widths, nodes = nodes_last.shape
    strides, expected = [8], -(-nodes // LANES) * LANES * 8
    for width in reversed(widths):
        strides.append(expected)
        expected *= width
    return nodes_last.dtype == np.float64 and nodes_last.strides == tuple(reversed(strides))
