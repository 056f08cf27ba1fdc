"""Weighted sums of several costs, each divided by its typical size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trajopt.base.errors import OptionError


def weighted(problem: Any, costs: Mapping[str, tuple[Any, float, float]]) -> None:
    """Minimize sum_c w_c J_c / J_c,0 with weights that sum to one (Barman, thesis, eq. 4.18).

    costs : name -> (term, weight w_c >= 0, typical size J_c,0 > 0). Raises OptionError otherwise.
    """
    weights = np.array([weight for _, weight, _ in costs.values()])
    sizes = np.array([size for *_, size in costs.values()])
    if np.any(weights < 0.0) or not np.isclose(weights.sum(), 1.0) or np.any(sizes <= 0.0):
        raise OptionError(
            f"weights are {weights.tolist()} and sizes {sizes.tolist()}: "
            "give weights that sum to 1 and sizes above 0"
        )
    for name, (term, weight, size) in costs.items():
        if weight > 0.0:
            problem.minimize(term, weight=weight / size, name=name)
