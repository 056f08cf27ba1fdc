"""Atomic writes of files: readers see the old content or the new, never a part."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from trajopt.base.errors import ResultFolderError


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream for the new content of a file: whatever happens, others see the old content or the new."""
    target = Path(path)
    if not target.parent.is_dir():
        raise ResultFolderError(
            f"{target} cannot be written, as there is no folder {target.parent}: make it first"
        )
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o644)  # mkstemp makes files that nobody else may read
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write UTF-8 text, whole or not at all; lone surrogates read as \\ud800."""
    with whole_file(path) as stream:
        stream.write(text.encode("utf-8", errors="backslashreplace"))
