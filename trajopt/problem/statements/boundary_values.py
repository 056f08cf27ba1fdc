"""Boundary values as users give them: numbers, or None for a coordinate that stays free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.arguments import numbers, shown
from trajopt.errors import NotFiniteError, OptionError, ShapeError


def bounds_of_values(value: Any, name: str, joints: Sequence[str]) -> tuple[NDArray, NDArray]:
    """Lower and upper bounds (n,) that fix the given coordinates and leave those that are None free.

    Raises ShapeError, NotFiniteError or, where nothing is fixed, OptionError.
    """
    listed = isinstance(value, (list, tuple))
    free = np.array([each is None for each in value] if listed else [False], dtype=bool)
    array = numbers([0.0 if each is None else each for each in value] if listed else value, name)
    if array.shape not in ((), (len(joints),)):
        raise ShapeError(
            f"{name} has shape {array.shape} but the dynamics has n = {len(joints)} joints "
            f"({', '.join(joints)})"
        )
    if not np.all(np.isfinite(array)):
        raise NotFiniteError(f"{name} is {shown(array)}: give finite numbers, None for what is free")
    if free.size and free.all():
        raise OptionError(f"{name} leaves all of {', '.join(joints)} free: leave it out")
    every = np.ones(len(joints))
    return np.where(free, -np.inf, array) * every, np.where(free, np.inf, array) * every
