"""Optimality at a point, from the program alone: violations, active constraints, KKT residuals, multipliers,
status.

The functions are evaluated again at the point, independently of what its solver reports, and the residuals of
the Karush-Kuhn-Tucker (KKT) conditions follow from them and the multipliers (sign convention of `solver.py`).
Residuals are scaled as in IPOPT (Wachter and Biegler, Math. Program. 106, 2006, eq. 5-6):

    s_d = max(s_max, (|row multipliers|_1 + |bound multipliers|_1) / (m + 2 n)) / s_max,
    s_c = max(s_max, |multipliers of inequalities|_1 / their number) / s_max,       s_max = 100.

From s_d = 1e6 on, as where rows repeat each other, stationarity is not divided, and it is no less than the
rounding of the terms that cancel in it.

The status of a run that a solver gave up or that met its iteration limit follows from the point it returned.

Why a solver gave up may depend on rounding; the KKT conditions at its last point do not. The first line that
applies gives the status:

    it gave up or converged, and the objective falls on with unknowns that grew    DIVERGING
    the solver converged, or an evaluation, the callback or a limit of time stopped it    as it says
    largest |y| > 1e12, no further step found                      DIVERGING
    KKT error <= kkt_tol                                           CONVERGED
    KKT error <= acceptable_tol                                    ACCEPTABLE
    violation > feasibility, no further step found, and
        more equality rows than unknowns                           NOT_ENOUGH_FREEDOM
        linearised constraints and bounds contradict each other    INCOMPATIBLE
    violation > feasibility, iteration limit met, and no
        linearised step takes away 1 % of the violation            INCOMPATIBLE
    otherwise                                                      ITERATION_LIMIT or STEP_TOO_SMALL

Constraints linearised at a point: with g, J the rows and their Jacobian at y, and w_i = max(1, max_j |J_ij|),
the linear program

    minimise s   with   row_lower <= g + J d + e <= row_upper,   lower <= y + d <= upper,   |e_i| <= w_i s

over steps d (n,) and s >= 0 gives the least linearised violation s that any step reaches. Where s exceeds the
tolerance of feasibility, no step of a method that linearises (SQP, Newton) meets the constraints.

Lagrange multipliers are estimated at a point by least squares over the active constraints:

    minimize |grad f + J' row_multipliers - lower_multipliers + upper_multipliers|_2

with the sign convention of `solver.py`; the multipliers of inactive constraints are zero. The residual that
is left is the stationarity error of the point itself: at an optimum with independent active gradients these
are its multipliers, elsewhere they give the smallest stationarity error that the point can have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajopt.base.arrays import Array
from trajopt.base.errors import ShapeError
from trajopt.solvers.matrices import dense_jacobian, scattered, sparse_jacobian
from trajopt.solvers.scaled_program import scaled_point, scaled_program
from trajopt.solvers.solver import (
    FEASIBILITY,
    LITTLE,
    ROUNDING,
    SUM_ROUNDING,
    Program,
    Result,
    Status,
    WarmStart,
)

_S_MAX = 100.0


@dataclass(frozen=True)
class KKT:
    """The largest residual of each KKT condition; all zero at an exact optimum.

    stationarity     |grad f + J' row_multipliers - lower_multipliers + upper_multipliers|_inf
    primal           largest violation of rows and bounds
    complementarity  largest |multiplier * distance to the bound it belongs to|
    sign             largest multiplier of the wrong sign, or of a bound that does not exist
    """

    stationarity: float
    primal: float
    complementarity: float
    sign: float
    dual_scale: float
    complementarity_scale: float

    @property
    def divisor(self) -> float:
        """The divisor of the stationarity: one where multipliers are too large to divide it."""
        return self.dual_scale if divides(self.dual_scale) else 1.0

    @property
    def error(self) -> float:
        """The largest residual, stationarity and complementarity scaled as above."""
        return max(
            self.stationarity / self.divisor,
            self.primal,
            self.complementarity / self.complementarity_scale,
            self.sign,
        )


def divides(dual_scale: float) -> bool:
    """True if s_d divides the stationarity: below a million, beyond which rows may repeat each other."""
    return FEASIBILITY * dual_scale < 1.0


def with_rounding_of_sum(stationarity: float, sizes_of_parts: np.ndarray) -> float:
    """A stationarity that is not divided, no less than the rounding of its sum.

    Multipliers of rows that repeat each other may cancel at 1e16, where rounding takes a whole gradient in.

    sizes_of_parts : (n,) sums of |J_ij multiplier_i| over the rows
    """
    return max(stationarity, np.finfo(float).eps * largest(sizes_of_parts))


def lagrangian_gradient(nlp: Program, y: np.ndarray, row_multipliers: np.ndarray) -> np.ndarray:
    """grad f(y) + J(y)' row_multipliers, (n,)."""
    weights = np.asarray(nlp.jacobian(y)) * row_multipliers[nlp.jacobian_rows]
    return nlp.gradient(y) + np.bincount(nlp.jacobian_columns, weights, minlength=nlp.variable_count)


