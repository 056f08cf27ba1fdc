"""Keys of kernels change with all that their machine code is made from, and with nothing else."""

import dis
import functools
import inspect
import os
from types import ModuleType

import numba
import numpy as np
import pytest

from dynamics.algorithms.rnea import _rnea
from dynamics.kernels import compile as compiling
from dynamics.kernels import kernel_key as keys
from dynamics.kernels.compile import inlined, kernel, subroutine

OPTIONS = {"nogil": True, "fastmath": {"contract"}}
HELPER = '''
FACTOR, TABLE, PAIR = 2.0, np.array([1.0, 2.0]), (1, 2)
def scaled(x):
    """Scaled."""
    return FACTOR * x  # once
def unused(x):
    return x
'''
KERNEL = '''
def top(x, n=3):
    """A sum."""
    for i in range(n):
        x = x + deeper(x) + helper.TABLE[i % 2] + SHIFT
    return x
def deeper(x):
    return scaled(x) * PAIR[0]
'''


def modules(helper=HELPER, top=KERNEL, shift=0.5):
    """Two modules made from texts; the function `top` of the second one reads the first."""
    first, second = ModuleType("first"), ModuleType("second")
    first.np = np
    exec(helper, vars(first))
    vars(second).update(scaled=first.scaled, PAIR=first.PAIR, helper=first, SHIFT=shift)
    exec(top, vars(second))
    return second


def key(module=None, options=OPTIONS, signature="(float64,)", target="cpu"):
    return keys.kernel_key((module or modules()).top, options, signature, target)


@pytest.mark.parametrize(
    "edited",
    [
        {},
        {"helper": "\n\n# moved\n" + HELPER},
        {"helper": HELPER.replace("Scaled.", "Another text.")},
        {"helper": HELPER.replace('    """Scaled."""\n', "")},
        {"helper": HELPER.replace("# once", "# twice")},
        {"helper": HELPER.replace("def unused(x):\n    return x", "def unused(x):\n    return x + 1")},
        {"helper": HELPER + "OTHER = 3.0\n"},
        {"top": KERNEL.replace("FACTOR", "FACTOR").replace("    for", "\n    for")},
        {"top": KERNEL.replace('"""A sum."""', '"""Another sum."""')},
    ],
)
def test_texts_lines_and_what_is_not_reached_leave_a_key(edited):
    assert key(modules(**edited)) == key()


EDITS = [
    {"helper": HELPER.replace("FACTOR * x", "FACTOR + x")},
    {"helper": HELPER.replace("FACTOR * x", "x * FACTOR")},
    {"helper": HELPER.replace("FACTOR * x", "FACTOR * (x * 1)")},
    {"helper": HELPER.replace("FACTOR, TABLE, PAIR = 2.0", "FACTOR, TABLE, PAIR = 2.0000000000000004")},
    {"helper": HELPER.replace("FACTOR, TABLE, PAIR = 2.0", "FACTOR, TABLE, PAIR = 2")},
    {"helper": HELPER.replace("FACTOR, TABLE, PAIR = 2.0", "FACTOR, TABLE, PAIR = np.float64(2.0)")},
    {"helper": HELPER.replace("[1.0, 2.0]", "[1.0, 2.0000000000000004]")},
    {"helper": HELPER.replace("[1.0, 2.0]", "[1.0, 2.0, 0.0]")},
    {"helper": HELPER.replace("[1.0, 2.0]", "[[1.0, 2.0]]")},
    {"helper": HELPER.replace("[1.0, 2.0]", "[1.0, 2.0], np.float32")},
    {"helper": HELPER.replace("(1, 2)", "(2, 2)")},
    {"helper": HELPER.replace("(1, 2)", "(True, 2)")},
    {"helper": HELPER + "import functools\nscaled = functools.lru_cache(lambda x: x)\n"},
    {"helper": HELPER + "import numba\nscaled = numba.njit(scaled)\n"},
    {"helper": HELPER + "import numba\nscaled = numba.njit(scaled, fastmath=True)\n"},
    {"helper": HELPER + "import numba\nscaled = numba.njit(scaled, inline='always')\n"},
    {"helper": HELPER + "scaled = (lambda f: lambda x: f(x))(scaled)\n"},
    {"helper": HELPER + "scaled = (lambda k: lambda x: k * x)(1.0)\n"},
    {"helper": HELPER + "scaled = (lambda k: lambda x: k * x)(-0.0)\n"},
    {"helper": HELPER + "scaled = (lambda k: lambda x: k * x)(0.0)\n"},
    {"helper": HELPER + "def scaled(x, f=FACTOR): return f * x\n"},
    {"helper": HELPER + "def scaled(x, *, f=FACTOR): return f * x\n"},
    {"helper": HELPER + "def scaled(x, *, f=PAIR): return f[0] * x\n"},
    {"top": KERNEL.replace("n=3", "n=4")},
    {"top": KERNEL.replace("helper.TABLE", "helper.PAIR")},
    {"top": KERNEL + "def range(n): return (0, 1, n)\n"},
    {"top": KERNEL.replace("x + deeper(x)", "x - deeper(x)")},
    {"top": KERNEL.replace("PAIR[0]", "PAIR[1]")},
    {"top": KERNEL.replace("PAIR[0]", "(lambda y: y + 1)(x)")},
    {"top": KERNEL.replace("PAIR[0]", "(lambda y: y + 2)(x)")},
    {"top": KERNEL.replace("PAIR[0]", "np.sin(x)"), "shift": 0.25},
    {"shift": 0.25},
    {"shift": float("nan")},
    {"shift": np.float32(0.5)},
    {"shift": np.array(0.5)},
    {"shift": np.array([0.5, 0.5])[::2]},
]


