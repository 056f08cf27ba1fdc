"""Machine code of kernels on disk: kept where only its owner writes, and checked before it is executed.

A kernel for one kind of arguments is one file, a pickle, and reading a pickle runs what it holds. So a file
is read only where nobody but this user (or root) could have written it; it begins with the kernel's key
(`kernel_key`) and ends with a SHA-256 digest that shows damage. What fails any of these, or cannot be
restored, is compiled again and replaced; what cannot be written is not kept. Files are named after kernel and
key, and put in place whole: checkouts, versions and processes that compile at once share a folder.

Kernels that are not there may come from the optional package `trajopt_kernels`, for a level of processors.
`scripts/kernel_wheel.py` makes it for one version each of Python, Numba and NumPy, which keys tell: with
others, or after an edit, it is as if it were not installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pickle
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from dynamics.kernels.kernel_key import NoKey, kernel_key

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
DIGEST = hashlib.sha256().digest_size  # bytes at the end of every file

PORTABLE = "trajopt_kernels"  # the package of kernels that were compiled elsewhere
#: Numba's name and features of its processors: x86-64 of 2013 and later, four doubles at a time.
LEVEL = "x86-64-v3", ""
_OF_LEVEL = ("avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2")

Target = tuple[str, str, str]  # architecture, name and features of a processor, as Numba tells them


class KernelCache(NullCache):
    """The cache of one function; no failure of it stops a kernel from being compiled.

    options : with which Numba compiles the function
    """

    def __init__(self, function: Callable, options: dict[str, Any], folder: Path) -> None:
        self._function, self._options, self._folder = function, options, folder

    @property
    def cache_path(self) -> Any:
        return str(self._folder)

    def key(self, sig: Any, target: Target) -> str:
        """Key of the kernel for a signature and a processor; NoKey where it is not kept."""
        return kernel_key(self._function, self._options, sig, target)

    def file_name(self, key: str) -> str:
        name = f"{self._function.__module__}.{self._function.__qualname__}"
        return f"{name.translate({ord(c): '-' for c in '<>'})[-150:]}-{key}.nbc"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel for a signature from disk, its own before a portable one; None: it must be compiled."""
        target_context.refresh()
        own = target_context.codegen().magic_tuple()
        return self._restored(self._folder, sig, own, target_context) or self._restored(
            portable_folder(), sig, portable_target(own), target_context
        )

    def _restored(self, folder: Path | None, sig: Any, target: Target | None, target_context: Any) -> Any:
        """The kernel for a processor from a folder, or None."""
        if folder is None or target is None:
            return None
        try:
            key = self.key(sig, target)
            content = undamaged(trusted_content(str(folder / self.file_name(key))))
            if not content.startswith(key.encode()):
                return None
            return CompileResult._rebuild(target_context, *pickle.loads(content[len(key) :]))
        except Exception:  # whatever restoring it raises, compiling it anew is the answer
            return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep a kernel, unless the disk is full, say, or it holds addresses of this process."""
        if cres.lifted or cres.library.has_dynamic_globals:
            return
        with suppress(OSError, NoKey):
            key = self.key(sig, cres.codegen.magic_tuple())
            content = key.encode() + dumps(cres._reduce())
            put_in_place(self._folder / self.file_name(key), content + hashlib.sha256(content).digest())


@cache
def portable_folder() -> Path | None:
    """The folder of the package of portable kernels; None where it is not installed."""
    try:
        found = importlib.util.find_spec(PORTABLE)
    except (ImportError, ValueError):  # its import is blocked
        return None
    return None if found is None or found.origin is None else Path(found.origin).parent


def portable_target(own: Target) -> Target | None:
    """The processor that portable kernels are for; None where this one cannot run them."""
    architecture, _, features = own
    missing = {f"+{name}" for name in _OF_LEVEL}.difference(features.split(","))
    return None if missing or not architecture.startswith("x86_64-") else (architecture, *LEVEL)


def put_in_place(path: Path, content: bytes) -> None:
    """Write a file of this user whole, or leave what was there."""
    handle, made = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)  # only this user may read it
    try:
        with open(handle, "wb") as stream:
            stream.write(content)
        os.replace(made, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(made)
        raise


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
    """True if a file or folder belongs to this user or root, and nobody else may write it."""
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
