"""Provenance of a point of a study: the code that builds its problem, the software, and inputs that it reads.

A pickle names functions by their module, so the table of a study would not change when their code does. The
digest covers the content of every such module and, recursively, of the user's modules that its source
imports, at its top or inside functions. It does not cover installed packages, the standard library and this
framework. Modules that are imported by a computed name, and files that a function reads, are seen where the
problem is built: `recorded`.

Workers must have the same versions of trajopt, its sources, and the libraries that affect results.

A point that is recalled from a folder is solved again where a file or an environment variable that was read
while its problem was built has changed since. Files are seen by Python's audit event `open`, variables where
a user's code reads `os.environ`. Not seen are files that libraries in C open themselves, which files a folder
holds, answers from the network, the time, and what a module read when it was imported by this process before
the study began.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
import os
import pickletools
import platform
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

from trajopt.base.errors import LONGEST_NAME, ClusterError
from trajopt.solution.records import installed_versions

FRAMEWORK = ("trajopt", "dynamics")  # not the code of a problem
LIBRARY = "problems"  # the code of problems, also where it is installed
INSTALLED = ("site-packages", "dist-packages")  # folders of installed packages
STANDARD = Path(sysconfig.get_path("stdlib"))  # folder of the standard library
LONGEST = 2 * LONGEST_NAME  # characters of a module's name and a function's
FOR_TYPES = ("TYPE_CHECKING", "typing.TYPE_CHECKING")  # conditions that no run fulfils

Files = Callable[[str], tuple[tuple[str, Path], ...]]  # of a module and the packages above it
Import = tuple[int, str | None, tuple[str, ...]]  # level, module and names of a statement, None for `import`


def short_digest(content: bytes) -> str:
    """Twelve hexadecimal digits of some bytes (SHA-256)."""
    return hashlib.sha256(content).hexdigest()[:12]  # 48 bits: no two of a million points agree by chance


def names_in_pickle(content: bytes) -> frozenset[str]:
    """All texts of a pickle that may name a module; functions that it holds by value are in the pickle."""
    texts = (argument for _, argument, _ in pickletools.genops(content) if isinstance(argument, str))
    # protocol 0 joins the module and the name of a function by a space
    parts = (part for text in texts if len(text) <= LONGEST for part in text.split(" "))
    return frozenset(part for part in parts if part.replace(".", "_").isidentifier())


def code_of_names(names: Iterable[str]) -> str:
    """Digest of the user's modules among the named ones, and of the user's modules that they import."""
    return _digest_of(_imported(sorted(names), _finder(sys.path)))


def code_of_file(path: Path) -> str:
    """Digest of the user's modules that a Python file imports; the file's own content is left out."""
    files = _finder([str(path.resolve().parent), *sys.path])
    return _digest_of(_imported(_imports(path.read_bytes(), path.stem, path, False, files), files))


def _digest_of(sources: dict[str, bytes]) -> str:
    parts = (
        name.encode() + b"\0" + short_digest(content).encode() for name, content in sorted(sources.items())
    )
    return short_digest(b"\n".join(parts))


def _finder(folders: Sequence[str]) -> Files:
    """`_files` in these folders, which looks for every name once: most modules import the same ones."""
    return functools.cache(lambda name: tuple(_files(name, folders)))


def _imported(names: Iterable[str], files: Files) -> dict[str, bytes]:
    """Module -> content, of all user's modules among `names` and of those that they import."""
    found: dict[str, bytes] = {}
    waiting, known = list(names), set()
    while waiting:
        name = waiting.pop()
        for module, path in files(name):
            # A package that is named itself may give out, on first use, what it imports for type checkers;
            # a package above a named module is executed only.
            whole = module == name and path.name == "__init__.py"
            if (module, whole) in known:
                continue
            known.add((module, whole))
            with suppress(OSError):  # a module in an archive, or one that was removed
                found[module] = found.get(module) or path.read_bytes()
                waiting += _imports(found[module], module, path, whole, files)
    return found


