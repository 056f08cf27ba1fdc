"""Limits BLAS to one thread during a solve: for small matrices a second thread costs more than it gains.

IPOPT's MUMPS factorises dense fronts of tens to hundreds of rows, and derivatives are products of such
matrices. OpenBLAS divides them among all cores and lets the idle ones wait in a loop.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

SETTINGS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def one_blas_thread(loaded: str = "numpy") -> Iterator[None]:
    """Limit every BLAS of this process to one thread, and restore what was there at the end.

    Nothing is limited where the user has set one of the environment variables `SETTINGS`. The limit belongs
    to the process: of several Python threads that solve, the last to end restores what the first has found.

    loaded : a package whose BLAS may have been loaded since the last call; libraries are searched for once
        per name
    """
    if any(map(os.environ.get, SETTINGS)):
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
