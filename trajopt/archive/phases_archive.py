"""Saved solutions of phases: one .npz with the arrays of every phase's solution and a header of their own."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trajopt.archive.saved_solve import solve_arrays, solve_values
from trajopt.archive.solution_archive import check_kind, recorded_recipe, write_arrays
from trajopt.archive.solution_archive import contents as contents_of_one
from trajopt.archive.solution_header import FORMAT as OF_ONE
from trajopt.archive.solution_header import VERSION as VERSION_OF_ONE
from trajopt.archive.solution_header import FileKind, SavedRecipe, SolutionHeader
from trajopt.archive.solution_reader import scaling_of, solution_of, status_of, warm_start_of
from trajopt.base.arguments import short_repr
from trajopt.base.errors import SolutionFileError, TrajoptError
from trajopt.base.files.array_file import ArrayFile
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.links.phases import Phases
from trajopt.solution.rebuilt_problem import built, check_fits
from trajopt.solution.records import (
    Certification,
    MeshSolve,
    RefinementRecord,
    RunRecord,
    StartTable,
    histories_of,
    recorded,
)
from trajopt.solution.solution import SolutionData
from trajopt.solvers.optimality.kkt import KKT
from trajopt.transcription.links.linked_problems import LinkedProblems, held, linked_problems

if TYPE_CHECKING:
    from trajopt.solution.phases_solution import PhasesSolutionData

FORMAT = "trajopt solution of phases"
VERSION = 1
MOST = 1000  # phases
ADVICE = "give a file written by PhasesSolution.save or by `trajopt solve`"


@dataclass(frozen=True)
class PhasesHeader:
    """All of a solution of phases but the phases and arrays; `PhasesSolution` says what each means."""

    name: str
    names: tuple[str, ...]
    recipe: SavedRecipe | None
    multipliers: tuple[str, ...]
    status: str
    kkt: KKT
    iterations: int
    seconds: float
    n_variables: int
    n_constraints: int
    timings: dict[str, float]
    detail: str
    has_point: bool
    run: RunRecord | None = None
    levels: tuple[MeshSolve, ...] = ()
    starts: StartTable | None = None
    refinement: RefinementRecord | None = None
    certification: Certification | None = None


def save_phases(solution: PhasesSolutionData, path: str | os.PathLike[str]) -> None:
    """Write solutions of phases whole or not at all, as `Solution.save` does."""
    write_arrays(path, phases_contents(solution))


def phases_contents(solution: PhasesSolutionData) -> dict[str, Any]:
    """Everything that a file of a solution of phases holds, by name."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        **solve_values(solution),
        "names": list(solution.names),
        "recipe": recorded_recipe(solution.recipe),
        **recorded(solution.levels, solution.starts),
        "certification": None if solution.certification is None else asdict(solution.certification),
    }
    arrays: dict[str, Any] = {"header": np.array(json.dumps(header)), **solve_arrays(solution)}
    for k, phase in enumerate(solution.phases):
        arrays |= {f"{_prefix(k)}{name}": values for name, values in contents_of_one(phase).items()}
    return arrays


def load_phases(path: str | os.PathLike[str], phases: Phases | None = None) -> PhasesSolutionData:
    """Read what `save` wrote; see `PhasesSolution.load`."""
    if phases is not None and not isinstance(phases, Phases):
        raise SolutionFileError(f"phases is {short_repr(phases)}: give the trajopt.Phases that were solved")
    with ArrayFile(path, "solution of phases", ADVICE) as file:
        check_kind(file, FORMAT, VERSION)
        solution = _read(file)
    known = phases if phases is not None else _rebuilt(solution.recipe)
    return solution if known is None else with_phases(solution, known, path)


def is_of_phases(path: str | os.PathLike[str]) -> bool:
    """Whether a saved solution is that of phases; SolutionFileError for a file that is none at all."""
    with ArrayFile(path, "solution", ADVICE) as file:
        return file.record(FileKind).format == FORMAT


def _read(file: ArrayFile) -> PhasesSolutionData:
    from trajopt.solution.phases_solution import PhasesSolutionData

    header = file.record(PhasesHeader)
    if not 1 <= len(header.names) <= MOST:
        file.refuse(f"{len(header.names)} phases")
    same = ("names", "kkt", "iterations", "seconds", "n_variables", "n_constraints", "name", "timings")
    same += ("detail", "run", "levels", "starts", "refinement", "certification")
    return PhasesSolutionData(
        **{key: getattr(header, key) for key in same},
        phases=tuple(_phase(file.part(_prefix(k))) for k in range(len(header.names))),
        multipliers={
            name: file.numbers(f"multipliers_{i}", (None,), finite=False)
            for i, name in enumerate(header.multipliers)
        },
        status=status_of(file, header.status),
        recipe=None if header.recipe is None else Recipe(header.recipe.problem, header.recipe.parameters),
        history=file.numbers("history", (None, 3), finite=False),
        solves=histories_of(file),
        point=warm_start_of(file) if header.has_point else None,
        scaling=scaling_of(file),
    )


def _phase(file: ArrayFile) -> SolutionData:
    check_kind(file, OF_ONE, VERSION_OF_ONE)
    return solution_of(file, file.record(SolutionHeader), None)


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
    widths = {name: parameter.lower.size for name, parameter in problem.parameters.items()}
    if {name: values.size for name, values in solution.parameters.items()} != widths:
        raise SolutionFileError(
            f"{source} has the parameters {', '.join(solution.parameters) or 'none'} in phase {k}, the "
            f"problem {', '.join(widths) or 'none'}: pass the phases that were solved"
        )
    shared = {name: solution.parameters[name] for name, having in linked.shared.items() if k in having}
    return replace(solution, known_problem=held(problem, shared))


def _prefix(k: int) -> str:
    return f"phase_{k}_"
