"""Solvers by name, the settings they share, and how they run: before one deadline, or one after another.

To add a solver: write its file, a frozen dataclass with `solve` (protocol `Solver`), a static `version` and
what it offers beyond that, and add a line to SOLVERS. The command line and the contract test for all
solvers then know it. Nothing is imported before a solver is created, so that listing names costs no time.
"""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from typing import Any, Protocol, TypeVar

import numpy as np

from trajopt.base.arguments import check_count, check_instance, check_known, check_positive
from trajopt.base.errors import EvaluationError, OptionError
from trajopt.solvers.monitor import Monitor
from trajopt.solvers.scaled_program import scaled_point, scaled_program
from trajopt.solvers.solver import Callback, Iteration, Program, Result, Run, Solver, Status, WarmStart

OUT_OF_TIME = "the time limit was reached"
INTERRUPTED = "the solve was interrupted"

SettingsT = TypeVar("SettingsT", bound="SolverSettings")

DEFAULT = "ipopt"  # where neither user nor problem names a solver


@dataclass(frozen=True)
class RegisteredSolver:
    """A solver by name: where its class is, and what it is for."""

    name: str
    module: str
    class_name: str
    summary: str

    @property
    def solver_class(self) -> type:
        return getattr(import_module(self.module), self.class_name)

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the settings that its class takes."""
        return tuple(field.name for field in fields(self.solver_class))

    @property
    def version(self) -> str:
        """Version of the installed solver; ImportError where there is none."""
        return self.solver_class.version()  # type: ignore[attr-defined]


SOLVERS: Mapping[str, RegisteredSolver] = {
    entry.name: entry
    for entry in (
        RegisteredSolver(
            "ipopt", "trajopt.solvers.ipopt", "Ipopt", "interior point, sparse, second derivatives"
        ),
        RegisteredSolver(
            "interior",
            "trajopt.solvers.interior.interior_point",
            "InteriorPoint",
            "interior point, a band in the order of time, second derivatives",
        ),
        RegisteredSolver(
            "sqp",
            "trajopt.solvers.sequential.trust_region",
            "TrustRegionSqp",
            "sequential quadratic programming, dense, second derivatives, few of many limits bind",
        ),
        RegisteredSolver(
            "slsqp", "trajopt.solvers.slsqp", "Slsqp", "sequential quadratic programming, dense, small"
        ),
    )
}


def create(name: str = DEFAULT) -> Solver:
    """The solver of this name with its default settings; OptionError for a name that is not registered."""
    check_known("solver", name, SOLVERS, OptionError)
    return SOLVERS[name].solver_class()


def check_solver(solver: object, what: str = "solver") -> None:
    """Raise OptionError unless `solver` is an instance of something with `solve`; a class is not."""
    examples = " or ".join(f"trajopt.{entry.class_name}()" for entry in SOLVERS.values())
    check_instance(what, solver, Solver, f"an instance such as {examples}")


def run_solver(
    solver: Solver, nlp: Program, start: WarmStart | None = None, run: Run | None = None
) -> Result:
    """`solver.solve(nlp, start, run)`; OptionError for a method that takes other arguments.

    Where the sizes of unknowns differ much, the solver sees the program divided by them.
    """
    if (sizes := getattr(nlp, "unknown_sizes", None)) is not None:
        at = start and scaled_point(start, sizes)
        return scaled_point(run_solver(solver, scaled_program(nlp, sizes), at, run), 1.0 / sizes)
    _check_arguments(getattr(solver.solve, "__func__", solver.solve))
    return solver.solve(nlp, start, run)


@functools.cache
def _check_arguments(solve: Callable[..., object]) -> None:
    """Raise OptionError unless a method `solve` takes a run."""
    signature = inspect.signature(solve)
    if "run" not in signature.parameters:
        raise OptionError(
            f"{getattr(solve, '__qualname__', solve)} takes {signature}: a solver's method is "
            "solve(nlp, start, run), with `start` a WarmStart or None and `run` a trajopt.solvers.solver.Run"
        )


def takes_hessian(solver: Solver) -> bool:
    """True if the solver uses second derivatives, so that Newton steps may be made."""
    return getattr(solver, "hessian", "exact") == "exact"


def without_checkpoints(solver: Solver) -> Solver:
    """The solver for NLPs other than the one whose checkpoints it writes; without checkpoints, itself."""
    return getattr(solver, "without_checkpoints", solver)


def with_options(solver: Any, options: Mapping[str, object]) -> Any:
    """The solver with options by name: its fields, those of the solver that it works through, or of IPOPT.

    OptionError for an unknown one, and where the solver takes none at all.
    """
    if not options:
        return solver
    if not is_dataclass(solver):
        raise OptionError(f"{type(solver).__name__} takes no options, but {', '.join(options)} was given")
    known = [each.name for each in fields(solver) if each.init]
    if "solver" in known:
        return replace(solver, solver=with_options(solver.solver, options))  # type: ignore[type-var]
    own = {name: value for name, value in options.items() if name in known and name != "options"}
    others = {name: value for name, value in options.items() if name not in own}
    if others and "options" in known:
        own["options"] = {**solver.options, **others}  # type: ignore[union-attr]
    elif others:
        check_known(f"option of {type(solver).__name__.lower()}", next(iter(others)), known, OptionError)
    return replace(solver, **own)  # type: ignore[type-var]


@dataclass(frozen=True)
class SolverSettings:
    """The settings that IPOPT, SLSQP and the interior-point method share; each has `feasibility` besides.

    tol             what its solver says it means
    max_iterations  iterations allowed
    time_limit      wall seconds allowed, None: no limit

    Raises OptionError on construction for a value out of range.
    """

    tol: float = 1e-9
    max_iterations: int = 1000
    time_limit: float | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            if each.type == "float":
                check_positive(each.name, getattr(self, each.name))
        check_count("max_iterations", self.max_iterations)
        check_positive("time_limit", self.time_limit, optional=True)

    def within(self: SettingsT, run: Run) -> SettingsT:
        """These settings with the tolerance of a run, and the smaller limits of both."""
        if run.tol is None and run.max_iterations is None and run.deadline == np.inf:
            return self
        count, limits = run.max_iterations, (self.time_limit, run.seconds_left)
        return replace(
            self,
            tol=run.tol or self.tol,
            max_iterations=self.max_iterations if count is None else min(self.max_iterations, count),
            time_limit=min((limit for limit in limits if limit is not None), default=None),
        )

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """Solve `nlp` from `nlp.start`, or from `start`, whose multipliers SLSQP does not use.

        Raises what a function of the problem or the callback raised, and EvaluationError where the problem is
        not finite at the start; every other outcome is a status of the Result.
        """
        run = run or Run()
        return self.within(run)._solved(nlp, start, run)

    def _solved(self, nlp: Program, start: WarmStart | None, run: Run) -> Result:
        """The result with these settings, which are within the run."""
        raise NotImplementedError

    def _monitor(self, nlp: Program, start: WarmStart | None, run: Run, **how: Any) -> Monitor:
        feasibility = self.feasibility  # type: ignore[attr-defined]  # a field of each subclass, after its own
        return Monitor(nlp, start, run.within(self.time_limit), feasibility=feasibility, **how)


class SolvesStopped(Exception):
    """The deadline passed or the user pressed Ctrl-C: no further solve, the last solution stays."""


@dataclass(frozen=True)
class TimedSolver:
    """`solver` for many solves before the deadline of `run`; a solve after it raises SolvesStopped.

    run : of every solve; what a solve asks for itself goes before
    """

    solver: Solver
    run: Run = field(default_factory=Run)

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """Solve in what is left of the time; raises SolvesStopped where none is, and after Ctrl-C."""
        run = self.run if run is None else run.over(self.run)
        if run.expired:
            raise SolvesStopped(OUT_OF_TIME)
        result = run_solver(self.solver, nlp, start, run)
        if result.status is Status.INTERRUPTED:
            raise SolvesStopped(INTERRUPTED)
        return result


# Steps that end, or the least violation near them, which is not the least one for certain.
GAVE_UP = (Status.STEP_TOO_SMALL, Status.INFEASIBLE)

BOTH_FAILED = (*GAVE_UP, Status.RESTORATION_FAILED, Status.STEP_FAILED, Status.ITERATION_LIMIT)


def gave_up(found: Result) -> bool:
    """True where another solver goes on: steps ended, or came to a point where a function is not finite."""
    is_beyond = found.status is Status.EVALUATION_ERROR and found.iterations > 0
    return is_beyond or found.status in GAVE_UP


class FirstSolver(Solver, Protocol):
    """A solver that is made for some programs; another goes on where it `gave_up`."""

    def suits(self, nlp: Program, start: WarmStart | None, run: Run) -> bool: ...


@dataclass(frozen=True)
class Fallback:
    """`first` where it suits the program; `then` elsewhere, and where `first` gives up.

    start_of_first : program -> where `first` starts, None where it does not suit; left out: where `then` does
    The time limit of `then` holds for both together, its limit of iterations for each, and the result counts
    the iterations of both. Where both fail it is at the less infeasible point, with the status of `then`, or
    of `first` where that is its point and `then` calls its own the least infeasible nearby.
    """

    first: FirstSolver
    then: Solver
    start_of_first: Callable[[Program], WarmStart | None] | None = None

    @property
    def time_limit(self) -> float | None:
        return getattr(self.then, "time_limit", None)

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """Solve `nlp` from its start or from `start`."""
        run = (run or Run()).within(self.time_limit)
        first_start = start if self.start_of_first is None else self.start_of_first(nlp)
        if not self.first.suits(nlp, first_start, run):
            return run_solver(self.then, nlp, start, run)
        counts = (run.max_iterations, getattr(self.then, "max_iterations", None))
        most = min((count for count in counts if count is not None), default=None)
        found = self.first.solve(nlp, first_start, replace(run, max_iterations=most))
        if not gave_up(found):
            return found
        after = continued(found, self.then, nlp, start, run)
        worse = after.status in BOTH_FAILED and not after.infeasibility <= found.infeasibility  # or NaN
        return _at_point_of(found, after) if worse else after


def _at_point_of(found: Result, after: Result) -> Result:
    """A result at the point of `found`, with counts of a later one, and its status but for one of a point."""
    told = found if after.status is Status.INFEASIBLE else after
    kept = {name: getattr(after, name) for name in ("iterations", "seconds", "timings", "history")}
    return replace(found, status=told.status, detail=told.detail, **kept)


def continued(before: Result, solver: Solver, nlp: Program, start: WarmStart | None, run: Run) -> Result:
    """The result of `solver` from `start`, with the iterations, the seconds and the history of both.

    It is `before` where that ended at what is not finite, as `solver` does at once.
    """
    callback = counted_on(run.callback, [before])
    try:
        after = run_solver(solver, nlp, start, replace(run, callback=callback))
    except EvaluationError:
        if before.status is not Status.EVALUATION_ERROR:
            raise
        return before
    return joined_results([before, after])


def counted_on(callback: Callback | None, before: Sequence[Result]) -> Callback | None:
    """A callback that sees iterations and seconds counted through all solves, those before among them.

    The start of every solve is an iterate of its own, whose number follows that of the last one before.
    """
    if callback is None:
        return None
    count, spent = iterate_count(before), sum(each.seconds for each in before)

    def seen(iteration: Iteration) -> object:
        number, seconds = count + iteration.iteration, spent + iteration.seconds
        return callback(replace(iteration, iteration=number, seconds=seconds))

    return seen


def joined_results(results: Sequence[Result]) -> Result:
    """The last result, with the iterations, the seconds and the history of all."""
    counts = [iterate_count(results[:place]) for place in range(len(results))]
    timings: Counter[str] = Counter()
    for result in results:
        timings.update(result.timings)  # type: ignore[arg-type]  # seconds
    return replace(
        results[-1],
        iterations=counts[-1] + results[-1].iterations,
        seconds=sum(result.seconds for result in results),
        timings=timings,
        history=np.concatenate(
            [result.history + np.array([n, 0.0, 0.0]) for result, n in zip(results, counts, strict=True)]
        ),
    )


def iterate_count(results: Sequence[Result]) -> int:
    """Number of iterates of some solves, their starts among them; not every solver records its history."""
    return sum(max(len(result.history), result.iterations + 1) for result in results)
