"""Loops over arrays, compiled by numba at their first call and kept in a folder of the user.

Numba's own files lie in folders named by the path of the source: every checkout and environment would
compile the same loops for some fifteen seconds. These are named by the text of the source and the versions of
libraries.

Arguments of loops are arrays, numbers and tuples: numba writes their types to disk, and could not read a
class of this project again after it was renamed. Nor do they use constants of other files, whose changes
numba does not notice.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import llvmlite
import numba
import numpy as np
import platformdirs
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile


def compiled(function: Callable, fastmath: bool | set[str] = False) -> Any:
    """Compiled at its first call, and kept in a folder of the user, else in one of numba's.

    fastmath : names of LLVM's liberties with floating-point numbers
    """
    made: Any = numba.njit(function, nogil=True, error_model="numpy", fastmath=fastmath)
    if not config.DISABLE_JIT:  # pyright: ignore[reportAttributeAccessIssue]
        with suppress(RuntimeError):  # none of these folders can be written
            made._cache = LoopCache(function)
    return made


class SharedLocator:
    """Places of one function's files in the folder that checkouts share, by the methods that numba calls."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._name

    def get_disambiguator(self) -> str:
        return self._name

    def ensure_cache_path(self) -> None:
        """The folder is there: without it numba's own are taken."""

    @classmethod
    def from_function(cls, py_func: Callable, py_file: str) -> SharedLocator | None:
        """Places for a function of a file; None, so that numba takes its own, where others may write."""
        try:
            base = config.CACHE_DIR or platformdirs.user_cache_dir("trajopt")  # pyright: ignore[reportAttributeAccessIssue]
            folder = shared_folder(Path(base) / "loops")
            return None if folder is None else cls(folder, loop_key(py_file))
        except (OSError, RuntimeError):  # no source, no home
            return None


class _Files(CompileResultCacheImpl):
    _locator_classes = [SharedLocator, *CompileResultCacheImpl._locator_classes]  # noqa: RUF012, numba's own is one


class LoopFiles(IndexDataCacheFile):
    """Numba's index of one function, and data whose names no other process gives at the same time."""

    def _data_name(self, number: int) -> str:
        return super()._data_name(number).replace(".nbc", f".{uuid4().hex}.nbc")


class LoopCache(FunctionCache):
    """Numba's cache of one function, no failure of which stops the function from being compiled."""

    _impl_class = _Files

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        self._cache_file = LoopFiles(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: object, target_context: object) -> object:
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever a damaged file raises, compiling it anew is the answer
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        with suppress(OSError):  # the disk is full, say
            super().save_overload(sig, data)


@cache
def loop_key(file: str) -> str:
    """Digest of all that loops of a file are made from: its text, this file's, and versions of libraries."""
    texts = (Path(each).read_bytes() for each in (file, __file__))
    versions = " ".join(each.__version__ for each in (numba, llvmlite, np))
    return hashlib.sha256(b"\0".join([versions.encode(), *texts])).hexdigest()[:16]


@cache
def shared_folder(folder: Path) -> Path | None:
    """`folder`, made where there is none; None where it cannot be written, or others could put code there.

    None also for a path that is not absolute: without a home it may begin with "~".
    """
    if not folder.is_absolute():
        return None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    own = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not others_write)
    return folder if own and stat.S_ISDIR(status.st_mode) and os.access(folder, os.W_OK) else None
