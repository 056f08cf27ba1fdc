"""Iterations of all solves that an answer came from: its starts, its meshes, the rounds of its refinement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajopt.base.files.array_file import ArrayFile
from trajopt.solvers.solver import Program, Result

COLUMNS = 4  # of the table that a file holds: number of the solve, then the three of an iteration


@dataclass(frozen=True, eq=False)
class SolveHistory:
    """Iterations of one solve, (k, 3): number, objective of the problem, largest scaled violation."""

    iterations: NDArray[np.float64]


_LIST: ContextVar[list[SolveHistory] | None] = ContextVar("histories", default=None)


@contextmanager
def recorded_solves() -> Iterator[list[SolveHistory]]:
    """The histories of all solves that end within the block, in this thread, in their order.

    A list beside the solves, as a refinement passes on the solution of its last solve and not those before.
    """
    histories: list[SolveHistory] = []
    token = _LIST.set(histories)
    try:
        yield histories
    finally:
        _LIST.reset(token)


def record_solve(nlp: Program, result: Result) -> Result:
    """Add a result to the histories that are recorded, if any, and return it."""
    histories = _LIST.get()
    if histories is not None and len(result.history):
        number, objective, violation = result.history.T
        unscaled = objective / getattr(nlp, "objective_scale", 1.0)
        histories.append(SolveHistory(np.column_stack([number, unscaled, violation])))
    return result


def table_of(histories: Sequence[SolveHistory]) -> NDArray[np.float64]:
    """All iterations as one array, (k, COLUMNS)."""
    numbered = [
        np.column_stack([np.full(len(each.iterations), number), each.iterations])
        for number, each in enumerate(histories)
    ]
    return np.concatenate(numbered) if numbered else np.empty((0, COLUMNS))


def histories_of(file: ArrayFile) -> tuple[SolveHistory, ...]:
    """What a file tells of the solves before; empty in files of former versions."""
    if "solves" not in file:
        return ()
    table = file.numbers("solves", (None, COLUMNS), finite=False)
    if not np.all(np.diff(table[:, 0], prepend=0.0) >= 0.0):
        file.refuse("the numbers of solves do not rise")
    borders = np.flatnonzero(np.diff(table[:, 0])) + 1
    return tuple(SolveHistory(part[:, 1:]) for part in np.split(table, borders) if len(part))
