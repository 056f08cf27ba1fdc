"""The solver protocol: the nonlinear program that a solver receives, its result and statuses, shared
tolerances.

The program, already scaled, is

    minimize f(y)   with   row_lower <= g(y) <= row_upper,   lower <= y <= upper,

and the sign convention of its multipliers is

    grad f + J' row_multipliers - lower_multipliers + upper_multipliers = 0,   bound multipliers >= 0,

so a row multiplier is positive where the row's upper bound is active, negative where its lower one is.
`Run` is what a caller asks of one solve; which solvers exist is in `run.py`.

Programs are scaled, so that tolerances are the same for all of them.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from trajopt.base.errors import ShapeError

LEAST_BARRIER = 1e-11  # barrier parameters of interior-point methods: products of scaled gaps and multipliers
LEAST_TIME = 1e-3  # seconds that a solve is given, also behind its deadline: enough to return its start


class Status(enum.Enum):
    """End of a solve; the values are the messages."""

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
    UNBOUNDED = "the duration fell to the shortest that is computed with, 1e-4 s"
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
        """True if the conditions of an optimum hold to the tolerance asked for; nearly is not enough."""
        return self in (Status.CONVERGED, Status.FEASIBLE_POINT)


@dataclass(frozen=True)
class Iteration:
    """One iteration, as it is passed to callbacks.

    `objective` is that of the problem, without the program's factor of scale. `infeasibility` is the largest
    violation of rows and bounds, `dual_infeasibility` the largest entry of the Lagrangian's gradient
    (NaN where the solver does not say), `step` the largest entry of the last step; these three are scaled.
    """

    iteration: int
    objective: float
    infeasibility: float
    dual_infeasibility: float
    step: float
    seconds: float


Callback = Callable[[Iteration], object]
Watch = Callable[["Program", "WarmStart", np.ndarray, float, float], object]


@dataclass(frozen=True)
class WarmStart:
    """A point to start from, with its multipliers when they are known (None otherwise).

    hessian : the entries of `Program.hessian`, there or at an optimum nearby, for the first of Newton's steps
    """

    y: np.ndarray
    row_multipliers: np.ndarray | None = None
    lower_multipliers: np.ndarray | None = None
    upper_multipliers: np.ndarray | None = None
    hessian: np.ndarray | None = None

    @property
    def has_multipliers(self) -> bool:
        """True if all three kinds of multipliers are given, and finite."""
        given = (self.row_multipliers, self.lower_multipliers, self.upper_multipliers)
        return all(multipliers is not None and np.isfinite(multipliers).all() for multipliers in given)

    @property
    def is_spoilt(self) -> bool:
        """True if a multiplier or second derivative is not finite, so that the point alone is of use."""
        given = [values for name, values in vars(self).items() if name != "y" and values is not None]
        return not all(np.isfinite(values).all() for values in given)

    def check(self, nlp: Program) -> WarmStart:
        """This start as float arrays, its point alone if it is spoilt.

        Raises ShapeError where it does not fit `nlp`.
        """
        fitted: dict[str, Any] = {}
        counts = {"row_multipliers": (nlp.row_count, "rows")}
        if self.hessian is not None:
            counts["hessian"] = len(nlp.hessian_rows), "entries"
        for name, values in vars(self).items():
            count, what = counts.get(name, (nlp.variable_count, "variables"))
            fitted[name] = None if values is None else np.asarray(values, dtype=float)
            if values is not None and fitted[name].shape != (count,):
                raise ShapeError(
                    f"start.{name} has shape {fitted[name].shape} but the problem has {count} {what}"
                )
        whole = WarmStart(**fitted)
        return WarmStart(whole.y) if whole.is_spoilt else whole


class StartKind(enum.Enum):
    """Kinds of starts near their solution; the values describe when each is meant."""

    NEAR_START = "the start is near the solution, and rows may start near their bounds"
    NEAR_BOUNDS = "as NEAR_START, and unknowns too may start near their bounds"
    SAME_MOTION = "the start is the solution of a program that lacks a few of the rows"
    NEAR_OPTIMUM = "the start meets the rows, and the unknowns that were added change it little"


@dataclass(frozen=True)
class RowTolerances:
    """Tolerances of rows, where the general tolerance of a solver is too coarse for them.

    rows : largest violation of a row at convergence
    acceptable : largest violation and KKT error of a point that counts as acceptable
    acceptable_iterations : iterations within `acceptable` after which the solve ends there
    least_barrier : down to which an interior-point solver may lower its barrier parameter. A barrier pushes
        unknowns off limits that do not bind, by barrier over distance and weight
    """

    rows: float
    acceptable: float
    acceptable_iterations: int
    least_barrier: float = LEAST_BARRIER


@dataclass(frozen=True)
class Run:
    """Requests of a caller for one solve, beside the solver's own settings; None leaves those as they are.

    deadline : seconds of `time.monotonic` at which the solve ends; the solver's own time limit holds, too
    tol : in place of the solver's own tolerance
    max_iterations : iterations allowed, unless the solver itself allows fewer
    start_kind : what is known of the start; a solver may have settings for it, which yield to the user's own
    row_tolerances : how exactly rows must hold, unless the user has set other tolerances
    callback : called after every iteration; what it raises leaves `solve`
    watch : called after every iteration with the program that the solver sees, the point with its
        multipliers, the rows and the objective there, and the largest entry of Newton's step, of which a part
        led to it; what it raises leaves `solve`

    A solver ignores what it has no means for.
    """

    deadline: float = np.inf
    tol: float | None = None
    max_iterations: int | None = None
    start_kind: StartKind | None = None
    row_tolerances: RowTolerances | None = None
    callback: Callback | None = None
    watch: Watch | None = None

    @property
    def expired(self) -> bool:
        return time.monotonic() >= self.deadline

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline, at least `LEAST_TIME`; None without a deadline."""
        return None if self.deadline == np.inf else max(self.deadline - time.monotonic(), LEAST_TIME)

    def within(self, seconds: float | None) -> Run:
        """This run with a deadline at most so many seconds from now; None adds no limit."""
        if seconds is None:
            return self
        return replace(self, deadline=min(self.deadline, time.monotonic() + seconds))

    def over(self, general: Run) -> Run:
        """This run; what it leaves open is as in `general`, and the earlier deadline holds."""
        mine = {each.name: getattr(self, each.name) for each in fields(self)}
        left_open = [name for name, value in mine.items() if value is None]
        values = {name: getattr(general, name) for name in left_open}
        return replace(self, **values, deadline=min(self.deadline, general.deadline))


