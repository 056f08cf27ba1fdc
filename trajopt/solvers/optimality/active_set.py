"""The active set of a point: the rows and unknowns of a nonlinear program that lie at their bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trajopt.solvers.solver import Program

__all__ = ["ActiveSet", "active_set"]


ACTIVE = 1e-6  # scaled distance to its bound at which a constraint counts as active


@dataclass(frozen=True)
class ActiveSet:
    """Masks of what is at its bound: rows (m,) and variables (n,); an equality is at both."""

    rows_at_lower: np.ndarray
    rows_at_upper: np.ndarray
    at_lower: np.ndarray
    at_upper: np.ndarray


def active_set(nlp: Program, y: np.ndarray, tolerance: float = ACTIVE) -> ActiveSet:
    """What lies within `tolerance` of its bound, or beyond it, at y."""
    rows = nlp.rows(y)
    return ActiveSet(
        rows_at_lower=rows <= nlp.row_lower + tolerance,
        rows_at_upper=rows >= nlp.row_upper - tolerance,
        at_lower=y <= nlp.lower + tolerance,
        at_upper=y >= nlp.upper - tolerance,
    )
