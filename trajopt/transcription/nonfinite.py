"""Finds the term, node and component that is not finite, which solvers see as an entry of a vector."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from trajopt.base.arguments import implements
from trajopt.graph.graph import Graph
from trajopt.graph.keys import entry, term_of
from trajopt.graph.protocols.block import SecondOrderBlock, Values

Names = Callable[[str, int], list[str]]  # (quantity, width) -> the names of its components


def first_not_finite(graph: Graph, leaves: Values, names: Names) -> str:
    """`term 'power', component knee, is nan at t = 0.12 s (node 7)`, or nothing when all is finite.

    leaves : all leaves of the graph at the nodes, the time t among them
    Values of all blocks come first, then partials and curvature block by block, in the order of evaluation:
    what is named is the cause of the others.
    """
    with np.errstate(all="ignore"):
        return next(_findings(graph, leaves, names), "")


def _findings(graph: Graph, leaves: Values, names: Names) -> Iterator[str]:
    times = leaves["t"][:, 0]

    def label(quantity: str, component: int) -> str:
        return entry(quantity, component, graph.width[quantity], names)

    def place(node: int) -> str:
        return f"at t = {times[node]:.4g} s (node {node})"

    u = graph.values(leaves)
    for block in graph.blocks:
        for name in block.outputs:
            values = u[name]
            for node, i in np.argwhere(~np.isfinite(values))[:1]:
                yield f"{label(name, i)}, is {values[node, i]} {place(node)}"
    for block in graph.blocks:
        for (output, name), part in block.partials(u).items():
            for node, i, j in np.argwhere(~np.isfinite(part))[:1]:
                yield (
                    f"the derivative of {label(output, i)} by {label(name, j)}, "
                    f"is {part[node, i, j]} {place(node)}"
                )
        if not (graph.has_curvature and implements(block, SecondOrderBlock)):
            continue
        ones = {name: np.ones_like(u[name]) for name in block.outputs}
        for (first, second), part in block.curvature(u, ones).items():
            for node, i, j in np.argwhere(~np.isfinite(part))[:1]:
                whose = term_of(next(iter(block.outputs)))
                yield (
                    f"the second derivative of {whose} by {label(first, i)} and "
                    f"{label(second, j)}, is {part[node, i, j]} {place(node)}"
                )
