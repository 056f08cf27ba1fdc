"""Constraint generation: solve with a working set of rows, add the rows that the answer violates, repeat.

An outer loop around another solver, as in active-set and cutting-plane methods. An interior-point method pays
for every row in every factorization, and of the rows of a problem with many nodes few are active. The program
with a subset of the rows is a relaxation, so an answer that violates none of the others solves the whole NLP;
their multipliers are zero.

For reports on rows that cannot all hold, the point is found that violates the rows of a program least:

    minimize  1/2 sum_r (w_r d_r(y))^2   with   lower <= y <= upper,

d_r the distance of row r from its bounds and w_r = 1 for limits, `equality_weight` for equations: equations
hold nearly, and the limits that would have to give way are seen. Levenberg and Marquardt's method (Nocedal
and Wright, Numerical Optimization, 2006, section 10.3), its steps cut off at the bounds of y. An iteration
takes values and first derivatives of the rows alone and a dense factorization, (n, n), of the size of y.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from trajopt.base.arguments import check_count, check_positive, pluralize, short_repr
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.solvers.ipopt import Ipopt
from trajopt.solvers.kkt import bound_violation, largest_violation, side_violations
from trajopt.solvers.matrices import scattered, sparse_jacobian
from trajopt.solvers.newton.newton import NewtonFromMotion
from trajopt.solvers.newton.quadratic_program import FAIR, GOOD, POOR
from trajopt.solvers.run import (
    Fallback,
    counted_on,
    joined_results,
    run_solver,
    takes_hessian,
)
from trajopt.solvers.solver import (
    FEASIBILITY,
    FLAT,
    GROWTH,
    LITTLE,
    LITTLE_GROWTH,
    MOST_STEPS,
    REGULARIZATION,
    ROUNDING,
    Iteration,
    Program,
    ProgramValue,
    Result,
    Run,
    Solver,
    StartKind,
    Status,
    WarmStart,
)

# Where an answer violates more than half of the rows left out, or one of them by FAR, scaled, all rows
# enter, and the answer is no start for them.
FAR = 3.0
# Statuses that more rows would not change. DIVERGING is none: a relaxation may be unbounded.
_FINAL = (Status.INFEASIBLE, Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.INTERRUPTED)


@dataclass(frozen=True)
class ConstraintGeneration:
    """Constraint generation around `solver`: `solve(problem, ConstraintGeneration(Ipopt()))`.

    The first working set holds the equalities and the rows that the start violates or that lie within
    `margin` of their bounds there, scaled; it is solved to a coarse tolerance. Every round adds the rows that
    its answer violates by more than the `tol` of the solver. Where those are most of what was left out, or
    one is violated by more than 3, scaled, the answer says nothing about the optimum: all rows enter, from
    the point where that round began. Worth while where rows outnumber unknowns by far, few of them are active
    and an optimum without the others is near, as for whole bodies; in minimum time all rows from the start
    are faster.

    time_limit : wall seconds for all rounds together, None: that of the solver
    coarse : tolerance of the first round of a solve without a warm start, where that is above the solver's
        own: which rows are violated shows long before convergence
    patience : the first round must reach an iterate that violates none of its rows by more than 0.01, scaled,
        within so many iterations, later rounds within half as many; None: no such limit. A round that does
        not ends at the point of least squared violation (`least_violation`): as INFEASIBLE, or, where the
        rows hold there, the solve goes on from that point without this limit. INFEASIBLE is then what the
        search came to, no proof

    Raises OptionError for a solver whose tolerance cannot be set, a margin that is not positive, or a
    patience that is no whole number from 1.
    """

    solver: Solver = field(default_factory=Ipopt)
    margin: float = 1e-6
    time_limit: float | None = None
    coarse: float = 1e-1
    patience: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.solver, type) or getattr(self.solver, "tol", None) is None:
            raise OptionError(
                f"ConstraintGeneration works through a solver with a tol, not {short_repr(self.solver)}: "
                "try Ipopt()"
            )
        check_positive("margin", self.margin)
        check_positive("time_limit", self.time_limit, optional=True)
        check_positive("coarse", self.coarse, or_zero=True)
        if self.patience is not None:
            check_count("patience", self.patience, least=1)

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        """Solve `nlp`; the result is that of the last round, with multipliers of all rows.

        Where a relaxation is unbounded or does not converge for another reason, all rows enter. A start near
        its solution is not solved coarsely, and one that lacks nothing but a few rows goes on by Newton's
        method first.
        """
        run = run or Run()
        settings, tol = self, run.tol or self.solver.tol  # type: ignore[attr-defined]  # checked above
        if run.start_kind is not None:
            settings = replace(settings, coarse=0.0)
        run = replace(run, tol=tol, max_iterations=None, row_tolerances=None)
        rounds = _Rounds(settings)
        if run.start_kind is not StartKind.SAME_MOTION or not takes_hessian(self.solver):
            return rounds.solve(nlp, start, run)
        return Fallback(NewtonFromMotion(tol), rounds).solve(nlp, start, run)


class _Rounds:
    """The rounds of one solve."""

    def __init__(self, settings: ConstraintGeneration) -> None:
        self.settings = settings
        own = getattr(settings.solver, "time_limit", None)
        limits = [limit for limit in (settings.time_limit, own) if limit is not None]
        self.time_limit = min(limits, default=None)  # of all rounds together

    def solve(self, nlp: Program, start: WarmStart | None = None, run: Run | None = None) -> Result:
        assert run is not None and run.tol is not None
        settings, tol = self.settings, run.tol
        first = at = WarmStart(np.asarray(nlp.start, dtype=float)) if start is None else start
        fixed = np.asarray(nlp.row_lower) == np.asarray(nlp.row_upper)
        kept = fixed | _above(_row_violation(nlp, at.y), -settings.margin)
        results: list[Result] = []
        patience = settings.patience
        while True:
            asked = tol if results or start is not None else max(settings.coarse, tol)
            result, was_met = self._round(nlp, kept, at, replace(run, tol=asked), results, patience)
            results.append(result)
            if not was_met:
                if result.status is Status.INTERRUPTED or not result.infeasibility <= tol:
                    return _whole(nlp, kept, results)
                at, patience = WarmStart(result.y), None
                continue
            violation = _row_violation(nlp, result.y)
            missing = ~kept & _above(violation, tol)
            done = asked == tol and not missing.any()
            if result.status is Status.INFEASIBLE and not (at.y is first.y or settings.patience):
                kept, at = np.ones_like(kept), first  # infeasible from the answer of another set of rows
                continue
            if done or result.status in _FINAL or (kept.all() and not result.converged):
                return _whole(nlp, kept, results)
            left_out = violation[~kept]
            if missing.sum() > 0.5 * left_out.size or _above(left_out, FAR).any():
                kept, at = np.ones_like(kept), replace(at, row_multipliers=None)
                continue
            # After eight rounds all rows enter
            kept = kept | missing if result.converged and len(results) < 8 else np.ones_like(kept)
            # Multipliers of another set of rows cost more iterations than they save.
            usable = result.converged and not np.isnan(violation).any()
            at = WarmStart(result.y) if usable else replace(at, row_multipliers=None)

    def _round(
        self,
        nlp: Program,
        kept: np.ndarray,
        at: WarmStart,
        run: Run,
        before: list[Result],
        patience: int | None,
    ) -> tuple[Result, bool]:
        """The result of one round, and whether an iterate came near its rows before `patience` ended."""
        subset, own, seen = _Subset(nlp, kept), self._run(run, before), []
        if at.row_multipliers is not None:
            at = replace(at, row_multipliers=at.row_multipliers[kept])
        if patience is None:
            return run_solver(self.settings.solver, subset.program, at, own), True
        most = max(patience // 2, 1) if before else patience
        near = False

        def watch(iteration: Iteration) -> None:
            nonlocal near
            if own.callback is not None:
                own.callback(iteration)
            near = near or iteration.infeasibility <= 1e-2
            seen.append(iteration)
            if not near and len(seen) > most:
                raise _RowsNotMet

        try:
            return run_solver(self.settings.solver, subset.program, at, replace(own, callback=watch)), True
        except _RowsNotMet:
            left = self._run(run, before, seen[-1].seconds)
            return self._where_least_violated(nlp, subset, seen, left), False

    def _where_least_violated(self, nlp: Program, subset: _Subset, seen: list[Iteration], own: Run) -> Result:
        """The end of a round that did not come near its rows, at the point that violates all rows least."""
        began, status = time.perf_counter(), Status.INFEASIBLE
        try:
            y = least_violation(nlp, subset.last, seconds=own.seconds_left or np.inf)
        except KeyboardInterrupt:
            y, status = subset.last, Status.INTERRUPTED
        scale = subset.program.objective_scale
        return Result(
            status=status,
            y=y,
            row_multipliers=np.zeros(subset.program.row_count),
            lower_multipliers=np.zeros(y.size),
            upper_multipliers=np.zeros(y.size),
            objective=float(nlp.objective(y)),
            infeasibility=largest_violation(nlp, y, nlp.rows(y)),
            iterations=len(seen) - 1,
            seconds=seen[-1].seconds + time.perf_counter() - began,
            history=np.array([(each.iteration, scale * each.objective, each.infeasibility) for each in seen]),
            detail=f"none of {len(seen) - 1} iterates came near its rows",
        )

    def _run(self, run: Run, before: list[Result], spent: float = 0.0) -> Run:
        """The run of one round: in the time that is left, counting iterations and seconds through all rounds.

        spent : seconds of a round that is not among those before
        """
        # The first round ends by the solver's own limit, whose clock starts after its libraries are loaded.
        limit = self.time_limit if before or spent else self.settings.time_limit
        left = None if limit is None else limit - sum(each.seconds for each in before) - spent
        return replace(run, callback=counted_on(run.callback, before)).within(left)


class _Subset:
    """The program with those of its rows that are kept, (m,) boolean, and where its rows were finite last."""

    def __init__(self, nlp: Program, kept: np.ndarray) -> None:
        self.last = np.asarray(nlp.start, dtype=float)
        entries = np.flatnonzero(kept[nlp.jacobian_rows])
        whole = ProgramValue.of(nlp)
        selecting = whole.jacobian_of_rows

        def rows(y: np.ndarray) -> np.ndarray:
            found = nlp.rows(y)
            if np.all(np.isfinite(found)):
                self.last = np.array(y)
            return found[kept]

        def hessian(y: np.ndarray, row_multipliers: np.ndarray, objective_factor: float) -> np.ndarray:
            return nlp.hessian(y, scattered(row_multipliers, kept, kept.size), objective_factor)

        self.program = replace(
            whole,
            row_count=int(kept.sum()),
            row_lower=nlp.row_lower[kept],
            row_upper=nlp.row_upper[kept],
            jacobian_rows=(np.cumsum(kept) - 1)[nlp.jacobian_rows[entries]],
            jacobian_columns=nlp.jacobian_columns[entries],
            rows=rows,
            jacobian=(lambda y: nlp.jacobian(y)[entries]) if selecting is None else selecting(kept),
            hessian=hessian,
            jacobian_of_rows=None,
        )


class _RowsNotMet(Exception):
    """No iterate of a round came near its rows."""


def _row_violation(nlp: Program, y: np.ndarray) -> np.ndarray:
    """Signed violation of each row, scaled; negative inside its bounds."""
    return bound_violation(nlp.rows(y), nlp.row_lower, nlp.row_upper)


def _above(violation: np.ndarray, limit: float) -> np.ndarray:
    """Mask of the rows that exceed a limit or are NaN there: a row that is left out would hide it."""
    return ~(violation <= limit)


def _whole(nlp: Program, kept: np.ndarray, results: list[Result]) -> Result:
    """The last result as one of the whole program, with iterations and times of all rounds."""
    last = joined_results(results)
    detail = f"{int(kept.sum())} of {kept.size} rows in {pluralize(len(results), 'round')}"
    return replace(
        last,
        row_multipliers=scattered(last.row_multipliers, kept, kept.size),
        infeasibility=max(last.infeasibility, float(_row_violation(nlp, last.y).max(initial=0.0))),
        detail=f"{last.detail}; {detail}" if last.detail else detail,
    )


LOOK_BACK = 5  # iterations


def least_violation(
    nlp: Program, start: ArrayLike, equality_weight: float = 100.0, seconds: float = np.inf
) -> NDArray[np.float64]:
    """A point (n,) near a local minimum of the weighted squared violation, from `start` (n,).

    It ends after 80 iterations or `seconds`, where five iterations decrease the sum by less than a
    hundredth, where all rows hold, or where a row or derivative is not finite.
    """
    began = time.perf_counter()
    weights = np.where(np.asarray(nlp.row_lower) == np.asarray(nlp.row_upper), equality_weight, 1.0)

    def distances(y: Array) -> Array:
        with np.errstate(invalid="ignore"):  # an infinite row beside an infinite bound
            below, above = side_violations(nlp.rows(y), nlp.row_lower, nlp.row_upper)
        return weights * (np.maximum(above, 0.0) - np.maximum(below, 0.0))

    y = np.clip(np.asarray(start, dtype=float), nlp.lower, nlp.upper)
    r, damping, found = distances(y), FEASIBILITY, []
    for _ in range(MOST_STEPS):
        found.append(0.5 * float(r @ r))
        slow = len(found) > LOOK_BACK and found[-LOOK_BACK - 1] - found[-1] < LITTLE * found[-1]
        if slow or not 0.0 < found[-1] < np.inf or time.perf_counter() - began > seconds:
            break
        J = sparse_jacobian(nlp, weights[nlp.jacobian_rows] * nlp.jacobian(y))
        A, violated = J[r != 0.0], r[r != 0.0]
        gradient, normal = A.T @ violated, (A.T @ A).toarray()
        if not np.all(np.isfinite(normal)):
            break
        blocked = ((y <= nlp.lower) & (gradient > 0.0)) | ((y >= nlp.upper) & (gradient < 0.0))
        while True:
            step = _step(normal, gradient, ~blocked, damping)
            if step is not None:
                tried = np.clip(y + step, nlp.lower, nlp.upper)
                moved, at_tried = tried - y, distances(tried)
                decrease = found[-1] - 0.5 * float(at_tried @ at_tried)
                foreseen = -float(gradient @ moved + 0.5 * moved @ normal @ moved)
                if decrease > POOR * foreseen > 0.0:  # False where a row is NaN
                    break
            damping = max(GROWTH * damping, REGULARIZATION)
            if FLAT * damping > 1.0:  # the step is so short by now that none will be good
                return y
        y, r = tried, at_tried
        if decrease > GOOD * foreseen:
            damping = damping / GROWTH if damping / GROWTH >= REGULARIZATION else ROUNDING  # that is none
        elif decrease < FAIR * foreseen:
            damping = max(LITTLE_GROWTH * damping, REGULARIZATION)
    return y


def _step(normal: Array, gradient: Array, free: Array, damping: float) -> Array | None:
    """-(J'J + damping I)^-1 gradient over the free unknowns, else zero; None where that is singular."""
    step = np.zeros(gradient.size)
    matrix = normal[np.ix_(free, free)] + damping * np.eye(int(free.sum()))
    try:
        step[free] = -cho_solve(cho_factor(matrix), gradient[free])
    except LinAlgError:
        return None
    return step
