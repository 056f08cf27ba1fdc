"""The spans of a motion that every unknown acts on, by which solvers order the unknowns in time."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.content_cache import cached_if_small
from trajopt.solvers.matrices import entries_of_rows
from trajopt.transcription.leaf_map import SplineMap


def unknown_spans(spline_map: SplineMap, N: sparse.csr_array) -> Array:
    """First and last span of every unknown, (n, 2), by x = N y + c; NaN for one that acts on none.

    A span counts where a control point that follows the unknown has a basis function that is not zero at one
    of its nodes. Durations and parameters act on no span of their own, but on all through others.
    """
    return _unknown_spans(N.shape[1], spline_map, N)


@cached_if_small
def _unknown_spans(spline_map: SplineMap, N: sparse.csr_array) -> Array:
    size, span = spline_map.layout.size, spline_map.nodes.span
    first, last = np.full(size, np.inf), np.full(size, -np.inf)
    for group in spline_map.groups:
        acts = np.any(group.basis != 0.0, axis=0)  # (K, width)
        node, point = np.nonzero(acts)
        columns = group.columns[node, point]
        here = np.broadcast_to(span[node, None], columns.shape)
        np.minimum.at(first, columns, here)
        np.maximum.at(last, columns, here)
    found = np.stack([np.full(N.shape[1], np.inf), np.full(N.shape[1], -np.inf)], axis=1)
    _, unknown, _ = entries_of_rows(N, np.arange(size))
    row = np.repeat(np.arange(size), np.diff(N.indptr))
    np.minimum.at(found[:, 0], unknown, first[row])
    np.maximum.at(found[:, 1], unknown, last[row])
    found[~np.isfinite(found[:, 0])] = np.nan
    return found
