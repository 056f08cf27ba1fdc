"""Checks of bounds and guesses as users give them, and their broadcast to one number per component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.errors import InfeasibleBoundsError, NotFiniteError, ShapeError


def numbers(value: Any, what: str) -> NDArray[np.float64]:
    """`value` as a float array; ShapeError where it holds anything but numbers."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ShapeError(f"{what} is {value!r}: give a number or an array of numbers") from error


def bound_of(
    value: ArrayLike | None, absent: float, width: int, label: str, names: Sequence[str] = ()
) -> NDArray:
    """A bound (width,), `absent` where it is None; ShapeError or NotFiniteError where it does not fit."""
    array = numbers(absent if value is None else value, f"a bound of '{label}'")
    if np.any(np.isnan(array)):
        raise NotFiniteError(f"a bound of '{label}' is NaN: use an infinity for a bound that is absent")
    if array.ndim > 1 or (array.ndim == 1 and array.size != width):
        whose = f" ({', '.join(names)})" if len(names) > 1 else ""
        raise ShapeError(
            f"a bound of '{label}' has shape {array.shape} but the term has {width} components{whose}"
        )
    return np.broadcast_to(array, (width,)).copy()


def unknown(kind: str, name: str, lower, upper, guess, width: int) -> tuple[NDArray, NDArray, NDArray]:
    """Bounds and guess of an unknown, (width,) each; the guess is the middle of finite bounds."""
    if not isinstance(width, (int, np.integer)) or width < 1:
        raise ShapeError(f"{kind} '{name}' has width {width!r}: give a whole number of at least 1")
    written = (lower, upper, 0.0 if guess is None else guess)
    parts = [numbers(part, f"a bound or the guess of {kind} '{name}'") for part in written]
    size = max(width, *(part.size for part in parts))
    if any(part.ndim > 1 or part.size not in (1, size) for part in parts):
        shapes = ", ".join(str(part.shape) for part in parts)
        raise ShapeError(
            f"{kind} '{name}' has bounds and guess of shapes {shapes}: give numbers or ({size},)"
        )
    low, high, start = (np.broadcast_to(part, (size,)).copy() for part in parts)
    if guess is None:
        bounded = np.isfinite(low) & np.isfinite(high)
        start = np.clip(0.0, low, high)
        start[bounded] = 0.5 * (low[bounded] + high[bounded])
    if not np.all(low <= high) or not np.all(np.isfinite(start)):
        raise InfeasibleBoundsError(
            f"{kind} '{name}' has bounds [{low}, {high}] and guess {start}: order the bounds, guess a number"
        )
    return low, high, start
