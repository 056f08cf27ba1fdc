"""The JSON header of a saved solution: names of its keys, and the kind of value that each must hold.

Keys without a default stood in the first version of the format; those with one were added since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trajopt.solution.records import MeshSolve, RefinementRecord, RunRecord, StartTable
from trajopt.solvers.optimality.kkt import KKT

FORMAT = "trajopt solution"
VERSION = 1
ADDED_NODES = ("extra_points", "limit_points")  # each an array of normalised times for every arc


@dataclass(frozen=True)
class FileKind:
    """What a reader looks at first: the kind of file, and the version of its format."""

    format: str
    version: int


@dataclass(frozen=True)
class SavedRecipe:
    """The problem that was solved: its name in the library, and the values of its parameters."""

    problem: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class SolutionHeader:
    """All of a solution but its arrays; `Solution` says what each means.

    degrees : of the spline, one per arc
    apart_degrees : of the curves with a basis of their own: one per arc for every group of them
    has_point : whether the solver's own unknowns are there
    extra_points, limit_points : number of arrays of added nodes: one per arc, or none
    """

    name: str
    recipe: SavedRecipe | None
    degrees: tuple[int, ...]
    joint_names: tuple[str, ...]
    parameters: tuple[str, ...]
    multipliers: tuple[str, ...]
    status: str
    objective: float
    cost_terms: dict[str, float]
    kkt: KKT
    iterations: int
    seconds: float
    n_variables: int
    n_constraints: int
    timings: dict[str, float]
    detail: str
    has_point: bool
    extra_points: int = 0
    apart_degrees: tuple[tuple[int, ...], ...] = ()
    levels: tuple[MeshSolve, ...] = ()
    starts: StartTable | None = None
    refinement: RefinementRecord | None = None
    certificate: Mapping[str, Any] | None = None
    run: RunRecord | None = None
    limit_points: int = 0
