"""Lagrange multipliers estimated at a point, by least squares over the active constraints.

    minimize |grad f + J' row_multipliers - lower_multipliers + upper_multipliers|_2

with the sign convention of `solver.py`; the multipliers of inactive constraints are zero. The residual that
is left is the stationarity error of the point itself: at an optimum with independent active gradients these
are its multipliers, elsewhere they give the smallest stationarity error that the point can have.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trajopt.solvers.matrices import dense_jacobian, scattered
from trajopt.solvers.optimality.kkt import KKT, ActiveSet, active_set, kkt_residuals, multipliers_of
from trajopt.solvers.solver import FEASIBILITY, Program, WarmStart


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
