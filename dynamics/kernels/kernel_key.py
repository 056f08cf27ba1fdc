"""Keys of compiled kernels: two kernels have one key only where their machine code is the same.

What Numba compiles is Python's bytecode. So a key is a digest of the bytecode of the kernel and of every
function that it reaches by name, without docstrings, lines and paths; of the values, arrays too, of all
constants that these read; of Numba's options; of the signature; of the modules in this folder that import
Numba or LLVM's writer, whole: they register overloads and write instructions, which names do not tell; of
versions and the processor. The objects that will be compiled are read, not files: a decorator, a closure or a
generated function counts as what it has made.

A kernel that reads anything else, an object of some class say, has no key and is not kept. Nor is one that
reaches a function whose constants have changed since an earlier key, or any after an edit of one of those
modules: Numba may have compiled what was there before.
"""

from __future__ import annotations

import dis
import hashlib
import importlib.util
import os
import pkgutil
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core import config
from numba.core.dispatcher import Dispatcher
from numba.extending import _Intrinsic  # pyright: ignore[reportPrivateImportUsage]

_FOLDER = __name__.rpartition(".")[0]
_WRITE = {"numba", "llvmlite"}
_FOREIGN = _WRITE | {"numpy", "math", "cmath", "operator", "_operator", "builtins"}
_PLAIN = {type(None), type(...), bool, int, float, complex, str, bytes, range, slice}
_ORDERED, _UNORDERED = {tuple, list}, {set, frozenset}
#: Settings of Numba that change machine code; those of the processor are part of its target.
_SETTINGS = (
    *(
        "OPT",
        "LOOP_VECTORIZE",
        "SLP_VECTORIZE",
        "ENABLE_AVX",
        "USING_SVML",
        "BOUNDSCHECK",
        "DEBUGINFO_DEFAULT",
    ),
    *("ENABLE_PROFILING", "EXTEND_VARIABLE_LIFETIMES", "LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS"),
    *("DEBUG_NRT", "NRT_STATS"),
)
_CONSTANT = {dis.opmap[name] for name in ("LOAD_CONST", "RETURN_CONST", "KW_NAMES") if name in dis.opmap}
_STORE_NAME, _IMPORT_NAME, _IMPORT_FROM = map(dis.opmap.get, ("STORE_NAME", "IMPORT_NAME", "IMPORT_FROM"))
_LINE_OR_TEXT = {"__doc__", "__firstlineno__"}


class NoKey(Exception):
    """No key can stand for what a kernel reads; the message names it."""


def kernel_key(function: Callable, options: dict[str, Any], signature: Any, target: Any) -> str:
    """32 hexadecimal digits for a function compiled with options for argument types and a processor.

    target : what Numba calls `magic_tuple`: architecture, name and features of the processor
    Raises NoKey.
    """
    reached = _Reached()
    reached.function(function)
    told = [_surroundings(), _writers_token(), *reached.told, _options(options), str(signature), str(target)]
    return _digest(told)[:32]


def _digest(told: list[str]) -> str:
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def _surroundings() -> str:
    """Versions and settings."""
    versions = numba.__version__, llvmlite.__version__, binding.llvm_version_info, np.__version__
    python = sys.implementation.cache_tag, sysconfig.get_config_var("EXT_SUFFIX")
    return repr((versions, python, [(name, getattr(config, name, None)) for name in _SETTINGS]))


@dataclass(frozen=True)
class _Scan:
    """Names and constants in bytecode, that of inner functions included.

    digest : of instructions and constants, without docstrings, lines and paths
    names : of globals and attributes
    imports : (module, name in it), the name empty for the module itself
    """

    digest: str
    names: tuple[str, ...]
    imports: tuple[tuple[str, str], ...]


