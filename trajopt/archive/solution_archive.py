"""Saved solutions, of problems and of phases: one .npz of plain arrays and a JSON text; no pickle, no path
that would be imported.
"""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from trajopt.archive.problem_statement import statement_of
from trajopt.archive.solution_reader import (
    ADDED_NODES,
    POINT,
    VERSION,
    FileKind,
    PhasesHeader,
    Record,
    SavedSolve,
    SolutionHeader,
    group_prefix,
    header_of,
    phase_prefix,
    phases_of,
    solution_of,
)
from trajopt.base.arguments import short_repr
from trajopt.base.errors import SolutionFileError, TrajoptError
from trajopt.base.files import ArrayFile, check_ending, file_path, whole_file
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.phases import Phases
from trajopt.problem.problem import Problem
from trajopt.solution.phases_solution import PhasesSolution
from trajopt.solution.rebuilt_problem import as_solved, built, check_fits
from trajopt.solution.records import table_of
from trajopt.solution.solution import Answer, Solution
from trajopt.transcription.link_constraints import LinkedProblems, held, linked_problems

#: File, what it holds of a certificate, the solution -> the solution with its certificate.
Certified = Callable[[ArrayFile, Record, Solution], Solution]

Arrays: TypeAlias = dict[str, Any]  # of a file, by name
ADVICE = "give a solution.npz written by save or by `trajopt solve`"


def save(answer: Answer, path: str | os.PathLike[str]) -> None:
    """Write a solution, or a solution of phases, whole or not at all.

    Where it cannot be written, a full disk say, it is written to a temporary folder instead, and a
    SolutionFileError names both. A recipe that JSON cannot hold is left out, with a warning. OptionError for
    a name whose ending is nearly .npz.
    """
    arrays, target = contents(answer), file_path(path)
    check_ending(target, ".npz", "a solution")
    try:
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, f"{target.parent} is no folder, make it first")
        with whole_file(target) as stream:
            np.savez(stream, **arrays)
    except OSError as error:
        kept = _saved_elsewhere(target, arrays)
        where = f"it is kept in {kept}" if kept else "no temporary folder can take it either"
        raise SolutionFileError(
            f"{target} cannot be written ({error.strerror or error}): {where}; "
            "make room, or give another folder"
        ) from error


def _saved_elsewhere(target: Path, arrays: Arrays) -> Path | None:
    """Write what cannot be saved where it should be into the first place that takes it."""
    for folder in (tempfile.gettempdir, Path.home, Path.cwd):
        try:
            handle, name = tempfile.mkstemp(
                prefix=f"{target.stem}-", suffix=target.suffix or ".npz", dir=folder()
            )
        except (OSError, RuntimeError):
            continue
        try:
            with os.fdopen(handle, "wb") as stream:
                np.savez(stream, **arrays)
            return Path(name)
        except OSError:
            Path(name).unlink(missing_ok=True)
    return None


def contents(answer: Answer) -> Arrays:
    """All arrays of the file of a solution, or of a solution of phases, its header among them."""
    arrays = {"history": answer.history, "solves": table_of(answer.journal.histories)}
    arrays |= {f"multipliers_{i}": values for i, values in enumerate(answer.multipliers.values())}
    if answer.point is not None:
        arrays |= {f"point_{name}": getattr(answer.point, name) for name in POINT}
    if answer.scaling is not None:
        arrays["scaling_rows"] = answer.scaling.rows
        arrays["scaling_objective"] = np.array([answer.scaling.objective])
    if isinstance(answer, Solution):
        header: SavedSolve = _header(answer)
        arrays |= _motion(answer)
    else:
        header = PhasesHeader.of(answer)
        for k, phase in enumerate(answer.parts):
            arrays |= {f"{phase_prefix(k)}{name}": values for name, values in contents(phase).items()}
    kind = FileKind(header.FORMAT, VERSION)
    return {"header": np.array(json.dumps(asdict(kind) | asdict(header))), **arrays}


