"""Optional capabilities of solvers and NLPs: a protocol each, and a function with the default without it.

`Solver` demands `solve` alone and `NLP` the functions alone. Where more would help, the callers use the
functions of this module, which ask by `isinstance`; they never look for attributes themselves. The `with_...`
methods return another solver and leave theirs as it is.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from trajopt.errors import OptionError, near_matches
from trajopt.solvers.solver import NLP, Solver


class Preset(enum.Enum):
    """Groups of settings for solves that start near their answer; the values say when each is meant."""

    NEAR_START = "the start is near the answer, and so is its distance to the rows' bounds"
    NEAR_BOUNDS = "as NEAR_START, and unknowns may start nearer to their own bounds"
    SAME_MOTION = "the start is the answer of a problem that differs by a few rows"
    TIGHT_ROWS = "rows must hold to 1e-11; what comes no nearer to that is given up early"


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
class PresetSolver(Solver, Protocol):
    """Has settings of its own for each `Preset`."""

    def with_presets(self, *presets: Preset) -> Solver: ...


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
class NonfiniteExplainer(Protocol):
    """An NLP that can name the term, node and component that is not finite at y ("" where all is finite)."""

    def culprit(self, y: np.ndarray) -> str: ...


def with_time_limit(solver: Solver, seconds: float) -> Solver:
    """The solver stopping after `seconds`, or earlier by its own limit; without time limits, itself."""
    if not isinstance(solver, TimeLimitedSolver):
        return solver
    own = solver.time_limit
    return solver.with_time_limit(seconds if own is None else min(own, seconds))


def with_max_iterations(solver: Solver, count: int) -> Solver:
    """The solver stopping after `count` iterations, or its own limit; without such limits, itself."""
    if not isinstance(solver, IterationLimitedSolver):
        return solver
    return solver.with_max_iterations(min(solver.max_iterations, count))


def with_presets(solver: Solver, *presets: Preset) -> Solver:
    """The solver with presets where the user has set nothing else; without presets, itself."""
    return solver.with_presets(*presets) if isinstance(solver, PresetSolver) else solver


def with_options(solver: Solver, options: Mapping[str, Any]) -> Solver:
    """The solver with options by name; OptionError for an unknown one, and where it takes none at all."""
    if not options:
        return solver
    if not isinstance(solver, ConfigurableSolver):
        raise OptionError(f"{type(solver).__name__} takes no options, but {', '.join(options)} was given")
    return solver.with_options(options)


def without_checkpoints(solver: Solver) -> Solver:
    """The solver for NLPs other than the one whose checkpoints it writes; without checkpoints, itself."""
    return solver.without_checkpoints if isinstance(solver, CheckpointingSolver) else solver


def nonfinite_cause(nlp: NLP, y: np.ndarray) -> str:
    """Which part of an NLP is not finite at y; "" where all is, or where the NLP cannot say."""
    return nlp.culprit(y) if isinstance(nlp, NonfiniteExplainer) else ""


SolverT = TypeVar("SolverT")


def with_fields(solver: SolverT, options: Mapping[str, Any]) -> SolverT:
    """A solver that is a dataclass with options as its fields; OptionError for a name that it has not."""
    known = [field.name for field in fields(solver)]  # type: ignore[arg-type]
    for name in options.keys() - set(known):
        near = near_matches(name, known) or f": it has {', '.join(known)}"
        raise OptionError(f"{type(solver).__name__.lower()} has no option '{name}'{near}")
    return replace(solver, **options)  # type: ignore[type-var]
