"""First-order changes of the objective: gained by violations between nodes, lost to margins of limits.

By the multipliers, in objective per unit of a row, an optimum under limits that are wider by eps has an
objective lower by sum |multiplier| eps. An overstep gains at most as if its limit were wider by the largest
overstep at all nodes; a margin costs as if it were narrower by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.tolerances import NOT_ZERO


@dataclass(frozen=True)
class FirstOrderGain:
    """Parts of the objective: what oversteps gain at most, and what margins cost."""

    of_oversteps: float
    of_margins: float

    @staticmethod
    def of(oversteps: float, margins: float, objective: float) -> FirstOrderGain:
        """The gain from both in units of the objective."""
        size = max(abs(objective), NOT_ZERO)
        return FirstOrderGain(oversteps / size, margins / size)

    def __str__(self) -> str:
        return (
            "sum of |multiplier| times size, relative to the objective: oversteps gain "
            f"{self.of_oversteps:.1e}, margins cost {self.of_margins:.1e}"
        )


def impulses_by_component(multipliers: Mapping[str, Array], names: Sequence[str], width: int) -> Array:
    """Sum over nodes of |multiplier| of every component (width,), over all rows of these names."""
    found = np.zeros(width)
    for name in names:
        if name in multipliers:
            found += np.abs(multipliers[name]).sum(axis=0)
    return found
