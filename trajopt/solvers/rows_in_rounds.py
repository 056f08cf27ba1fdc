"""Rows that matter: solve with the few constraints in danger, add what the answer violates, solve again.

An interior-point method pays for every row in every factorisation, and of the rows of a problem with many
nodes few are active. Leaving the others out is a relaxation, so an answer that violates none of them solves
the whole problem; its multipliers are zero.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trajopt.errors import OptionError
from trajopt.solvers.solver import NLP, Callback, Iteration, Result, Solver, Status, WarmStart, check_positive

__all__ = ["RowsInRounds"]

COARSE = 1e-1  # tolerance of the first round: where rows are violated is known long before the end
ROUNDS = 8  # after so many rounds all rows enter
# What more rows would not change; a program without enough of them may also diverge.
_FINAL = (Status.INFEASIBLE, Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED)


@dataclass(frozen=True)
class RowsInRounds:
    """A solver that leaves out rows until they are violated: `solve(problem, RowsInRounds(Ipopt()))`.

    It begins with equalities, the rows that the start violates or that lie within `margin` of it, scaled, and
    a coarse tolerance; every round adds the rows that its answer violates by more than `tol` of the solver.
    It pays where rows outnumber unknowns by far and few of them are active.

    Raises OptionError for a solver without `tol` or a margin that is not positive.
    """

    solver: Solver = field(default_factory=lambda: _ipopt())
    margin: float = 1e-6
    time_limit: float | None = None

    def __post_init__(self) -> None:
        if not hasattr(self.solver, "solve") or not hasattr(self.solver, "tol"):
            raise OptionError(
                f"RowsInRounds works through a solver with a tol, not {self.solver!r}: try Ipopt()"
            )
        check_positive("margin", self.margin)
        check_positive("time_limit", self.time_limit, optional=True)

    def solve(self, nlp: NLP, callback: Callback | None = None, start: WarmStart | None = None) -> Result:
        """Solve `nlp`; the result is that of the last round, with multipliers of all rows.

        Where a few rows leave a program that is unbounded or that beats the solver, all of them enter.
        """
        began = time.perf_counter()
        tol: float = self.solver.tol  # type: ignore[attr-defined]
        at = WarmStart(np.asarray(nlp.start, dtype=float)) if start is None else start
        fixed = np.asarray(nlp.row_lower) == np.asarray(nlp.row_upper)
        kept = fixed | _above(_excess(nlp, at.y), -self.margin)
        results: list[Result] = []
        while True:
            asked = max(COARSE, tol) if not results and start is None else tol
            results.append(self._round(nlp, kept, at, asked, callback, began, results))
            result = results[-1]
            excess = _excess(nlp, result.y)
            missing = ~kept & _above(excess, tol)
            done = asked == tol and not missing.any()
            if done or result.status in _FINAL or (kept.all() and not result.converged):
                return _whole(nlp, kept, results, time.perf_counter() - began)
            kept = kept | missing if result.converged and len(results) < ROUNDS else np.ones_like(kept)
            # Multipliers of another set of rows mislead more than they help.
            usable = result.converged and not np.isnan(excess).any()
            at = WarmStart(result.y) if usable else replace(at, row_multipliers=None)

    def _round(self, nlp, kept, at, tol, callback, began, before) -> Result:
        settings: dict[str, Any] = {"tol": tol}
        limits = [limit for limit in (self.time_limit, getattr(self.solver, "time_limit", None)) if limit]
        if limits:
            left = min(limits) - (time.perf_counter() - began)
            settings["time_limit"] = max(left, 1e-3)
        solver = replace(self.solver, **settings)  # type: ignore[type-var]
        return solver.solve(_Kept(nlp, kept), _continued(callback, before, began), _restricted(at, kept))


class _Kept:
    """A nonlinear program with some of the rows of another."""

    def __init__(self, nlp: NLP, kept: np.ndarray) -> None:
        self._nlp, self._kept = nlp, kept
        self._entries = np.flatnonzero(kept[nlp.jacobian_rows])
        self.row_count = int(kept.sum())
        self.row_lower, self.row_upper = nlp.row_lower[kept], nlp.row_upper[kept]
        self.jacobian_rows = (np.cumsum(kept) - 1)[nlp.jacobian_rows[self._entries]]
        self.jacobian_columns = nlp.jacobian_columns[self._entries]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._nlp, name)  # all that has nothing to do with rows

    def rows(self, y: np.ndarray) -> np.ndarray:
        return self._nlp.rows(y)[self._kept]

    def jacobian(self, y: np.ndarray) -> np.ndarray:
        return self._nlp.jacobian(y)[self._entries]

    def hessian(self, y: np.ndarray, row_multipliers: np.ndarray, objective_factor: float) -> np.ndarray:
        return self._nlp.hessian(y, _spread(row_multipliers, self._kept), objective_factor)


def _ipopt() -> Solver:
    from trajopt.solvers.ipopt import Ipopt

    return Ipopt()


def _excess(nlp: NLP, y: np.ndarray) -> np.ndarray:
    """By how much each row leaves its bounds, scaled; negative inside."""
    rows = nlp.rows(y)
    return np.maximum(nlp.row_lower - rows, rows - nlp.row_upper)


def _above(excess: np.ndarray, limit: float) -> np.ndarray:
    """Which rows exceed a limit or are NaN there: a row that is left out would hide it."""
    return ~(excess <= limit)


def _spread(row_multipliers: np.ndarray, kept: np.ndarray) -> np.ndarray:
    whole = np.zeros(kept.size)
    whole[kept] = row_multipliers
    return whole


def _restricted(at: WarmStart, kept: np.ndarray) -> WarmStart:
    return at if at.row_multipliers is None else replace(at, row_multipliers=at.row_multipliers[kept])


def _continued(callback: Callback | None, before: list[Result], began: float) -> Callback | None:
    """The caller's callback, which sees one solve with iterations that go on counting."""
    if callback is None:
        return None
    count = sum(result.iterations for result in before)

    def seen(iteration: Iteration) -> object:
        seconds = time.perf_counter() - began
        return callback(replace(iteration, iteration=count + iteration.iteration, seconds=seconds))

    return seen


def _whole(nlp: NLP, kept: np.ndarray, results: list[Result], seconds: float) -> Result:
    """The last result as one of the whole program, with what all rounds cost."""
    last, histories, count = results[-1], [], 0
    for result in results:
        histories.append(result.history + np.array([count, 0.0, 0.0]))
        count += result.iterations
    timings = {kind: sum(result.timings.get(kind, 0.0) for result in results) for kind in last.timings}
    detail = f"{int(kept.sum())} of {kept.size} rows in {len(results)} rounds"
    return replace(
        last,
        row_multipliers=_spread(last.row_multipliers, kept),
        infeasibility=max(last.infeasibility, float(_excess(nlp, last.y).max(initial=0.0))),
        iterations=count,
        seconds=seconds,
        timings=timings,
        history=np.concatenate(histories),
        detail=f"{last.detail}; {detail}" if last.detail else detail,
    )
