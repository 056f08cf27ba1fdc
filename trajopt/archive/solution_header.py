"""The JSON header of a saved solution: names of its keys, and the kind of value that each must hold.

Keys without a default stood in the first version of the format; those with one were added since. A key that
is also an attribute of the solution holds the same value.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from trajopt.base.errors import OptionError, warn_user
from trajopt.problem.costs_and_constraints import Recipe
from trajopt.solution.records import Certification, JournalTable, SolveRecord
from trajopt.solution.solution import Answer

VERSION = 2  # up to 1 certificates held violations, which are computed from the motion now
ADDED_NODES = ("extra_points", "limit_points")  # each an array of normalised times for every arc

HeaderT = TypeVar("HeaderT", bound="SavedSolve")


@dataclass(frozen=True)
class FileKind:
    """The kind of a file and the version of its format, which a reader looks at first."""

    format: str
    version: int


@dataclass(frozen=True, kw_only=True)
class SavedSolve(SolveRecord):
    """The fields of a solve that files hold, of one motion or of phases.

    multipliers : names of what has multipliers, in the order of their arrays
    has_point : whether the solver's own unknowns are there
    journal : without histories, which are an array; None in files of 0.2, see `FormerTables`
    """

    FORMAT: ClassVar[str]

    multipliers: tuple[str, ...]
    status: str
    has_point: bool
    journal: JournalTable | None = None

    @classmethod
    def of(cls: type[HeaderT], answer: Answer, **others: Any) -> HeaderT:
        """The header of an answer; others : values of the keys that are none of its attributes."""
        others |= {
            "recipe": _recorded_recipe(answer.recipe),
            "multipliers": tuple(answer.multipliers),
            "status": answer.status.name,
            "has_point": answer.point is not None,
            "journal": dataclasses.replace(answer.journal, histories=()),
        }
        names = (key.name for key in dataclasses.fields(cls))
        return cls(**{name: others[name] if name in others else getattr(answer, name) for name in names})

    def shared(self, *others: str) -> dict[str, Any]:
        """The attributes of the solution that stand in the header as they are, but for `others`."""
        names = {key.name for key in dataclasses.fields(self)}
        names -= {"multipliers", "status", "has_point", "journal", *others}
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class SolutionHeader(SavedSolve):
    """All of a solution but its arrays; `Solution` says what each means.

    degrees : of the spline, one per arc
    apart_degrees : of the curves with a basis of their own: one per arc for every group of them
    extra_points, limit_points : number of arrays of added nodes: one per arc, or none
    """

    FORMAT = "trajopt solution"

    degrees: tuple[int, ...]
    joint_names: tuple[str, ...]
    parameters: tuple[str, ...]
    objective: float
    cost_terms: dict[str, float]
    extra_points: int = 0
    limit_points: int = 0
    apart_degrees: tuple[tuple[int, ...], ...] = ()
    certificate: Mapping[str, Any] | None = None
    statement: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class PhasesHeader(SavedSolve):
    """All of a solution of phases but the phases and arrays; `PhasesSolution` says what each means."""

    FORMAT = "trajopt solution of phases"

    names: tuple[str, ...]
    certification: Certification | None = None


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


def _recorded_recipe(recipe: Recipe | None) -> Recipe | None:
    """A recipe as a header holds it, or None, with a warning, where a file cannot hold it."""
    try:
        check_savable(recipe)
    except OptionError as error:
        warn_user(f"saved without its recipe, to load it pass problem=...: {error}")
        return None
    return None if recipe is None else Recipe(recipe.problem, dict(recipe.parameters))
