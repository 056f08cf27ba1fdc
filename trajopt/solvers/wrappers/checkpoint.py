"""Checkpoints of a running solve on disk, from which a killed solve starts again.

The file holds the last iterate, after the solve the point of its result, and a fingerprint of the NLP: its
bounds, and the values of its functions at its start. It is written to a temporary file and renamed, so that
a kill leaves the last checkpoint or none, never half of one; and not more often than every few seconds.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajopt.files.atomic_file import unreadable, whole_file
from trajopt.errors import OptionError, SolutionFileError
from trajopt.solvers.capabilities import with_options
from trajopt.solvers.solver import NLP, Callback, Iteration, Result, Solver, WarmStart
from trajopt.solvers.wrappers.nlp_wrapper import NLPWrapper

__all__ = ["Checkpointed"]

FORMAT = "trajopt checkpoint"
AGREEMENT = 1e-9  # relative, of bounds and values; machines differ by rounding, problems by more


@dataclass
class Checkpointed:
    """Checkpoints around `solver`: `solve(problem, Checkpointed(Ipopt(), path))`.

    every : seconds between two checkpoints; 0 writes one at every iteration
    resume : start from the checkpoint where the file exists; one of another problem raises SolutionFileError
    After the solve the file stays, with the point of the result.
    """

    solver: Solver
    path: str | os.PathLike[str]
    every: float = 5.0
    resume: bool = True
    written: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.every, int | float) and np.isfinite(self.every) and self.every >= 0.0):
            raise OptionError(f"every is {self.every!r}: give seconds between two checkpoints, 0 or more")
        if not Path(self.path).parent.is_dir():
            raise OptionError(f"{Path(self.path).parent} is no folder: make it before the solve")

    @property
    def without_checkpoints(self) -> Solver:
        """The solver itself, for NLPs other than the one asked for (those of a refinement)."""
        return self.solver

    def with_options(self, options: Mapping[str, Any]) -> Checkpointed:
        """The same around the solver with these options."""
        return replace(self, solver=with_options(self.solver, options))

    def solve(self, nlp: NLP, callback: Callback | None = None, start: WarmStart | None = None) -> Result:
        """Solve from `start`, or from the checkpoint, writing checkpoints on the way."""
        if start is None and self.resume and Path(self.path).exists():
            start = WarmStart(read(self.path, nlp))
        recorder, content = _GradientRecorder(nlp), fingerprint(nlp, nlp.start)
        latest = time.monotonic() if self.every else -np.inf

        def watch(iteration: Iteration) -> object:
            nonlocal latest
            if recorder.point is not None and time.monotonic() - latest >= self.every:
                write(self.path, content, recorder.point, iteration.iteration)
                self.written += 1
                latest = time.monotonic()
            return callback(iteration) if callback is not None else None

        result = self.solver.solve(recorder, watch, start)
        write(self.path, content, result.y, result.iterations)
        return result


class _GradientRecorder(NLPWrapper):
    """An NLP that keeps the point of its last gradient: an iterate, never a trial point of a line search."""

    def __init__(self, nlp: NLP) -> None:
        super().__init__(nlp)
        self.point: NDArray | None = None

    def gradient(self, y: NDArray, /) -> NDArray:
        self.point = np.array(y)
        return self.nlp.gradient(y)


def write(path: str | os.PathLike[str], content: Mapping[str, NDArray], y: NDArray, iteration: int) -> None:
    """Write a checkpoint atomically."""
    header = {"format": FORMAT, "iteration": int(iteration)}
    arrays: dict[str, Any] = {"header": np.array(json.dumps(header)), "y": y, **content}
    with whole_file(path) as stream:
        np.savez(stream, **arrays)


def read(path: str | os.PathLike[str], nlp: NLP) -> NDArray:
    """The point of a checkpoint; SolutionFileError for another kind of file or another NLP's."""
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: np.array(file[name]) for name in file.files}
            known = json.loads(str(stored["header"]))["format"] == FORMAT
            y, start = stored["y"], stored["start"]
    except Exception as error:  # numpy raises whatever zipfile, zlib and its own parser raise
        raise SolutionFileError(
            f"{path} cannot be read as a checkpoint ({unreadable(error)}): delete it to start afresh"
        ) from error
    difference = _difference(stored, nlp, y, start) if known else "it is a file of another kind"
    if difference:
        raise SolutionFileError(
            f"{path} is a checkpoint of another problem ({difference}): "
            "give another path, or delete it to start afresh"
        )
    return y


def fingerprint(nlp: NLP, start: NDArray) -> dict[str, NDArray]:
    """What two NLPs must share for a point of one to be a start of the other.

    Bounds of unknowns and rows, and the values of objective and rows at a start: with them every limit and
    parameter of the model that a row depends on.
    """
    return {
        "start": np.array(start),
        "bounds": np.concatenate([nlp.lower, nlp.upper, nlp.row_lower, nlp.row_upper]),
        "values": np.append(nlp.rows(start), nlp.objective(start)),
    }


def _difference(stored: Mapping[str, NDArray], nlp: NLP, y: NDArray, start: NDArray) -> str:
    """How a stored fingerprint differs from that of `nlp`; "" where it does not."""
    count = nlp.variable_count
    if y.shape != (count,) or start.shape != (count,) or not np.all(np.isfinite(y)):
        return f"{y.size} unknowns instead of {count}"
    here = fingerprint(nlp, start)
    for name, what in (("bounds", "other bounds"), ("values", "its functions have other values")):
        if stored[name].shape != here[name].shape:
            return f"{nlp.row_count} rows instead of another number"
        if not np.allclose(stored[name], here[name], rtol=AGREEMENT, atol=AGREEMENT, equal_nan=True):
            return what
    return ""
