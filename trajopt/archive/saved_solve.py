"""What files hold of the solve itself, in the same way for one motion and for phases: values and arrays."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from trajopt.solution.records import table_of

POINT = ("y", "row_multipliers", "lower_multipliers", "upper_multipliers")


def solve_values(solution: Any) -> dict[str, Any]:
    """Values of a header: names of multipliers, status, counts, seconds, and how the run came about.

    solution : a `Solution` or a `PhasesSolution`, here and below
    """
    return {
        "name": solution.name,
        "multipliers": list(solution.multipliers),
        "status": solution.status.name,
        "kkt": asdict(solution.kkt),
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "n_variables": solution.n_variables,
        "n_constraints": solution.n_constraints,
        "timings": dict(solution.timings),
        "detail": solution.detail,
        "has_point": solution.point is not None,
        "refinement": None if solution.refinement is None else solution.refinement.summary(),
        "run": None if solution.run is None else asdict(solution.run),
    }


def solve_arrays(solution: Any) -> dict[str, Any]:
    """Iterations, multipliers, the last point of the solver and the factors of its program, by name."""
    arrays = {"history": solution.history, "solves": table_of(solution.solves)}
    arrays |= {f"multipliers_{i}": values for i, values in enumerate(solution.multipliers.values())}
    if solution.point is not None:
        arrays |= {f"point_{name}": getattr(solution.point, name) for name in POINT}
    if solution.scaling is not None:
        arrays["scaling_rows"] = solution.scaling.rows
        arrays["scaling_objective"] = np.array([solution.scaling.objective])
    return arrays