def _files(name: str, folders: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """A user's module and the packages above it, each with its file; nothing for any other text."""
    parts = name.split(".")
    top = parts[0]
    if not all(part.isidentifier() for part in parts) or top in FRAMEWORK:
        return
    for count in range(1, len(parts) + 1):
        module = ".".join(parts[:count])
        path = _file_of(module, parts[:count], folders)
        if path is not None and (top == LIBRARY or not is_installed(path)):
            yield module, path


def is_installed(path: Path) -> bool:
    """True if a file belongs to an installed package or to the standard library."""
    return bool(set(path.parts) & set(INSTALLED)) or path.is_relative_to(STANDARD)


def _file_of(module: str, parts: Sequence[str], folders: Sequence[str]) -> Path | None:
    """The file of a module that is loaded, or that an import would find; None where there is none."""
    loaded = getattr(sys.modules.get(module), "__file__", None)
    if loaded is not None:
        return Path(loaded)
    for folder in folders:
        place = os.path.join(folder, *parts)  # thousands of names: objects of pathlib take twice the time
        for path in (os.path.join(place, "__init__.py"), f"{place}.py"):
            if os.path.isfile(path):
                return Path(path)
    return None


def _imports(source: bytes, module: str, path: Path, whole: bool, files: Files) -> Iterator[str]:
    """Every module that a source imports; `whole` counts the imports for type checkers, too."""
    package = module.split(".")[: None if path.name == "__init__.py" else -1]
    for level, origin, names in _statements(source, whole):
        if origin is None and not level:
            yield from names
            continue
        above = package[: len(package) - level + 1] if level else []
        origin = ".".join([*above, *filter(None, [origin])])
        for name in names:
            inner = f"{origin}.{name}".lstrip(".")
            yield inner if inner in dict(files(inner)) else origin


@functools.lru_cache(maxsize=4096)
def _statements(source: bytes, whole: bool) -> tuple[Import, ...]:
    """All imports of a source in their order, parsed once in a process for all studies."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):  # a compiled module, or one that cannot be imported
        return ()
    return tuple(
        (node.level, node.module, tuple(alias.name for alias in node.names))
        if isinstance(node, ast.ImportFrom)
        else (0, None, tuple(alias.name for alias in node.names))
        for node in _executed(tree, whole)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def _executed(tree: ast.AST, whole: bool) -> Iterator[ast.AST]:
    """All nodes of a source, without those below `if TYPE_CHECKING:` unless it is wanted whole."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) in FOR_TYPES and not whole:
            for other in node.orelse:  # `else:` of it runs
                yield other
                yield from _executed(other, whole)
        else:
            yield node
            yield from _executed(node, whole)


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


ABSENT = ""  # the digest of a file that is not there, or a variable that is not set
FILE, VARIABLE = "file ", "environment "  # what the names of inputs begin with
OWN = tuple(Path(__file__).parents[3] / name for name in (*FRAMEWORK, LIBRARY))  # covered by their versions
KERNELS = (".nbi", ".nbc")  # endings of compiled code in numba's caches


class _Reads:
    """Files that this process has read while it recorded, and the digests of their content at that time.

    A module that one build imports is not read again by the next: what any build read counts for all later
    ones, with the content that was read.
    """

    def __init__(self) -> None:
        self.active = 0
        self.is_heard = False
        self.new: set[str] = set()
        self.digests: dict[str, str] = {}
        self.lock = threading.Lock()

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The audit hook: a file that is opened to be read."""
        if event == "open" and self.active and isinstance(arguments[0], str | bytes):
            path, mode, flags = arguments
            if "r" in mode if mode else not flags & (os.O_WRONLY | os.O_RDWR):
                self.new.add(FILE + os.path.abspath(os.fsdecode(path)))

    def digest_new(self) -> None:
        """Digests of what was read since the last call, of files and variables of the user."""
        for name in tuple(self.new):
            source = _source_of(name)
            if name.startswith(VARIABLE) or _is_users(source.removeprefix(FILE)):
                self.digests[source] = _digest(source)
        self.new.clear()


_READS = _Reads()


@contextmanager
def recorded() -> Iterator[None]:
    """Files and variables that are read within become inputs."""
    with _READS.lock:
        if not _READS.is_heard:
            sys.addaudithook(_READS.hear)
            _hear_variables()
            _READS.is_heard = True
        _READS.active += 1
    try:
        yield
    finally:
        with _READS.lock:
            _READS.active -= 1
            _READS.digest_new()


def inputs() -> dict[str, str]:
    """Name -> digest of the content that was read, of all inputs of this process."""
    return dict(sorted(_READS.digests.items()))


def changed(known: Mapping[str, str]) -> list[str]:
    """Names of the inputs whose content differs from what it was."""
    return [name for name, digest in known.items() if _digest(name) != digest]


def _digest(name: str) -> str:
    if name.startswith(VARIABLE):
        value = os.environ.get(name.removeprefix(VARIABLE))
        return ABSENT if value is None else short_digest(os.fsencode(value))
    try:
        with open(name.removeprefix(FILE), "rb") as stream:
            return short_digest(stream.read())
    except (OSError, ValueError):
        return ABSENT


def _source_of(path: str) -> str:
    """The source of a module that was read as bytecode; any other path as it is."""
    try:
        return importlib.util.source_from_cache(path) if path.endswith(".pyc") else path
    except ValueError:
        return path


def _is_users(name: str) -> bool:
    path = Path(name)
    of_system = path.is_relative_to("/proc") or path.is_relative_to("/dev") or path.is_relative_to("/sys")
    ours = any(path.is_relative_to(folder) for folder in OWN)
    return not (of_system or ours or path.suffix in KERNELS or is_installed(path))


def _hear_variables() -> None:
    """Let `os.environ` note the names that a user's code asks for."""
    kind: Any = type(os.environ)
    read = kind.__getitem__

    def noted(self: object, name: str) -> str:
        if _READS.active and self is os.environ and _asked_by_user():
            _READS.new.add(VARIABLE + name)
        return read(self, name)

    kind.__getitem__ = noted


def _asked_by_user() -> bool:
    """True if the first caller outside the standard library is no installed package and not ours."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        standard = Path(name).is_relative_to(STANDARD) and "site-packages" not in Path(name).parts
        if not (standard or name.startswith("<frozen")):
            return _is_users(name)
        frame = frame.f_back
    return False
