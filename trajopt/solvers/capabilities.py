"""Optional capabilities of solvers and NLPs: a protocol each, and a function with the default without it.

`Solver` requires `solve` alone and `NLP` the functions alone. For more, callers use the functions of this
module, which test by `isinstance`; they never look for attributes themselves. The `with_...` methods return
another solver and leave theirs as it is.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from trajopt.base.arguments import check_count, check_positive, implements
from trajopt.base.errors import OptionError, near_matches
from trajopt.solvers.solver import NLP, Solver


class StartPreset(enum.Enum):
    """Settings for solves whose start is near their solution; the values say when each is meant."""

    NEAR_START = "the start is near the solution, and rows may start near their bounds"
    NEAR_BOUNDS = "as NEAR_START, and unknowns too may start near their bounds"
    SAME_MOTION = "the start is the solution of an NLP that lacks a few of the rows"
    NEAR_OPTIMUM = "the start meets the rows, and the unknowns that were added change it little"


@dataclass(frozen=True)
class RowTolerances:
    """How exactly rows must hold, where the general tolerance of a solver is too coarse for them.

    rows : largest violation of a row at convergence
    acceptable : largest violation and KKT error of a point that counts as acceptable
    acceptable_iterations : iterations within `acceptable` after which the solve ends there
    least_barrier : down to which an interior-point solver may lower its barrier parameter. A barrier pushes
        unknowns off limits that do not bind, by barrier over distance and weight
    """

    rows: float
    acceptable: float
    acceptable_iterations: int
    least_barrier: float = 1e-11


@runtime_checkable
class ToleranceSolver(Solver, Protocol):
    """Solves to a tolerance that can be set."""

    @property
    def tol(self) -> float: ...
    def with_tolerance(self, tol: float) -> Solver: ...


@runtime_checkable
class TimeLimitedSolver(Solver, Protocol):
    """Stops after `time_limit` wall seconds; None: no limit."""

    @property
    def time_limit(self) -> float | None: ...
    def with_time_limit(self, seconds: float) -> Solver: ...


@runtime_checkable
class IterationLimitedSolver(Solver, Protocol):
    """Stops after `max_iterations` iterations."""

    @property
    def max_iterations(self) -> int: ...
    def with_max_iterations(self, count: int) -> Solver: ...


@runtime_checkable
class StartPresetSolver(Solver, Protocol):
    """Has settings of its own for each `StartPreset`."""

    def with_start_preset(self, preset: StartPreset) -> Solver: ...


@runtime_checkable
class RowToleranceSolver(Solver, Protocol):
    """Distinguishes tolerances of rows from its general one."""

    def with_row_tolerances(self, tolerances: RowTolerances) -> Solver: ...


@runtime_checkable
class ConfigurableSolver(Solver, Protocol):
    """Takes options by name, those of the solver it works through included."""

    def with_options(self, options: Mapping[str, Any]) -> Solver: ...


@runtime_checkable
class CheckpointingSolver(Solver, Protocol):
    """Writes checkpoints of one NLP; `without_checkpoints` is the solver for any other."""

    @property
    def without_checkpoints(self) -> Solver: ...


@runtime_checkable
class HessianChoosingSolver(Solver, Protocol):
    """Takes second derivatives of the NLP, "exact", or is told to do without them, "lbfgs"."""

    @property
    def hessian(self) -> Literal["exact", "lbfgs"]: ...


@runtime_checkable
class RankingSolver(Solver, Protocol):
    """May have settings for solves that tell starts apart, whose objectives need not be exact; else None."""

    def for_ranking(self) -> Solver | None: ...


@runtime_checkable
class RowSelectingNLP(Protocol):
    """Differentiates some of its rows without computing what only the others need."""

    def jacobian_of_rows(self, kept: np.ndarray) -> Callable[[np.ndarray], np.ndarray]: ...


@runtime_checkable
class ScaledNLP(Protocol):
    """An NLP whose objective is that of a problem times a constant factor."""

    @property
    def objective_scale(self) -> float: ...


@runtime_checkable
class NonfiniteExplainer(Protocol):
    """An NLP that can name the term, node and component that is not finite at y ("" where all is finite)."""

    def culprit(self, y: np.ndarray) -> str: ...


def with_time_limit(solver: Solver, seconds: float) -> Solver:
    """The solver stopping after `seconds`, or earlier by its own limit; without time limits, itself."""
    if not implements(solver, TimeLimitedSolver):
        return solver
    own = solver.time_limit
    return solver.with_time_limit(seconds if own is None else min(own, seconds))


def with_max_iterations(solver: Solver, count: int) -> Solver:
    """The solver stopping after `count` iterations, or its own limit; without such limits, itself."""
    if not implements(solver, IterationLimitedSolver):
        return solver
    return solver.with_max_iterations(min(solver.max_iterations, count))


def with_start_preset(solver: Solver, preset: StartPreset) -> Solver:
    """The solver with a preset where the user has set nothing else; without presets, itself."""
    return solver.with_start_preset(preset) if implements(solver, StartPresetSolver) else solver


def with_row_tolerances(solver: Solver, tolerances: RowTolerances) -> Solver:
    """The solver with these tolerances where the user has set no others; without such, itself."""
    return solver.with_row_tolerances(tolerances) if implements(solver, RowToleranceSolver) else solver


def with_options(solver: Solver, options: Mapping[str, Any]) -> Solver:
    """The solver with options by name; OptionError for an unknown one, and where it takes none at all."""
    if not options:
        return solver
    if not implements(solver, ConfigurableSolver):
        raise OptionError(f"{type(solver).__name__} takes no options, but {', '.join(options)} was given")
    return solver.with_options(options)


def for_ranking(solver: Solver) -> Solver | None:
    """The solver for objectives that need not be exact, None where it has no settings for them."""
    return solver.for_ranking() if implements(solver, RankingSolver) else None


def without_checkpoints(solver: Solver) -> Solver:
    """The solver for NLPs other than the one whose checkpoints it writes; without checkpoints, itself."""
    return solver.without_checkpoints if implements(solver, CheckpointingSolver) else solver


def takes_hessian(solver: Solver) -> bool:
    """Whether nobody told the solver to do without second derivatives, so that Newton steps may be made."""
    return not implements(solver, HessianChoosingSolver) or solver.hessian == "exact"


def nonfinite_cause(nlp: NLP, y: np.ndarray) -> str:
    """Which part of an NLP is not finite at y; "" where all is, or where the NLP cannot say."""
    return nlp.culprit(y) if implements(nlp, NonfiniteExplainer) else ""


def jacobian_of_rows(nlp: NLP, kept: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The function that gives, of `nlp.jacobian(y)`, the entries of the rows that are kept, in their order.

    kept : (row_count,) boolean
    """
    if implements(nlp, RowSelectingNLP):
        return nlp.jacobian_of_rows(kept)
    entries = np.flatnonzero(kept[nlp.jacobian_rows])
    return lambda y: nlp.jacobian(y)[entries]


