"""Machine code of kernels on disk: kept where only its owner writes, and checked before it is executed.

numba keeps compiled kernels as pickles, and reading a pickle runs what it holds. So a file is read only where
nobody but this user (or root) could have written it, and carries a SHA-256 digest that shows damage. What
fails either test, or cannot be restored, is compiled again and replaced; what cannot be written is not kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import stat
from collections.abc import Callable, Iterator
from io import BufferedWriter
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
DIGEST = hashlib.sha256().digest_size  # bytes at the end of every file


class CheckedFiles(IndexDataCacheFile):
    """The two files of a kernel, index and machine code, each with its digest."""

    def _dump(self, obj: Any) -> bytes:
        content = super()._dump(obj)
        return content + hashlib.sha256(content).digest()

    def _load_index(self) -> dict:
        version = pickle.dumps(self._version, protocol=-1)  # how numba begins the file
        content = trusted_content(self._index_path)
        if not content.startswith(version):
            return {}
        try:
            stamp, overloads = pickle.loads(undamaged(content[len(version) :]))
        except OSError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        return pickle.loads(undamaged(trusted_content(self._data_path(name))))

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BufferedWriter]:
        with super()._open_for_write(filepath) as stream:
            if hasattr(os, "fchmod"):
                os.fchmod(stream.fileno(), stat.S_IRUSR | stat.S_IWUSR)
            yield stream


class KernelCache(FunctionCache):
    """The cache of one function, on checked files; no failure of it stops a kernel from being compiled."""

    def __init__(self, function: Callable) -> None:
        super().__init__(function)
        locator = self._impl.locator
        self._cache_file = CheckedFiles(
            self._cache_path, self._impl.filename_base, locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for a signature from disk; None where it must be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # whatever restoring it raises, compiling it anew is the answer
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel; on a full disk, say, it is not kept."""
        with contextlib.suppress(Exception):
            super().save_overload(sig, data)


def trusted_content(path: str) -> bytes:
    """All bytes of a file that nobody but this user or root could have written; else, or without it, none."""
    try:
        with open(path, "rb") as stream:
            return stream.read() if is_own(os.fstat(stream.fileno())) else b""
    except OSError:
        return b""


def undamaged(content: bytes) -> bytes:
    """`content` without the digest at its end; OSError, as for a lost file, where that differs."""
    kept, digest = content[:-DIGEST], content[-DIGEST:]
    if hashlib.sha256(kept).digest() != digest:
        raise OSError("the cached kernel is damaged")
    return kept


def is_own(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user or root, and nobody else may write it."""
    if not hasattr(os, "getuid"):  # Windows keeps caches in the user's own profile
        return True
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & OTHERS_WRITE


def made_own(folder: Path) -> bool:
    """Make a folder that only this user may write; whether it is one.

    One of this user's that others may write is emptied first: what they wrote must not be executed.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        if not is_own(found) and found.st_uid == os.getuid() and stat.S_ISDIR(found.st_mode):
            folder.chmod(0o700)
            for file in folder.iterdir():
                file.unlink()
            found = folder.lstat()
        return stat.S_ISDIR(found.st_mode) and is_own(found)
    except OSError:
        return False
