"""Records which files and environment variables are read while the problem of a point is built.

A point that is recalled from a folder is solved again where one of them has changed since. Files are seen by
Python's audit event `open`, variables where a user's code reads `os.environ`. Not seen are files that
libraries in C open themselves, which files a folder holds, answers from the network, the time, and what a
module read when it was imported by this process before the study began.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trajopt.studies.many.code_digest import FRAMEWORK, LIBRARY, STANDARD, is_installed, short_digest

ABSENT = ""  # the digest of a file that is not there, or a variable that is not set
FILE, VARIABLE = "file ", "environment "  # what the names of inputs begin with
OWN = tuple(Path(__file__).parents[3] / name for name in (*FRAMEWORK, LIBRARY))  # covered by their versions
KERNELS = (".nbi", ".nbc")  # endings of compiled code in numba's caches


class _Reads:
    """Files that this process has read while it recorded, and the digests of their content at that time.

    A module that one build imports is not read again by the next: what any build read counts for all later
    ones, with the content that was read.
    """

    def __init__(self) -> None:
        self.active = 0
        self.is_heard = False
        self.new: set[str] = set()
        self.digests: dict[str, str] = {}
        self.lock = threading.Lock()

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The audit hook: a file that is opened to be read."""
        if event == "open" and self.active and isinstance(arguments[0], str | bytes):
            path, mode, flags = arguments
            if "r" in mode if mode else not flags & (os.O_WRONLY | os.O_RDWR):
                self.new.add(FILE + os.path.abspath(os.fsdecode(path)))

    def digest_new(self) -> None:
        """Digests of what was read since the last call, of files and variables of the user."""
        for name in tuple(self.new):
            source = _source_of(name)
            if name.startswith(VARIABLE) or _is_users(source.removeprefix(FILE)):
                self.digests[source] = _digest(source)
        self.new.clear()


_READS = _Reads()


@contextmanager
def recorded() -> Iterator[None]:
    """Files and variables that are read within become inputs."""
    with _READS.lock:
        if not _READS.is_heard:
            sys.addaudithook(_READS.hear)
            _hear_variables()
            _READS.is_heard = True
        _READS.active += 1
    try:
        yield
    finally:
        with _READS.lock:
            _READS.active -= 1
            _READS.digest_new()


def inputs() -> dict[str, str]:
    """Name -> digest of the content that was read, of all inputs of this process."""
    return dict(sorted(_READS.digests.items()))


def changed(known: Mapping[str, str]) -> list[str]:
    """Names of the inputs whose content differs from what it was."""
    return [name for name, digest in known.items() if _digest(name) != digest]


def _digest(name: str) -> str:
    if name.startswith(VARIABLE):
        value = os.environ.get(name.removeprefix(VARIABLE))
        return ABSENT if value is None else short_digest(os.fsencode(value))
    try:
        with open(name.removeprefix(FILE), "rb") as stream:
            return short_digest(stream.read())
    except (OSError, ValueError):
        return ABSENT


def _source_of(path: str) -> str:
    """The source of a module that was read as bytecode; any other path as it is."""
    try:
        return importlib.util.source_from_cache(path) if path.endswith(".pyc") else path
    except ValueError:
        return path


def _is_users(name: str) -> bool:
    path = Path(name)
    of_system = path.is_relative_to("/proc") or path.is_relative_to("/dev") or path.is_relative_to("/sys")
    ours = any(path.is_relative_to(folder) for folder in OWN)
    return not (of_system or ours or path.suffix in KERNELS or is_installed(path))


def _hear_variables() -> None:
    """Let `os.environ` note the names that a user's code asks for."""
    kind: Any = type(os.environ)
    read = kind.__getitem__

    def noted(self: Any, name: str) -> str:
        if _READS.active and self is os.environ and _asked_by_user():
            _READS.new.add(VARIABLE + name)
        return read(self, name)

    kind.__getitem__ = noted


def _asked_by_user() -> bool:
    """True if the first caller outside the standard library is no installed package and not ours."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith("<frozen") and not _is_standard(name):
            return _is_users(name)
        frame = frame.f_back
    return False


def _is_standard(name: str) -> bool:
    path = Path(name)
    return path.is_relative_to(STANDARD) and "site-packages" not in path.parts