@cache
def _scan(code: CodeType) -> _Scan:
    raw, names, imports = bytearray(code.co_code), list(code.co_names), []
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    told = [repr((code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, counts))]
    told.append(getattr(code, "co_exceptiontable", b"").hex())
    high = constant = 0
    for place in range(0, len(raw), 2):
        instruction, argument = raw[place], raw[place + 1] | high
        high = argument << 8 if instruction == dis.EXTENDED_ARG else 0
        if instruction in _CONSTANT:
            constant = len(told)
            told.append(_constant(code.co_consts[argument]))
            raw[place + 1] = 0  # a first docstring gives the other constants new numbers
        elif instruction == _STORE_NAME and code.co_names[argument] in _LINE_OR_TEXT:
            told[constant] = ""
        elif instruction == _IMPORT_NAME:
            imports.append((code.co_names[argument], ""))
        elif instruction == _IMPORT_FROM:
            imports.append((imports[-1][0], code.co_names[argument]))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            names += _scan(inner).names
            imports += _scan(inner).imports
    return _Scan(_digest([*told, raw.hex()]), tuple(dict.fromkeys(names)), tuple(dict.fromkeys(imports)))


def _constant(value: Any) -> str:
    return _scan(value).digest if isinstance(value, CodeType) else _token(value)


class _Reached:
    """Functions that a kernel reaches, each with its number and what stands for it in a key."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.told: list[str] = []

    def token(self, value: Any) -> str:
        """Text that represents a value in the key."""
        kind = type(value)
        if issubclass(kind, Dispatcher):
            told = {**value.targetoptions, "locals": value.locals}
            told["pipeline_class"] = value._compiler.pipeline_class
            return f"{kind.__name__}({_options(told)}, {self.function(value.py_func)})"
        if issubclass(kind, _Intrinsic):
            return f"{kind.__name__}({self.token(getattr(value, 'py_func', value._defn))})"
        if kind.__module__ == "functools" and hasattr(value, "__wrapped__"):
            return self.function(value.__wrapped__)
        if kind is FunctionType and not _has_version(value):
            whole = value.__module__ in _WRITERS and not value.__closure__
            return f"{value.__module__}.{value.__qualname__}" if whole else self.function(value)
        if kind in _ORDERED:
            return f"{kind.__name__}({', '.join(map(self.token, value))})"
        return _token(value)

    def function(self, function: Any) -> str:
        """The number of a function, which is told on the first call, with all that it reads."""
        if id(function) not in self.numbers:
            self.numbers[id(function)] = number = len(self.told)
            self.told.append("")
            read = dict(_read(function))
            _remember(function, {name: _as_compared(value) for name, value in read.items()})
            tokens = {name: self.token(value) for name, value in read.items()}
            self.told[number] = f"{_scan(function.__code__).digest} {tokens}"
        return f"function {self.numbers[id(function)]}"


def _read(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Values a function reads from outside itself: globals, attributes of modules, cells and defaults."""
    scan = _scan(function.__code__)
    if scan.imports:
        raise NoKey(f"{function.__qualname__} imports a module while it runs")
    for name in scan.names:
        if name in function.__globals__:
            yield from _attributes(name, function.__globals__[name], scan.names)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # what it names is made later, or never
            continue
        yield from _attributes(f"closure {name}", value, scan.names)
    yield "defaults", function.__defaults__ or ()
    for name, value in (function.__kwdefaults__ or {}).items():
        yield f"default {name}", value