@dataclass(frozen=True)
class Result:
    """The result of a solver, converged or not.

    y                    (n,) the final point where converged, else the best iterate: lowest objective among
                         the iterates within the solver's `feasibility`, else the lowest violation
    row_multipliers      (m,) signs as at the top of this file; of the same iterate as y
    lower_multipliers    (n,) >= 0;  upper_multipliers (n,) >= 0
    objective            f(y);  infeasibility: largest violation of rows and bounds at y
    seconds              wall time of the solve
    timings              seconds by function of the program, "callback" and, for the rest, "solver"
    history              (iterations seen, 3): iteration, objective, infeasibility
    detail               the solver's own message about the outcome
    hessian              of the Lagrangian at y, where the solver knows it: the entries of `Program.hessian`
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
    timings: Mapping[str, float] = field(default_factory=dict[str, float])
    history: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))
    detail: str = ""
    hessian: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("y", "row_multipliers", "lower_multipliers", "upper_multipliers", "history"):
            values = np.array(getattr(self, name), dtype=float)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        object.__setattr__(self, "timings", MappingProxyType(dict(self.timings)))

    @property
    def converged(self) -> bool:
        """True if the solve reached the tolerance asked for."""
        return self.status.converged

    @property
    def warm_start(self) -> WarmStart:
        """This point and its multipliers as the start of another solve."""
        multipliers = self.row_multipliers, self.lower_multipliers, self.upper_multipliers
        return WarmStart(self.y, *multipliers, self.hessian)


class Program(Protocol):
    """A nonlinear program as solvers see it; absent bounds are +-inf, sparse matrices are fixed triplets.

    `jacobian(y)` gives the values of the entries at (jacobian_rows, jacobian_columns), `hessian(y,
    row_multipliers, objective_factor)` those of the lower triangle of objective_factor * f'' + sum_r
    multiplier_r * g_r''; repeated entries add up. Without `has_hessian` the latter is never called.

    Where a program has them, solvers also use `objective_scale`, the factor by which its objective is that of
    a problem; `unknown_sizes`, (n,), not None where these differ much (`scaled_program`); `culprit(y)`, which
    names the term, node and component that is not finite at y ("": none is); `unknown_spans`, (n, 2), first
    and last span of time on which every unknown acts, NaN for one that acts everywhere;
    `jacobian_of_rows(kept)`, a function that gives the entries of `jacobian(y)` in the rows that are kept,
    (row_count,) boolean, without computing what only the others need; and `layouts`, a dictionary that
    programs of one structure share, for what solvers find out about the places of their entries.
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
    @property
    def objective(self) -> Callable[[np.ndarray], float]: ...
    @property
    def gradient(self) -> Callable[[np.ndarray], np.ndarray]: ...
    @property
    def rows(self) -> Callable[[np.ndarray], np.ndarray]: ...
    @property
    def jacobian(self) -> Callable[[np.ndarray], np.ndarray]: ...
    @property
    def hessian(self) -> Callable[[np.ndarray, np.ndarray, float], np.ndarray]: ...


