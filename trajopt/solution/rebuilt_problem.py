"""Problems of saved solutions: built again from a recipe, and compared with what the solution tells."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Protocol

from trajopt.base.errors import OptionError, ProblemError, ShadowedPackageError, ShapeError, SolutionFileError
from trajopt.graph.keys import SPLINE_LEAVES
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.problem import ProblemData
from trajopt.splines.curve import Curve
from trajopt.transcription.unknowns import continuity_name

REBUILDERS = "trajopt.problems"  # entry points that build a problem from (name, parameters)


class Solved(Protocol):
    """What a solution tells about the problem that it solves."""

    @property
    def name(self) -> str: ...
    @property
    def recipe(self) -> Recipe | None: ...
    @property
    def joint_names(self) -> tuple[str, ...]: ...
    @property
    def curve(self) -> Curve: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def multipliers(self) -> Mapping[str, Any]: ...
    @property
    def cost_terms(self) -> Mapping[str, float]: ...


def rebuilt_problem(solution: Solved) -> ProblemData:
    """The problem of a loaded solution, built again by the library that is registered for its recipe."""
    recipe = solution.recipe
    if recipe is None:
        raise SolutionFileError(
            f"'{solution.name}' was saved without a recipe, so only q, v, a and jerk are known: "
            "pass its problem, Solution.load(path, problem=...)"
        )
    try:
        problem = built(recipe)
    except (ProblemError, OptionError, ShapeError) as error:
        raise SolutionFileError(
            f"the problem of '{solution.name}' cannot be built again from what was saved, perhaps by another "
            f"version ({error}): pass its problem, Solution.load(path, problem=...)"
        ) from error
    check_fits(solution, problem, recipe.problem)
    return problem


def built(recipe: Recipe) -> ProblemData:
    """The problem of a recipe, by the library registered for it; SolutionFileError where there is none."""
    for entry in entry_points(group=REBUILDERS):
        return _loaded(entry)(recipe.problem, dict(recipe.parameters))
    raise SolutionFileError(
        f"no installed library builds '{recipe.problem}': pass problem=... to Solution.load"
    )


def _loaded(entry: EntryPoint) -> Callable[[str, dict[str, Any]], ProblemData]:
    """The function of an entry point; ShadowedPackageError where a user's file has its package's name."""
    try:
        return entry.load()
    except ModuleNotFoundError as error:
        package = entry.module.partition(".")[0]
        found = getattr(sys.modules.get(package), "__file__", None)
        if found is None or Path(found).name == "__init__.py":
            raise
        raise ShadowedPackageError(
            f"{found} has the name of the package '{package}' and hides it: rename that file"
        ) from error


def check_fits(solution: Solved, problem: ProblemData, source: Any) -> None:
    """SolutionFileError that says how a problem differs from the one that was solved."""
    differences = [
        *_other_joints(solution, problem),
        *_other_unknowns(solution, problem),
        *_other_constraints(solution, problem),
        *_other_costs(solution, problem),
    ]
    if differences:
        raise SolutionFileError(f"{source} {'; it '.join(differences)}: pass the problem that was solved")


def _other_joints(solution: Solved, problem: ProblemData) -> Iterator[str]:
    names = tuple(problem.dynamics.joint_names)
    if names != solution.joint_names:
        yield (
            f"moves the joints ({', '.join(solution.joint_names)}) but the problem has ({', '.join(names)})"
        )


def _other_unknowns(solution: Solved, problem: ProblemData) -> Iterator[str]:
    """Curves beside the joints', told by their number, each group with a common basis; and parameters."""
    n, names = problem.dynamics.n, tuple(problem.dynamics.joint_names)
    apart = [extra.lower.size for extra in problem.extras.values() if extra.pieces is not None]
    shared = n + sum(problem.extra_widths.values()) - sum(apart)
    curves, expected = [group.n for group in solution.curve.groups], [shared, *apart]
    if curves != expected and names == solution.joint_names:
        yield f"has {_counted(curves)} curves but the problem has {_counted(expected)}"
    sizes = {name: values.size for name, values in solution.parameters.items()}
    wanted = {name: parameter.lower.size for name, parameter in problem.parameters.items()}
    if sizes != wanted:
        yield f"has the parameters {_sized(sizes)} but the problem has {_sized(wanted)}"


def _counted(widths: Sequence[int]) -> str:
    return " + ".join(map(str, widths))


def _sized(widths: Mapping[str, int]) -> str:
    return ", ".join(f"'{name}' ({width},)" for name, width in widths.items()) or "none"


def _other_constraints(solution: Solved, problem: ProblemData) -> Iterator[str]:
    """A saved solution names the constraints that have multipliers; a problem may have others besides."""
    stated = [condition.name for condition in problem.stated]
    known = {*stated, *problem.slacks, *(continuity_name(quantity) for quantity in SPLINE_LEAVES)}
    lost = [name for name in solution.multipliers if name not in known]
    if lost:
        added = [name for name in stated if name not in solution.multipliers]
        instead = f" (and it has {_quoted(added)} in addition)" if added else ""
        yield f"was solved under {_quoted(lost)}, which the problem does not have{instead}"


def _other_costs(solution: Solved, problem: ProblemData) -> Iterator[str]:
    stated = {cost.name: None for cost in problem.costs}
    lost = [name for name in solution.cost_terms if name not in stated]
    added = [name for name in stated if name not in solution.cost_terms]
    if lost:
        instead = f" (and it has {_quoted(added)} in addition)" if added else ""
        yield f"minimized {_quoted(lost)}, which the problem does not{instead}"
    elif added:
        yield f"did not minimize {_quoted(added)}, which the problem does"


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
