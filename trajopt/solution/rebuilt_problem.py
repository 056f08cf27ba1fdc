"""Problems of saved solutions: built again from a recipe, and compared with the solution."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from trajopt.base.errors import OptionError, ProblemError, ShadowedPackageError, ShapeError, SolutionFileError
from trajopt.graph.quantities import SPLINE_LEAVES
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.problem.measured_start import with_measured_start
from trajopt.problem.phases import Asked
from trajopt.problem.problem import Problem
from trajopt.transcription.unknowns import continuity_name

STATEMENT = "statement"  # what builds a problem from the values that a script stated
REBUILDERS = "trajopt.problems"  # entry points that build a problem from (name, parameters)

if TYPE_CHECKING:
    from trajopt.solution.solution import Solution

A = TypeVar("A", bound=Asked)


def rebuilt_problem(solution: Solution) -> Problem:
    """The problem of a loaded solution, built again by the library that is registered for its recipe."""
    recipe, statement = solution.recipe, solution.statement
    if statement is not None and (recipe is None or recipe.is_file):
        recipe = Recipe(STATEMENT, statement)
    if recipe is None:
        raise SolutionFileError(
            f"'{solution.name}' was saved without its problem, which no file can hold or nobody had, so only "
            "q, v, a and jerk are known: pass its problem, Solution.load(path, problem=...)"
        )
    try:
        problem = built(recipe)
        if recipe.problem != STATEMENT:  # which states the problem as it was solved
            problem = with_measured_start(problem)
    except (ProblemError, OptionError, ShapeError) as error:
        raise SolutionFileError(
            f"the problem of '{solution.name}' cannot be built again from what was saved, perhaps by another "
            f"version ({error}): pass its problem, Solution.load(path, problem=...)"
        ) from error
    check_fits(solution, problem, recipe.problem)
    return problem


def built(recipe: Recipe) -> Problem:
    """The problem of a recipe, by the library registered for it; SolutionFileError where there is none."""
    for entry in entry_points(group=REBUILDERS):
        return _loaded(entry)(recipe.problem, dict(recipe.parameters))
    raise SolutionFileError(
        f"no installed library builds '{recipe.problem}': pass problem=... to Solution.load"
    )


def _loaded(entry: EntryPoint) -> Callable[[str, dict[str, object]], Problem]:
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


def as_solved(asked: A) -> A:
    """A problem, or phases, as their solve begins: with what gives way to a measured start.

    One that a solution knows has given way already, and stays as it is.
    """
    given_way = any(part.relaxations for part in asked.parts)
    return asked if given_way else with_measured_start(asked)


def check_fits(solution: Solution, problem: Problem, source: object) -> None:
    """SolutionFileError that says how a problem differs from the one that was solved."""
    differences = [*_other_unknowns(solution, problem), *_other_terms(solution, problem)]
    if differences:
        raise SolutionFileError(f"{source} {'; it '.join(differences)}: pass the problem that was solved")


def _other_unknowns(solution: Solution, problem: Problem) -> Iterator[str]:
    """Joints; curves beside theirs, by their number, each group with a common basis; and parameters."""
    joints, solved = problem.dynamics.joint_names, solution.joint_names
    apart = [extra.lower.size for extra in problem.extras.values() if extra.pieces is not None]
    shared = problem.dynamics.n + sum(problem.extra_widths.values()) - sum(apart)
    curves, expected = [group.n for group in solution.curve.groups], [shared, *apart]
    if tuple(joints) != solved:
        yield f"moves the joints ({', '.join(solved)}) but the problem has ({', '.join(joints)})"
    elif curves != expected:
        counts = (" + ".join(map(str, widths)) for widths in (curves, expected))
        yield "has {} curves but the problem has {}".format(*counts)
    sizes = {name: values.size for name, values in solution.parameters.items()}
    wanted = {name: parameter.lower.size for name, parameter in problem.parameters.items()}
    if sizes != wanted:
        sizes_of = (", ".join(f"'{name}' ({n},)" for name, n in each.items()) for each in (sizes, wanted))
        yield "has the parameters {} but the problem has {}".format(*(each or "none" for each in sizes_of))


def _other_terms(solution: Solution, problem: Problem) -> Iterator[str]:
    """Constraints with multipliers, and costs; a problem may have constraints besides."""
    stated = [condition.name for condition in problem.stated]
    known = {
        *stated,
        *problem.unsaved,
        *problem.slacks,
        *(continuity_name(quantity) for quantity in SPLINE_LEAVES),
    }
    lost, added = _difference(solution.multipliers, known), _difference(stated, solution.multipliers)
    instead = f" (and it has {added} in addition)" if added else ""
    if lost:
        yield f"was solved under {lost}, which the problem does not have{instead}"
    costs = dict.fromkeys(cost.name for cost in problem.costs)
    lost, added = (
        _difference(solution.cost_terms, costs | problem.unsaved),
        _difference(costs, solution.cost_terms),
    )
    instead = f" (and it has {added} in addition)" if added else ""
    if lost:
        yield f"minimized {lost}, which the problem does not{instead}"
    elif added:
        yield f"did not minimize {added}, which the problem does"


def _difference(names: Iterable[str], others: Container[str]) -> str:
    return ", ".join(f"'{name}'" for name in names if name not in others)
