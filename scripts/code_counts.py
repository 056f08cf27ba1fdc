"""Counts of the code: lines, numeric constants, literals, and names that are defined twice.

    python scripts/code_counts.py

A line of code is neither blank, comment, docstring nor import. A numeric constant is a number that
a module assigns to a name at its top. `docs/architecture.md` has the counts.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from pathlib import Path

from scripts.architecture import PACKAGES, TEXTS, modules, parsed

NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
}
DEFINED = re.compile(r"^(?:def|class) ([A-Za-z]\w*)", re.MULTILINE)
PLAIN = (0, 1, 2, 0.5)  # numbers that need no name


def code_lines(text: str) -> int:
    """Lines that are neither blank, comment, docstring nor import, and one for the end of a file."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        match getattr(node, "body", None):
            case [ast.Expr(value=ast.Constant(value=str())) as first, *_]:
                skipped.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    kept: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            kept.update(range(token.start[0], token.end[0] + 1))
    return len(kept - skipped)


def is_number(node: ast.expr) -> bool:
    """True if an expression is a number, with a sign or without."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )


def numeric_constants(tree: ast.Module) -> int:
    """Numbers that are assigned to names at the top of a module."""
    found = 0
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            found += sum(map(is_number, values))
    return found


def numeric_literals(tree: ast.Module) -> int:
    """Numbers anywhere in a module but 0, 1, 2 and 0.5."""
    numbers = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and is_number(node))
    return sum(node.value not in PLAIN for node in numbers)


def public_definitions(path: Path) -> list[str]:
    """Names of the functions and classes at the top of a module that begin with no underscore."""
    return DEFINED.findall(TEXTS.sub('""', path.read_text(encoding="utf-8")))


def names_defined_twice(package: str) -> dict[str, list[str]]:
    """Public functions and classes of a package that several of its modules define: name -> modules."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module, path in modules().items():
        if module.partition(".")[0] == package:
            for name in set(public_definitions(path)):
                homes[name].append(module)
    return {name: found for name, found in homes.items() if len(found) > 1}


def counts(package: str) -> dict[str, int]:
    """Files, lines of code, numeric constants, literals and names defined twice of a package."""
    found: Counter[str] = Counter()
    for module, path in modules().items():
        if module.partition(".")[0] == package:
            tree = parsed(path)
            found["files"] += 1
            found["lines of code"] += code_lines(path.read_text(encoding="utf-8"))
            found["numeric constants of modules"] += numeric_constants(tree)
            found["numeric literals besides 0, 1, 2, 0.5"] += numeric_literals(tree)
    found["public names defined twice"] = len(names_defined_twice(package))
    return dict(found)


def main() -> None:
    """Print the counts of all packages, and the names of trajopt that are defined twice."""
    for package in PACKAGES:
        print(package)
        for what, count in counts(package).items():
            print(f"    {count:6d}  {what}")
    for name, homes in sorted(names_defined_twice("trajopt").items()):
        print(f"{name} is defined in {', '.join(homes)}")


if __name__ == "__main__":
    main()
