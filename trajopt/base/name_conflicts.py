"""A user's own file `dynamics.py` or `problems.py` that Python finds before the package of that name."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path

MARK = "py.typed"  # a file that all three packages have


def refuse_shadowed(*packages: str) -> None:
    """Raise ShadowedPackageError where `import` finds another module of one of these names.

    Importing it would fail later, and far from the cause: "module 'dynamics' has no attribute 'from_dh'".
    """
    for package in packages:
        try:
            spec = find_spec(package)
        except ValueError:  # a module that was made by hand has no spec
            spec = None
            if package in sys.modules:
                raise _error(package, repr(sys.modules[package])) from None
        if spec is not None and not _is_ours(spec):
            raise _error(package, _place(spec))


def refuse_namesakes(folder: Path, *packages: str) -> None:
    """Raise ShadowedPackageError where a folder that is about to be put on the path holds such a module."""
    for package in packages:
        spec = PathFinder.find_spec(package, [str(folder)])
        if spec is not None and spec.origin is not None and not _is_ours(spec):
            raise _error(package, _place(spec))


def _is_ours(spec: ModuleSpec) -> bool:
    return any((Path(place) / MARK).is_file() for place in spec.submodule_search_locations or ())


def _place(spec: ModuleSpec) -> str:
    return spec.origin or ", ".join(spec.submodule_search_locations or ())


def _error(package: str, place: str) -> ImportError:
    from trajopt.base.errors import ShadowedPackageError

    return ShadowedPackageError(
        f"{place} has the name of the package '{package}' and hides it: rename that file or folder"
    )
