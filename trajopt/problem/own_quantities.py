"""The table of a problem's quantities: those of its dynamics, and what the problem defines itself."""

from __future__ import annotations

from typing import Any

from trajopt.graph.leaves import extra_leaf, is_rate, parameter_leaf
from trajopt.graph.quantity_table import QuantityTable


def quantities_of(problem: Any) -> QuantityTable:
    """Every quantity that a term of a problem may ask for: width, names of components, unit."""
    defined = {parameter_leaf(name): p.lower.size for name, p in problem.parameters.items()}
    defined |= {extra_leaf(name): width for name, width in problem.extra_widths.items()}
    defined |= {leaf: spline.width for leaf, spline in problem.spline_leaves.items() if is_rate(leaf)}
    defined |= {data.quantity: data.width for data in problem.datasets.values()}
    return QuantityTable(problem.dynamics, defined)
