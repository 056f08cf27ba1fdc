"""Checkpoints of a running solve on disk, from which a killed solve starts again.

The file holds the last iterate, after the solve the point of its result, and a fingerprint of the program:
its bounds, and the values of its functions at its start. It is written to a temporary file and renamed, so
that a kill leaves the last checkpoint or none, never half of one; and not more often than every few seconds.
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

from trajopt.base.arguments import check_positive
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, SolutionFileError, warn_user
from trajopt.base.files import ArrayFile, file_path, whole_file
from trajopt.base.tolerances import AGREEMENT
from trajopt.solvers.run import check_solver, run_solver
from trajopt.solvers.solver import Iteration, Program, ProgramValue, Result, Run, Solver, WarmStart

FORMAT = "trajopt checkpoint"
FINGERPRINT = ("start", "bounds", "values")


@dataclass(frozen=True)
class CheckpointHeader:
    """The JSON header of a checkpoint."""

    format: str
    iteration: int = 0


@dataclass
class Checkpointed:
    """Checkpoints around `solver`: `solve(problem, Checkpointed(Ipopt(), path))`.

    every : seconds between two checkpoints; 0 writes one at every iteration
    resume : start from the checkpoint where the file exists; one of another problem raises SolutionFileError
    After the solve the file stays, with the point of the result. One that cannot be written warns.
    """

    solver: Solver
    path: str | os.PathLike[str]
    every: float = 5.0
    resume: bool = True
    written: int = field(default=0, init=False)
    _failing: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        check_solver(self.solver, "the solver of a checkpoint")
        check_positive("every, the seconds between two checkpoints,", self.every, or_zero=True)
        if not file_path(self.path).parent.is_dir():
            raise OptionError(f"{Path(self.path).parent} is no folder: make it before the solve")

    @property
    def without_checkpoints(self) -> Solver:
        """The solver itself, for NLPs other than the one asked for (those of a refinement)."""
        return self.solver

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """Solve from `start`, or from the checkpoint, writing checkpoints on the way."""
        run = run or Run()
        if start is None and self.resume and Path(self.path).exists():
            start = WarmStart(read(self.path, nlp))
        content, latest = fingerprint(nlp, nlp.start), time.monotonic() if self.every else -np.inf
        point: Array | None = None

        def gradient(y: Array) -> Array:
            nonlocal point
            point = np.array(y)  # an iterate, never a trial point of a line search
            return nlp.gradient(y)

        def watch(iteration: Iteration) -> object:
            nonlocal latest
            if point is not None and time.monotonic() - latest >= self.every:
                self._write(content, point, iteration.iteration)
                latest = time.monotonic()
            return run.callback(iteration) if run.callback is not None else None

        recorded = replace(ProgramValue.of(nlp), gradient=gradient)
        result = run_solver(self.solver, recorded, start, replace(run, callback=watch))
        self._write(content, result.y, result.iterations, last=True)
        return result

    def _write(self, content: Mapping[str, Array], y: Array, iteration: int, last: bool = False) -> None:
        """Write a checkpoint; one that cannot be written warns, once in a row, and the solve goes on."""
        try:
            write(self.path, content, y, iteration)
        except OSError as error:
            if not self._failing:
                warn_user(
                    f"the checkpoint {self.path} cannot be written ({error.strerror or error}): the solve "
                    "goes on without; make room, or let its folder be written"
                )
            self._failing = True
            return
        self._failing = False
        self.written += not last


def write(path: str | os.PathLike[str], content: Mapping[str, Array], y: Array, iteration: int) -> None:
    """Write a checkpoint atomically."""
    header = {"format": FORMAT, "iteration": int(iteration)}
    arrays: dict[str, Any] = {"header": np.array(json.dumps(header)), "y": y, **content}
    with whole_file(path) as stream:
        np.savez(stream, **arrays)


def read(path: str | os.PathLike[str], nlp: Program) -> Array:
    """The point of a checkpoint; SolutionFileError for another kind of file or another NLP's."""
    with ArrayFile(path, "checkpoint", "delete it to start afresh") as file:
        difference = _difference(file, nlp)
        if difference:
            raise SolutionFileError(
                f"{path} is a checkpoint of another problem ({difference}): "
                "give another path, or delete it to start afresh"
            )
        return file.numbers("y", (nlp.variable_count,))


def fingerprint(nlp: Program, start: Array) -> dict[str, Array]:
    """Arrays that two NLPs must share for a point of one to be a start of the other.

    Bounds of unknowns and rows, and the values of objective and rows at a start: with them every limit and
    parameter of the model that a row depends on.
    """
    return {
        "start": np.array(start),
        "bounds": np.concatenate([nlp.lower, nlp.upper, nlp.row_lower, nlp.row_upper]),
        "values": np.append(nlp.rows(start), nlp.objective(start)),
    }


def _difference(file: ArrayFile, nlp: Program) -> str:
    """Difference of the fingerprint in a file from that of `nlp`; "" where there is none."""
    if file.record(CheckpointHeader).format != FORMAT:
        return "it is a file of another kind"
    start, bounds, values = (file.numbers(name, (None,), finite=False) for name in FINGERPRINT)
    if start.size != nlp.variable_count or not np.all(np.isfinite(start)):
        return f"{start.size} unknowns instead of {nlp.variable_count}"
    here = fingerprint(nlp, start)
    for found, name, what in (
        (bounds, "bounds", "other bounds"),
        (values, "values", "its functions have other values"),
    ):
        if found.shape != here[name].shape:
            return f"another number of rows than {nlp.row_count}"
        if not np.allclose(found, here[name], rtol=AGREEMENT, atol=AGREEMENT, equal_nan=True):
            return what
    return ""
