"""The array type of every signature, the largest finite sizes of values, and the runs of a mask."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]  # float64, or complex128 where a derivative is checked by complex step


def finite_size(values: ArrayLike) -> Array:
    """The largest absolute value that is finite, over the first axis; 0 where there is none."""
    size = np.abs(values)
    return np.where(np.isfinite(size), size, 0.0).max(axis=0, initial=0.0)


def runs(mask: NDArray[np.bool_]) -> list[slice]:
    """The stretches on which a mask (k,) is true, each as long as it can be."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]))).tolist()
    return list(map(slice, edges[::2], edges[1::2]))
