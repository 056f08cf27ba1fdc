"""When a refined answer replaces the former one: its largest relative error is smaller."""

from __future__ import annotations

from typing import Any

EXPLAINED = 10.0  # an objective may rise by this many times the former answer's relative error
ROUNDING = 1e-12  # of the objective


def objection(former: Any, error: float, later: Any, later_error: float, tol: float) -> str:
    """Why `later` does not replace `former`, two solutions or two of phases; empty where it does.

    error, later_error : the largest relative errors of the two; where both are below tol, the objective
        decides. Above it, the objective of an answer with errors is no measure, but a rise far beyond what
        those errors explain means another local optimum.
    """
    if not later.converged:
        return later.status.value
    rise = (later.objective - former.objective) / max(abs(former.objective), 1e-300)
    if max(error, later_error) <= tol:
        return f"its objective is {rise:.1e} higher at errors below the tolerance" * bool(rise > ROUNDING)
    if not later_error < error:
        return f"its largest relative error is {later_error:.1e}, not below {error:.1e}"
    if rise > EXPLAINED * error:
        return f"another local optimum: {rise:.1%} higher, which errors of {error:.1e} do not explain"
    return ""