def _attributes(name: str, value: Any, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """A value by its name; of a module without a version every attribute that the code may mean."""
    if not isinstance(value, ModuleType) or _of_version(value.__name__):
        yield name, value
        return
    for each in names:
        if hasattr(value, each):
            yield from _attributes(f"{name}.{each}", getattr(value, each), names)


_SEEN: dict[Any, Any] = {}  # function -> its code and what it read when a key was first made with it


def _remember(function: FunctionType, read: dict[str, Any]) -> None:
    found = function.__code__, read
    if _SEEN.setdefault(function, found) != found:
        raise NoKey(f"{function.__qualname__}, or what it reads, has changed since it was first compiled")


def _as_compared(value: Any) -> Any:
    """Functions as themselves, arrays by what is in them now."""
    if callable(value):
        return value
    return tuple(map(_as_compared, value)) if type(value) in _ORDERED else _token(value)


def _token(value: Any) -> str:
    """Text that represents a constant in the key."""
    kind = type(value)
    if kind in _PLAIN:
        return f"{kind.__name__} {value!r}"
    if kind in _ORDERED:
        return f"{kind.__name__}({', '.join(map(_token, value))})"
    if kind in _UNORDERED:
        return f"{kind.__name__}({', '.join(sorted(map(_token, value)))})"
    if kind is dict:
        return f"dict({', '.join(f'{_token(key)}: {_token(each)}' for key, each in value.items())})"
    if kind is np.ndarray or isinstance(value, np.generic):
        return _array_token(np.asanyarray(value), kind)
    if isinstance(value, np.dtype):
        return f"dtype {value!r}"
    if isinstance(value, np.ufunc):
        return f"ufunc {value.__name__}"
    if isinstance(value, ModuleType) and _of_version(value.__name__):
        return f"module {value.__name__}"
    if _has_version(value):
        return f"{value.__module__}.{value.__qualname__}"
    raise NoKey(f"a kernel reads {value!r:.200}, for which no key can stand")


def _array_token(array: np.ndarray, kind: type) -> str:
    if array.dtype.hasobject:
        raise NoKey("a kernel reads an array of objects")
    layout = array.shape, array.strides, array.flags.writeable, array.flags.aligned
    return f"{kind.__name__} {array.dtype!r} {layout} {hashlib.sha256(array.tobytes()).hexdigest()}"


def _has_version(value: Any) -> bool:
    """True if this is a function or class of a package whose version represents its code."""
    return callable(value) and hasattr(value, "__qualname__") and _of_version(value.__module__)


def _of_version(module: str | None) -> bool:
    return (module or "").partition(".")[0] in _FOREIGN


def _options(options: dict[str, Any]) -> str:
    """Text that represents options of Numba; a compiler's passes are a module of this folder."""
    classes = {name: option.__qualname__ for name, option in options.items() if isinstance(option, type)}
    return _token(dict(sorted({**options, **classes}.items())))


@dataclass(frozen=True)
class _Writer:
    """A module of this folder that imports Numba or LLVM's writer, as it was when this one was imported."""

    code: CodeType
    path: str
    state: Any


def _writers() -> dict[str, _Writer]:
    found = {}
    folder: Any = importlib.import_module(_FOLDER)
    for info in pkgutil.walk_packages(folder.__path__, f"{_FOLDER}."):
        spec: Any = importlib.util.find_spec(info.name)
        state, code = _state(spec.origin), spec.loader.get_code(info.name)
        if any(module.partition(".")[0] in _WRITE for module, _ in _scan(code).imports):
            found[info.name] = _Writer(code, spec.origin, state)
    return dict(sorted(found.items()))


def _state(path: str) -> tuple[int, int] | None:
    """Time and size of a file, which change when it is edited; None for one in an archive."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


_WRITERS = _writers()


def _writers_token() -> str:
    for name, writer in _WRITERS.items():
        if _state(writer.path) != writer.state:
            raise NoKey(f"{name} was edited after it was imported")
    return _writers_content()


@cache
def _writers_content() -> str:
    """The writers' code and the values that they import from other modules of this package."""
    reached, root = _Reached(), _FOLDER.partition(".")[0]
    for name, writer in _WRITERS.items():
        reached.told.append(f"{name} {_scan(writer.code).digest}")
        for module, wanted in _scan(writer.code).imports:
            if wanted and module.partition(".")[0] == root and module not in _WRITERS:
                value = getattr(importlib.import_module(module), wanted)
                reached.told.append(f"{wanted} {reached.token(value)}")
    return _digest(reached.told)