@dataclass(frozen=True, eq=False)
class ProgramValue:
    """A program as one value, whose parts wrappers change by `dataclasses.replace`.

    unscaled : the program whose unknowns were divided by their sizes to make this one
    """

    variable_count: int
    row_count: int
    lower: np.ndarray
    upper: np.ndarray
    row_lower: np.ndarray
    row_upper: np.ndarray
    jacobian_rows: np.ndarray
    jacobian_columns: np.ndarray
    hessian_rows: np.ndarray
    hessian_columns: np.ndarray
    has_hessian: bool
    start: np.ndarray
    objective: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    rows: Callable[[np.ndarray], np.ndarray]
    jacobian: Callable[[np.ndarray], np.ndarray]
    hessian: Callable[[np.ndarray, np.ndarray, float], np.ndarray]
    objective_scale: float = 1.0
    culprit: Callable[[np.ndarray], str] = lambda y: ""
    jacobian_of_rows: Callable[[np.ndarray], Callable[[np.ndarray], np.ndarray]] | None = None
    unscaled: Program | None = None
    unknown_spans: np.ndarray | None = None
    layouts: dict[str, Any] | None = None

    @staticmethod
    def of(program: Program) -> ProgramValue:
        """The parts of a program."""
        parts = [each.name for each in fields(ProgramValue)]
        return ProgramValue(**{name: getattr(program, name) for name in parts if hasattr(program, name)})


@runtime_checkable
class Solver(Protocol):
    """Anything that turns a program into a Result; not converging is a status, never an exception.

    start : replaces `nlp.start`; a solver may use the multipliers or not
    run : limits, tolerance and callback of this solve

    Where a solver has these attributes, callers read them: `tol` and `time_limit`, its own settings;
    `hessian`, "lbfgs" where it is to do without second derivatives; `without_checkpoints`, the solver for
    NLPs other than the one whose checkpoints it writes.
    """

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result: ...


#: Violation up to which a point counts as feasible, distance up to which a limit counts as active, and the
#: first shift of the diagonal of a Hessian.
FEASIBILITY = 1e-6

#: Of a bound, or absolutely: how far interior-point methods move bounds outwards, for an interior to be
#: where two of them meet.
BOUND_RELAXATION = 1e-10


def relaxations(bounds: np.ndarray, factor: float = BOUND_RELAXATION) -> np.ndarray:
    """Distances (k,) by which interior-point methods move bounds outwards: `factor` of a bound, or absolute.

    A small one is moved by a tenth of `FEASIBILITY` of it at most, unless it is zero but for rounding: a mass
    of 1e-6 kg that has to be left would be missed by 1e-4 of it.
    """
    size = np.abs(bounds)
    small = np.where(size > ROUNDING, np.minimum(0.1 * FEASIBILITY * size, factor), factor)
    return np.where(size < 1.0, small, factor * size)


def unrelaxed(lower: np.ndarray, upper: np.ndarray, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Bounds that a solver, which moves all by `factor` of one unit at least, moves by `relaxations`."""
    apart = upper > lower + 4.0 * factor
    inwards = [
        np.where(apart & (np.abs(bounds) < 1.0), factor - relaxations(bounds, factor), 0.0)
        for bounds in (lower, upper)
    ]
    return lower + inwards[0], upper - inwards[1]


#: Interior-point methods from a start with multipliers: how far they push it off its bounds, of a bound or of
#: the range between two, and the least multiplier; and their first barrier parameter.
WARM_PUSH, WARM_BARRIER = 1e-9, 1e-7

#: Both, where the start solves a program that lacks a few of the rows.
FURTHER_ROWS = 1e-4

#: Of the largest entry of a Hessian: curvature that counts as none.
FLAT = 1e-10

#: What is left of a row of unit length beside others: below, it depends on them. Of the
#: largest entry of a Hessian: negative curvature that a minimum may have.
DEPENDENT = 1e-8

#: Relative error of a sum whose terms are exact up to rounding.
SUM_ROUNDING = 4.0 * float(np.finfo(float).eps)

#: What rounding leaves of numbers of the size of one, in some hundred operations.
ROUNDING = 1e-12

#: Unknowns up to which dense algebra takes less time than sparse.
DENSE = 300

#: Steps after which a method of few steps gives up.
MOST_STEPS = 80

#: Above it, unknowns and shifts of a Hessian grow without limit, as with IPOPT.
ENDLESS = 1e20

#: Of the largest entry of a Hessian: the least that keeps pivots from zero when a diagonal is shifted by it.
REGULARIZATION = 1e-9

#: Growth of a shift that did not help, and of one that barely did.
GROWTH, LITTLE_GROWTH = 8.0, 3.0

#: Of the distance to a limit, or of a multiplier: the most that a step takes.
SHARE = 0.9999

#: Relative decrease that is worth no further step.
LITTLE = 1e-2

#: Of an objective, scaled: what may be left open where objectives are compared.
RANKED = 1e-3
