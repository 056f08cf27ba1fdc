"""The rooms of the packages, and which may import which.

    python scripts/architecture.py  prints counts: files per folder, lengths, arrows, circles

Every import counts, those for types and those inside functions too, but for `DOORS` and `NAMED`. The tree is
held against these tables by tests/project_tests/test_architecture.py; `architecture_picture.py` draws it.
"""

from __future__ import annotations

import ast
import functools
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("dynamics", "trajopt", "problems")
Place = Literal["top", "types", "function"]  # of an import in its file

#: Room -> rooms of the same package that it may import; what those may import is allowed too.
MAY_IMPORT: dict[str, str] = {
    "trajopt.base": "",
    "trajopt.splines": "base",
    "trajopt.graph": "base",
    "trajopt.solvers": "base",
    "trajopt.terms": "graph",
    "trajopt.library": "splines terms",
    "trajopt.taylor_models": "splines graph",
    "trajopt.problem": "splines terms solvers",
    "trajopt.transcription": "problem",
    "trajopt.solution": "transcription",
    "trajopt.checks": "solution taylor_models",
    "trajopt.display": "solution",
    "trajopt.certificates": "checks display",
    "trajopt.archive": "solution",
    "trajopt.plot": "display",
    "trajopt.parametric": "solution",
    "trajopt.embedded": "parametric",
    "trajopt.refinement": "checks",
    "trajopt.certified": "certificates refinement",
    "trajopt.verification": "checks",
    "trajopt.api": "verification archive embedded refinement certificates",
    "trajopt.studies": "api",
    "trajopt.report": "api plot",
    "trajopt.adapters": "api",
    "dynamics.errors": "",
    "dynamics.arguments": "errors",
    "dynamics.model": "arguments",
    "dynamics.kernels": "model",
    "dynamics.threads": "kernels",
    "dynamics.algorithms": "kernels",
    "dynamics.quantities": "algorithms",
    "dynamics.regressors": "kernels",
    "dynamics.couplings": "model",
    "dynamics.blocks": "quantities couplings",
    "dynamics.muscles": "blocks",
    "dynamics.rigid_body_model": "blocks",
    "dynamics.coupled_model": "blocks",
    "dynamics.formats": "muscles rigid_body_model coupled_model",
    "dynamics.papers": "rigid_body_model",
    "dynamics.kernel_warmup": "rigid_body_model regressors muscles",
    "problems.gallery": "human moves recipe",
    "problems.human": "recipe",
    "problems.recipe": "",
    "problems.moves": "",
    "problems.identification": "moves",
    "problems.catalogue": "recipe",
    "problems.cli": "catalogue human moves identification",
}

#: Module -> rooms above it that methods of its class open, by imports inside functions and for types alone.
DOORS: dict[str, str] = {
    "trajopt.solution.solution": "archive certificates checks display parametric verification",
    "trajopt.solution.phases_solution": "archive certificates verification",
    "trajopt.problem.problem": "display",
}

#: Modules whose class the files of their own room, from which it is made, name for types alone.
NAMED = ("trajopt.problem.problem", "trajopt.solution.solution")


def modules() -> dict[str, Path]:
    """Module name -> file, over all packages; a package has the name of its folder."""
    found = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
            found[name.removesuffix(".__init__")] = path
    return found


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file, parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"))


TEXTS = re.compile(r'"""(?s:.*?)"""')  # of several lines: no line in them is code
IMPORTS = re.compile(r"^([ \t]*)((?:from [\w.]+ import (?:\([^)]*\)|[^\n(]+))|import [^\n]+)", re.MULTILINE)
TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:(?:[ \t].*)?\n)*", re.MULTILINE)


@functools.cache
def import_statements(path: Path) -> Mapping[ast.Import | ast.ImportFrom, Place]:
    """Import statements of a file and their places; relative imports left out.

    Their lines alone are parsed, a tenth of the time of the whole file; a test compares both.
    """
    text = TEXTS.sub('""', path.read_text(encoding="utf-8"))
    blocks = [block.span() for block in TYPES.finditer(text)]
    lines = list(IMPORTS.finditer(text))
    statements: dict[ast.Import | ast.ImportFrom, Place] = {}
    for node, line in zip(ast.parse("\n".join(line[2] for line in lines)).body, lines, strict=True):
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not node.level):
            for_types = any(start < line.start() < end for start, end in blocks)
            statements[node] = "types" if for_types else "function" if line[1] else "top"
    return statements


def imports_of(path: Path, known: Mapping[str, Path]) -> Iterator[tuple[str, Place]]:
    """Our own modules that a file imports, with the place of each import."""
    for node, place in import_statements(path).items():
        if isinstance(node, ast.Import):
            yield from ((alias.name, place) for alias in node.names if alias.name in known)
            continue
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            if inner in known:
                yield inner, place
            elif node.module and node.module in known:
                yield node.module, place


