"""Checks of bounds and guesses as users give them, and their broadcast to one number per component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base import arguments
from trajopt.base.arguments import numbers, short_repr
from trajopt.base.errors import (
    InfeasibleBoundsError,
    NotFiniteError,
    OptionError,
    ShapeError,
)
from trajopt.solvers.solver import ENDLESS

WIDEST = 10_000  # components of a parameter or an additional curve


def bound_of(
    value: ArrayLike | None, absent: float, width: int, label: str, names: Sequence[str] = ()
) -> NDArray:
    """A bound (width,), `absent` where it is None or beyond 1e20; ShapeError or NotFiniteError if it is none.

    value : of all components, or one each, None among them
    absent : -inf for a lower bound, inf for an upper one, a number for a finite value
    """
    array = numbers(filled(value, absent), f"a bound of '{label}'")
    if np.any(np.isnan(array)):
        raise NotFiniteError(f"a bound of '{label}' is NaN: use an infinity for a bound that is absent")
    if array.ndim > 1 or (array.ndim == 1 and array.size != width):
        whose = f" ({', '.join(names)})" if any(names) else ""
        raise ShapeError(
            f"numbers of shape {array.shape} are given for the {width} components{whose} of '{label}': give "
            "one for all, or one each"
        )
    wrong = -np.sign(absent) * array >= ENDLESS if np.isinf(absent) else np.isinf(array)
    if np.any(wrong):
        which = "lower" if absent < 0.0 else "upper"
        what = f"the {which} bound" if np.isinf(absent) else "an entry"
        raise NotFiniteError(
            f"{what} of '{label}' is {array[wrong].ravel()[0]}, which nothing can meet: "
            f"{'leave it out, or swap the two bounds' if np.isinf(absent) else 'give finite numbers'}"
        )
    if np.isinf(absent):
        array = np.where(np.sign(absent) * array >= ENDLESS, absent, array)
    return np.broadcast_to(array, (width,)).copy()


def filled(value: Any, absent: float) -> Any:
    """A value, or a list, with `absent` in place of None."""
    if value is None:
        return absent
    if isinstance(value, list | tuple):
        return [absent if each is None else each for each in value]
    return value


def equal_to(value: ArrayLike, width: int, label: str, names: Sequence[str] = ()) -> NDArray:
    """A value (width,) that a term must have; NotFiniteError where it is NaN or infinite."""
    if not np.all(np.isfinite(numbers(value, f"the value of '{label}'"))):
        raise NotFiniteError(
            f"'{label}' has to equal {short_repr(value)}: give finite numbers; a free component is None "
            "in start_at and end_at, and has the bounds -inf and inf in subject_to"
        )
    return bound_of(value, 0.0, width, label, names)


def bounds_or_value(
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    equals: ArrayLike | None,
    width: int,
    label: str,
    names: Sequence[str] = (),
) -> tuple[NDArray, NDArray]:
    """Lower and upper bounds (width,) of a constraint from the arguments of `Problem.subject_to`.

    A component that is None has no bound.
    """
    if equals is not None and (lower is not None or upper is not None):
        raise OptionError(f"'{label}' has both equals and bounds: give one of them")
    if equals is not None:
        value = equal_to(filled(equals, 0.0), width, label, names)
        is_free = [equal is None for equal in equals] if isinstance(equals, list | tuple) else False
        return np.where(is_free, -np.inf, value), np.where(is_free, np.inf, value)
    low = bound_of(lower, -np.inf, width, label, names)
    high = bound_of(upper, np.inf, width, label, names)
    if np.any(low > high):
        worst = int(np.argmax(low > high))
        where = f" in component {names[worst]}" if names and names[worst] else ""
        raise InfeasibleBoundsError(
            f"'{label}' has lower bound {low[worst]} above upper bound {high[worst]}{where}: "
            "swap or widen them"
        )
    return low, high


def component_names(kind: str, name: str, components: object) -> tuple[str, ...]:
    """Names of the components of an unknown as a tuple; OptionError where they are no list of names."""
    is_list = isinstance(components, list | tuple)
    if not is_list or not all(isinstance(component, str) and component for component in components):
        raise OptionError(
            f"{kind} '{name}' has the components {short_repr(components)}: give a list of names such "
            "as ('x', 'y')"
        )
    return tuple(components)


def unknown(
    kind: str, name: str, lower, upper, guess, width: int, named: int = 0
) -> tuple[NDArray, NDArray, NDArray]:
    """Bounds and guess of an unknown, (width,) each; the guess is the middle of finite bounds.

    named : how many components have names, 0 where none has
    """
    arguments.check_count(f"the width of {kind} '{name}'", width, 1, WIDEST, ShapeError)
    label = f"{kind} '{name}'"
    written = filled(lower, -np.inf), filled(upper, np.inf), 0.0 if guess is None else guess
    parts = [numbers(part, f"a bound or the guess of {label}") for part in written]
    size = max(width, named, *(part.size for part in parts))
    if named not in (0, size):
        raise ShapeError(f"{label} has {size} components but {named} names: name each of them")
    if any(part.ndim > 1 or part.size not in (1, size) for part in parts):
        shapes = ", ".join(str(part.shape) for part in parts)
        raise ShapeError(f"{label} has bounds and guess of shapes {shapes}: give numbers or ({size},)")
    lower, upper, given = (np.broadcast_to(part, (size,)) for part in parts)
    low, high = bounds_or_value(lower, upper, None, size, f"{kind} {name}")
    if guess is None:
        return low, high, middle_of(low, high)
    return low, high, equal_to(given, size, f"the guess of {kind} {name}")


def middle_of(lower: NDArray, upper: NDArray) -> NDArray:
    """The middles of bounds (width,); zero, or the nearest value to it, where one is missing."""
    bounded = np.isfinite(lower) & np.isfinite(upper)
    middle = np.clip(0.0, lower, upper)
    middle[bounded] = 0.5 * (lower[bounded] + upper[bounded])
    return middle


def index_of(name: Any, names: Sequence[str], kind: str = "joint") -> int:
    """The number of a coordinate by its name; UnknownNameError, with similar names, for another name."""
    arguments.check_known(kind, name, names)
    return list(names).index(name)


def refuse_again(name: str, kind: str, known: Mapping[str, Any]) -> None:
    """OptionError where a name is known already."""
    arguments.name(name, f"the name of a {kind}")
    if name in known:
        raise OptionError(f"the problem has {kind} '{name}' already: give the second one another name")
