"""Taylor models of the quantities of a graph, block by block, where every block offers any arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

from trajopt.base.arguments import implements
from trajopt.graph.graph import Graph
from trajopt.graph.protocols.block import AnyArithmeticBlock
from trajopt.taylor_models.leaf_pieces import Model
from trajopt.taylor_models.taylor_model import TaylorModel


def can_be_enclosed(graph: Graph) -> bool:
    """Whether every block can be computed in any arithmetic; only then bounds are possible."""
    return all(implements(block, AnyArithmeticBlock) for block in graph.blocks)


def graph_models(graph: Graph, leaves: Mapping[str, Model]) -> dict[str, Model]:
    """Every quantity of the graph from Taylor models of its leaves.

    Raises NotImplementedError where a block meets an operation that has no bound.
    """
    found = dict(leaves)
    for block in graph.blocks:
        found.update(block.value_over(found, TaylorModel.constant))  # type: ignore[attr-defined]
    return found
