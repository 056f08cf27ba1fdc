"""Multipliers of a point whose solver gives none, by least squares over what is active there.

    minimise |grad f + J' row_multipliers - lower_multipliers + upper_multipliers|_2

with the signs of `solver.py`, and zero for everything away from its bound. The residual left over is the
stationarity error of the point itself, so at an optimum with independent active gradients these are the
multipliers, and elsewhere the best case that can be made for the point.
"""

from __future__ import annotations

import numpy as np

from trajopt.solvers.kkt import active_set
from trajopt.solvers.solver import NLP, WarmStart

__all__ = ["dense_jacobian", "least_squares_multipliers"]


def dense_jacobian(nlp: NLP, values: np.ndarray) -> np.ndarray:
    """The (m, n) matrix of triplet `values`; repeated entries add up."""
    n, m = nlp.variable_count, nlp.row_count
    entries = np.asarray(nlp.jacobian_rows) * n + nlp.jacobian_columns
    return np.bincount(entries, values, minlength=m * n).reshape(m, n)


def least_squares_multipliers(nlp: NLP, y: np.ndarray, tolerance: float = 1e-6) -> WarmStart:
    """y with the multipliers above, all zero where a derivative is not finite.

    Active is what lies within `tolerance` of its bound.
    """
    from scipy.optimize import lsq_linear

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
        # At its lower bound a row may have a negative multiplier, at its upper one a positive.
        least = np.where(active.rows_at_lower[rows], -np.inf, 0.0)
        most = np.where(active.rows_at_upper[rows], np.inf, 0.0)
        bounds_count = lower.size + upper.size
        found = lsq_linear(
            columns,
            -gradient,
            bounds=(np.append(least, np.zeros(bounds_count)), np.append(most, np.full(bounds_count, np.inf))),
            method="bvls",
        ).x
    parts = np.split(found, [rows.size, rows.size + lower.size])
    return WarmStart(
        y,
        _scatter(parts[0], rows, nlp.row_count),
        _scatter(parts[1], lower, nlp.variable_count),
        _scatter(parts[2], upper, nlp.variable_count),
    )


def _scatter(values: np.ndarray, places: np.ndarray, size: int) -> np.ndarray:
    full = np.zeros(size)
    full[places] = values
    return full
