"""Which term, at which node and joint, is not finite: what a solver only knows as an entry of a vector."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from trajopt.arrays import Array
from trajopt.graph.block import SecondOrderBlock
from trajopt.graph.names import entry, term_of

if TYPE_CHECKING:
    from trajopt.transcription.nlp import NLP


def culprit(nlp: NLP, y: Array) -> str:
    """`term 'power', component knee, is nan at t = 0.12 s (node 7)`, or nothing when all is finite at y.

    Blocks are asked in the order of evaluation: values first, then partials, then curvature, so the first
    that is named is the cause of those that follow.
    """
    with np.errstate(all="ignore"):
        return next(_findings(nlp, y), "")


def _findings(nlp: NLP, y: Array) -> Iterator[str]:
    z = nlp.spline_map.leaf_values(nlp.unknowns.elimination.expand(y), set(nlp.graph.leaves))
    times, width = z["t"][:, 0], nlp.graph.width

    def label(quantity: str, component: int) -> str:
        return entry(quantity, component, width[quantity], nlp.component_names)

    def place(node: int) -> str:
        return f"at t = {times[node]:.4g} s (node {node})"

    u = nlp.graph.values(z)
    for block in nlp.graph.blocks:
        for name in block.outputs:
            values = u[name]
            for node, i in np.argwhere(~np.isfinite(values))[:1]:
                yield f"{label(name, i)}, is {values[node, i]} {place(node)}"
    for block in nlp.graph.blocks:
        for (output, name), part in block.partials(u).items():
            for node, i, j in np.argwhere(~np.isfinite(part))[:1]:
                yield (
                    f"the derivative of {label(output, i)} by {label(name, j)}, "
                    f"is {part[node, i, j]} {place(node)}"
                )
        if not (nlp.has_hessian and isinstance(block, SecondOrderBlock)):
            continue
        ones = {name: np.ones_like(u[name]) for name in block.outputs}
        for (first, second), part in block.curvature(u, ones).items():
            for node, i, j in np.argwhere(~np.isfinite(part))[:1]:
                whose = term_of(next(iter(block.outputs)))
                yield (
                    f"the second derivative of {whose} by {label(first, i)} and "
                    f"{label(second, j)}, is {part[node, i, j]} {place(node)}"
                )
