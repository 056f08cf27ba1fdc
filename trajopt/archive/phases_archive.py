"""Loads solutions of phases from their .npz files, and attaches the phases whose problems they know."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from trajopt.archive.solution_header import FileKind, PhasesHeader
from trajopt.archive.solution_reader import phases_of
from trajopt.base.arguments import short_repr
from trajopt.base.errors import SolutionFileError, TrajoptError
from trajopt.base.files.array_file import ArrayFile
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.links.phases import Phases
from trajopt.solution.phases_solution import PhasesSolutionData
from trajopt.solution.rebuilt_problem import built, check_fits
from trajopt.solution.solution import SolutionData
from trajopt.transcription.links.link_constraints import LinkedProblems, held, linked_problems

ADVICE = "give a file written by PhasesSolution.save or by `trajopt solve`"


def load_phases(path: str | os.PathLike[str], phases: Phases | None = None) -> PhasesSolutionData:
    """Read what `save` wrote; see `PhasesSolution.load`."""
    if phases is not None and not isinstance(phases, Phases):
        raise SolutionFileError(f"phases is {short_repr(phases)}: give the trajopt.Phases that were solved")
    with ArrayFile(path, "solution of phases", ADVICE) as file:
        solution = phases_of(file)
    known = phases if phases is not None else _rebuilt(solution.recipe)
    return solution if known is None else with_phases(solution, known, path)


def is_of_phases(path: str | os.PathLike[str]) -> bool:
    """True if a saved solution is that of phases; SolutionFileError for a file that is none at all."""
    with ArrayFile(path, "solution", ADVICE) as file:
        return file.record(FileKind).format == PhasesHeader.FORMAT


def _rebuilt(recipe: Recipe | None) -> Phases | None:
    """The phases of a recipe; None where no library builds them."""
    if recipe is None:
        return None
    try:
        phases: Any = built(recipe)
    except TrajoptError:
        return None
    return phases if isinstance(phases, Phases) else None


def with_phases(solution: PhasesSolutionData, phases: Phases, source: Any) -> PhasesSolutionData:
    """The solution whose phases know their problems; SolutionFileError where these are others."""
    if len(phases.problems) != len(solution.phases):
        raise SolutionFileError(
            f"{source} has {len(solution.phases)} phases, {len(phases.problems)} were given: pass those that "
            "were solved"
        )
    linked = linked_problems(phases)
    parts = [_known(linked, k, part, source) for k, part in enumerate(solution.phases)]
    return replace(solution, phases=tuple(parts), known_phases=phases)


def _known(linked: LinkedProblems, k: int, solution: SolutionData, source: Any) -> SolutionData:
    problem = linked.problems[k]
    check_fits(solution, problem, source)
    shared = {name: solution.parameters[name] for name, having in linked.shared.items() if k in having}
    return replace(solution, known_problem=held(problem, shared))
