"""Recipes: build functions that check their parameters and record them on the problem they return."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np

from trajopt import Phases, Problem
from trajopt.base.arguments import check_known, short_repr
from trajopt.base.errors import (
    NotFiniteError,
    OptionError,
    ProblemError,
    ShapeError,
)
from trajopt.problem.costs_and_constraints import Recipe

P = ParamSpec("P")  # the parameters of a build function, which type checkers and editors go on to see
Built = TypeVar("Built", bound=Problem | Phases)  # and what it returns


def recipe(build: Callable[P, Built], name: str | None = None) -> Callable[P, Built]:
    """Check every parameter against the defaults of `build`, and record all of them on the problem.

    The defaults are the declaration: a whole number stays one, a tuple of numbers keeps its shape (a single
    number counts for all of its entries), None accepts any literal. The built problem carries
    `problem.recipe = Recipe(name or the module's, every parameter)`, from which a saved solution is rebuilt.

    Raises UnknownNameError for a parameter that `build` does not have, OptionError for a value of another
    kind, ShapeError for another shape, NotFiniteError for NaN, ProblemError when `build` returns
    no problem; OptionError at once when a parameter of `build` has no default.
    """
    known_as = name or build.__module__.rpartition(".")[2]
    defaults = defaults_of(build)
    call: Callable[..., Any] = build

    @functools.wraps(build)
    def checked(**parameters: Any) -> Problem | Phases:
        for name in parameters:
            check_known(f"parameter of {known_as}", name, defaults)
        values = {
            name: like_default(parameters[name], default, f"parameter '{name}' of {known_as}")
            if name in parameters
            else default
            for name, default in defaults.items()
        }
        problem = call(**values)
        if not isinstance(problem, Problem | Phases):
            raise ProblemError(f"the build of {known_as} returned {problem!r}: return a trajopt.Problem")
        problem.recipe = Recipe(known_as, MappingProxyType(values))
        return problem

    return cast("Callable[P, Built]", checked)


def defaults_of(build: Callable[..., Any]) -> dict[str, Any]:
    """Parameter -> default of a build function; OptionError for one without a default."""
    defaults = {}
    for parameter in inspect.signature(build).parameters.values():
        if parameter.default is parameter.empty:
            raise OptionError(
                f"parameter '{parameter.name}' of {build.__module__}.{build.__name__} has no default: "
                "give it one, so that the problem can be built without arguments"
            )
        defaults[parameter.name] = parameter.default
    return defaults


def like_default(value: Any, default: Any, what: str) -> Any:
    """`value` as a plain Python value of the default's kind and shape."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if default is None:
        return literal(value, what)
    if isinstance(default, bool | str):
        if not isinstance(value, type(default)):
            raise OptionError(
                f"{what} is {short_repr(value)}: expected {type(default).__name__}, such as {default!r}"
            )
        return value
    if isinstance(default, int):
        if not isinstance(value, int | float) or isinstance(value, bool) or not is_whole(value):
            raise OptionError(f"{what} is {short_repr(value)}: expected a whole number, such as {default!r}")
        return int(value)
    if isinstance(default, float):
        return number(value, default, what)
    return numbers(value, default, what)


def literal(value: Any, what: str) -> Any:
    """`value` when it is made of None, booleans, numbers, strings and lists of them; lists become tuples."""
    if isinstance(value, list | tuple):
        return tuple(literal(entry, what) for entry in value)
    if value is None or isinstance(value, bool | str | int | float):
        return value
    raise OptionError(
        f"{what} is {short_repr(value)}: give numbers, texts or lists of them, which a file can keep"
    )


def number(value: Any, default: Any, what: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise OptionError(f"{what} is {short_repr(value)}: expected a number, such as {default!r}")
    try:
        found = float(value)
    except OverflowError:
        raise OptionError(f"{what} is {short_repr(value)}: expected a number of at most 1e308") from None
    if math.isnan(found):
        raise NotFiniteError(f"{what} is NaN: give a number, or leave it out for {default!r}")
    return found


def is_whole(value: float) -> bool:
    return isinstance(value, int) or value.is_integer()


def numbers(value: Any, default: Any, what: str) -> tuple:
    """`value` as nested tuples in the shape of the default; a single number is repeated."""
    if not isinstance(value, list | tuple):
        repeated = number(value, default, what)
        return tuple(
            numbers(repeated, entry, what) if isinstance(entry, tuple) else repeated for entry in default
        )
    if len(value) != len(default):
        raise ShapeError(f"{what} has {len(value)} entries: expected {len(default)}, such as {default!r}")
    return tuple(
        numbers(entry, like, what) if isinstance(like, tuple) else number(entry, like, what)
        for entry, like in zip(value, default, strict=True)
    )
