"""Blocks that do not state their sparsity: every derivative is taken to be possibly nonzero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.graph.protocols.block import Block, Pairs, SecondOrderBlock, Values


def completed(block: Any) -> Block:
    """The block itself where it states its patterns, else the block with full ones.

    This is where blocks written by users enter: they may leave out `pattern` and `curvature_pattern`, and
    `curvature` may be missing or None. What is returned is a Block, and a SecondOrderBlock where the given
    one has a curvature.
    """
    if implements(block, SecondOrderBlock):
        return block
    if getattr(block, "curvature", None) is not None:
        return FullSecondOrder(block)
    return block if implements(block, Block) else FullFirstOrder(block)


class FullFirstOrder:
    """A block with the pattern it states, or else a full one."""

    def __init__(self, block: Any) -> None:
        self.block = block
        self.inputs: Mapping[str, int] = dict(block.inputs)
        self.outputs: Mapping[str, int] = dict(block.outputs)
        self.derivatives_are_tested = bool(getattr(block, "derivatives_are_tested", False))

    def value(self, u: Mapping[str, Array]) -> Values:
        return self.block.value(u)

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        return self.block.partials(u)

    def pattern(self) -> Pairs:
        if implements(self.block, Block):
            return self.block.pattern()
        return {
            (output, name): np.ones((m, width), dtype=bool)
            for output, m in self.outputs.items()
            for name, width in self.inputs.items()
        }


class FullSecondOrder(FullFirstOrder):
    """A block with second derivatives, with the patterns it states, or else full ones."""

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        return self.block.curvature(u, adjoints)

    def curvature_pattern(self) -> Pairs:
        stated = getattr(self.block, "curvature_pattern", None)
        if stated is not None:
            return stated()
        pairs = list(self.inputs.items())
        return {
            (first, second): np.ones((rows, columns), dtype=bool)
            for i, (first, rows) in enumerate(pairs)
            for second, columns in pairs[i:]
        }
