"""Runs a batched function of this package on several threads; nothing uses threads unless asked to.

Kernels release the interpreter's lock, so pieces of a batch run at the same time. Worth it for thousands of
nodes: handing out a piece costs about 50 us, and putting matrices together copies them once.
"""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false
from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from dynamics.arguments import number_array, short_repr
from dynamics.errors import DynamicsError, ShapeError
from dynamics.kernels.node_batch import LANES
from dynamics.model.kinematic_tree import KinematicTree, checked_model

Result = TypeVar("Result")

MOST = 1024  # threads: more than any machine runs at a time


def in_threads(
    function: Callable[..., Result],
    model: KinematicTree,
    *arrays: ArrayLike,
    threads: int = 2,
    **options: object,
) -> Result:
    """function(model, *arrays, **options), the first axis of the arrays divided among `threads` threads.

    function : one of this package that returns an array or a dataclass of arrays; the result is bit for bit
        that of one thread
    arrays : all (K, ...) with one K; options are handed on whole
    Raises ShapeError where the first axes differ, DynamicsError for another number of threads than 1 to 1024,
    and what function raises.
    """
    if not callable(function):
        raise DynamicsError(
            f"the function is {short_repr(function)}; give one of this package, dynamics.rnea say"
        )
    if not isinstance(threads, int | np.integer) or isinstance(threads, bool) or not 1 <= threads <= MOST:
        raise DynamicsError(f"threads is {short_repr(threads)}; give a whole number from 1 to {MOST}")
    checked_model(model)
    given = [number_array(array, f"array {i + 1}") for i, array in enumerate(arrays)]
    lengths = {array.shape[0] if array.ndim else 0 for array in given}
    if not given:
        raise ShapeError("no array is given; give those of the function, q, v and a say")
    if len(lengths) != 1:
        raise ShapeError(f"the first axes of the arrays have lengths {sorted(lengths)}; they must be equal")
    pieces = node_ranges(lengths.pop(), threads)
    if len(pieces) == 1:
        return function(model, *given, **options)
    with ThreadPoolExecutor(len(pieces)) as pool:
        jobs = [
            pool.submit(function, model, *(array[piece] for array in given), **options) for piece in pieces
        ]
        return joined([job.result() for job in jobs])


def node_ranges(nodes: int, threads: int) -> list[slice]:
    """At most `threads` ranges of whole blocks of lanes, so that every node keeps its lane."""
    blocks = -(-nodes // LANES)
    share = max(1, -(-blocks // threads)) * LANES
    return [slice(start, min(start + share, nodes)) for start in range(0, nodes, share)] or [slice(0, 0)]


def joined(parts: list[Any]) -> Any:
    """Arrays, or dataclasses of arrays, put together along the first axis."""
    first = parts[0]
    if is_dataclass(first):
        names = [field.name for field in fields(first)]
        return type(first)(*(joined([getattr(part, name) for part in parts]) for name in names))
    return np.concatenate(parts)