def multipliers_of(nlp: Program, answer: Result | WarmStart) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Multipliers of the rows (m,), lower bounds (n,) and upper bounds (n,): zero where none are given."""
    m, n = nlp.row_count, nlp.variable_count
    return (
        np.zeros(m) if answer.row_multipliers is None else answer.row_multipliers,
        np.zeros(n) if answer.lower_multipliers is None else answer.lower_multipliers,
        np.zeros(n) if answer.upper_multipliers is None else answer.upper_multipliers,
    )


def limit_distances(nlp: Program, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Distances of y to its limits, (2 m + 2 n,): rows below and above, unknowns below and above."""
    return np.concatenate([rows - nlp.row_lower, nlp.row_upper - rows, y - nlp.lower, nlp.upper - y])


def kkt_residuals(nlp: Program, answer: Result | WarmStart) -> KKT:
    """The residuals at `answer`; multipliers not given count as zero, and NaN gives infinite residuals."""
    of_rows = multipliers_of(nlp, answer)[0]
    return kkt_residuals_of(nlp, answer, nlp.rows(answer.y), lagrangian_gradient(nlp, answer.y, of_rows))


def kkt_residuals_of(
    nlp: Program, answer: Result | WarmStart, rows: np.ndarray, of_lagrangian: np.ndarray
) -> KKT:
    """The residuals where g(y) and grad f + J' row_multipliers are known; as the solver sees the unknowns."""
    if (sizes := getattr(nlp, "unknown_sizes", None)) is not None:
        scaled, point = scaled_program(nlp, sizes), scaled_point(answer, sizes)
        return kkt_residuals_of(scaled, point, rows, sizes * of_lagrangian)
    y, given, m, n = answer.y, multipliers_of(nlp, answer), nlp.row_count, nlp.variable_count
    of_lagrangian = np.ravel(of_lagrangian)  # programs may give gradients as one row
    shapes = [np.shape(part) for part in (*given, rows, y, of_lagrangian)]
    if shapes != [(m,), (n,), (n,), (m,), (n,), (n,)]:  # the compiled loop would read what stands behind them
        raise ShapeError(
            f"a point of {n} unknowns and {m} rows has multipliers of rows, of bounds, values of rows,"
            f" unknowns and a gradient of the Lagrangian of shapes {', '.join(map(str, shapes))}"
        )
    limits = np.concatenate([nlp.row_lower, nlp.lower]), np.concatenate([nlp.row_upper, nlp.upper])
    parts = np.concatenate([rows, y]), *limits, np.concatenate(given), of_lagrangian
    worst, total, of_limits, inequalities = _compiled_residuals()(*parts)
    stationarity, primal, complementarity, sign = worst
    dual_scale = kkt_scale(total, m + 2 * n)
    if not divides(dual_scale):
        sizes = np.abs(np.asarray(nlp.jacobian(y)) * given[0][nlp.jacobian_rows])
        sums = np.bincount(nlp.jacobian_columns, sizes, minlength=n)
        stationarity = with_rounding_of_sum(stationarity, sums)
    scale = kkt_scale(of_limits, 2 * n + inequalities)
    return KKT(stationarity, primal, complementarity, sign, dual_scale, scale)


@cache
def _compiled_residuals() -> Callable[..., Any]:
    from trajopt.solvers.newton.compiled_loops import compiled  # loads numba

    return compiled(_residuals)


