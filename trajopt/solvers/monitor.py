"""The one who stands between a solver and a problem: times, checks, remembers, and stops.

Solvers treat what happens in their callbacks differently and badly: an exception may vanish, NaN may be
iterated on for minutes, Ctrl-C may lose the work of an hour. So every evaluation of every adapter passes
here. Once a reason to stop is known, every further evaluation is refused at once, so that the solver comes
back quickly wherever it is; the reason, not the solver's own view of the refusals, then becomes the status.
"""

from __future__ import annotations

import signal
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from trajopt.errors import EvaluationError, InfeasibleBoundsError, NotFiniteError
from trajopt.solvers.solver import NLP, Callback, Iteration, Result, Status, WarmStart

__all__ = ["Monitor", "Refusal", "violation"]

_NEARLY = (Status.ACCEPTABLE, Status.STEP_TOO_SMALL)
_DIVERGED = 1e20  # IPOPT's diverging_iterates_tol, here for every solver
# Outcomes whose cause is the last evaluation, if that was not finite.
_BEATEN = (Status.RESTORATION_FAILED, Status.STEP_FAILED, Status.STEP_TOO_SMALL)
_KINDS = ("objective", "gradient", "rows", "jacobian", "hessian", "callback")


class Refusal(Exception):
    """Told to a solver in place of a value; `Monitor` knows why."""


def violation(nlp: NLP, y: np.ndarray, rows: np.ndarray) -> float:
    """The largest amount by which rows or variables leave their bounds; 0 at a feasible point."""
    parts = (nlp.row_lower - rows, rows - nlp.row_upper, nlp.lower - y, y - nlp.upper)
    worst = max((float(part.max()) for part in parts if part.size), default=0.0)
    return np.inf if np.isnan(worst) else max(worst, 0.0)


