"""Boundary values as users give them: numbers, or None for a coordinate that stays free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.arguments import numbers, shown
from trajopt.errors import NotFiniteError, OptionError, ShapeError
from trajopt.graph.block import Dynamics, NamedCoordinates


def bounds_of_letters(
    dynamics: Dynamics, place: str, given: Mapping[str, Any]
) -> Iterator[tuple[str, NDArray, NDArray]]:
    """(letter, lower and upper bounds) of each value that is given: see `Problem.start_at`.

    place : "start" or "end"
    given : values of q, v, a and x, None where there are none
    Raises OptionError where both q and x are given, and what `bounds_of_values` raises.
    """
    if given["q"] is not None and given["x"] is not None:
        raise OptionError(f"q and x at the {place} are both given: x are the states of a system, q joints")
    for letter, value in given.items():
        if value is not None:
            yield letter, *bounds_of_values(value, f"{letter} at the {place}", dynamics)


def bounds_of_values(value: Any, name: str, dynamics: Dynamics) -> tuple[NDArray, NDArray]:
    """Lower and upper bounds (n,) that fix the given coordinates and leave those that are None free.

    Raises ShapeError, NotFiniteError or, where nothing is fixed, OptionError.
    """
    joints = dynamics.joint_names
    listed = isinstance(value, (list, tuple))
    free = np.array([each is None for each in value] if listed else [False], dtype=bool)
    array = numbers([0.0 if each is None else each for each in value] if listed else value, name)
    if array.shape not in ((), (len(joints),)):
        raise ShapeError(
            f"{name} has shape {array.shape} but the dynamics has n = {len(joints)} "
            f"{'states' if isinstance(dynamics, NamedCoordinates) else 'joints'} ({', '.join(joints)}): "
            "give one number for all, or one each"
        )
    if not np.all(np.isfinite(array)):
        raise NotFiniteError(f"{name} is {shown(array)}: give finite numbers, or None for a free one")
    if free.size and free.all():
        raise OptionError(f"{name} leaves all of {', '.join(joints)} free: leave it out")
    every = np.ones(len(joints))
    return np.where(free, -np.inf, array) * every, np.where(free, np.inf, array) * every
