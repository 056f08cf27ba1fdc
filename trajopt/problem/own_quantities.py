"""The quantities that a problem defines itself, beside those of its dynamics."""

from __future__ import annotations

from typing import Any

from trajopt.graph.leaves import extra_leaf, is_rate, parameter_leaf


def own_widths(problem: Any) -> dict[str, int]:
    """Quantity -> number of components, of a problem's parameters, additional curves and data."""
    widths = {parameter_leaf(name): p.lower.size for name, p in problem.parameters.items()}
    widths |= {extra_leaf(name): width for name, width in problem.extra_widths.items()}
    if problem.state_curves:
        leaves = problem.spline_leaves.items()
        widths |= {leaf: spline.width for leaf, spline in leaves if is_rate(leaf)}
    return widths | {data.quantity: data.width for data in problem.datasets.values()}
