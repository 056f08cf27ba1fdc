"""Fusion: traced terms that share inputs become one block, so that one call evaluates them all.

Terms are small: at a hundred nodes the call of one costs more than its arithmetic. The fused block computes
the same expressions, so that values differ by rounding only.
"""

from __future__ import annotations

from collections.abc import Iterable

from trajopt.base.arguments import implements
from trajopt.graph.elementary import Square, SquareTimesDuration, TimesDuration
from trajopt.graph.expression import ExpressionBlock, joined
from trajopt.graph.graph import Graph
from trajopt.graph.leaves import TIME_LEAVES
from trajopt.graph.protocols.block import Block, SymbolicBlock


def fused(graph: Graph, used: Iterable[str]) -> Graph:
    """The graph with traced terms, and the arithmetic blocks between them, joined where they share an input.

    A fused block keeps as outputs the `used` quantities and the inputs of other blocks.
    """
    blocks: list[Block] = []
    clusters = _clusters(graph)
    if all(len(cluster) == 1 for cluster in clusters):
        return graph
    for cluster in clusters:
        outside = {name for block in graph.blocks if block not in cluster for name in block.inputs}
        wanted = outside.union(used)
        if len(cluster) == 1:
            blocks += cluster
        elif any(isinstance(block, ExpressionBlock) for block in cluster):
            symbolic = [block for block in cluster if implements(block, SymbolicBlock)]
            blocks.append(joined(symbolic, graph.width, wanted))
        else:
            blocks += _with_fused_squares(cluster, wanted)
    return Graph(graph.leaves, blocks)


def _with_fused_squares(cluster: list[Block], wanted: set[str]) -> list[Block]:
    """T u^2 as one block where u^2 itself is not wanted; no CasADi, so that complex steps go through."""
    sources = [name for block in cluster for name in block.inputs]
    squares = {block.target: block for block in cluster if isinstance(block, Square)}
    found: list[Block] = []
    for block in cluster:
        square = squares.get(block.source) if isinstance(block, TimesDuration) else None
        if square is not None and square.target not in wanted and sources.count(square.target) == 1:
            found.remove(square)
            found.append(SquareTimesDuration(square, block))  # type: ignore[arg-type]
        else:
            found.append(block)
    return found


def _clusters(graph: Graph) -> list[list[Block]]:
    """Symbolic blocks that share a quantity other than times, together; every other block alone.

    Blocks with an opaque one between them are kept apart, as the order of evaluation would break.
    """
    depth = dict.fromkeys(graph.leaves, 0)  # quantity -> opaque blocks on the longest way to it
    clusters: list[list[Block]] = []
    of: dict[tuple[int, str], list[Block]] = {}  # by depth and quantity
    for block in graph.blocks:
        deepest = max(depth[name] for name in block.inputs)
        if not implements(block, SymbolicBlock):
            clusters.append([block])
            depth.update(dict.fromkeys(block.outputs, deepest + 1))
            continue
        depth.update(dict.fromkeys(block.outputs, deepest))
        linked = [(deepest, name) for name in (*block.inputs, *block.outputs) if name not in TIME_LEAVES]
        met = _distinct(of[link] for link in linked if link in of)
        mine = [*(other for found in met for other in found), block]
        clusters = [cluster for cluster in clusters if not any(cluster is found for found in met)]
        of.update({link: mine for link, cluster in of.items() if any(cluster is found for found in met)})
        of.update(dict.fromkeys(linked, mine))
        clusters.append(mine)
    return clusters


def _distinct(clusters: Iterable[list[Block]]) -> list[list[Block]]:
    found: list[list[Block]] = []
    for cluster in clusters:
        if not any(cluster is other for other in found):
            found.append(cluster)
    return found
