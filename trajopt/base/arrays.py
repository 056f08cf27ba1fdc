"""Arrays: the type of every signature, sizes, runs of masks, a cache keyed by content, threads of BLAS.

Whoever solves for one goal after another states the same problem anew each time: bases, nodes, maps and
patterns are those of the last one. `cached_if_small` decorates the functions that make them, whose results
depend on the structure of a problem alone: arrays and sparse matrices among their arguments are compared by
content, others by what `keyed` gives, or themselves. Arrays of cached results are read-only, as other
problems have them, too; results of large programs are not cached.

BLAS is limited to one thread during a solve: for small matrices a second thread costs more than it gains.
IPOPT's MUMPS factorises dense fronts of tens to hundreds of rows, and derivatives are products of such
matrices. OpenBLAS divides them among all cores and lets the idle ones wait in a loop.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
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
        elif not isinstance(each, type | threading.local):  # what one thread computes in is not shared
            waiting.extend(getattr(each, "__dict__", {}).values())
    return value


THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def one_blas_thread(loaded: str = "numpy") -> Iterator[None]:
    """Limit every BLAS of this process to one thread, and restore what was there at the end.

    Nothing is limited where the user has set one of the environment variables `THREAD_VARIABLES`. The limit
    belongs to the process: of several Python threads that solve, the last to end restores what the first has
    found.

    loaded : a package whose BLAS may have been loaded since the last call; libraries are searched for once
        per name
    """
    if any(map(os.environ.get, THREAD_VARIABLES)):
        yield
        return
    _LIMIT.begin(loaded)
    try:
        yield
    finally:
        _LIMIT.end()


class _Limit:
    """The limit of this process, while anyone needs it: threadpoolctl knows only limits of single threads."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._limiters: dict[str, Any] = {}  # by the package that had been loaded, in the order of limits

    def begin(self, loaded: str) -> None:
        with self._lock:
            if loaded not in self._limiters:
                _let_any_thread_set_limits()
                self._limiters[loaded] = _libraries(loaded).limit(limits=1, user_api="blas")
            self._users += 1  # only now: whom Ctrl-C or a failure stops on the way here does not call `end`

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                _let_any_thread_set_limits()
                for limiter in reversed(self._limiters.values()):
                    limiter.restore_original_limits()
                self._limiters.clear()
                _let_any_thread_set_limits()

    def unlock(self) -> None:
        """Take a new lock, in a forked process: the thread that holds the old one is not in it."""
        self._lock = threading.Lock()


_LIMIT = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LIMIT.unlock)


@cache
def _libraries(loaded: str) -> Any:
    """The BLAS libraries in this process, searched for after the package `loaded` was."""
    return _with_bundled_openblas().ThreadpoolController()


@cache
def _with_bundled_openblas() -> Any:
    import threadpoolctl

    class BundledOpenBLAS(threadpoolctl.OpenBLASController):
        """The OpenBLAS in CasADi's wheels, which has a name of its own; its IPOPT calls it."""

        filename_prefixes = ("libcasadi-tp-openblas",)

    threadpoolctl.register(BundledOpenBLAS)
    return threadpoolctl


def _let_any_thread_set_limits() -> None:
    """Since 3.7 threadpoolctl ignores limits of all threads but the one that set the first."""
    clear = getattr(_with_bundled_openblas().OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)
