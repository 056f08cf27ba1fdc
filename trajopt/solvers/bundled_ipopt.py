"""IPOPT as CasADi's wheels contain it, by IPOPT's C interface.

`BundledProblem` has the part of cyipopt's interface that `ipopt.py` uses. CasADi's own `nlpsol` would take
the functions of an NLP only as CasADi callbacks, and would give no iterate to the monitor. IPOPT's C
interface (IpStdCInterface.h of IPOPT 3.14) gives both.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.base.errors import OptionError

NAMES = (
    "libipopt.so.3",
    "libipopt.so",
    "libipopt.3.dylib",
    "libipopt.dylib",
    "libipopt-3.dll",
    "ipopt-3.dll",
)

_int, _bool, _double = ctypes.c_int, ctypes.c_bool, ctypes.c_double
_DTYPES = {_int: np.dtype(np.intc), _double: np.dtype(np.float64)}
_ints, _doubles, _handle = ctypes.POINTER(_int), ctypes.POINTER(_double), ctypes.c_void_p
_head = (_int, _doubles, _bool)  # n, x, whether x is new
_Values = ctypes.CFUNCTYPE(_bool, *_head, _doubles, _handle)  # of the objective or its gradient
_Rows = ctypes.CFUNCTYPE(_bool, *_head, _int, _doubles, _handle)
_Jacobian = ctypes.CFUNCTYPE(_bool, *_head, _int, _int, _ints, _ints, _doubles, _handle)
_Hessian = ctypes.CFUNCTYPE(
    _bool, *_head, _double, _int, _doubles, _bool, _int, _ints, _ints, _doubles, _handle
)
_Intermediate = ctypes.CFUNCTYPE(_bool, _int, _int, *[_double] * 8, _int, _handle)


class CyIpoptEvaluationError(Exception):
    """Raised by a function that cannot be evaluated at a point, as cyipopt's error of this name."""


