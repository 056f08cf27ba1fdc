"""Serializes solutions for other processes, without their problems, and attaches the problems again.

A solution is a `Solution`, or the `PhasesSolution` of phases.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from trajopt.api.phases_solution import PhasesSolution, load_any
from trajopt.api.solution import Solution
from trajopt.archive.phases_archive import with_phases
from trajopt.archive.solution_archive import contents
from trajopt.base.errors import TrajoptError

if TYPE_CHECKING:
    pass


AnySolution: TypeAlias = Solution | PhasesSolution


def without_problem(solution: AnySolution) -> AnySolution:
    """A solution that can be sent whatever its problem is made of."""
    if isinstance(solution, PhasesSolution):
        parts = tuple(without_problem(part) for part in solution.phases)
        return replace(solution, phases=parts, known_phases=None, recipe=None)
    return replace(solution, known_problem=None, recipe=None)


def with_problem(solution: AnySolution, problem: Any) -> Any:
    """A solution that was sent, with the problem, or the phases, that it solves."""
    if isinstance(solution, PhasesSolution):
        return with_phases(replace(solution, recipe=problem.recipe), problem, "the solution")
    return replace(solution, known_problem=problem, recipe=problem.recipe)


def read_solution(path: Path) -> AnySolution | None:
    """A saved solution; None where the file is missing, or not one that this version wrote whole."""
    try:
        return load_any(path)
    except TrajoptError:
        return None


def file_of(solution: AnySolution) -> bytes:
    """The bytes of the file that the solution's `save` writes."""
    stream = io.BytesIO()
    np.savez(stream, **contents(solution))
    return stream.getvalue()
