"""The problems of this package by name, found by reading their sources: a new file is a new problem.

Those of the folders of `gallery` have names without them, like the others.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

from trajopt.base.arguments import short_repr
from trajopt.base.errors import UnknownNameError, near_matches

PACKAGES = (
    "problems",
    "problems.gallery.classics",
    "problems.gallery.flight",
    "problems.gallery.human",
    "problems.gallery.legged",
    "problems.gallery.mechanisms",
)
#: Recipes of what users state by values.
STATED = MappingProxyType(
    {"task": "problems.moves.tasks.saved_motion", "statement": "problems.stated_problem"}
)


def names() -> tuple[str, ...]:
    """Names of the problems, in alphabetical order."""
    return tuple(descriptions())


@functools.cache
def descriptions() -> Mapping[str, str]:
    """Name -> first line of the module's docstring, without importing any of them."""
    return MappingProxyType({name: text for name, (_, text) in _found().items()})


@functools.cache
def _found() -> Mapping[str, tuple[str, str]]:
    """Name -> module and first line of its docstring, in alphabetical order."""
    found = {}
    for package in PACKAGES:
        for source in files(package).iterdir():
            if source.name.endswith(".py"):
                tree = ast.parse(source.read_text(encoding="utf-8"))
                if any(is_recipe(statement) for statement in tree.body):
                    name, text = source.name[:-3], (ast.get_docstring(tree) or "").partition("\n")[0]
                    found[name] = f"{package}.{name}", text
    return dict(sorted(found.items()))


def is_recipe(statement: ast.stmt) -> bool:
    """True if a statement is `@recipe def build(...)`, which makes its module a problem."""
    return (
        isinstance(statement, ast.FunctionDef)
        and statement.name == "build"
        and any(isinstance(mark, ast.Name) and mark.id == "recipe" for mark in statement.decorator_list)
    )


def module(name: str) -> Any:
    """The module of the problem `name`; UnknownNameError otherwise, so that no path is ever imported."""
    if name not in names():
        near = near_matches(name, names()) or f": there are {', '.join(names())}"
        file = (
            f"; the file {name}.py is here, name it with its ending" if Path(f"{name}.py").is_file() else ""
        )
        raise UnknownNameError(f"no problem is called {short_repr(name)}{near}{file}")
    return import_module(_found()[name][0])


def path(name: str) -> Path:
    """The file of the problem `name`, to be read without importing it; KeyError for another name."""
    package, _, module_name = _found()[name][0].rpartition(".")
    return Path(str(files(package).joinpath(f"{module_name}.py")))


def build(name: str, parameters: Mapping[str, Any]) -> Any:
    """The problem `name`, or its phases, with these parameters, the rest at their defaults; or a saved task.

    Raises UnknownNameError for a problem or parameter that does not exist, and what the problem raises.
    """
    stated = import_module(STATED[name]) if name in STATED else module(name)
    return stated.build(**parameters)
