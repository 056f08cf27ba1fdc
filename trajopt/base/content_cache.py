"""In-process cache of results that depend on the structure of a problem alone, keyed by content of arrays.

Whoever solves for one goal after another states the same problem anew each time: bases, nodes, maps and
patterns are those of the last one. `cached_by_content` decorates the functions that make them, and `Content`
turns arrays into arguments of such a function. Arrays of cached results are read-only, as other problems have
them, too; results of large programs are not cached.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, cast

import numpy as np
from scipy import sparse

CACHE_SIZE = 16  # results of each function
LARGEST_CACHED = 250  # unknowns: larger programs need 5 MB each for their maps, and longer for other things

P = ParamSpec("P")
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


def cached_by_content(function: Callable[P, T]) -> Callable[P, T]:
    """The function with a cache of its last `CACHE_SIZE` results, whose arrays are read-only."""

    @wraps(function)
    def made(*arguments: P.args, **named: P.kwargs) -> T:
        return read_only(function(*arguments, **named))

    return cast(Callable[P, T], lru_cache(maxsize=CACHE_SIZE)(made))


def cached_if_small(function: Callable[P, T]) -> Callable[Concatenate[int, P], T]:
    """`cached_by_content` with the size of the program as a first argument: larger results are not kept."""
    cached = cached_by_content(function)

    def made(size: int, *arguments: P.args, **named: P.kwargs) -> T:
        return (cached if size <= LARGEST_CACHED else function)(*arguments, **named)

    return made


def read_only(value: T) -> T:
    """The value itself, all arrays in it, and in what it consists of, read-only."""
    known: set[int] = set()
    waiting: list[Any] = [value]
    while waiting:
        each = waiting.pop()
        if id(each) in known:
            continue
        known.add(id(each))
        if isinstance(each, np.ndarray):
            each.setflags(write=False)
        else:
            waiting.extend(_parts(each))
    return value


def _parts(value: Any) -> Iterable[Any]:
    """The parts of a value: its attributes, entries or items."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, tuple | list):
        return value
    if isinstance(value, type):
        return ()
    return getattr(value, "__dict__", {}).values()
