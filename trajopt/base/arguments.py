"""Checks of arguments of public functions: what came, which argument, what was expected.

Run once where a user's call enters the package, never at every evaluation. `dynamics/arguments.py` states the
checks of arrays with the errors of that package: the two packages do not import each other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, wraps
from inspect import Parameter, signature
from types import FunctionType
from typing import Any, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from trajopt.base.errors import (
    LONGEST_NAME,
    CallError,
    NotFiniteError,
    OptionError,
    ShapeError,
    TrajoptError,
    UnknownNameError,
    near_matches,
)

SHOWN, DOTS = 80, "..."  # characters of a value in a message, and the end of a text that was cut
LISTED = 6  # names of a list in a message
MOST = 2**31 - 1  # the largest whole number that the solvers' C code holds
MOST_STARTS = 10_000  # of one problem

P = TypeVar("P")
_MISSING = object()

# kinds of NumPy arrays that are no real numbers, in words; NumPy would convert most of them silently
_NO_NUMBERS = {
    "U": "text",
    "S": "bytes",
    "M": "dates",
    "m": "time differences",
    "V": "records",
    "c": "complex numbers",
    "b": "True or False",
}


def implements(candidate: object, protocol: type[P]) -> TypeGuard[P]:
    """True if an object has all members of a protocol, like isinstance.

    Before Python 3.12 isinstance lists the members anew at every call, which takes 20 microseconds.
    """
    return all(getattr(candidate, name, missing) is not missing for name, missing in _members(protocol))


@cache
def _members(protocol: type) -> tuple[tuple[str, object], ...]:
    """Names, and what an object without that member has in its place: a method that is None is missing."""
    names = [name for name in dir(protocol) if not name.startswith("_")]
    return tuple((name, None if callable(getattr(protocol, name)) else _MISSING) for name in names)


def short_repr(value: object) -> str:
    """`value` as messages print it: its repr, cut to 80 characters, or its type where it has none."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a foreign object's repr may raise anything
        return f"an object of type {type(value).__name__}"
    return shorten(text)


def shorten(text: str, longest: int = SHOWN) -> str:
    """A text cut to so many characters, with dots at its end where it was."""
    return text if len(text) <= longest else f"{text[: longest - len(DOTS)]}{DOTS}"


def list_names(names: Iterable[object]) -> str:
    """The first six names and how many more there are, "none" where there are none."""
    every = [str(name) for name in names]
    more = f" and {len(every) - LISTED} more" if len(every) > LISTED else ""
    return (", ".join(every[:LISTED]) or "none") + more


def pluralize(count: int, noun: str) -> str:
    """A count with its noun: "1 round", "2 rounds"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def numbers(value: object, what: str) -> NDArray[np.float64]:
    """`value` copied into a float array; ShapeError, naming `what`, where it holds anything but real numbers.

    What was stated stays when the caller changes the array afterwards. Refused where NumPy would convert
    silently: None becomes NaN, text and dates become numbers, the mask of a masked array is dropped.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise ShapeError(f"{what} is a masked array, whose mask would be lost: fill it, array.filled(...)")
    try:
        found = np.asarray(value)
        if found.dtype.kind == "O" and any(isinstance(x, str | bytes | None) for x in found.flat):
            raise TypeError("it holds None or text")
        if found.dtype.kind in _NO_NUMBERS:
            raise TypeError(f"it holds {_NO_NUMBERS[found.dtype.kind]}")
        return found.astype(np.float64)
    except MemoryError:
        raise
    except Exception as error:  # a foreign object's conversion may raise anything
        words = " ".join(str(error).split())[:SHOWN]
        reason = f" ({words})" if words else ""
        raise ShapeError(
            f"{what} is {short_repr(value)}: give a number or an array of numbers{reason}"
        ) from error


def finite_numbers(value: object, what: str) -> NDArray[np.float64]:
    """`numbers`; NotFiniteError, naming `what`, where one is NaN or infinite."""
    found = numbers(value, what)
    if not np.all(np.isfinite(found)):
        raise NotFiniteError(f"{what} is {short_repr(value)}: give finite numbers, not NaN or infinity")
    return found


