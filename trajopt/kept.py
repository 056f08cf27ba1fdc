"""Results that follow from the structure of a problem alone, kept in the process by their content.

Whoever solves for one goal after another states the same problem anew each time: bases, nodes, maps and
patterns are those of the last one. Functions that make them have an `lru_cache`, and `Content` turns arrays
into an argument of such a function. What is kept is never changed, and large programs keep nothing.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import sparse

__all__ = ["LARGEST_KEPT", "MOST_KEPT", "Content", "of_array", "of_matrix"]

MOST_KEPT = 32  # results of each function
LARGEST_KEPT = 500  # unknowns: in larger programs other things take longer, and their maps need megabytes

T = TypeVar("T")


class Content(Generic[T]):
    """A value as the argument of a function with a cache, equal to every other one with the same key."""

    __slots__ = ("key", "value")

    def __init__(self, value: T, *key: Hashable) -> None:
        self.value, self.key = value, key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def of_array(array: np.ndarray) -> Content[np.ndarray]:
    """An array, equal to others with the same type, shape and bytes."""
    return Content(array, array.dtype.str, array.shape, array.tobytes())


def of_matrix(matrix: Any) -> Content[sparse.csr_array]:
    """A sparse matrix by rows, equal to others with the same stored entries."""
    parts = (matrix.data, matrix.indices, matrix.indptr)
    return Content(matrix, matrix.shape, *(part.tobytes() for part in parts))
