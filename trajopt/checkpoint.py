"""Checkpoints of a running solve on disk, from which a killed solve starts again.

The file holds the best point known (the last iterate where the solver gives no better) with a fingerprint of
the problem's sizes and names. It is written beside its place and renamed, so that a kill leaves the last
checkpoint or none, never half of one; and not more often than every few seconds.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajopt.errors import OptionError, SolutionFileError
from trajopt.problem import Problem
from trajopt.solver import NLP as SolverNLP
from trajopt.solver import Callback, Iteration, Result, Solver, WarmStart

if TYPE_CHECKING:
    from trajopt.solution import Solution

FORMAT = "trajopt checkpoint"


@dataclass
class Checkpointed:
    """A solver that writes checkpoints while another solves: `solve(problem, Checkpointed(Ipopt(), path))`.

    every : seconds between two checkpoints; 0 writes one at every iteration
    resume : start from the checkpoint if there is one of the same problem; else it is an error
    The file stays after the solve and is then the point of its answer.
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

    def solve(
        self, nlp: SolverNLP, callback: Callback | None = None, start: WarmStart | None = None
    ) -> Result:
        """Solve from `start`, or from the checkpoint, writing checkpoints on the way."""
        if start is None and self.resume and Path(self.path).exists():
            start = WarmStart(read(self.path, nlp))
        recorder = Recorder(nlp)
        latest, began = -np.inf, time.monotonic()

        def watch(iteration: Iteration) -> object:
            nonlocal latest
            if recorder.point is not None and time.monotonic() - latest >= self.every:
                write(self.path, nlp, recorder.point, iteration.iteration)
                self.written += 1
                latest = time.monotonic()
            return callback(iteration) if callback is not None else None

        latest = began if self.every else -np.inf
        result = self.solver.solve(recorder, watch, start)  # type: ignore[arg-type]
        write(self.path, nlp, result.y, result.iterations)
        return result


class Recorder:
    """An NLP that remembers where its gradient was asked for last: at iterates, never at trial points."""

    def __init__(self, nlp: SolverNLP) -> None:
        self._nlp = nlp
        self.point: NDArray | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nlp, name)

    def gradient(self, y: NDArray) -> NDArray:
        self.point = np.array(y)
        return self._nlp.gradient(y)


def write(path: str | os.PathLike[str], nlp: SolverNLP, y: NDArray, iteration: int) -> None:
    """Write a checkpoint whole or not at all."""
    target = Path(path)
    header = {"format": FORMAT, "iteration": int(iteration), **fingerprint(nlp)}
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            np.savez(stream, header=np.array(json.dumps(header)), y=y)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str], nlp: SolverNLP) -> NDArray:
    """The point of a checkpoint; SolutionFileError for a file that is none or belongs to another problem."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header, y = json.loads(str(file["header"])), np.array(file["y"])
    except Exception as error:  # numpy raises whatever zipfile, zlib and its own parser raise
        raise SolutionFileError(
            f"{path} cannot be read as a checkpoint ({type(error).__name__}: {error}): "
            "delete it to start afresh"
        ) from error
    expected = {"format": FORMAT, **fingerprint(nlp)}
    wrong = [key for key, value in expected.items() if header.get(key) != value]
    if wrong or y.shape != (nlp.variable_count,) or not np.all(np.isfinite(y)):
        told = ", ".join(f"{key} {header.get(key)!r} instead of {expected[key]!r}" for key in wrong)
        raise SolutionFileError(
            f"{path} is a checkpoint of another problem ({told or 'its point does not fit'}): "
            "give another path, or delete it to start afresh"
        )
    return y


def fingerprint(nlp: SolverNLP) -> dict[str, int]:
    """What two problems must share for a point of one to mean anything in the other."""
    return {"variables": int(nlp.variable_count), "rows": int(nlp.row_count)}


def solve_with_checkpoints(
    problem: Problem, path: str | os.PathLike[str], solver: Solver | None = None, **options: Any
) -> Solution:
    """Solve, writing checkpoints to `path` and starting from it if it exists; options are Checkpointed's."""
    from trajopt.solve import default_solver, solve

    return solve(problem, Checkpointed(solver or default_solver(problem), path, **options))