class BundledProblem:
    """An NLP for IPOPT, as `cyipopt.Problem`.

    problem_obj : objective, gradient, constraints, jacobian, jacobianstructure; hessian and hessianstructure
        where there are second derivatives; intermediate. What has no constraints may lack theirs
    """

    def __init__(self, n: int, m: int, problem_obj: Any, lb: Any, ub: Any, cl: Any, cu: Any) -> None:
        self._n, self._m, self._functions = n, m, problem_obj
        empty = (np.empty(0, int), np.empty(0, int))
        structure = getattr(problem_obj, "jacobianstructure", lambda: empty)
        of_jacobian = structure()
        of_hessian = getattr(problem_obj, "hessianstructure", lambda: empty)()
        #: IPOPT holds these functions as long as it lives
        self._kept = [
            _Values(self._values("objective", 1)),
            _Rows(self._values("constraints", m)),
            _Values(self._values("gradient", n)),
            _Jacobian(self._entries("jacobian", of_jacobian)),
            _Hessian(self._entries("hessian", of_hessian)),
            _Intermediate(self._intermediate),
        ]
        low, high, row_low, row_high = (
            np.ascontiguousarray(bound, dtype=float).ctypes.data_as(_doubles) for bound in (lb, ub, cl, cu)
        )
        self._library = library()
        self._problem = self._library.CreateIpoptProblem(
            n, low, high, m, row_low, row_high,
            len(of_jacobian[0]), len(of_hessian[0]), 0, *self._kept[:-1],
        )  # fmt: skip
        if not self._problem:
            raise OptionError("IPOPT refuses the problem: its sizes or bounds are not usable")
        self._library.SetIntermediateCallback(self._problem, self._kept[-1])

    def add_option(self, name: str, value: str | int | float) -> None:
        """Set an option; TypeError where IPOPT refuses it."""
        library, key = self._library, name.encode()
        if isinstance(value, str):
            taken = library.AddIpoptStrOption(self._problem, key, value.encode())
        elif isinstance(value, int):
            taken = library.AddIpoptIntOption(self._problem, key, value)
        else:
            taken = library.AddIpoptNumOption(self._problem, key, float(value))
        if not taken:
            raise TypeError(f"IPOPT refuses {name} = {value!r}")

    def solve(
        self, start: Any, row_multipliers: Any = (), lower: Any = (), upper: Any = ()
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """The final point, and its status, multipliers and rows."""
        y, g, objective = np.array(start, dtype=float), np.zeros(self._m), np.zeros(1)
        mult_g, mult_low, mult_high = (
            np.array(given, dtype=float) if len(given) else np.zeros(size)
            for given, size in ((row_multipliers, self._m), (lower, self._n), (upper, self._n))
        )
        arrays = (y, g, objective, mult_g, mult_low, mult_high)
        pointers = [array.ctypes.data_as(_doubles) for array in arrays]
        status = self._library.IpoptSolve(self._problem, *pointers, None)
        info = {"status": status, "status_msg": b"", "g": g, "obj_val": float(objective[0])}
        return y, info | {"mult_g": mult_g, "mult_x_L": mult_low, "mult_x_U": mult_high}

    def get_current_iterate(self) -> dict[str, np.ndarray]:
        """The iterate that `intermediate` is called at; RuntimeError where there is none."""
        x, low, high = np.zeros((3, self._n))
        g, rows = np.zeros((2, self._m))
        # Addresses: a pointer that is cast, as by `data_as`, leaves a reference cycle each time.
        of_unknowns = self._n, x.ctypes.data, low.ctypes.data, high.ctypes.data
        of_rows = self._m, g.ctypes.data, rows.ctypes.data
        if not self._library.GetIpoptCurrentIterate(self._problem, False, *of_unknowns, *of_rows):
            raise RuntimeError("IPOPT has no current iterate")
        return {"x": x, "mult_x_L": low, "mult_x_U": high, "g": g, "mult_g": rows}

    def close(self) -> None:
        """Free IPOPT's memory."""
        if self._problem:
            self._library.FreeIpoptProblem(self._problem)
            self._problem = None
            self._kept = []

    # -- what IPOPT calls; an exception must not leave these functions ---------------------------------

    def _values(self, name: str, size: int) -> Callable[..., bool]:
        """The callback for numbers, which stand last before the user's data."""

        def fill(n: int, x: Any, new: bool, *rest: Any) -> bool:
            return size == 0 or _filled(rest[-2], size, getattr(self._functions, name), _copy(x, n))

        return fill

    def _entries(self, name: str, places: tuple[Any, Any]) -> Callable[..., bool]:
        """The callback for entries of a sparse matrix, or for their places where no values are asked for."""

        def fill(n: int, x: Any, new: bool, *rest: Any) -> bool:
            *given, count, rows, columns, values, _ = rest
            if not values:
                for target, numbers in zip((rows, columns), places, strict=True):
                    if count:
                        _view(target, count, _int)[:] = numbers
                return True
            weights = ()
            if name == "hessian":
                factor, m, multipliers, _new = given
                weights = (_copy(multipliers, m) if m else np.empty(0), factor)
            function = getattr(self._functions, name)
            return count == 0 or _filled(values, count, function, _copy(x, n), *weights)

        return fill

    def _intermediate(self, *values: Any) -> bool:
        intermediate = getattr(self._functions, "intermediate", None)
        return True if intermediate is None else bool(intermediate(*values[:-1]))


Problem = BundledProblem  # the name under which cyipopt has its own


@functools.cache
def library() -> Any:
    """The shared library in CasADi's folder; ImportError where there is none."""
    spec = importlib.util.find_spec("casadi")
    folder = Path(spec.origin or "").parent if spec else Path()
    path = next((folder / name for name in NAMES if (folder / name).is_file()), None)
    if path is None:
        raise ImportError(f"no library of IPOPT lies in CasADi's folder {folder}")
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"{path} cannot be loaded: {error}") from error
    arrays = [_doubles] * 6
    loaded.CreateIpoptProblem.restype = _handle
    loaded.CreateIpoptProblem.argtypes = [
        _int, _doubles, _doubles, _int, _doubles, _doubles, _int, _int, _int,
        _Values, _Rows, _Values, _Jacobian, _Hessian,
    ]  # fmt: skip
    loaded.FreeIpoptProblem.argtypes, loaded.FreeIpoptProblem.restype = [_handle], None
    loaded.IpoptSolve.argtypes, loaded.IpoptSolve.restype = [_handle, *arrays, _handle], _int
    loaded.SetIntermediateCallback.argtypes = [_handle, _Intermediate]
    loaded.GetIpoptCurrentIterate.argtypes = [
        _handle, _bool, _int, _handle, _handle, _handle, _int, _handle, _handle
    ]  # fmt: skip
    for name, kind in (("Str", ctypes.c_char_p), ("Num", _double), ("Int", _int)):
        option = getattr(loaded, f"AddIpopt{name}Option")
        option.argtypes, option.restype = [_handle, ctypes.c_char_p, kind], _bool
    loaded.SetIntermediateCallback.restype = loaded.GetIpoptCurrentIterate.restype = _bool
    return loaded


def version() -> str:
    """Version of the library; those before 3.14.18 do not report it, and have the interface of 3.14."""
    loaded = library()
    if not hasattr(loaded, "GetIpoptVersion"):
        return "3.14"
    numbers = [_int() for _ in range(3)]
    loaded.GetIpoptVersion(*map(ctypes.byref, numbers))
    return ".".join(str(number.value) for number in numbers)


def _copy(pointer: Any, size: int) -> np.ndarray:
    """A copy of IPOPT's array, which it may write over later."""
    return np.array(_view(pointer, size, _double))


def _view(pointer: Any, size: int, kind: Any) -> np.ndarray:
    """IPOPT's own array; NumPy's `as_array` casts the pointer, which leaves a reference cycle each time."""
    memory = (kind * size).from_address(ctypes.addressof(pointer.contents))
    return np.frombuffer(memory, _DTYPES[kind])  # NumPy would look up the type of `memory` each time


def _filled(target: Any, size: int, function: Callable[..., Any], *arguments: Any) -> bool:
    """Write what a function returns to IPOPT's array; False, a failed evaluation, where it raises."""
    try:
        _view(target, size, _double)[:] = function(*arguments)
    except Exception:  # the monitor keeps the reason and raises it after the solve
        return False
    return True
