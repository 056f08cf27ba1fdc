"""The solver protocol: the nonlinear program (NLP) that a solver receives, its result and its statuses.

The NLP, already scaled, is

    minimize f(y)   with   row_lower <= g(y) <= row_upper,   lower <= y <= upper,

and the sign convention of its multipliers is

    grad f + J' row_multipliers - lower_multipliers + upper_multipliers = 0,   bound multipliers >= 0,

so a row multiplier is positive where the row's upper bound is active, negative where its lower one is.
What a solver may offer beyond `solve` is in `capabilities.py`, which solvers exist in `registry.py`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, runtime_checkable

import numpy as np

from trajopt.base.errors import ShapeError

__all__ = ["NLP", "Callback", "Iteration", "Result", "Solver", "Status", "WarmStart"]


class Status(enum.Enum):
    """How a solve ended; the values are the messages."""

    CONVERGED = "converged"
    ACCEPTABLE = "stopped at an acceptable point: nearly optimal, short of the tolerance asked for"
    FEASIBLE_POINT = (
        "found a feasible point: nothing is minimized, or there are as many equations as unknowns"
    )
    INFEASIBLE = "converged to a point where the violation is smallest but not zero: probably infeasible"
    INCOMPATIBLE = "the linearised constraints contradict each other"
    ITERATION_LIMIT = "reached the iteration limit"
    TIME_LIMIT = "reached the time limit"
    INTERRUPTED = "interrupted"
    EVALUATION_ERROR = "a function or derivative is not finite near the last point"
    DIVERGING = "the unknowns grow without limit: probably unbounded"
    NO_BEST_DURATION = (
        "the cost fell to rounding as the duration grew a hundredfold: longer motions cost as little or less"
    )
    UNBOUNDED = "the duration fell to the shortest that is computed with, 1e-4 s: nothing limits the speed"
    RESTORATION_FAILED = "could not get back to feasibility (restoration failed)"
    STEP_TOO_SMALL = "the steps became too small to make progress"
    STEP_FAILED = "the linear algebra of a step failed"
    NOT_ENOUGH_FREEDOM = "more equality constraints than unknowns"
    INVALID_PROBLEM = "the solver calls the problem invalid"
    OUT_OF_MEMORY = "out of memory"
    SOLVER_ERROR = "the solver failed inside"
    UNKNOWN = "ended with a code that the solver does not document"

    @property
    def converged(self) -> bool:
        """Whether the conditions of an optimum hold to the tolerance asked for; nearly is not enough."""
        return self in (Status.CONVERGED, Status.FEASIBLE_POINT)


@dataclass(frozen=True)
class Iteration:
    """One iteration, as it is passed to callbacks.

    `objective` is that of the problem, without the factor by which an NLP scales it. `infeasibility` is the
    largest violation of rows and bounds, `dual_infeasibility` the largest entry of the Lagrangian's gradient
    (NaN where the solver does not say), `step` the largest entry of the last step; these three are scaled.
    """

    iteration: int
    objective: float
    infeasibility: float
    dual_infeasibility: float
    step: float
    seconds: float


Callback = Callable[[Iteration], object]


@dataclass(frozen=True)
class WarmStart:
    """A point to start from, with its multipliers when they are known (None otherwise)."""

    y: np.ndarray
    row_multipliers: np.ndarray | None = None
    lower_multipliers: np.ndarray | None = None
    upper_multipliers: np.ndarray | None = None

    @property
    def has_multipliers(self) -> bool:
        """Whether all three kinds of multipliers are given."""
        given = (self.row_multipliers, self.lower_multipliers, self.upper_multipliers)
        return all(multipliers is not None for multipliers in given)

    def check(self, nlp: NLP) -> WarmStart:
        """This start as float arrays; raises ShapeError where it does not fit `nlp`."""
        fitted = {
            "y": _fitted("y", self.y, nlp.variable_count, "variables"),
            "row_multipliers": _fitted("row_multipliers", self.row_multipliers, nlp.row_count, "rows"),
            "lower_multipliers": _fitted(
                "lower_multipliers", self.lower_multipliers, nlp.variable_count, "variables"
            ),
            "upper_multipliers": _fitted(
                "upper_multipliers", self.upper_multipliers, nlp.variable_count, "variables"
            ),
        }
        return WarmStart(**fitted)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Result:
    """What a solver returns, converged or not.

    y                    (n,) the final point where converged, else the best iterate: lowest objective among
                         the iterates within the solver's `feasibility`, else the lowest violation
    row_multipliers      (m,) signs as at the top of this file; of the same iterate as y
    lower_multipliers    (n,) >= 0;  upper_multipliers (n,) >= 0
    objective            f(y);  infeasibility: largest violation of rows and bounds at y
    seconds              wall time of the solve
    timings              seconds by function of the NLP, "callback" for the callback, "solver" for the rest
    history              (iterations seen, 3): iteration, objective, infeasibility
    detail               the solver's own message about the outcome
    """

    status: Status
    y: np.ndarray
    row_multipliers: np.ndarray
    lower_multipliers: np.ndarray
    upper_multipliers: np.ndarray
    objective: float
    infeasibility: float
    iterations: int
    seconds: float
    timings: Mapping[str, float] = field(default_factory=dict)
    history: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))
    detail: str = ""

    def __post_init__(self) -> None:
        for name in ("y", "row_multipliers", "lower_multipliers", "upper_multipliers", "history"):
            values = np.array(getattr(self, name), dtype=float)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        object.__setattr__(self, "timings", MappingProxyType(dict(self.timings)))

    @property
    def converged(self) -> bool:
        """Whether the solve reached the tolerance asked for."""
        return self.status.converged

    @property
    def warm_start(self) -> WarmStart:
        """This point and its multipliers as the start of another solve."""
        return WarmStart(self.y, self.row_multipliers, self.lower_multipliers, self.upper_multipliers)


class NLP(Protocol):
    """A nonlinear program as solvers see it; absent bounds are +-inf, sparse matrices are fixed triplets.

    `jacobian(y)` gives the values of the entries at (jacobian_rows, jacobian_columns), `hessian(y,
    row_multipliers, objective_factor)` those of the lower triangle of objective_factor * f'' + sum_r
    multiplier_r * g_r''; repeated entries add up. Without `has_hessian` the latter is never called.
    """

    @property
    def variable_count(self) -> int: ...
    @property
    def row_count(self) -> int: ...
    @property
    def lower(self) -> np.ndarray: ...
    @property
    def upper(self) -> np.ndarray: ...
    @property
    def row_lower(self) -> np.ndarray: ...
    @property
    def row_upper(self) -> np.ndarray: ...
    @property
    def jacobian_rows(self) -> np.ndarray: ...
    @property
    def jacobian_columns(self) -> np.ndarray: ...
    @property
    def hessian_rows(self) -> np.ndarray: ...
    @property
    def hessian_columns(self) -> np.ndarray: ...
    @property
    def has_hessian(self) -> bool: ...
    @property
    def start(self) -> np.ndarray: ...
    def objective(self, y: np.ndarray, /) -> float: ...
    def gradient(self, y: np.ndarray, /) -> np.ndarray: ...
    def rows(self, y: np.ndarray, /) -> np.ndarray: ...
    def jacobian(self, y: np.ndarray, /) -> np.ndarray: ...
    def hessian(
        self, y: np.ndarray, row_multipliers: np.ndarray, objective_factor: float, /
    ) -> np.ndarray: ...


@runtime_checkable
class Solver(Protocol):
    """Anything that turns an NLP into a Result; not converging is a status, never an exception.

    callback : called after every iteration; what it raises leaves `solve`
    start : replaces `nlp.start`; a solver may use the multipliers or not
    """

    def solve(self, nlp: NLP, callback: Callback | None = None, start: WarmStart | None = None) -> Result: ...


def _fitted(name: str, values: np.ndarray | None, size: int, of_what: str) -> np.ndarray | None:
    if values is None:
        return None
    values = np.asarray(values, dtype=float)
    if values.shape != (size,):
        raise ShapeError(f"start.{name} has shape {values.shape} but the problem has {size} {of_what}")
    return values
