"""Monitors one solver run: interrupts, time limit, values that are not finite, timings, best iterate.

Solvers handle what happens in their callbacks differently and badly: an exception may vanish, NaN may be
iterated on for minutes, Ctrl-C may lose the work of an hour. So every solver adapter evaluates its program
through a Monitor. Once there is a reason to stop, every further evaluation raises the exception that the
solver understands as a failed evaluation, so that it returns quickly wherever it is. The status of the result
is then that reason, not what the solver makes of the failed evaluations.

Progress is one line that changes, on a terminal or in a notebook, or a few in a log.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np

from trajopt.base.arguments import check_choice, list_names
from trajopt.base.arrays import Number
from trajopt.base.errors import EvaluationError, InfeasibleBoundsError, NotFiniteError
from trajopt.solvers.kkt import falls_for_ever, largest_violation, multipliers_of
from trajopt.solvers.solver import (
    ENDLESS,
    LITTLE,
    Callback,
    Iteration,
    Program,
    Result,
    Run,
    Status,
    WarmStart,
)

if TYPE_CHECKING:
    from rich.live import Live

_NEARLY_CONVERGED = (Status.ACCEPTABLE, Status.STEP_TOO_SMALL)
# Outcomes that a last evaluation which was not finite explains.
_EXPLAINED = (Status.RESTORATION_FAILED, Status.STEP_FAILED, Status.STEP_TOO_SMALL)
_COLD = "multipliers or second derivatives of the start are not finite: begun without them"
_FUNCTIONS = ("objective", "gradient", "rows", "jacobian", "hessian")  # of a program


class Refusal(Exception):
    """Raised in a solver's callback instead of returning a value; `Monitor` keeps the reason."""


