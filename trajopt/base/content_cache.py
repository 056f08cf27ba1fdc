"""In-process cache of results that depend on the structure of a problem alone, keyed by content of arrays.

Whoever solves for one goal after another states the same problem anew each time: bases, nodes, maps and
patterns are those of the last one. `cached_by_content` decorates the functions that make them: arrays and
sparse matrices among their arguments are compared by content, others by what `keyed` gives, or themselves.
Arrays of cached results are read-only, as other problems have them, too; results of large programs are not
cached.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import numpy as np
from scipy import sparse

CACHE_SIZE = 16  # results of each function
LARGEST_CACHED = 250  # unknowns: larger programs need 5 MB each for their maps, and longer for other things

P = ParamSpec("P")
T = TypeVar("T")


class Content:
    """A value and the key by which a cache compares it."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any, *key: Hashable) -> None:
        self.value, self.key = value, key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def keyed(value: T, *key: Hashable) -> T:
    """The value as an argument of a function with a cache, equal to every other one with the same key."""
    return cast(T, Content(value, *key))


def content_of(value: Any) -> Content:
    """Equal for arrays with the same type, shape and bytes, and for sparse matrices with the same entries."""
    if isinstance(value, Content):
        return value
    if isinstance(value, np.ndarray):
        return Content(value, value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, sparse.csr_array):
        stored = (value.data, value.indices, value.indptr)
        return Content(value, value.shape, *(part.tobytes() for part in stored))
    return Content(value, value)


def cached_by_content(function: Callable[P, T]) -> Callable[P, T]:
    """The function with a cache of its last `CACHE_SIZE` results, whose arrays are read-only."""

    @lru_cache(maxsize=CACHE_SIZE)
    def result(*contents: Any) -> T:
        return read_only(cast(Callable[..., T], function)(*(each.value for each in contents)))

    return cast(Callable[P, T], lambda *arguments: result(*map(content_of, arguments)))


def cached_if_small(function: Callable[P, T]) -> Callable[Concatenate[int, P], T]:
    """`cached_by_content` with the size of the program as a first argument: larger results are not kept."""
    cached = cached_by_content(function)

    def made(size: int, *arguments: Any) -> T:
        if size <= LARGEST_CACHED:
            return cast(Callable[..., T], cached)(*arguments)
        values = (each.value if isinstance(each, Content) else each for each in arguments)
        return cast(Callable[..., T], function)(*values)

    return cast(Callable[Concatenate[int, P], T], made)


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
