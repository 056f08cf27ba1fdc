"""The quantities that a problem defines itself, beside those of its dynamics."""

from __future__ import annotations

from typing import Any

from trajopt.graph.leaves import extra_leaf, parameter_leaf, rate_leaf


def own_widths(problem: Any) -> dict[str, int]:
    """Quantity -> number of components, of a problem's parameters, additional curves and data."""
    widths = {parameter_leaf(name): p.lower.size for name, p in problem.parameters.items()}
    widths |= {extra_leaf(name): width for name, width in problem.extra_widths.items()}
    widths |= {rate_leaf(name): extra.lower.size for name, extra in problem.extras.items() if extra.has_rate}
    return widths | {data.quantity: data.width for data in problem.datasets.values()}


def own_components(problem: Any) -> dict[str, tuple[str, ...]]:
    """Quantity -> names of its components, of the additional curves and their rates that have names."""
    named = {name: extra.components for name, extra in problem.extras.items() if extra.components}
    return {leaf(name): components for leaf in (extra_leaf, rate_leaf) for name, components in named.items()}