class Monitor:
    """The evaluations, iterates and limits of one solve.

    run          whose deadline ends the solve, and whose callback is called
    feasibility  largest violation at which an iterate counts as feasible when the best one is chosen
    refusal      the exception by which the solver's callbacks report a failed evaluation
    shorten      whether an objective or row that is not finite only fails the evaluation, so that the line
                 search tries a shorter step; a derivative that is not finite always ends the solve

    Raises InfeasibleBoundsError for crossed bounds, NotFiniteError and EvaluationError where the start, or a
    function there, is not finite.
    """

    def __init__(
        self,
        nlp: Program,
        start: WarmStart | None,
        run: Run | None,
        *,
        feasibility: float,
        refusal: type[Exception] = Refusal,
        shorten: bool = False,
    ) -> None:
        self.nlp = nlp
        self.start = WarmStart(np.asarray(nlp.start, dtype=float)) if start is None else start.check(nlp)
        self._note = "" if start is None or not start.is_spoilt else _COLD
        self.reason: Status | None = None
        self.failure: BaseException | None = None
        self._not_finite: dict[str, str] = {}  # by kind, as of its last evaluation
        self.seconds: dict[str, float] = dict.fromkeys((*_FUNCTIONS, "callback"), 0.0)
        self._began = time.perf_counter()
        limit = None if run is None else run.seconds_left
        self._deadline = np.inf if limit is None else self._began + limit
        self._callback, self._watch = (None, None) if run is None else (run.callback, run.watch)
        self._feasibility, self._refusal, self._shorten = feasibility, refusal, shorten
        self._history = array("d")
        self._check_start()
        self._best: Any = None  # rank, point, objective, infeasibility
        self._keep_if_best(self.start, *self._measure(self.start.y))

    # The functions of the program, which raise `refusal` once there is a reason to stop. As attributes they
    # would refer to the monitor: it and the program would stay in memory until Python looks for circles.

    def objective(self, y: np.ndarray) -> float:
        return self._evaluate("objective", y)

    def gradient(self, y: np.ndarray) -> np.ndarray:
        return self._evaluate("gradient", y)

    def rows(self, y: np.ndarray) -> np.ndarray:
        return self._evaluate("rows", y)

    def jacobian(self, y: np.ndarray) -> np.ndarray:
        return self._evaluate("jacobian", y)

    def hessian(
        self, y: np.ndarray, row_multipliers: np.ndarray, objective_factor: float = 1.0
    ) -> np.ndarray:
        return self._evaluate("hessian", y, row_multipliers, objective_factor)

    def stop(self, reason: Status) -> None:
        """Fail every evaluation from now on; the first reason given becomes the status."""
        self.reason = self.reason or reason

    @property
    def stopped(self) -> bool:
        """True if there is a reason to stop, of which the time limit is looked at now."""
        self._check_time()
        return self.reason is not None

    @property
    def elapsed(self) -> float:
        """Seconds since the solve began."""
        return time.perf_counter() - self._began

    def iterate(
        self,
        number: int,
        at: WarmStart,
        rows: np.ndarray,
        objective: float,
        dual_infeasibility: float,
        step: float,
    ) -> bool:
        """Record an iterate, keep it if it is the best, call the callback; False asks the solver to stop."""
        infeasibility = largest_violation(self.nlp, at.y, rows)
        self._history.extend((number, objective, infeasibility))
        self._keep_if_best(at, objective, infeasibility)
        if self._callback is not None and self.reason is None:
            unscaled = objective / getattr(self.nlp, "objective_scale", 1.0)
            seen = Iteration(number, unscaled, infeasibility, dual_infeasibility, step, self.elapsed)
            self._guard("callback", self._callback, seen)
        if self._watch is not None and self.reason is None:
            self._guard("callback", self._watch, self.nlp, at, rows, objective, step)
        if np.abs(at.y).max(initial=0.0) > ENDLESS:
            self.stop(Status.DIVERGING)
        self._check_time()
        return self.reason is None

    def result(self, status: Status, final: WarmStart | None, iterations: int, detail: str) -> Result:
        """The answer, at `final` where converged, else at the best iterate; raises what a callback raised."""
        if self.failure is not None:
            raise self.failure
        if not status.converged:
            # The solver stopped because its evaluations failed: its own status says nothing more.
            status, detail = (status, detail) if self.reason is None else (self.reason, "")
        ended = final is not None and (status.converged or status in _NEARLY_CONVERGED)
        if ended and falls_for_ever(self.nlp, self.start, final.y):  # type: ignore[union-attr]
            status, detail = Status.DIVERGING, ""
        if self._not_finite and status in _EXPLAINED:
            status = Status.EVALUATION_ERROR
        if self._not_finite and status is Status.EVALUATION_ERROR:
            detail = "; ".join(self._not_finite.values())
        # A violation that is least near the last iterate alone: an iterate before met the rows.
        if (
            status is Status.INFEASIBLE
            and self._history
            and self._best[-1] <= self._feasibility < self._history[-1]
        ):
            status, detail = Status.STEP_TOO_SMALL, ""
        at, objective, infeasibility = self._within_bounds(*self._choose(status, final))
        seconds = self.elapsed
        of_rows, of_lower, of_upper = multipliers_of(self.nlp, at)
        return Result(
            status=status,
            y=at.y,
            row_multipliers=of_rows,
            lower_multipliers=of_lower,
            upper_multipliers=of_upper,
            objective=objective,
            infeasibility=infeasibility,
            iterations=iterations,
            seconds=seconds,
            timings=self.seconds | {"solver": max(seconds - sum(self.seconds.values()), 0.0)},
            history=np.frombuffer(self._history).reshape(-1, 3),
            detail="; ".join(filter(None, (detail, self._note))),
            hessian=at.hessian,
        )

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C stops the solve and keeps the best point; a second one raises KeyboardInterrupt as usual."""
        if threading.current_thread() is not threading.main_thread():
            yield  # Python lets only the main thread set signal handlers.
            return
        previous = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            # None: the handler was not set from Python and cannot be put back; the default is nearest.
            signal.signal(signal.SIGINT, signal.SIG_DFL if previous is None else previous)

    def _on_interrupt(self, *_: object) -> None:
        if self.reason is not None:
            raise KeyboardInterrupt
        self.stop(Status.INTERRUPTED)

    def _choose(self, status: Status, final: WarmStart | None) -> tuple[WarmStart, float, float]:
        if final is not None and (status.converged or status in _NEARLY_CONVERGED):
            objective, infeasibility = self._measure(final.y)
            # Nearly converged, the last point beats a lower objective bought by a larger violation.
            if status.converged or infeasibility <= self._feasibility:
                return final, objective, infeasibility
        return self._best[1:]

    def _within_bounds(
        self, at: WarmStart, objective: float, infeasibility: float
    ) -> tuple[WarmStart, float, float]:
        """The point without what solvers exceed bounds of unknowns by, unless rows would then be missed."""
        y = np.clip(at.y, self.nlp.lower, self.nlp.upper)
        if np.array_equal(y, at.y):
            return at, objective, infeasibility
        measured = self._measure(y)
        if not measured[1] <= max(infeasibility, LITTLE * self._feasibility):
            return at, objective, infeasibility
        if self._history and self._history[-2] == objective:  # the last iterate is the answer
            self._history[-2:] = array("d", measured)
        return replace(at, y=y), *measured

    def _keep_if_best(self, at: WarmStart, objective: float, infeasibility: float) -> None:
        within = infeasibility <= self._feasibility
        # Tuples compare in order, so any iterate within tolerance beats every one outside.
        rank = (not within, objective if within else infeasibility)
        if self._best is None or (np.isfinite(objective) and rank < self._best[0]):
            self._best = (rank, at, objective, infeasibility)

    def _measure(self, y: np.ndarray) -> tuple[float, float]:
        return float(self.nlp.objective(y)), largest_violation(self.nlp, y, self.nlp.rows(y))

    def _evaluate(self, kind: str, y: np.ndarray, *others: np.ndarray | float) -> Number:
        self._check_time()
        if self.reason is not None or self.failure is not None:
            raise self._refusal
        value = self._guard(kind, getattr(self.nlp, kind), y, *others)
        if self.reason is not None or self.failure is not None:
            raise self._refusal
        with np.errstate(over="ignore"):  # the sum of squares of others than finite numbers is none
            squares = np.vdot(value, value)
        if not (math.isfinite(squares) or np.isfinite(value).all()):
            self._not_finite[kind] = f"{_name_entries(kind, value)} not finite{_cause(self.nlp, y)}"
            if not (self._shorten and kind in ("objective", "rows")):
                self.stop(Status.EVALUATION_ERROR)
            raise self._refusal
        self._not_finite.pop(kind, None)
        return value

    def _guard(self, kind: str, function: Callable[..., object], *arguments: object) -> Number:
        began = time.perf_counter()
        try:
            return function(*arguments)
        except KeyboardInterrupt:
            self.stop(Status.INTERRUPTED)
        except BaseException as error:  # kept, and raised again once the solver has returned
            self.failure = error
            self.stop(Status.SOLVER_ERROR)
        finally:
            self.seconds[kind] += time.perf_counter() - began
        return None

    def _check_time(self) -> None:
        if time.perf_counter() > self._deadline:
            self.stop(Status.TIME_LIMIT)

    def _check_start(self) -> None:
        nlp, y = self.nlp, self.start.y
        for what, lower, upper in (
            ("variables", nlp.lower, nlp.upper),
            ("rows", nlp.row_lower, nlp.row_upper),
        ):
            crossed = np.flatnonzero(~(np.asarray(lower) <= np.asarray(upper)))
            if crossed.size:
                raise InfeasibleBoundsError(
                    f"{what} {list_names(crossed)}: the lower bound exceeds the upper one"
                )
        if not np.isfinite(y).all():
            bad = list_names(np.flatnonzero(~np.isfinite(y)))
            raise NotFiniteError(f"the starting point is not finite in variables {bad}: give a finite one")
        nlp.jacobian(y)  # first: blocks then give values and derivatives at once
        for kind in ("objective", "rows", "gradient", "jacobian"):
            value = getattr(nlp, kind)(y)
            if not np.isfinite(value).all():
                raise EvaluationError(
                    f"{_name_entries(kind, value)} not finite at the starting point"
                    f"{_cause(self.nlp, y)}: start elsewhere, problem.guess(...) or, for a control, "
                    "problem.control(..., guess=...), or bound the variables away from where the term is "
                    "undefined"
                )


def _cause(nlp: Program, y: np.ndarray) -> str:
    """The term behind an entry that is not finite, in brackets, where the program can name it."""
    named = getattr(nlp, "culprit", lambda y: "")(y)
    return f" ({named})" if named else ""


def _name_entries(kind: str, value: np.ndarray) -> str:
    if np.ndim(value) == 0:
        return f"the {kind} is"
    return f"{kind} entries {list_names(np.flatnonzero(~np.isfinite(value)))} are"


class Progress:
    """A callback for `Solver.solve`, used as `with Progress() as progress: solver.solve(nlp, progress)`.

    display   "auto": "live" on a terminal, "notebook" in one, "plain" elsewhere;  "silent": nothing at all
    stream    where to write, by default standard error, so that piped results stay clean

    Plain lines come at iterations 0, 1, 2, 5, 10, 20, 50, 100, ..., whenever ten seconds passed without one,
    and at the end: about ten for a thousand iterations. Where there are several solves, starts or meshes, a
    line with its number stands above each but the first. An exception inside, Ctrl-C included, leaves the
    terminal as it was. Raises OptionError for another display.
    """

    def __init__(
        self,
        display: Literal["auto", "live", "notebook", "plain", "silent"] = "auto",
        stream: IO[str] | None = None,
    ) -> None:
        check_choice("display", display, ("auto", "live", "notebook", "plain", "silent"))
        self._stream = sys.stderr if stream is None else stream
        if display == "auto":
            terminal = self._stream.isatty()
            display = "live" if terminal else "notebook" if stream is None and in_notebook() else "plain"
        self._display = display
        self._output: Any = None  # the output of a notebook's cell, once there is one
        self._live: Live | None = None
        self._last: Iteration | None = None
        self._shown: Iteration | None = None
        self._shown_at = -float("inf")
        self._solves = 1

    def __enter__(self) -> Progress:
        if self._display == "live":
            from rich.console import Console
            from rich.live import Live

            console = Console(file=self._stream)
            # No refresh thread: it would take time from the solver, and its lock could be held at Ctrl-C.
            self._live = Live(console=console, auto_refresh=False, transient=False)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._show_last()
        finally:
            if self._live is not None:
                self._live.stop()
                self._live = None

    def __call__(self, iteration: Iteration) -> None:
        if iteration.iteration == 0 and self._last is not None:
            self._begin_next_solve()
        self._last = iteration
        waited = time.perf_counter() - self._shown_at
        # A reader cannot follow more than ten changes a second of the live line
        due = waited >= 0.1 if self._display in ("live", "notebook") else _is_round(iteration.iteration)
        if due or waited >= 10.0:  # seconds after which a plain line is due whatever its number
            self._show(iteration)

    def _begin_next_solve(self) -> None:
        """The last line of one solve and a title for the next, of several starts or meshes; plain lines."""
        self._solves += 1
        if self._display == "plain":
            self._show_last()
            print(solve_title(self._solves), file=self._stream, flush=True)

    def _show_last(self) -> None:
        if self._last is not None and self._last is not self._shown:
            self._show(self._last)

    def _show(self, iteration: Iteration) -> None:
        self._shown, self._shown_at = iteration, time.perf_counter()
        if self._live is not None:
            from rich.text import Text

            self._live.update(Text(line(iteration), no_wrap=True, overflow="ellipsis"), refresh=True)
        elif self._display == "notebook":
            self._output = changed_output(self._output, line(iteration))
        elif self._display != "silent":
            print(line(iteration), file=self._stream, flush=True)


def in_notebook() -> bool:
    """True if this process is the kernel of a notebook; asks IPython where it is loaded, never imports it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def changed_output(output: Any, text: str) -> Any:
    """The output of the running cell, with this text in place of the former one."""
    from IPython.display import display  # type: ignore[import-not-found]  # there where a notebook runs

    content = {"text/plain": text}
    if output is None:
        return display(content, raw=True, display_id=True)
    output.update(content, raw=True)
    return output


@contextmanager
def iteration_callback(progress: str | Callback) -> Iterator[Callback | None]:
    """The callback that shows progress: a function as it is, None for "silent", else a `Progress` display."""
    if callable(progress) and not isinstance(progress, type):
        yield progress
    elif isinstance(progress, str) and progress == "silent":
        yield None
    else:
        with Progress(progress) as display:  # type: ignore[arg-type]  # Progress refuses other words
            yield display


def line(iteration: Iteration) -> str:
    """One line about an iteration, its columns at fixed places."""
    return (
        f"iteration {iteration.iteration:5d}   objective {iteration.objective:15.8g}   "
        f"infeasibility {iteration.infeasibility:8.1e}   {iteration.seconds:7.2f} s"
    )


def solve_title(solve: int) -> str:
    """The line above the iterations of a solve that is not the first."""
    return f"solve {solve}"


def _is_round(number: int) -> bool:
    digits = str(number).rstrip("0")
    return digits in ("", "1", "2", "5")
