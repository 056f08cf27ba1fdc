"""Saved solutions: one .npz of plain arrays and a JSON text; no pickle, no path that would be imported."""

from __future__ import annotations

import errno
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trajopt.archive.saved_solve import solve_arrays, solve_values
from trajopt.archive.solution_header import ADDED_NODES, FORMAT, VERSION, FileKind, SolutionHeader
from trajopt.archive.solution_reader import solution_of
from trajopt.base.errors import OptionError, SolutionFileError
from trajopt.base.files.array_file import ArrayFile, file_path
from trajopt.base.files.atomic_file import whole_file
from trajopt.base.files.near_files import check_ending
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.problem import ProblemData
from trajopt.solution.rebuilt_problem import check_fits
from trajopt.solution.records import recorded
from trajopt.solution.solution import SolutionData

#: File, what it holds of a certificate, the solution -> the solution with its certificate.
Certified = Callable[[ArrayFile, Mapping[str, Any], SolutionData], SolutionData]

ADVICE = "give a solution.npz written by save or by `trajopt solve`"
SAMPLES = 201  # evenly spaced rows of q, v, a for readers that know no splines


def save(solution: SolutionData, path: str | os.PathLike[str]) -> None:
    """Write a solution whole or not at all.

    Where it cannot be written, a full disk say, it is written to a temporary folder instead, and a
    SolutionFileError names both. A recipe that JSON cannot hold is left out, with a warning. OptionError for
    a name whose ending is nearly .npz.
    """
    write_arrays(path, contents(solution))


def write_arrays(path: str | os.PathLike[str], arrays: Mapping[str, Any]) -> None:
    """Write arrays whole or not at all, to a temporary folder where `path` cannot be written; see `save`."""
    target = file_path(path)
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


def check_savable(recipe: Recipe | None) -> None:
    """OptionError for a parameter that a file cannot hold: better known before a solve than after."""
    for name, value in ({} if recipe is None else recipe.parameters).items():
        try:
            json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            raise OptionError(
                f"parameter '{name}' of {recipe.problem if recipe else ''} is {value!r}, which a file cannot "
                "hold: use numbers, texts, and lists of them, and build the rest from those"
            ) from None


def _saved_elsewhere(target: Path, arrays: Mapping[str, Any]) -> Path | None:
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


def contents(solution: SolutionData) -> dict[str, Any]:
    """All arrays of a solution's file, its header among them."""
    arrays: dict[str, Any] = {"header": np.array(json.dumps(_header(solution)))}
    arrays |= solve_arrays(solution)
    for i, (basis, points) in enumerate(
        zip(solution.curve.bases, solution.curve.control_points, strict=True)
    ):
        arrays[f"breakpoints_{i}"], arrays[f"multiplicities_{i}"] = basis.breakpoints, basis.multiplicities
        arrays[f"control_points_{i}"] = points
    for g, group in enumerate(solution.curve.apart):
        for i, (basis, points) in enumerate(zip(group.bases, group.control_points, strict=True)):
            arrays[f"apart_{g}_multiplicities_{i}"] = basis.multiplicities
            arrays[f"apart_{g}_control_points_{i}"] = points
    arrays["durations"], arrays["node_times"] = solution.curve.durations, solution.node_times
    time = np.linspace(0.0, solution.duration, SAMPLES)
    arrays |= {"t": time, "q": solution.q(time), "v": solution.v(time), "a": solution.a(time)}
    for name in ADDED_NODES:
        arrays |= {f"{name}_{i}": np.array(points) for i, points in enumerate(getattr(solution, name))}
    return arrays | {f"parameter_{i}": values for i, values in enumerate(solution.parameters.values())}


def load(
    path: str | os.PathLike[str], problem: ProblemData | None = None, certified: Certified | None = None
) -> SolutionData:
    """Read what `save` wrote; see `Solution.load`. certified : adds the certificate that the file holds."""
    with ArrayFile(path, "solution", ADVICE) as file:
        check_kind(file, FORMAT, VERSION)
        header = file.record(SolutionHeader)
        solution = solution_of(file, header, problem)
        if header.certificate is not None and certified is not None:
            solution = certified(file, header.certificate, solution)
    if problem is not None:
        check_fits(solution, problem, path)
    return solution


def check_kind(file: ArrayFile, known: str, version: int) -> None:
    """SolutionFileError unless the file has this format, in this version or an earlier one."""
    kind = file.record(FileKind)
    if kind.format != known:
        raise SolutionFileError(f"{file.path} is a '{kind.format}', not a '{known}'")
    if kind.version > version:
        raise SolutionFileError(
            f"{file.path} has version {kind.version} but this one reads up to {version}: upgrade trajopt"
        )


def _header(solution: SolutionData) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        **solve_values(solution),
        "recipe": recorded_recipe(solution.recipe),
        "degrees": [basis.degree for basis in solution.curve.bases],
        "apart_degrees": [[basis.degree for basis in group.bases] for group in solution.curve.apart],
        "joint_names": list(solution.joint_names),
        "parameters": list(solution.parameters),
        "objective": solution.objective,
        "cost_terms": dict(solution.cost_terms),
        **{name: len(getattr(solution, name)) for name in ADDED_NODES},
        **recorded(solution.levels, solution.starts),
        "certificate": None if solution.certificate is None else solution.certificate.record(),
    }


def recorded_recipe(recipe: Recipe | None) -> dict[str, Any] | None:
    """A recipe as a header holds it, or None, with a warning, where a file cannot hold it."""
    try:
        check_savable(recipe)
    except OptionError as error:
        warnings.warn(f"saved without its recipe, to load it pass problem=...: {error}", stacklevel=5)
        return None
    return None if recipe is None else {"problem": recipe.problem, "parameters": dict(recipe.parameters)}
