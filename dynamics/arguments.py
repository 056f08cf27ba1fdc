"""Checks of arguments of public functions: what came, which argument, what was expected.

Run once where a user's call enters the package, never inside a kernel. `trajopt/base/arguments.py` states
the same checks with the errors of that package: the two packages do not import each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np

from dynamics.errors import ShapeError, UnknownNameError

SHOWN = 80  # characters of a value in a message
LISTED = 6  # names of a list in a message

# kinds of NumPy arrays that are no numbers, in words; NumPy would convert most of them silently
_NO_NUMBERS = {
    "U": "text",
    "S": "bytes",
    "M": "dates",
    "m": "time differences",
    "V": "records",
}


def short_repr(value: object) -> str:
    """`value` as messages print it: its repr, cut to 80 characters, or its type where it has none."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a foreign object's repr may raise anything
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def is_listed(value: object) -> TypeGuard[Sequence[Any]]:
    """True for a list, a tuple or another sequence that is no text."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def list_names(names: Iterable[object]) -> str:
    """The first six names and how many more there are, "none" where there are none."""
    every = [str(name) for name in names]
    more = f" and {len(every) - LISTED} more" if len(every) > LISTED else ""
    return (", ".join(every[:LISTED]) or "none") + more


def number_array(value: object, what: str) -> np.ndarray:
    """`value` as an array of float64, or complex128 where it is complex; ShapeError names `what` otherwise.

    Refused where NumPy would convert silently: None becomes NaN, text and dates become numbers, the mask of
    a masked array is dropped.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise ShapeError(f"{what} is a masked array, whose mask would be lost; fill it: array.filled(...)")
    try:
        found = np.asarray(value)
        if found.dtype.kind == "O" and any(isinstance(x, str | bytes | None) for x in found.flat):
            raise TypeError("it holds None or text")
        if found.dtype.kind in _NO_NUMBERS:
            raise TypeError(f"it holds {_NO_NUMBERS[found.dtype.kind]}")
        return found.astype(np.complex128 if found.dtype.kind == "c" else np.float64, copy=False)
    except MemoryError:
        raise
    except Exception as error:  # a foreign object's conversion may raise anything
        raise ShapeError(
            f"{what} is {short_repr(value)}; give numbers, as an array or nested lists{_reason(error)}"
        ) from error


def real_array(value: object, what: str) -> np.ndarray:
    """`value` as an array of float64; ShapeError names `what` where it holds no real numbers."""
    found = number_array(value, what)
    if found.dtype.kind == "c":
        raise ShapeError(f"{what} is {short_repr(value)}; give real numbers")
    return found


def names_of(value: str | Iterable[str], what: str) -> tuple[str, ...]:
    """One name or several as a tuple; UnknownNameError where `value` is neither."""
    try:
        names = (value,) if isinstance(value, str) else tuple(value)
    except Exception as error:  # iterating over a foreign object may raise anything
        raise UnknownNameError(f"{what} is {short_repr(value)}; give a name or a list of names") from error
    for name in names:
        if not isinstance(name, str):
            raise UnknownNameError(f"{what} holds {short_repr(name)}; give names")
    return names


def _reason(error: Exception) -> str:
    words = " ".join(str(error).split())
    return f" ({words[:SHOWN]})" if words else ""