def number(value: object, what: str) -> float:
    """`value` as one finite float; ShapeError or NotFiniteError, naming `what`, where it is none."""
    found = finite_numbers(value, what)
    if found.shape != ():
        raise ShapeError(f"{what} has shape {found.shape}: give one number")
    return float(found)


def unit(value: object, whose: str) -> str:
    """`value` itself, a unit as text, "" for none; OptionError, naming `whose`, for anything else."""
    if not isinstance(value, str) or len(value) > SHOWN or any(sign in value for sign in "<>\n"):
        raise OptionError(
            f"the unit of {whose} is {short_repr(value)}: give a text of {SHOWN} characters at most, 'm/s'"
        )
    return value


def name(value: object, what: str) -> str:
    """`value` itself; OptionError, naming `what`, unless it is a string of 1 to 200 characters."""
    if not isinstance(value, str) or not value.strip():
        raise OptionError(f"{what} is {short_repr(value)}: give a name, a string that is not empty")
    if len(value) > LONGEST_NAME:
        raise OptionError(f"{what} has {len(value)} characters: give a name of at most {LONGEST_NAME}")
    return value


def is_whole(value: object) -> TypeGuard[int]:
    """True if a value is an integer, of Python or NumPy; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """True if a value is an integer or a floating-point number, of Python or NumPy."""
    return is_whole(value) or isinstance(value, float | np.floating)


def is_listed(value: object) -> TypeGuard[Sequence[Any]]:
    """True for a list, a tuple or another sequence that is no text."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def check_flag(what: str, value: object) -> None:
    """Raise OptionError unless `value` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise OptionError(f"{what} = {short_repr(value)}: expected True or False")


def check_choice(
    what: str, value: object, choices: Collection[str | None], error: type[TrajoptError] = OptionError
) -> None:
    """Raise an error unless `value` is one of some texts, or None where that is among them."""
    if not isinstance(value, str | None) or value not in choices:
        raise error(f"{what} = {short_repr(value)}: expected {' or '.join(map(repr, choices))}")


def check_known(
    kind: str, name: object, known: Iterable[str], error: type[TrajoptError] = UnknownNameError
) -> None:
    """Raise an error unless `name` is among those of the things of a kind, with similar names or all."""
    names = list(known)
    if not isinstance(name, str) or name not in names:
        near = near_matches(name, names)
        there = list_names(names) if near else ", ".join(names) or "none"
        raise error(f"no {kind} is called {short_repr(name)}{near}: there are {there}")


def check_instance(
    what: str, value: object, kind: type, example: str, error: type[TrajoptError] = OptionError
) -> None:
    """Raise an error unless `value` is an instance of a class or of a protocol; the class itself is none."""
    if isinstance(value, type) or not isinstance(value, kind):
        raise error(f"{what} is {short_repr(value)}: give {example}")


def check_function(what: str, value: object, others: str = "") -> None:
    """Raise OptionError unless `value` is a function; `others`: what else it may be."""
    if not callable(value) or isinstance(value, type):
        raise OptionError(f"{what} is {short_repr(value)}: give a function of a node{others}")


def check_positive(what: str, value: object, *, optional: bool = False, or_zero: bool = False) -> None:
    """Raise OptionError unless `value` is a finite number above zero (or None, or zero, where allowed)."""
    if optional and value is None:
        return
    in_range = is_number(value) and 0 <= value <= sys.float_info.max  # no integer that no float holds
    if not in_range or (value == 0 and not or_zero):
        expected = f"a finite number{', 0 or more' if or_zero else ' above 0'}{' or None' * optional}"
        raise OptionError(f"{what} = {short_repr(value)}: expected {expected}")


def check_count(
    what: str, value: object, least: int = 0, most: int = MOST, error: type[TrajoptError] = OptionError
) -> None:
    """Raise an error unless `value` is a whole number from `least` to `most`."""
    if not is_whole(value) or value < least:
        raise error(f"{what} = {short_repr(value)}: expected a whole number, {least} or more")
    if value > most:
        raise error(f"{what} = {short_repr(value)}: expected a whole number, {most} at most")


# What to write, where a function takes that, and the words of users and other programs for it
INSTEAD = {
    "upper": "max maximum most ub upper_bound",
    "lower": "min minimum least lb lower_bound",
    "equals": "equal equal_to value eq",
    "over": "at when where nodes",
    "q": "position positions angle angles joints",
    "v": "velocity velocities speed speeds qd dq",
    "a": "acceleration accelerations qdd ddq",
    "x": "state states",
    "weight": "factor scale",
    "intervals": "n N nodes spans steps segments",
    "duration": "T t tf time seconds",
    "time_limit": "timeout max_time max_seconds",
    "progress='auto'": "verbose print_level disp",
    "max_iterations": "max_iter maxiter iterations",
    "tolerance": "tol",
    "solver=trajopt.Ipopt(max_iterations=300)": "max_iter maxiter iterations max_iterations",
    "solver=trajopt.Ipopt(tol=1e-8)": "tol tolerance",
    "solver=trajopt.Ipopt()": "method",
}
_COLLECTING = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
CHECKED = "__checked_calls__"


def with_checked_calls(given: P, package: str) -> P:
    """A function whose calls with arguments that it does not take raise CallError; other values themselves.

    Of a class the constructor and the public methods are replaced in place, those that it inherits from
    classes of the package too.
    """
    checked: Any = given
    if isinstance(given, FunctionType):
        checked, home = _with_checked_calls(given), vars(sys.modules[given.__module__])
        if home.get(given.__name__) is given:
            home[given.__name__] = checked  # where other processes look for it
    if isinstance(given, type) and not issubclass(given, BaseException):
        for kind in given.__mro__:
            if kind.__module__.partition(".")[0] == package:
                _check_methods(kind)
    return checked


def check_calls(exported: dict[str, object], package: str) -> None:
    """Make all functions and classes among the names of a module `with_checked_calls`."""
    for name, value in list(exported.items()):
        if not name.startswith("_"):
            exported[name] = with_checked_calls(value, package)


def _check_methods(kind: type) -> None:
    named = {name: member for name, member in vars(kind).items() if name == "__init__" or name[:1] != "_"}
    for name, member in named.items():
        is_wrapped = type(member) in (classmethod, staticmethod)
        function = getattr(member, "__func__", None) if is_wrapped else member
        if isinstance(function, FunctionType):
            checked = _with_checked_calls(function)
            setattr(kind, name, type(member)(checked) if is_wrapped else checked)


@cache
def _with_checked_calls(function: FunctionType) -> Callable[..., object]:
    if hasattr(function, CHECKED):
        return function

    @wraps(function)
    def call(*args: object, **keywords: object) -> object:
        try:
            return function(*args, **keywords)
        except TypeError as error:
            if (reason := _refusal(function, args, keywords)) is None:
                raise
            refused = CallError(reason)
            refused.__cause__ = error
        raise refused

    setattr(call, CHECKED, True)
    return call


def _refusal(function: FunctionType, args: tuple[object, ...], keywords: Mapping[str, object]) -> str | None:
    """The arguments that a function does not take, in words; None where it takes these."""
    whole = signature(function)
    try:
        whole.bind(*args, **keywords)
    except TypeError as error:
        reason = str(error)
    else:
        return None
    called = type(args[0]).__name__ if function.__name__ == "__init__" else function.__name__
    single = (p.name for p in whole.parameters.values() if p.kind not in _COLLECTING)
    taken = [name for name in single if name not in ("self", "cls")]
    several = [f"*{p.name}" for p in whole.parameters.values() if p.kind is Parameter.VAR_POSITIONAL]
    takes = f"it takes {', '.join([*several, *taken]) or 'none'}"
    unknown = next((name for name in keywords if name not in taken), None)
    if unknown is None:
        return f"{called}: {reason}: {takes}"
    meant = (text for text, words in INSTEAD.items() if unknown in words.split())
    instead = next((text for text in meant if text.partition("=")[0] in taken), "")
    if instead:
        return f"{called} has no argument '{unknown}': write {instead}{'=' * ('=' not in instead)}"
    return f"{called} has no argument '{unknown}'{near_matches(unknown, taken)}: {takes}"
