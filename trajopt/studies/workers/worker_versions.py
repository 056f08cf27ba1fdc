"""Versions of the software of a worker: trajopt, its sources, and the libraries that affect results."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from trajopt.base.errors import ClusterError
from trajopt.solution.records import installed_versions
from trajopt.studies.many.code_digest import short_digest

SAME = ("trajopt", "numpy", "numba", "casadi")
OURS = ("trajopt", "dynamics", "problems")


@cache
def versions() -> dict[str, str]:
    """Library -> version; "sources" is a digest of our own, which a checkout changes without its version."""
    major, minor, _ = platform.python_version_tuple()
    return {
        "Python": f"{major}.{minor}",
        **{name: installed_versions()[name] for name in SAME},
        "sources": _sources(),
    }


def check_same(wanted: Mapping[str, str], found: object, worker: str) -> None:
    """ClusterError where a worker has other versions than wanted, or an error in the place of versions."""
    unlike = f"cannot report its version: {found}"
    if isinstance(found, Mapping):
        theirs = {name: found.get(name, "unknown") for name in wanted}
        others = (name for name in wanted if theirs[name] != wanted[name])
        unlike = ", ".join(f"{name} {theirs[name]} there, {wanted[name]} here" for name in others)
    if unlike:
        raise ClusterError(
            f"{worker} has other software than the process that asks ({unlike}): install the same versions "
            "on all of them"
        )


def _sources() -> str:
    """Digest of all our Python files."""
    content = []
    for package in OURS:
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations if spec else None) or ():
            for path in sorted(Path(folder).rglob("*.py")):
                content += [path.relative_to(folder).as_posix().encode(), path.read_bytes()]
    return short_digest(b"".join(content))
