"""The array type of every signature, sizes of values, runs of masks, and a cache keyed by content of arrays.

Whoever solves for one goal after another states the same problem anew each time: bases, nodes, maps and
patterns are those of the last one. `cached_if_small` decorates the functions that make them, whose results
depend on the structure of a problem alone: arrays and sparse matrices among their arguments are compared by
content, others by what `keyed` gives, or themselves. Arrays of cached results are read-only, as other
problems have them, too; results of large programs are not cached.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

Array = NDArray[Any]  # float64, or complex128 where a derivative is checked by complex step
Number: TypeAlias = (
    Any  # of any arithmetic: a float, a CasADi expression, a Taylor model; or an array of them
)
P = ParamSpec("P")
T = TypeVar("T")


def finite_size(values: ArrayLike) -> Array:
    """The largest absolute value that is finite, over the first axis; 0 where there is none."""
    size = np.abs(values)
    return np.where(np.isfinite(size), size, 0.0).max(axis=0, initial=0.0)


def runs(mask: NDArray[np.bool_]) -> list[slice]:
    """The stretches on which a mask (k,) is true, each as long as it can be."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]))).tolist()
    return list(map(slice, edges[::2], edges[1::2]))


class Content(tuple[Hashable, ...]):
    """The key by which a cache compares a value, which is its attribute."""

    value: object


def keyed(value: T, *key: Hashable) -> T:
    """The value as an argument of a function with a cache, equal to every other one with the same key."""
    content = Content(key)
    content.value = value
    return cast(T, content)


def content_of(value: Any) -> object:
    """Equal for arrays with the same type, shape and bytes, and for sparse matrices with the same entries."""
    if isinstance(value, Content):
        return value
    if isinstance(value, np.ndarray):
        return keyed(value, value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, sparse.csr_array):
        data, columns, starts = value.data.tobytes(), value.indices.tobytes(), value.indptr.tobytes()
        return keyed(value, value.shape, data, columns, starts)
    return keyed(value, value)


def cached_if_small(function: Callable[P, T]) -> Callable[Concatenate[int, P], T]:
    """The function with a cache of its last 16 results, whose arrays are read-only.

    The result takes the size of the program as a first argument: where it is large, nothing is kept.
    """
    computed = cast(Callable[..., T], function)

    @lru_cache(maxsize=16)  # results of each function
    def cached(*contents: Content) -> T:
        return read_only(computed(*map(attrgetter("value"), contents)))

    def made(size: int, *arguments: object) -> T:
        if size <= 250:  # larger programs need 5 MB each for their maps, and longer for other things
            return cached(*map(content_of, arguments))
        return computed(
            *[argument.value if isinstance(argument, Content) else argument for argument in arguments]
        )

    return cast(Callable[Concatenate[int, P], T], made)


def read_only(value: T) -> T:
    """The value itself, all arrays in it, and in what it consists of, read-only."""
    known: set[int] = set()
    waiting: list[object] = [value]
    while waiting:
        each = waiting.pop()
        if id(each) in known:
            continue
        known.add(id(each))
        if isinstance(each, np.ndarray):
            each.setflags(write=False)
        elif isinstance(each, tuple | list):
            waiting.extend(each)
        elif isinstance(each, dict):
            waiting.extend(each.values())
        elif not isinstance(each, type):
            waiting.extend(getattr(each, "__dict__", {}).values())
    return value
