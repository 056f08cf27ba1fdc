"""Faults planted in the code one at a time, and which of them the fast tests catch.

    python scripts/planted_faults.py                 100 faults in dynamics, transcription and checks; hours
    python scripts/planted_faults.py --first 10 --last 19                      the tenth to the nineteenth

A fault is another sign (+ for -), another index (one more) or another tolerance (a thousandth or a thousand
times a number of at most 1e-3), drawn with a seed, in a copy of the index of git. Run to the first failure
are the fast tests of the files that import the module, or use what its package exports of it, or else import
a module that imports it. A fault that no test catches may change nothing: read it.
"""

import argparse
import ast
import functools
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripts.architecture import ROOT, imports_of, modules, parsed, places

MUTATED = ("dynamics", "trajopt.transcription", "trajopt.checks")
LONGEST = 1800.0  # seconds of the tests of one fault: something hangs
Fault = tuple[str, str, int, int, str, str]  # kind, module, line, column in bytes, text, its replacement


def faults_of(module: str, path: Path) -> Iterator[Fault]:
    """Every fault that can be planted in a module."""
    lines = path.read_bytes().split(b"\n")
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            left, right = node.left, node.right
            texts = any(isinstance(getattr(side, "value", None), str) for side in (left, right))
            if left.end_lineno == right.lineno and not texts:
                start = left.end_col_offset or 0
                found = re.search(rb"[+-]", lines[right.lineno - 1][start : right.col_offset])
                if found:
                    sign, other = ("+", "-") if found[0] == b"+" else ("-", "+")
                    yield "sign", module, right.lineno, start + found.start(), sign, other
        elif isinstance(node, ast.Subscript):
            for index in ast.walk(node.slice):
                if isinstance(index, ast.Constant) and type(index.value) is int:
                    texts = str(index.value), str(index.value + 1)
                    yield "index", module, index.lineno, index.col_offset, *texts
        elif isinstance(node, ast.Constant) and type(node.value) is float and 0.0 < node.value <= 1e-3:
            text = lines[node.lineno - 1][node.col_offset : node.end_col_offset].decode()
            for factor in (1e3, 1e-3):
                yield "tolerance", module, node.lineno, node.col_offset, text, repr(node.value * factor)


def drawn(count: int, seed: int = 0) -> list[Fault]:
    """Faults of every kind in equal number, by turns."""
    chosen = {name: path for name, path in modules().items() if name.startswith(MUTATED)}
    every = [fault for name, path in chosen.items() for fault in faults_of(name, path)]
    kinds = [[fault for fault in every if fault[0] == kind] for kind in ("sign", "index", "tolerance")]
    for kind in kinds:
        random.Random(seed).shuffle(kind)
    return [kinds[number % 3][number // 3] for number in range(count)]


@functools.cache
def imports_of_tests() -> dict[Path, set[str | None]]:
    """Our own modules that each test file imports, or uses by a name that a package exports."""
    known = modules()
    homes = {
        f"{package}.{alias.name}": node.module
        for package in ("dynamics", "trajopt")
        for node in ast.walk(parsed(known[package]))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    imported: dict[Path, set[str | None]] = {}
    for path in (ROOT / "tests").rglob("test_*.py"):
        named = re.findall(r"\b(?:dynamics|trajopt)\.\w+", path.read_text(encoding="utf-8"))
        imported[path] = {homes.get(name) for name in named} | {
            target for target, _ in imports_of(path, known)
        }
    return imported


def tests_of(module: str) -> list[str]:
    """The test files that stand nearest to a module along imports, its own folder's first."""
    imported = imports_of_tests()
    folder = module.rpartition(".")[0].replace(".", "_tests/", 1).replace(".", "/")
    reached = importers = {module}
    while importers:
        found = [path.relative_to(ROOT).as_posix() for path in imported if imported[path] & importers]
        if found:
            return sorted(found, key=lambda name: (f"tests/{folder}" not in name, name))
        importers = {name for name, target in places() if target in importers} - reached
        reached = reached | importers
    return []


def first_failure(fault: Fault, copy: Path) -> str:
    """The test that fails with a fault first, or an empty text."""
    _, module, line, column, text, other = fault
    path = copy / modules()[module].relative_to(ROOT)
    source = path.read_bytes()
    lines = source.split(b"\n")
    before, after = lines[line - 1][:column], lines[line - 1][column:]
    lines[line - 1] = before + after.replace(text.encode(), other.encode(), 1)
    path.write_bytes(b"\n".join(lines))
    command = [sys.executable, "-m", "pytest", "-x", "-n", "0", "-p", "no:cacheprovider", *tests_of(module)]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    options = {"cwd": copy, "env": environment, "capture_output": True, "text": True, "timeout": LONGEST}
    try:
        run = subprocess.run(command, **options)
    except subprocess.TimeoutExpired:
        return f"no end after {LONGEST:.0f} s"
    finally:
        path.write_bytes(source)
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - |$)", run.stdout, re.MULTILINE)
    return "" if run.returncode in (0, 5) else failed[1] if failed else f"pytest: {run.returncode}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--first", type=int, default=1, help="number of the first fault")
    parser.add_argument("--last", type=int, default=100, help="and of the last")
    chosen = parser.parse_args()
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "checkout-index", "--all", f"--prefix={folder}/"], cwd=ROOT, check=True)
        for number, fault in enumerate(drawn(chosen.last), 1):
            if number >= chosen.first:
                caught = first_failure(fault, Path(folder))
                count += bool(caught)
                place = "{0:9} {1}:{2} {4} -> {5}".format(*fault)
                print(f"{number:4} {place}  {caught or 'NOT CAUGHT'}", flush=True)
    print(f"{count} of {chosen.last - chosen.first + 1} caught")


if __name__ == "__main__":
    main()
