"""Versions of the software of a worker: trajopt, its sources, and the libraries that affect results."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from trajopt.base.errors import ClusterError
from trajopt.base.version import __version__

LIBRARIES = ("numpy", "numba", "casadi")
OURS = ("trajopt", "dynamics", "problems")


@cache
def versions() -> dict[str, str]:
    """Library -> version; "sources" is a digest of our own, which a checkout changes without its version."""
    major, minor, _ = platform.python_version_tuple()
    return {
        "Python": f"{major}.{minor}",
        "trajopt": __version__,
        **{name: _version(name) for name in LIBRARIES},
        "sources": _sources(),
    }


def version_differences(own: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[str]:
    """Every difference in words: "casadi 3.6.5 there, 3.8.2 here"."""
    for name, here in own.items():
        there = theirs.get(name, "unknown")
        if there != here:
            yield f"{name} {there} there, {here} here"


def check_same(wanted: Mapping[str, str]) -> None:
    """ClusterError where this process, such as a worker that joined later, has other versions than wanted."""
    unlike = ", ".join(version_differences(wanted, versions()))
    if unlike:
        raise ClusterError(
            f"a worker has other software than the process that sent the point ({unlike}): install the same "
            "versions on all of them"
        )


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


def _sources() -> str:
    """Twelve hexadecimal digits of all our Python files."""
    digest = hashlib.sha256()
    for package in OURS:
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations if spec else None) or ():
            for path in sorted(Path(folder).rglob("*.py")):
                digest.update(path.relative_to(folder).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