def _residuals(
    values: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    multipliers: np.ndarray,
    of_lagrangian: np.ndarray,
) -> tuple:
    """The residuals of `KKT` and, of the multipliers, the sum of sizes, that without equations, and more.

    values, lower, upper : of rows, then of unknowns
    multipliers : of rows, then of lower and of upper bounds
    The last number is how many rows are no equations.
    """
    n, total, of_limits, inequalities = of_lagrangian.size, 0.0, 0.0, 0
    worst, m = np.zeros(4), values.size - n
    for i in range(m + n):
        # A row's multiplier belongs to its upper bound where positive, to its lower one where negative.
        one = multipliers[i]
        low, high = (np.maximum(-one, 0.0), np.maximum(one, 0.0)) if i < m else (one, multipliers[n + i])
        counts = i >= m or lower[i] != upper[i]  # of equations the distance is a violation
        size = abs(low) + abs(high)
        total += size
        if counts:
            of_limits += size
            inequalities += i < m
        if i >= m:
            left = abs(of_lagrangian[i - m] - low + high)
            if not left <= worst[0]:
                worst[0] = left if left == left else np.inf
        for gap, push in ((values[i] - lower[i], low), (upper[i] - values[i], high)):
            exists = np.isfinite(gap)
            product = gap * push if exists and counts else 0.0
            wrong = np.minimum(push, 0.0) if exists else push
            for k, part in enumerate((np.minimum(gap, 0.0), product, wrong)):
                if not abs(part) <= worst[k + 1]:
                    worst[k + 1] = abs(part) if part == part else np.inf
    return (worst[0], worst[1], worst[2], worst[3]), total, of_limits, inequalities


def is_optimal_to_rounding(nlp: Program, answer: WarmStart, tol: float) -> bool:
    """True if all residuals are below tol but the stationarity, and that one is what rounding leaves.

    Unknowns y are known to eps |y|, so that no gradient of the Lagrangian is known better than eps |H| |y|,
    with H its Hessian: 1e-8 on splines of a hundred spans, accelerations being 1e4 times the coefficients.
    """
    residuals = kkt_residuals(nlp, answer)
    others = max(
        residuals.primal, residuals.complementarity / residuals.complementarity_scale, residuals.sign
    )
    if not (others <= tol and nlp.has_hessian):
        return False
    rows = multipliers_of(nlp, answer)[0]
    entries, i, j = np.abs(nlp.hessian(answer.y, rows, 1.0)), nlp.hessian_rows, nlp.hessian_columns
    size = np.abs(answer.y)
    moved = np.bincount(i, entries * size[j], minlength=size.size)
    moved += np.bincount(j, np.where(i == j, 0.0, entries) * size[i], minlength=size.size)
    return residuals.stationarity <= SUM_ROUNDING * float(moved.max(initial=0.0))


def largest(values: np.ndarray) -> float:
    """The largest absolute value, infinite where one is NaN, zero where there is none."""
    worst = float(np.abs(values).max(initial=0.0))
    return worst if worst == worst else np.inf


def kkt_scale(total: float, count: int) -> float:
    """s_d or s_c above: of the sum of the sizes of so many multipliers."""
    return max(_S_MAX, float(total) / max(int(count), 1)) / _S_MAX


@dataclass(frozen=True)
class ActiveSet:
    """Masks of what is at its bound: rows (m,) and variables (n,); an equality is at both."""

    rows_at_lower: np.ndarray
    rows_at_upper: np.ndarray
    at_lower: np.ndarray
    at_upper: np.ndarray


def active_set(nlp: Program, y: np.ndarray, tolerance: float = FEASIBILITY) -> ActiveSet:
    """The rows and unknowns within `tolerance` of a bound, or beyond it, at y."""
    rows = nlp.rows(y)
    return ActiveSet(
        rows_at_lower=rows <= nlp.row_lower + tolerance,
        rows_at_upper=rows >= nlp.row_upper - tolerance,
        at_lower=y <= nlp.lower + tolerance,
        at_upper=y >= nlp.upper - tolerance,
    )


