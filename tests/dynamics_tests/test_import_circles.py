"""Modules of `dynamics` import each other in one direction only, for types and inside functions too."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from shortcuts import DYNAMICS_SHORTCUTS

ROOT = Path(__file__).parents[2]


def module_name(path):
    return path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")


FILES = {module_name(path): path for path in (ROOT / "dynamics").rglob("*.py") if path.stem != "__init__"}


def imported(path):
    """The modules of the package that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)} & FILES.keys()


EDGES = {(name, target) for name, path in FILES.items() for target in imported(path)}


def test_no_modules_import_each_other_in_a_circle():
    graph = {name: {b for a, b in EDGES - DYNAMICS_SHORTCUTS if a == name} for name in FILES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other: {' -> '.join(error.args[1])}")


def test_every_listed_shortcut_exists():
    assert DYNAMICS_SHORTCUTS <= EDGES