def _motion(solution: Solution) -> Arrays:
    """The arrays of a motion: splines, durations, nodes, parameters, and samples for other readers."""
    curve, arrays = solution.curve, {}
    for g, group in enumerate(curve.groups):
        prefix = group_prefix(g)
        for i, (basis, points) in enumerate(zip(group.bases, group.control_points, strict=True)):
            arrays[f"breakpoints_{i}"] = basis.breakpoints  # the same in all groups
            arrays[f"{prefix}multiplicities_{i}"] = basis.multiplicities
            arrays[f"{prefix}control_points_{i}"] = points
    arrays["durations"], arrays["node_times"] = curve.durations, solution.node_times
    # Evenly spaced rows of q, v, a for readers that know no splines
    time = np.linspace(0.0, solution.duration, 201)
    arrays |= {"t": time, "q": solution.q(time), "v": solution.v(time), "a": solution.a(time)}
    for name in ADDED_NODES:
        arrays |= {f"{name}_{i}": np.array(points) for i, points in enumerate(getattr(solution, name))}
    return arrays | {f"parameter_{i}": values for i, values in enumerate(solution.parameters.values())}


def _header(solution: Solution) -> SolutionHeader:
    return SolutionHeader.of(
        solution,
        degrees=tuple(basis.degree for basis in solution.curve.bases),
        apart_degrees=tuple(tuple(basis.degree for basis in group.bases) for group in solution.curve.apart),
        parameters=tuple(solution.parameters),
        certificate=None if solution.certificate is None else solution.certificate.record(),
        statement=_statement(solution),
        **{name: len(getattr(solution, name)) for name in ADDED_NODES},
    )


def _statement(solution: Solution) -> Record | None:
    """Problem as a script stated it, where no library builds it from a recipe; as it was read from a file."""
    if solution.recipe is not None and not solution.recipe.is_file:
        return None
    return solution.statement if solution.known_problem is None else statement_of(solution.known_problem)


def load(
    path: str | os.PathLike[str], problem: Problem | None = None, certified: Certified | None = None
) -> Solution:
    """Read what `save` wrote; see `Solution.load`. certified : adds the certificate that the file holds."""
    problem = None if problem is None else as_solved(problem)
    with ArrayFile(path, "solution", ADVICE) as file:
        header = header_of(file, SolutionHeader)
        solution = solution_of(file, header, problem)
        if header.certificate is not None and certified is not None:
            solution = certified(file, header.certificate, solution)
    if problem is not None:
        check_fits(solution, problem, path)
    return solution


PHASES_ADVICE = "give a file written by PhasesSolution.save or by `trajopt solve`"


def load_phases(path: str | os.PathLike[str], phases: Phases | None = None) -> PhasesSolution:
    """Read what `save` wrote; see `PhasesSolution.load`."""
    if phases is not None and not isinstance(phases, Phases):
        raise SolutionFileError(f"phases is {short_repr(phases)}: give the trajopt.Phases that were solved")
    with ArrayFile(path, "solution of phases", PHASES_ADVICE) as file:
        solution = phases_of(file)
    known = phases if phases is not None else _rebuilt(solution.recipe)
    return solution if known is None else with_phases(solution, known, path)


def is_of_phases(path: str | os.PathLike[str]) -> bool:
    """True if a saved solution is that of phases; SolutionFileError for a file that is none at all."""
    with ArrayFile(path, "solution", PHASES_ADVICE) as file:
        return file.record(FileKind).format == PhasesHeader.FORMAT


def _rebuilt(recipe: Recipe | None) -> Phases | None:
    """The phases of a recipe; None where no library builds them."""
    if recipe is None:
        return None
    try:
        phases: object = built(recipe)
    except TrajoptError:
        return None
    return phases if isinstance(phases, Phases) else None


def with_phases(solution: PhasesSolution, phases: Phases, source: str | os.PathLike[str]) -> PhasesSolution:
    """The solution whose phases know their problems; SolutionFileError where these are others."""
    if len(phases.problems) != len(solution.phases):
        raise SolutionFileError(
            f"{source} has {len(solution.phases)} phases, {len(phases.problems)} were given: pass those that "
            "were solved"
        )
    phases = as_solved(phases)
    linked = linked_problems(phases)
    parts = [_known(linked, k, part, source) for k, part in enumerate(solution.phases)]
    return replace(solution, phases=tuple(parts), known_phases=phases)


def _known(linked: LinkedProblems, k: int, solution: Solution, source: str | os.PathLike[str]) -> Solution:
    problem = linked.problems[k]
    check_fits(solution, problem, source)
    shared = {name: solution.parameters[name] for name, having in linked.shared.items() if k in having}
    return replace(solution, known_problem=held(problem, shared))
