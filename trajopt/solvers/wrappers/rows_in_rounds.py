"""Constraint generation: solve with a working set of rows, add the rows that the answer violates, repeat.

An outer loop around another solver, as in active-set and cutting-plane methods. An interior-point method pays
for every row in every factorization, and of the rows of a problem with many nodes few are active. The NLP
with a subset of the rows is a relaxation, so an answer that violates none of the others solves the whole NLP;
their multipliers are zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trajopt.arguments import check_positive, counted, shown
from trajopt.errors import OptionError
from trajopt.solvers.capabilities import (
    StartPreset,
    TimeLimitedSolver,
    ToleranceSolver,
    with_options,
    with_start_preset,
    with_time_limit,
)
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.solver import NLP, Callback, Iteration, Result, Status, WarmStart
from trajopt.solvers.violation import bound_violation
from trajopt.solvers.wrappers.nlp_wrapper import NLPWrapper

__all__ = ["RowsInRounds"]

ROUNDS = 8  # most rounds with a working set; then all rows enter
# Statuses that more rows would not change. DIVERGING is none: a relaxation may be unbounded.
_FINAL = (Status.INFEASIBLE, Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED)


@dataclass(frozen=True)
class RowsInRounds:
    """Constraint generation around `solver`: `solve(problem, RowsInRounds(Ipopt()))`.

    The first working set holds the equalities and the rows that the start violates or that lie within
    `margin` of their bounds there, scaled; it is solved to a coarse tolerance. Every round adds the rows that
    its answer violates by more than the `tol` of the solver. Worth while where rows outnumber unknowns by far
    and few of them are active.

    time_limit : wall seconds for all rounds together, None: that of the solver
    coarse : tolerance of the first round of a solve without a warm start, where that is above the solver's
        own: which rows are violated shows long before convergence

    Raises OptionError for a solver whose tolerance cannot be set, or a margin that is not positive.
    """

    solver: ToleranceSolver = field(default_factory=Ipopt)
    margin: float = 1e-6
    time_limit: float | None = None
    coarse: float = 1e-1

    def __post_init__(self) -> None:
        if not isinstance(self.solver, ToleranceSolver) or isinstance(self.solver, type):
            raise OptionError(
                f"RowsInRounds works through a solver with a tol, not {shown(self.solver)}: try Ipopt()"
            )
        check_positive("margin", self.margin)
        check_positive("time_limit", self.time_limit, optional=True)
        if not (isinstance(self.coarse, int | float) and 0.0 <= self.coarse < np.inf):
            raise OptionError(f"coarse is {shown(self.coarse)}: give a tolerance, 0 for the solver's own")

    def with_time_limit(self, seconds: float) -> RowsInRounds:
        return replace(self, time_limit=seconds)

    def with_start_preset(self, preset: StartPreset) -> RowsInRounds:
        """The same around the solver with this preset: a start near the solution is not solved coarsely."""
        return replace(self, solver=with_start_preset(self.solver, preset), coarse=0.0)

    def with_options(self, options: Mapping[str, Any]) -> RowsInRounds:
        """The same around the solver with these options."""
        return replace(self, solver=with_options(self.solver, options))

    def solve(self, nlp: NLP, callback: Callback | None = None, start: WarmStart | None = None) -> Result:
        """Solve `nlp`; the result is that of the last round, with multipliers of all rows.

        Where a relaxation is unbounded or does not converge for another reason, all rows enter.
        """
        tol = self.solver.tol
        at = WarmStart(np.asarray(nlp.start, dtype=float)) if start is None else start
        fixed = np.asarray(nlp.row_lower) == np.asarray(nlp.row_upper)
        kept = fixed | _above(_row_violation(nlp, at.y), -self.margin)
        results: list[Result] = []
        while True:
            asked = max(self.coarse, tol) if not results and start is None else tol
            results.append(self._round(nlp, kept, at, asked, callback, results))
            result = results[-1]
            violation = _row_violation(nlp, result.y)
            missing = ~kept & _above(violation, tol)
            done = asked == tol and not missing.any()
            if done or result.status in _FINAL or (kept.all() and not result.converged):
                return _whole(nlp, kept, results)
            kept = kept | missing if result.converged and len(results) < ROUNDS else np.ones_like(kept)
            # Multipliers of another set of rows cost more iterations than they save.
            usable = result.converged and not np.isnan(violation).any()
            at = WarmStart(result.y) if usable else replace(at, row_multipliers=None)

    def _round(
        self,
        nlp: NLP,
        kept: np.ndarray,
        at: WarmStart,
        tol: float,
        callback: Callback | None,
        before: list[Result],
    ) -> Result:
        solver = self.solver.with_tolerance(tol)
        own = self.solver.time_limit if isinstance(self.solver, TimeLimitedSolver) else None
        limits = [limit for limit in (self.time_limit, own) if limit]
        if limits:
            left = min(limits) - _seconds(before)
            solver = with_time_limit(solver, max(left, 1e-3))
        return solver.solve(_Subset(nlp, kept), _continued(callback, before), _restricted(at, kept))


class _Subset(NLPWrapper):
    """The NLP with those of its rows that are kept, (m,) boolean."""

    def __init__(self, nlp: NLP, kept: np.ndarray) -> None:
        super().__init__(nlp)
        self._kept = kept
        self._entries = np.flatnonzero(kept[nlp.jacobian_rows])
        self._places = (np.cumsum(kept) - 1)[nlp.jacobian_rows[self._entries]]

    @property
    def row_count(self) -> int:
        return int(self._kept.sum())

    @property
    def row_lower(self) -> np.ndarray:
        return self.nlp.row_lower[self._kept]

    @property
    def row_upper(self) -> np.ndarray:
        return self.nlp.row_upper[self._kept]

    @property
    def jacobian_rows(self) -> np.ndarray:
        return self._places

    @property
    def jacobian_columns(self) -> np.ndarray:
        return self.nlp.jacobian_columns[self._entries]

    def rows(self, y: np.ndarray, /) -> np.ndarray:
        return self.nlp.rows(y)[self._kept]

    def jacobian(self, y: np.ndarray, /) -> np.ndarray:
        return self.nlp.jacobian(y)[self._entries]

    def hessian(self, y: np.ndarray, row_multipliers: np.ndarray, objective_factor: float, /) -> np.ndarray:
        return self.nlp.hessian(y, _spread(row_multipliers, self._kept), objective_factor)


def _row_violation(nlp: NLP, y: np.ndarray) -> np.ndarray:
    """By how much each row leaves its bounds, scaled; negative inside."""
    return bound_violation(nlp.rows(y), nlp.row_lower, nlp.row_upper)


def _above(violation: np.ndarray, limit: float) -> np.ndarray:
    """Which rows exceed a limit or are NaN there: a row that is left out would hide it."""
    return ~(violation <= limit)


def _spread(row_multipliers: np.ndarray, kept: np.ndarray) -> np.ndarray:
    whole = np.zeros(kept.size)
    whole[kept] = row_multipliers
    return whole


def _restricted(at: WarmStart, kept: np.ndarray) -> WarmStart:
    return at if at.row_multipliers is None else replace(at, row_multipliers=at.row_multipliers[kept])


def _continued(callback: Callback | None, before: list[Result]) -> Callback | None:
    """The caller's callback, with iteration numbers and seconds counted through all rounds."""
    if callback is None:
        return None
    count, spent = sum(result.iterations for result in before), _seconds(before)

    def seen(iteration: Iteration) -> object:
        number, seconds = count + iteration.iteration, spent + iteration.seconds
        return callback(replace(iteration, iteration=number, seconds=seconds))

    return seen


def _seconds(results: list[Result]) -> float:
    """Wall seconds of some rounds by the solver's own clock, which starts after its libraries are loaded."""
    return sum(result.seconds for result in results)


def _whole(nlp: NLP, kept: np.ndarray, results: list[Result]) -> Result:
    """The last result as one of the whole NLP, with iterations and times of all rounds."""
    last, histories, count = results[-1], [], 0
    for result in results:
        histories.append(result.history + np.array([count, 0.0, 0.0]))
        count += result.iterations
    timings = {kind: sum(result.timings.get(kind, 0.0) for result in results) for kind in last.timings}
    detail = f"{int(kept.sum())} of {kept.size} rows in {counted(len(results), 'round')}"
    return replace(
        last,
        row_multipliers=_spread(last.row_multipliers, kept),
        infeasibility=max(last.infeasibility, float(_row_violation(nlp, last.y).max(initial=0.0))),
        iterations=count,
        seconds=_seconds(results),
        timings=timings,
        history=np.concatenate(histories),
        detail=f"{last.detail}; {detail}" if last.detail else detail,
    )