def bound_violation(values: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> NDArray[np.float64]:
    """max(lower - values, values - upper), elementwise, in the unit of the values.

    Positive outside of the bounds; inside, minus the distance to the nearer one. NaN where a value is NaN.
    """
    return np.maximum(*side_violations(values, lower, upper))


def side_violations(values: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array]:
    """lower - values and values - upper: the signed violation of each side on its own."""
    return np.subtract(lower, values), np.subtract(values, upper)


def largest_violation(nlp: Program, y: Array, rows: Array) -> float:
    """The largest amount by which `rows` = g(y) or the variables y leave their bounds, scaled as the NLP.

    0 at a feasible point, infinity where a row or variable is NaN.
    """
    of_rows = bound_violation(rows, nlp.row_lower, nlp.row_upper).max(initial=0.0)
    of_variables = bound_violation(y, nlp.lower, nlp.upper).max(initial=0.0)
    worst = float(np.maximum(of_rows, of_variables))
    return np.inf if np.isnan(worst) else worst


def status_of_point(
    result: Result, nlp: Program, answer: WarmStart, feasibility: float, kkt_tol: float, acceptable_tol: float
) -> Status:
    """The status by the table at the top.

    result : of the solver, STEP_TOO_SMALL where it gave up
    answer : the returned point with its multipliers
    """
    gave_up = result.status is Status.STEP_TOO_SMALL
    if not gave_up and result.status is not Status.ITERATION_LIMIT:
        return result.status
    # Scaled unknowns are of order one: so large, they only grow.
    if gave_up and ROUNDING * np.abs(answer.y).max(initial=0.0) > 1.0:
        return Status.DIVERGING
    error = kkt_residuals(nlp, answer).error
    if error <= acceptable_tol:
        return Status.CONVERGED if error <= kkt_tol else Status.ACCEPTABLE
    if result.infeasibility <= feasibility:
        return result.status
    if gave_up and np.count_nonzero(nlp.row_lower == nlp.row_upper) > nlp.variable_count:
        return Status.NOT_ENOUGH_FREEDOM
    found = linearised_violation(nlp, answer.y, feasibility)
    # Half-way, a contradiction may vanish at a later iterate; where the violation is least, it stays.
    threshold = feasibility if gave_up else max(feasibility, (1.0 - LITTLE) * found.here)
    return Status.INCOMPATIBLE if found.least > threshold else result.status


def grown(start: Array, y: Array) -> Array:
    """Mask of the unknowns that grew a millionfold since the start."""
    return FEASIBILITY * np.abs(y - start) > 1.0 + np.abs(start)


def falls_for_ever(nlp: Program, start: WarmStart, y: np.ndarray) -> bool:
    """True if unknowns of y that grew a millionfold since the start may grow as much again, and f falls on.

    With d = y - start in these unknowns and zero in all others: y + d violates bounds and rows by no more
    than y and the start do together, and f(y) - f(y + d) is at least half of f(y - d / 2) - f(y) > 0. No
    minimum is like that, however small the gradient is beside the multipliers.
    """
    far = grown(start.y, y)
    if not far.any():
        return False
    step = np.where(far, y - start.y, 0.0)
    ahead, behind = y + step, y - 0.5 * step
    violations = [largest_violation(nlp, at, nlp.rows(at)) for at in (start.y, y, ahead)]
    if not violations[2] <= max(violations[0] + violations[1], FEASIBILITY):
        return False
    before, here, after = (float(nlp.objective(at)) for at in (behind, y, ahead))
    return here - after >= 0.5 * (before - here) > 0.0


@dataclass(frozen=True)
class LinearisedViolation:
    """max_i |e_i| / w_i at the point itself and the least that a step reaches, as above; NaN: not known."""

    here: float
    least: float


def linearised_violation(nlp: Program, y: np.ndarray, tolerance: float) -> LinearisedViolation:
    """The violation of the linearised rows at y, which must be within its bounds, to 0.1 `tolerance`."""
    from scipy.optimize import linprog
    from scipy.sparse import hstack, vstack

    rows, values = np.asarray(nlp.rows(y), dtype=float), np.asarray(nlp.jacobian(y), dtype=float)
    if not (np.isfinite(rows).all() and np.isfinite(values).all()):
        return LinearisedViolation(np.nan, np.nan)
    jacobian = sparse_jacobian(nlp, values)
    # Divided by w, every row yields to the same s.
    scale = np.maximum(1.0, abs(jacobian).max(axis=1).toarray().ravel()) if rows.size else np.ones(0)
    jacobian = jacobian.multiply(1.0 / scale[:, None]).tocsr()
    below, above = (nlp.row_lower - rows) / scale, (nlp.row_upper - rows) / scale
    at_least, at_most = np.flatnonzero(np.isfinite(below)), np.flatnonzero(np.isfinite(above))
    if not at_least.size + at_most.size:
        return LinearisedViolation(0.0, 0.0)
    yielding = np.full((at_least.size + at_most.size, 1), -1.0)
    found = linprog(
        np.append(np.zeros(y.size), 1.0),
        A_ub=hstack([vstack([-jacobian[at_least], jacobian[at_most]]), yielding]).tocsr(),
        b_ub=np.concatenate([-below[at_least], above[at_most]]),
        bounds=np.column_stack([np.append(nlp.lower - y, 0.0), np.append(nlp.upper - y, np.inf)]),
        method="highs",
        options={"primal_feasibility_tolerance": float(np.clip(0.1 * tolerance, 1e-10, 1e-7))},
    )
    here = max(float(below.max()), float(-above.min()), 0.0)
    return LinearisedViolation(here, float(found.x[-1]) if found.status == 0 else np.nan)


def least_squares_multipliers(
    nlp: Program, y: np.ndarray, tolerance: float = FEASIBILITY, *, signed: bool = True
) -> WarmStart:
    """y with the multipliers above, all zero where a derivative is not finite.

    tolerance : distance to its bound at which a constraint counts as active
    signed : whether multipliers of inequalities are held to their sign; without, the fit is unconstrained
    """
    active = active_set(nlp, y, tolerance)
    rows = np.flatnonzero(active.rows_at_lower | active.rows_at_upper)
    lower, upper = np.flatnonzero(active.at_lower), np.flatnonzero(active.at_upper)
    identity = np.eye(nlp.variable_count)
    columns = np.hstack(
        [dense_jacobian(nlp, nlp.jacobian(y))[rows].T, -identity[:, lower], identity[:, upper]]
    )
    gradient = np.asarray(nlp.gradient(y), dtype=float)
    found = np.zeros(columns.shape[1])
    if found.size and np.isfinite(gradient).all() and np.isfinite(columns).all():
        if signed:
            found = _signed_fit(columns, -gradient, active, rows)
        else:
            found = np.linalg.lstsq(columns, -gradient, rcond=None)[0]
    parts = np.split(found, [rows.size, rows.size + lower.size])
    return WarmStart(
        y,
        scattered(parts[0], rows, nlp.row_count),
        scattered(parts[1], lower, nlp.variable_count),
        scattered(parts[2], upper, nlp.variable_count),
    )


def kkt_of_fit(nlp: Program, fitted: WarmStart, tolerance: float = FEASIBILITY) -> KKT:
    """The KKT residuals of a point with multipliers fitted without signs, independent of any solver's.

    Multipliers of inactive constraints are zero, so complementarity holds by construction; multipliers of
    the wrong sign show in `sign`.
    """
    y, active = fitted.y, active_set(nlp, fitted.y, tolerance)
    of_rows, of_lower, of_upper = multipliers_of(nlp, fitted)
    # A row at one bound only must not push the other way; at both (an equality) it may push either way.
    wrong = np.where(active.rows_at_upper, 0.0, np.maximum(of_rows, 0.0))
    wrong = np.maximum(wrong, np.where(active.rows_at_lower, 0.0, np.maximum(-of_rows, 0.0)))
    wrong = np.concatenate([wrong, np.maximum(-of_lower, 0.0), np.maximum(-of_upper, 0.0)])
    found = kkt_residuals(nlp, WarmStart(y, of_rows, np.maximum(of_lower, 0.0), np.maximum(of_upper, 0.0)))
    return replace(found, complementarity=0.0, sign=float(wrong.max(initial=0.0)))


def _signed_fit(columns: np.ndarray, target: np.ndarray, active: ActiveSet, rows: np.ndarray) -> np.ndarray:
    """Least squares with rows' multipliers <= 0 at a lower bound, >= 0 at an upper one, bounds' >= 0."""
    from scipy.optimize import lsq_linear

    bounds_count = columns.shape[1] - rows.size
    least = np.append(np.where(active.rows_at_lower[rows], -np.inf, 0.0), np.zeros(bounds_count))
    most = np.append(np.where(active.rows_at_upper[rows], np.inf, 0.0), np.full(bounds_count, np.inf))
    return lsq_linear(columns, target, bounds=(least, most), method="bvls").x
