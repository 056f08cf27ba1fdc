"""Import the names that a package exports on first use, and list them and no others in `dir`.

`import dynamics` then loads no large library. The packages `dynamics` and `trajopt`, which never import each
other, have a file like this each.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

#: Words of other programs -> the name that has their meaning here.
SYNONYMS = {
    **{"inverse_dynamics": "rnea", "forward_dynamics": "aba", "mass_matrix": "crba"},
    **{"Robot": "RigidBodyModel", "Model": "RigidBodyModel", "Link": "Body", "fk": "forward_kinematics"},
    **{"URDF": "load_urdf", "from_urdf": "load_urdf", "load_mjcf": "from_mujoco", "from_mjcf": "from_mujoco"},
}


def export_lazily(package: str, homes: Mapping[str, str], subpackages: Collection[str] = ()) -> None:
    """Give `package` its `__all__`, and each name of it at the first use.

    homes : exported name -> module that defines it
    subpackages : exported names that are packages themselves

    The last statement of an `__init__.py`. Type checkers do not run it: they read the same imports below
    `if TYPE_CHECKING`, and a test compares both lists.
    """
    exported = sorted([*homes, *subpackages])

    class LazyPackage(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name in subpackages:
                return import_module(f"{package}.{name}")
            if name not in homes:
                from difflib import get_close_matches

                meant = [SYNONYMS[name]] if SYNONYMS.get(name) in homes else []
                near = meant or ([] if name.startswith("_") else get_close_matches(name, exported, n=2))
                hint = f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""
                raise AttributeError(f"module '{package}' has no attribute {name!r}{hint}")
            value = getattr(import_module(homes[name]), name)
            self.__dict__[name] = value
            return value

        def __setattr__(self, name: str, value: Any) -> None:
            # The import system binds every submodule to its name in the package: the file solve.py would
            # hide the function solve as soon as anything imports it.
            if not (name in homes and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

        def __reduce__(self) -> tuple[Any, ...]:
            # Functions of scripts and notebooks are sent to other processes with the modules that they name.
            return import_module, (package,)

        def __dir__(self) -> list[str]:
            return sorted([*exported, *(name for name in vars(self) if name.startswith("__"))])

    module = sys.modules[package]
    module.__dict__["__all__"] = exported
    module.__class__ = LazyPackage
