"""Serializes problems and solutions for other processes and machines.

What is sent is a pickle of ours that only workers of the same run read; no file is ever read this way. Plain
pickle names functions by their module; cloudpickle also sends those of a notebook, lambdas and closures.

Solutions are sent without their problems, which are attached again.

A solution is a `Solution`, or the `PhasesSolution` of phases.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from trajopt.archive.solution_archive import contents, with_phases
from trajopt.base.arguments import short_repr, shorten
from trajopt.base.errors import OptionError, TrajoptError
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.phases import Asked, Phases
from trajopt.problem.problem import Problem
from trajopt.problem.problem_parts import checked_problem
from trajopt.solution.phases_solution import PhasesSolution, load_any
from trajopt.solution.rebuilt_problem import as_solved, built
from trajopt.solution.solution import Solution

Source = Problem | Phases | Recipe | Callable[[], Problem | Phases]
ADVICE = (
    "give its recipe (problem.recipe, where nothing was added to a problem of the library), or a function "
    "without arguments that builds it, such as functools.partial(build, mass=2.0)"
)


def packed(source: Source) -> bytes:
    """A problem, phases, a recipe, or a function without arguments that builds them, as bytes.

    Raises OptionError for anything else, and for problems that hold what cannot be sent: compiled functions
    of CasADi, open files, locks.
    """
    is_one = isinstance(source, Problem | Phases | Recipe)
    if not is_one and (not callable(source) or isinstance(source, type)):
        raise OptionError(
            f"{short_repr(source)} is no problem: give a trajopt.Problem or trajopt.Phases, or {ADVICE}"
        )
    name = getattr(source, "name", None) or getattr(source, "__name__", "the problem")
    return _pickled(source, name, ADVICE)


def packed_settings(solver: object, options: Mapping[str, object]) -> bytes:
    """Solver and options as bytes; OptionError for a solver that cannot be sent."""
    whose = f"solver {short_repr(solver)} or an option"
    return _pickled((solver, dict(options)), whose, "give one that can be pickled, or processes=1")


def _pickled(value: object, whose: str, advice: str) -> bytes:
    """The bytes of a value that can be read again; OptionError, naming whose it is, where they cannot be."""
    import cloudpickle

    try:
        return cloudpickle.dumps(value)
    except Exception as error:  # every object may refuse in its own way
        words = shorten(" ".join(str(error).split()))
        raise OptionError(f"{whose} cannot be sent to another process ({words}): {advice}") from error


def unpacked(content: bytes) -> Asked:
    """The problem of `packed`, or phases, built where a recipe or a function was sent."""
    source = pickle.loads(content)
    if isinstance(source, Problem | Phases):
        return source
    question = built(source) if isinstance(source, Recipe) else source()
    return question if isinstance(question, Phases) else checked_problem(question)


AnySolution: TypeAlias = Solution | PhasesSolution


def without_problem(solution: AnySolution) -> AnySolution:
    """A solution that can be sent whatever its problem is made of."""
    if isinstance(solution, PhasesSolution):
        parts = tuple(replace(part, known_problem=None, recipe=None) for part in solution.phases)
        return replace(solution, phases=parts, known_phases=None, recipe=None)
    return replace(solution, known_problem=None, recipe=None)


def with_problem(solution: AnySolution, problem: Any) -> AnySolution:
    """A solution that was sent, with the problem, or the phases, that it solves."""
    if isinstance(solution, PhasesSolution):
        return with_phases(replace(solution, recipe=problem.recipe), problem, "the solution")
    return replace(solution, known_problem=as_solved(problem), recipe=problem.recipe)


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
