"""Imports the names that a package exports on first use; `dir` lists these names only.

`import trajopt` then loads no large library. The names are written once, as the imports that type checkers
and editors read. The packages `dynamics` and `trajopt`, which never import each other, have a file like this
each.

Where Python finds a user's own file `dynamics.py` or `problems.py` before the package of that name, the error
says so.
"""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import cast

from trajopt.base.errors import near_matches


def export_lazily(package: str) -> None:
    """Give `package` its `__all__`, and each name of it at the first use.

    Its names are those of the block `if TYPE_CHECKING:` of its `__init__.py`, each as a line
    `from package.module import name as name`, or `from package import name as name` for a subpackage. This
    call is the last statement of that file.
    """
    homes = _homes(package)

    class LazyPackage(ModuleType):
        def __getattr__(self, name: str) -> object:
            if name not in homes:
                near = near_matches(name, homes) if not name.startswith("_") else ""
                raise AttributeError(f"module '{package}' has no attribute {name!r}{near}")
            if homes[name] == package:
                return import_module(f"{package}.{name}")
            from trajopt.base.arguments import with_checked_calls  # loads NumPy

            home, whole = import_module(homes[name]), package.partition(".")[0]
            for exported in homes.keys() & vars(home).keys():  # among them classes that its functions return
                if isinstance(kind := vars(home)[exported], type):
                    with_checked_calls(kind, whole)
            value = with_checked_calls(getattr(home, name), whole)
            self.__dict__[name] = value
            return value

        def __setattr__(self, name: str, value: object) -> None:
            # The import system binds every submodule to its name in the package: the file solve.py would
            # hide the function solve as soon as anything imports it.
            if not (homes.get(name, package) != package and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

        def __reduce__(self) -> tuple[object, ...]:
            # Functions of scripts and notebooks are sent to other processes with the modules that they name.
            return import_module, (package,)

        def __dir__(self) -> list[str]:
            return sorted([*homes, *(name for name in vars(self) if name.startswith("__"))])

    module = sys.modules[package]
    module.__dict__["__all__"] = sorted(homes)
    module.__class__ = LazyPackage


def _homes(package: str) -> dict[str, str]:
    """Exported name -> the module from which the block for type checkers imports it."""
    spec = sys.modules[package].__spec__
    source = cast("str | None", spec.loader.get_source(package)) if spec is not None else None  # type: ignore[union-attr]
    if source is None:
        raise ImportError(f"the source of {package}/__init__.py, which lists its names, is not there")
    blocks = (each for each in ast.parse(source).body if isinstance(each, ast.If))
    imports = (each for block in blocks for each in block.body if isinstance(each, ast.ImportFrom))
    return {name.name: str(each.module) for each in imports for name in each.names}


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
