"""Compiles kernels with numba and keeps their machine code on disk.

`kernel` is numba.njit with the options every kernel of this package needs:
contract-only fast math: a * b + c may become one rounding, while NaN and infinity keep their meaning
    (`fastmath=True` lets LLVM assume that there are none);
nogil: blocks of nodes may run in several threads;
error_model="numpy": division by zero gives infinity, not a branch to an exception in an inner loop.

Machine code is kept under a key that changes with all that it was made from (`kernel_key`); Numba itself
would notice an edit of the file that holds a kernel, not one of the functions that were inlined into it. What
lies in the folder is executed: `code_cache` says which files are trusted.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import platformdirs
from numba.core import config
from numba.core.registry import CPUDispatcher

from dynamics.kernels.code_cache import KernelCache, is_own, made_own
from dynamics.kernels.pipeline import KernelCompiler, PartCompiler
from dynamics.kernels.tracing import call_part, is_straight, straight

_OPTIONS: dict[str, Any] = {"fastmath": {"contract"}, "nogil": True, "error_model": "numpy"}
_OPTIONS |= {"no_cfunc_wrapper": True, "pipeline_class": KernelCompiler}  # nothing calls kernels from C


def inlined(function: Callable) -> Any:
    """A function that kernels call and that is inlined into them; never called from Python."""
    return straight(function) if is_straight(function) else _part(function, forceinline=True, _nrt=False)


def subroutine(function: Callable) -> Any:
    """Compile a function that kernels call and keep as part of their own code; never called from Python."""
    return _part(function)


class _Part(CPUDispatcher):
    """A function without the code by which Python calls it, which takes a third of the time to compile."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return call_part(self, *arguments, *named.values())


def _part(function: Callable, **options: Any) -> Any:
    without_wrapper: dict[str, Any] = {**_OPTIONS, "no_cpython_wrapper": True, **options}
    without_wrapper["pipeline_class"] = PartCompiler
    made: Any = numba.njit(function, **without_wrapper)
    if not config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        made.__class__ = _Part  # numba would call a function at address zero
    return made


def kernel(function: Callable) -> Any:
    """Compile a kernel on its first call and keep the machine code on disk."""
    compiled: Any = numba.njit(function, **_OPTIONS)
    folder = cache_folder()
    if folder is not None and not config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        compiled._cache = KernelCache(function, _OPTIONS, folder)
    return compiled


@cache
def cache_folder() -> Path | None:
    """The first writable folder of: the environment's choice, the user's cache, a temporary one; or None."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    candidates = [Path(chosen)] if chosen else []
    with suppress(RuntimeError):  # a user without a home
        candidates.append(Path(platformdirs.user_cache_dir("trajopt")))
    for candidate in candidates:
        folder = candidate / "kernels"
        if is_writable(folder):
            return folder
    return temporary_folder()


def temporary_folder() -> Path | None:
    """A folder among the temporary ones; None where another user made it, who could put code into it."""
    user = os.environ.get("USER") or os.environ.get("USERNAME") or "anyone"
    own = Path(tempfile.gettempdir()) / f"trajopt-{user}"
    try:
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        trusted = is_own(own.lstat())
    except OSError:
        return None
    folder = own / "kernels"
    return folder if trusted and is_writable(folder) else None


def is_writable(folder: Path) -> bool:
    """True if this user, and nobody else, can make a file in `folder`, which is created when it can be."""
    if not made_own(folder):
        return False
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
