"""The Karush-Kuhn-Tucker conditions of an answer, computed again from the problem alone.

No solver's word is taken: the functions are evaluated at the answer's point, and the residuals follow from
them and the multipliers (signs as in `solver.py`). Scaled residuals are divided as IPOPT divides them
(Wachter and Biegler, Math. Program. 106, 2006, eq. 5-6):

    s_d = max(s_max, (|row multipliers|_1 + |bound multipliers|_1) / (m + 2 n)) / s_max,
    s_c = max(s_max, |multipliers of inequalities|_1 / their number) / s_max,       s_max = 100.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trajopt.solvers.monitor import violation
from trajopt.solvers.solver import NLP, Result, WarmStart

__all__ = ["KKT", "ActiveSet", "active_set", "kkt_residuals", "lagrangian_gradient", "least_squares_kkt"]

_S_MAX = 100.0


@dataclass(frozen=True)
class KKT:
    """Largest violations of the conditions of an optimum; all zero at an exact one.

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
    def error(self) -> float:
        """The largest residual, stationarity and complementarity scaled as above."""
        return max(
            self.stationarity / self.dual_scale,
            self.primal,
            self.complementarity / self.complementarity_scale,
            self.sign,
        )

    @property
    def absolute_error(self) -> float:
        """The largest residual, nothing scaled."""
        return max(self.stationarity, self.primal, self.complementarity, self.sign)


@dataclass(frozen=True)
class ActiveSet:
    """Masks of what is at its bound: rows (m,) and variables (n,); an equality is at both."""

    rows_at_lower: np.ndarray
    rows_at_upper: np.ndarray
    at_lower: np.ndarray
    at_upper: np.ndarray


def active_set(nlp: NLP, y: np.ndarray, tolerance: float = 1e-6) -> ActiveSet:
    """What lies within `tolerance` of its bound, or beyond it, at y."""
    rows = nlp.rows(y)
    return ActiveSet(
        rows_at_lower=rows <= nlp.row_lower + tolerance,
        rows_at_upper=rows >= nlp.row_upper - tolerance,
        at_lower=y <= nlp.lower + tolerance,
        at_upper=y >= nlp.upper - tolerance,
    )


def lagrangian_gradient(nlp: NLP, y: np.ndarray, row_multipliers: np.ndarray) -> np.ndarray:
    """grad f(y) + J(y)' row_multipliers, (n,)."""
    weights = np.asarray(nlp.jacobian(y)) * row_multipliers[nlp.jacobian_rows]
    return nlp.gradient(y) + np.bincount(nlp.jacobian_columns, weights, minlength=nlp.variable_count)


def kkt_residuals(nlp: NLP, answer: Result | WarmStart) -> KKT:
    """The residuals at `answer`; multipliers not given count as zero, and NaN gives infinite residuals."""
    y, n = answer.y, nlp.variable_count
    of_rows, of_lower, of_upper = (
        np.zeros(size) if multipliers is None else multipliers
        for multipliers, size in (
            (answer.row_multipliers, nlp.row_count),
            (answer.lower_multipliers, n),
            (answer.upper_multipliers, n),
        )
    )
    rows = nlp.rows(y)
    equalities = nlp.row_lower == nlp.row_upper
    gaps = (rows - nlp.row_lower, nlp.row_upper - rows, y - nlp.lower, nlp.upper - y)
    # A row's multiplier belongs to its upper bound where positive, to its lower one where negative.
    sides = (np.maximum(-of_rows, 0.0), np.maximum(of_rows, 0.0), of_lower, of_upper)
    free = (equalities, equalities, np.zeros(y.size, bool), np.zeros(y.size, bool))
    products, wrong = [0.0], [0.0]
    for gap, side, skip in zip(gaps, sides, free, strict=True):
        exists = np.isfinite(gap) & ~skip
        products.append(_largest(gap[exists] * side[exists]))
        wrong.append(_largest(side[~np.isfinite(gap)]))
        wrong.append(_largest(np.minimum(side, 0.0)))
    total_bounds = np.abs(of_lower).sum() + np.abs(of_upper).sum()
    total_rows = np.abs(of_rows).sum()
    inequality_rows = np.abs(of_rows[~equalities]).sum()
    return KKT(
        stationarity=_largest(lagrangian_gradient(nlp, y, of_rows) - of_lower + of_upper),
        primal=violation(nlp, y, rows),
        complementarity=max(products),
        sign=max(wrong),
        dual_scale=_scale(total_rows + total_bounds, of_rows.size + 2 * y.size),
        complementarity_scale=_scale(total_bounds + inequality_rows, 2 * y.size + (~equalities).sum()),
    )


def _largest(values: np.ndarray) -> float:
    worst = float(np.abs(values).max(initial=0.0))
    return np.inf if np.isnan(worst) else worst


def _scale(total: float, count: int) -> float:
    return max(_S_MAX, float(total) / max(int(count), 1)) / _S_MAX


def least_squares_kkt(nlp: NLP, y: np.ndarray, tolerance: float = 1e-6) -> KKT:
    """The residuals at y with the multipliers that fit best: nobody's word is taken for these either.

    minimize |grad f + J' lambda - z_lower + z_upper|_2 over lambda of rows and z of bounds that y meets to
    `tolerance`; those of other rows and bounds are zero, so that complementarity holds by construction, and
    wrong signs show in `sign`.
    """
    active = active_set(nlp, y, tolerance)
    rows = np.flatnonzero(active.rows_at_lower | active.rows_at_upper)
    jacobian = np.zeros((nlp.row_count, nlp.variable_count))
    np.add.at(jacobian, (nlp.jacobian_rows, nlp.jacobian_columns), nlp.jacobian(y))
    lower, upper = np.flatnonzero(active.at_lower), np.flatnonzero(active.at_upper)
    unit = np.eye(nlp.variable_count)
    columns = np.concatenate([jacobian[rows], -unit[lower], unit[upper]]).T
    fitted = np.linalg.lstsq(columns, -nlp.gradient(y), rcond=None)[0]
    of_rows, of_lower, of_upper = (np.zeros(size) for size in (nlp.row_count, y.size, y.size))
    of_rows[rows] = fitted[: rows.size]
    of_lower[lower], of_upper[upper] = np.split(fitted[rows.size :], [lower.size])
    # A row at one bound only must not push the other way; at both (an equality) it may push either way.
    wrong = np.where(active.rows_at_upper, 0.0, np.maximum(of_rows, 0.0))
    wrong = np.maximum(wrong, np.where(active.rows_at_lower, 0.0, np.maximum(-of_rows, 0.0)))
    negative = np.maximum(-np.concatenate([of_lower, of_upper]), 0.0)
    found = kkt_residuals(nlp, WarmStart(y, of_rows, np.maximum(of_lower, 0.0), np.maximum(of_upper, 0.0)))
    return replace(found, complementarity=0.0, sign=max(_largest(wrong), _largest(negative)))
