"""Traced terms that follow from the same quantities, as one block: one call where there were many.

Terms are small: at a hundred nodes calling one costs more than computing it. What is fused is computed from
the same expressions, so only rounding can differ.
"""

from __future__ import annotations

from collections.abc import Iterable

from trajopt.graph.block import Block, SymbolicBlock
from trajopt.graph.elementary import Square, SquareTimesDuration, TimesDuration
from trajopt.graph.expression import ExpressionBlock, joined
from trajopt.graph.graph import Graph
from trajopt.graph.leaves import CLOCK_LEAVES


def fused(graph: Graph, used: Iterable[str]) -> Graph:
    """The graph with traced terms, and the arithmetic between them, joined wherever they share an input.

    Of what is joined only the `used` quantities and the inputs of other blocks remain outputs.
    """
    blocks: list[Block] = []
    for cluster in _clusters(graph):
        outside = {name for block in graph.blocks if block not in cluster for name in block.inputs}
        wanted = outside.union(used)
        if len(cluster) == 1:
            blocks += cluster
        elif any(isinstance(block, ExpressionBlock) for block in cluster):
            blocks.append(joined(cluster, graph.width, wanted))
        else:
            blocks += _squares_in_one_step(cluster, wanted)
    return Graph(graph.leaves, blocks)


def _squares_in_one_step(cluster: list[Block], wanted: set[str]) -> list[Block]:
    """T u^2 where only that, and not u^2 itself, is wanted; without CasADi, complex numbers welcome."""
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
    """Blocks that can be joined, together; every other block alone."""
    depth = dict.fromkeys(graph.leaves, 0)  # how many opaque blocks lie before a quantity
    clusters: list[list[Block]] = []
    of: dict[tuple[int, str], list[Block]] = {}  # by depth and quantity
    for block in graph.blocks:
        deepest = max(depth[name] for name in block.inputs)
        if not isinstance(block, SymbolicBlock):
            clusters.append([block])
            depth.update(dict.fromkeys(block.outputs, deepest + 1))
            continue
        depth.update(dict.fromkeys(block.outputs, deepest))
        linked = [(deepest, name) for name in (*block.inputs, *block.outputs) if name not in CLOCK_LEAVES]
        met = _different(of[link] for link in linked if link in of)
        mine = [*(other for found in met for other in found), block]
        clusters = [cluster for cluster in clusters if not any(cluster is found for found in met)]
        of.update({link: mine for link, cluster in of.items() if any(cluster is found for found in met)})
        of.update(dict.fromkeys(linked, mine))
        clusters.append(mine)
    return clusters


def _different(clusters: Iterable[list[Block]]) -> list[list[Block]]:
    found: list[list[Block]] = []
    for cluster in clusters:
        if not any(cluster is other for other in found):
            found.append(cluster)
    return found