@functools.cache
def places() -> Mapping[tuple[str, str], set[Place]]:
    """All pairs (module, module that it imports), with the places where it does.

    Faces of packages are left out: editors need their imports.
    """
    known = modules()
    pairs: dict[tuple[str, str], set[Place]] = defaultdict(set)
    for name, path in known.items():
        if path.name != "__init__.py":
            for target, place in imports_of(path, known):
                if target != name:
                    pairs[name, target].add(place)
    return pairs


def doors() -> set[tuple[str, str]]:
    """The pairs that `DOORS` allows."""
    return {
        (name, target)
        for (name, target), where in places().items()
        if "top" not in where and room_of(target).rpartition(".")[2] in DOORS.get(name, "").split()
    }


@functools.cache
def edges() -> frozenset[tuple[str, str]]:
    """All pairs (module, module that it imports) but for those that `DOORS` and `NAMED` allow."""
    named = {
        (name, target)
        for (name, target), where in places().items()
        if where == {"types"} and target in NAMED and room_of(name) == room_of(target)
    }
    return frozenset(places().keys() - doors() - named)


def room_of(module: str) -> str:
    """`trajopt.splines.basis` -> `trajopt.splines`; a problem of the library is in `problems`."""
    package, _, rest = module.partition(".")
    room = f"{package}.{rest.partition('.')[0]}" if rest else package
    return room if room in MAY_IMPORT else package


def allowed(room: str) -> set[str]:
    """Every room of the same package that a room may import, through others too."""
    package = room.partition(".")[0]
    found: set[str] = set()
    for name in MAY_IMPORT.get(room, "").split():
        direct = f"{package}.{name}"
        found |= {direct} | allowed(direct)
    return found


def forbidden() -> list[tuple[str, str]]:
    """Imports inside a package that run against the arrows."""
    found = []
    for source, target in sorted(edges()):
        one, other = room_of(source), room_of(target)
        within = source.partition(".")[0] == target.partition(".")[0]
        if within and one != other and one in MAY_IMPORT and other not in allowed(one):
            found.append((source, target))
    return found


def circles(pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Groups of modules that import each other in a loop: strongly connected components of more than one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = list(pairs)
    names = sorted({name for pair in pairs for name in pair})
    place = {name: index for index, name in enumerate(names)}
    rows, columns = ([place[pair[side]] for pair in pairs] for side in (0, 1))
    matrix = coo_array(([1] * len(pairs), (rows, columns)), shape=(len(names), len(names)))
    _, labels = connected_components(matrix, directed=True, connection="strong")
    groups: dict[int, list[str]] = defaultdict(list)
    for name, label in zip(names, labels, strict=True):
        groups[int(label)].append(name)
    return [group for group in groups.values() if len(group) > 1]


def floors(pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Room -> 0 for one that imports no other, else one above the highest that it imports."""
    below: dict[str, set[str]] = defaultdict(set)
    for source, target in pairs:
        below[source].add(target)
        below.setdefault(target, set())

    def height(room: str) -> int:
        return 1 + max((height(other) for other in below[room]), default=-1)

    return {room: height(room) for room in below}


def room_edges() -> set[tuple[str, str]]:
    """Pairs (room, room that some file of it imports), those that are forbidden left out."""
    pairs = {(room_of(a), room_of(b)) for a, b in edges() - set(forbidden())}
    return {(one, other) for one, other in pairs if one != other}


def summary(room: str) -> str:
    """The first sentence of a room's docstring."""
    path = ROOT / room.replace(".", "/")
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(parsed(source)) or ""
    return " ".join(text.partition("\n\n")[0].split())


def function_lengths(path: Path) -> list[int]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(parsed(path))
        if isinstance(node, kinds)
    ]


def main() -> None:
    """Print the counts."""
    known = modules()
    folders: dict[str, int] = defaultdict(int)
    for path in known.values():
        folders[path.parent.relative_to(ROOT).as_posix()] += path.name != "__init__.py"
    for folder, count in sorted(folders.items()):
        print(f"{folder:40} {count:4d} files")
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in known.values())
    functions = [length for path in known.values() for length in function_lengths(path)]
    print(f"lines of a file: median {statistics.median(lengths):g}, largest {lengths[-1]}")
    print(f"lines of a function: median {statistics.median(functions):g}, largest {max(functions)}")
    print(f"rooms: {len(floors(room_edges()))}, floors: {1 + max(floors(room_edges()).values())}")
    print(f"arrows between files: {len(edges())}, between rooms: {len(room_edges())}")
    print(f"circles: {len(circles(edges()))}")
    for circle in circles(edges()):
        print("   ", ", ".join(circle))
    for source, target in forbidden():
        print(f"against the arrows: {source} imports {target}")


if __name__ == "__main__":
    main()