def test_every_edit_of_what_is_compiled_changes_a_key():
    found = [key(), *(key(modules(**edited)) for edited in EDITS)]
    found += [key(options={"nogil": True}), key(options={**OPTIONS, "fastmath": {"contract", "nnan"}})]
    found += [key(signature="(complex128,)"), key(target="generic")]
    assert len(set(found)) == len(found)


def test_versions_settings_and_options_of_a_part_change_a_key(monkeypatch):
    found = [key()]
    for where, name, value in (
        (numba, "__version__", "0.0.1"),
        (np, "__version__", "0.0.1"),
        (keys.llvmlite, "__version__", "0.0.1"),
        (keys.sys.implementation, "cache_tag", "cpython-299"),
        (keys.config, "BOUNDSCHECK", 1),
        (keys.config, "OPT", 0),
        (keys.config, "ENABLE_AVX", 0),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(where, name, value)
            found.append(key())
    for decorator in (inlined, subroutine, kernel, numba.njit):
        module = modules()
        module.scaled = decorator(module.scaled)
        found.append(key(module))
    assert len(set(found)) == len(found)


def test_a_change_in_any_function_that_a_kernel_reaches_changes_its_key(monkeypatch):
    """Inverse dynamics: an operation, or a constant, of each function in turn, in five files."""
    function, options = _rnea.py_func, _rnea._cache._options
    reached = reached_functions(function)
    assert len(reached) > 40 and len({each.__module__ for each in reached}) == 5
    found = {keys.kernel_key(function, options, "", "")}
    for each in reached:
        kept = each.__code__
        monkeypatch.setattr(keys, "_SEEN", {})
        each.__code__ = changed_code(kept)
        try:
            found.add(keys.kernel_key(function, options, "", ""))
        finally:
            each.__code__ = kept
    assert len(found) == 1 + len(reached)


def reached_functions(function):
    """Python functions that a kernel reaches by name, by another way than keys do."""
    found, waiting = {}, [function]
    while waiting:
        each = waiting.pop()
        each = getattr(each, "py_func", each)
        if inspect.isfunction(each) and each.__module__ not in keys._WRITERS and each not in found:
            found[each] = None
            waiting += [each.__globals__[name] for name in each.__code__.co_names if name in each.__globals__]
            waiting += inspect.getclosurevars(each).nonlocals.values()
    return list(found)


def changed_code(code):
    """The code of a function with a subtraction for its first sum, or another last constant."""
    raw = bytearray(code.co_code)
    for place in range(0, len(raw), 2):
        if dis.opname[raw[place]] == "BINARY_OP" and raw[place + 1] in (0, 5):
            raw[place + 1] ^= 10 if raw[place + 1] == 0 else 15
            return code.replace(co_code=bytes(raw))
    for place in range(0, len(raw), 2):
        if dis.opname[raw[place]] in ("RESUME", "NOP"):
            raw[place] = dis.opmap["RESUME" if raw[place] == dis.opmap["NOP"] else "NOP"]
            return code.replace(co_code=bytes(raw))
    raise AssertionError("nothing to change")


def test_an_edit_of_what_writes_instructions_changes_every_key(monkeypatch):
    first = key()
    for name, writer in keys._WRITERS.items():
        code = compile("import numba\nx = 1\n", writer.path, "exec")
        with monkeypatch.context() as changed:
            changed.setitem(keys._WRITERS, name, keys._Writer(code, writer.path, writer.state))
            keys._writers_content.cache_clear()
            assert key() != first, name
    keys._writers_content.cache_clear()
    assert {"dynamics.kernels." + name for name in ("simd", "tracing", "pipeline", "sincos")} <= set(
        keys._WRITERS
    )
    assert key() == first


def test_a_constant_that_writers_import_changes_every_key(monkeypatch):
    first = key()
    monkeypatch.setattr("dynamics.kernels.node_batch.LANES", 4)
    keys._writers_content.cache_clear()
    changed = key()
    monkeypatch.undo()
    keys._writers_content.cache_clear()
    assert changed != first == key()


def test_what_has_no_key_is_named_and_not_kept(monkeypatch, tmp_path):
    for shift, told in ((object(), "object object"), (np.array([None]), "array of objects")):
        with pytest.raises(keys.NoKey, match=told):
            key(modules(shift=shift))
    with pytest.raises(keys.NoKey, match="imports a module while it runs"):
        key(modules(top=KERNEL.replace("    for", "    import math\n    for")))


def test_a_value_that_changes_in_the_process_is_not_kept_under_its_new_key(monkeypatch, tmp_path):
    """A part that Numba has compiled holds the value that it read then."""
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    assert doubled_kernel()(1.0) == 2.0 and len(list(tmp_path.iterdir())) == 1
    monkeypatch.setitem(globals(), "TWO", 3.0)
    changed = doubled_kernel()
    assert changed(1.0) in (2.0, 3.0) and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(keys.NoKey, match="has changed since it was first compiled"):
        keys.kernel_key(changed.py_func, OPTIONS, "", "")


TWO = 2.0


@subroutine
def _twice(x):
    return x * TWO if x > 0.0 else x


def doubled_kernel():
    return kernel(lambda x: _twice(x))


def test_an_edit_of_a_writer_after_its_import_ends_the_keeping(monkeypatch):
    name, writer = next(iter(keys._WRITERS.items()))
    monkeypatch.setitem(keys._WRITERS, name, keys._Writer(writer.code, writer.path, (0, 0)))
    with pytest.raises(keys.NoKey, match=f"{name} was edited after it was imported"):
        key()


@functools.cache
def _made(factor):
    return kernel(lambda x: x * factor)


def test_kernels_of_one_name_and_line_are_kept_apart(monkeypatch, tmp_path):
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    assert [_made(factor)(1.0) for factor in (2.0, 3.0)] == [2.0, 3.0]
    assert len({path.name for path in tmp_path.iterdir()}) == 2
    again = kernel(_made(2.0).py_func)
    assert again(1.0) == 2.0 and sum(again.stats.cache_hits.values()) == 1


def test_a_kernel_under_the_name_of_another_is_not_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(compiling, "cache_folder", lambda: tmp_path)
    made = [kernel(lambda x: x + 1.0), kernel(lambda x: x + 2.0)]
    assert [each(1.0) for each in made] == [2.0, 3.0]
    first, second = sorted(tmp_path.iterdir())
    content = first.read_bytes()
    os.replace(second, first)
    second.write_bytes(content)
    second.chmod(0o600)
    assert [kernel(each.py_func)(1.0) for each in made] == [2.0, 3.0]