def unscaled_objective(nlp: NLP, value: float) -> float:
    """A value of an NLP's objective without the factor that scales it, where there is one."""
    return value / nlp.objective_scale if implements(nlp, ScaledNLP) else value


SolverT = TypeVar("SolverT")
SettingsT = TypeVar("SettingsT", bound="RunSettings")


def with_fields(solver: SolverT, options: Mapping[str, Any]) -> SolverT:
    """A solver that is a dataclass with options as its fields; OptionError for a name that it has not."""
    known = [field.name for field in fields(solver)]  # type: ignore[arg-type]
    for name in options.keys() - set(known):
        near = near_matches(name, known) or f": it has {', '.join(known)}"
        raise OptionError(f"{type(solver).__name__.lower()} has no option '{name}'{near}")
    return replace(solver, **options)  # type: ignore[type-var]


@dataclass(frozen=True)
class RunSettings:
    """The settings that IPOPT, SLSQP and the dense method share, and how they are changed.

    tol             what its solver says it means
    max_iterations  iterations allowed
    time_limit      wall seconds allowed, None: no limit

    Raises OptionError on construction for a value out of range.
    """

    tol: float = 1e-9
    max_iterations: int = 1000
    time_limit: float | None = None

    def __post_init__(self) -> None:
        check_positive("tol", self.tol)
        check_count("max_iterations", self.max_iterations)
        check_positive("time_limit", self.time_limit, optional=True)

    def with_tolerance(self: SettingsT, tol: float) -> SettingsT:
        return replace(self, tol=tol)

    def with_time_limit(self: SettingsT, seconds: float) -> SettingsT:
        return replace(self, time_limit=seconds)

    def with_max_iterations(self: SettingsT, count: int) -> SettingsT:
        return replace(self, max_iterations=count)

    def with_options(self: SettingsT, options: Mapping[str, Any]) -> SettingsT:
        """With these settings; OptionError for a name that is none of them."""
        return with_fields(self, options)