class Monitor:
    """The watch over one solve, alive as long as it is.

    `refusal` is the exception that the solver understands. With `shorten=True` an objective or row that is
    not finite is refused without ending the solve: the solver's line search then tries a shorter step. A
    derivative that is not finite always ends it.
    """

    def __init__(
        self,
        nlp: NLP,
        start: WarmStart | None,
        *,
        feasibility: float,
        time_limit: float | None,
        callback: Callback | None,
        refusal: type[Exception] = Refusal,
        shorten: bool = False,
    ) -> None:
        self.nlp = nlp
        self.start = WarmStart(np.asarray(nlp.start, dtype=float)) if start is None else start.check(nlp)
        self.reason: Status | None = None
        self.failure: BaseException | None = None
        self._not_finite: dict[str, str] = {}  # by kind, as of its last evaluation
        self.seconds: dict[str, float] = {kind: 0.0 for kind in _KINDS}
        self._began = time.perf_counter()
        self._deadline = np.inf if time_limit is None else self._began + time_limit
        self._feasibility, self._callback = feasibility, callback
        self._refusal, self._shorten = refusal, shorten
        self._history = array("d")
        self._check_question()
        self._best: Any = None  # rank, point, objective, infeasibility
        self._keep_if_best(self.start, *self._measure(self.start.y))

    def objective(self, y: np.ndarray) -> float:
        return self._evaluate("objective", self.nlp.objective, y)

    def gradient(self, y: np.ndarray) -> np.ndarray:
        return self._evaluate("gradient", self.nlp.gradient, y)

    def rows(self, y: np.ndarray) -> np.ndarray:
        return self._evaluate("rows", self.nlp.rows, y)

    def jacobian(self, y: np.ndarray) -> np.ndarray:
        return self._evaluate("jacobian", self.nlp.jacobian, y)

    def hessian(self, y: np.ndarray, row_multipliers: np.ndarray, objective_factor: float) -> np.ndarray:
        return self._evaluate("hessian", self.nlp.hessian, y, row_multipliers, objective_factor)

    def stop(self, reason: Status) -> None:
        """Refuse everything from now on; the first reason given stands."""
        self.reason = self.reason or reason

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
        """Remember an iterate, keep it if it is the best, tell the caller; False asks the solver to stop."""
        infeasibility = violation(self.nlp, at.y, rows)
        self._history.extend((number, objective, infeasibility))
        self._keep_if_best(at, objective, infeasibility)
        if self._callback is not None and self.reason is None:
            seen = Iteration(number, objective, infeasibility, dual_infeasibility, step, self.elapsed)
            self._guard("callback", self._callback, seen)
        if np.abs(at.y).max(initial=0.0) > _DIVERGED:
            self.stop(Status.DIVERGING)
        self._check_time()
        return self.reason is None

    def result(self, status: Status, final: WarmStart | None, iterations: int, detail: str) -> Result:
        """The answer, at `final` where converged, else at the best iterate; raises what a term raised."""
        if self.failure is not None:
            raise self.failure
        if not status.converged:
            # What the solver says of a stop that it was told to make tells nothing.
            status, detail = (status, detail) if self.reason is None else (self.reason, "")
        if self._not_finite and status in _BEATEN:
            status = Status.EVALUATION_ERROR
        if self._not_finite and status is Status.EVALUATION_ERROR:
            detail = "; ".join(self._not_finite.values())
        at, objective, infeasibility = self._choose(status, final)
        seconds = self.elapsed
        n, m = self.nlp.variable_count, self.nlp.row_count
        return Result(
            status=status,
            y=at.y,
            row_multipliers=np.zeros(m) if at.row_multipliers is None else at.row_multipliers,
            lower_multipliers=np.zeros(n) if at.lower_multipliers is None else at.lower_multipliers,
            upper_multipliers=np.zeros(n) if at.upper_multipliers is None else at.upper_multipliers,
            objective=objective,
            infeasibility=infeasibility,
            iterations=iterations,
            seconds=seconds,
            timings=self.seconds | {"solver": max(seconds - sum(self.seconds.values()), 0.0)},
            history=np.frombuffer(self._history).reshape(-1, 3),
            detail=detail,
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
        if final is not None and (status.converged or status in _NEARLY):
            objective, infeasibility = self._measure(final.y)
            # Nearly converged, the last point beats a lower objective bought by a larger violation.
            if status.converged or infeasibility <= self._feasibility:
                return final, objective, infeasibility
        return self._best[1:]

    def _keep_if_best(self, at: WarmStart, objective: float, infeasibility: float) -> None:
        within = infeasibility <= self._feasibility
        # Tuples compare in order, so any iterate within tolerance beats every one outside.
        rank = (not within, objective if within else infeasibility)
        if self._best is None or (np.isfinite(objective) and rank < self._best[0]):
            self._best = (rank, at, objective, infeasibility)

    def _measure(self, y: np.ndarray) -> tuple[float, float]:
        return float(self.nlp.objective(y)), violation(self.nlp, y, self.nlp.rows(y))

    def _evaluate(self, kind: str, function: Callable[..., Any], *arguments: Any) -> Any:
        self._check_time()
        if self.reason is not None or self.failure is not None:
            raise self._refusal
        value = self._guard(kind, function, *arguments)
        if self.reason is not None or self.failure is not None:
            raise self._refusal
        if not np.isfinite(value).all():
            self._not_finite[kind] = (
                f"{_name_entries(kind, value)} not finite{_cause(self.nlp, arguments[0])}"
            )
            if not (self._shorten and kind in ("objective", "rows")):
                self.stop(Status.EVALUATION_ERROR)
            raise self._refusal
        self._not_finite.pop(kind, None)
        return value

    def _guard(self, kind: str, function: Callable[..., Any], *arguments: Any) -> Any:
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

    def _check_question(self) -> None:
        nlp, y = self.nlp, self.start.y
        for what, lower, upper in (
            ("variables", nlp.lower, nlp.upper),
            ("rows", nlp.row_lower, nlp.row_upper),
        ):
            crossed = np.flatnonzero(~(np.asarray(lower) <= np.asarray(upper)))
            if crossed.size:
                raise InfeasibleBoundsError(f"{what} {_list(crossed)}: the lower bound exceeds the upper one")
        if not np.isfinite(y).all():
            bad = _list(np.flatnonzero(~np.isfinite(y)))
            raise NotFiniteError(f"the starting point is not finite in variables {bad}: give a finite one")
        for kind in ("objective", "rows", "gradient", "jacobian"):
            value = getattr(nlp, kind)(y)
            if not np.isfinite(value).all():
                raise EvaluationError(
                    f"{_name_entries(kind, value)} not finite at the starting point"
                    f"{_cause(self.nlp, y)}: start elsewhere, "
                    "or bound the variables away from where the term is undefined"
                )


def _cause(nlp: NLP, y: np.ndarray) -> str:
    """The term behind an entry that is not finite, where the problem can tell."""
    culprit = getattr(nlp, "culprit", None)
    named = culprit(y) if culprit is not None else ""
    return f" ({named})" if named else ""


def _name_entries(kind: str, value: Any) -> str:
    if np.ndim(value) == 0:
        return f"the {kind} is"
    return f"{kind} entries {_list(np.flatnonzero(~np.isfinite(value)))} are"


def _list(indices: np.ndarray) -> str:
    shown = ", ".join(str(index) for index in indices[:5])
    return shown + (f" and {indices.size - 5} more" if indices.size > 5 else "")
