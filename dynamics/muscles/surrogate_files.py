"""Fitted polynomials on disk, under a digest of all that they were made from."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from dynamics.kernels.compile import cache_folder
from dynamics.muscles.path_polynomials import PathSurrogate

FORMAT = 4  # raised where fits of the same inputs come out otherwise


def digest_of(*values: object) -> str:
    """A digest of numbers, texts, arrays, dataclasses, and of tuples, lists and mappings of them."""
    made = sha256(f"surrogate {FORMAT}".encode())
    _feed(made, values)
    return made.hexdigest()[:32]


def _feed(made: Any, value: object) -> None:
    made.update(type(value).__name__.encode() + b"(")
    if isinstance(value, np.ndarray):
        made.update(f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        for field in fields(value):
            _feed(made, getattr(value, field.name))
    elif isinstance(value, Mapping):
        for pair in value.items():
            _feed(made, pair)
    elif isinstance(value, tuple | list):
        for each in value:
            _feed(made, each)
    else:
        made.update(repr(value).encode())
    made.update(b")")


def stored(digest: str) -> PathSurrogate | None:
    """The polynomials under a digest; None where there are none, or the file cannot be read."""
    path = _path(digest)
    if path is None or not path.exists():
        return None
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays: dict[str, Any] = {field.name: file[field.name] for field in fields(PathSurrogate)}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        return None
    arrays |= {name: tuple(str(x) for x in arrays[name]) for name in ("names", "joint_names")}
    return PathSurrogate(**arrays)


def store(digest: str, surrogate: PathSurrogate) -> None:
    """Write polynomials under a digest, whole or not at all; a folder that takes no file is no error."""
    path = _path(digest)
    if path is None:
        return
    arrays = {field.name: np.asarray(getattr(surrogate, field.name)) for field in fields(surrogate)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            whole = Path(folder) / path.name
            np.savez_compressed(whole, **arrays)  # pyright: ignore[reportArgumentType]
            os.replace(whole, path)
    except OSError:
        return


def _path(digest: str) -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder.parent / "surrogates" / f"{digest}.npz"
