"""The graph of blocks: their order of evaluation and the structural sparsity of derivatives by leaves."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array
from trajopt.base.errors import GraphCycleError, UnknownNameError
from trajopt.graph.protocols.block import Block, Pairs, SecondOrderBlock, Values


class Graph:
    """Blocks in an order in which every input is known before use; `ChainRule` differentiates them."""

    def __init__(self, leaves: Mapping[str, int], blocks: Iterable[Block]) -> None:
        self.leaves = dict(leaves)
        self.order = {leaf: position for position, leaf in enumerate(self.leaves)}
        self.blocks = _in_order_of_use(self.leaves, list(blocks))
        self.width = dict(self.leaves)
        for block in self.blocks:
            self.width.update(block.outputs)

    def with_blocks(self, other: Mapping[Block, Block]) -> Graph:
        """The graph with other blocks of the same inputs, outputs and patterns in the place of some."""
        if not other:
            return self
        graph = copy.copy(self)
        graph.blocks = tuple(other.get(block, block) for block in self.blocks)
        graph.__dict__.pop("second_order_blocks", None)  # computed from the blocks; patterns stay
        return graph

    @cached_property
    def second_order_blocks(self) -> tuple[SecondOrderBlock, ...]:
        """The blocks that give second derivatives, in the order of `blocks`."""
        return tuple(block for block in self.blocks if implements(block, SecondOrderBlock))

    @property
    def has_curvature(self) -> bool:
        """Whether every block gives second derivatives."""
        return len(self.second_order_blocks) == len(self.blocks)

    def values(self, z: Mapping[str, Array]) -> Values:
        """Every quantity, (K, width), from the leaves (K, width)."""
        u: Values = dict(z)
        for block in self.blocks:
            u.update(block.value(u))
        return u

    def partials(self, u: Values) -> list[Pairs]:
        """The direct partials of every block, in the order of `blocks`."""
        return [block.partials(u) for block in self.blocks]

    @cached_property
    def jacobian_pattern(self) -> dict[str, Values]:
        """quantity -> leaf -> where the derivative may differ from zero, boolean (width, leaf width)."""
        total: dict[str, Values] = {}
        for block in self.blocks:
            for (output, source), part in block.pattern().items():
                row = total.setdefault(output, {})
                if source in self.leaves:
                    row[source] = row.get(source, False) | part
                for leaf, inner in total.get(source, {}).items():
                    row[leaf] = row.get(leaf, False) | _boolean_product(part, inner)
        return total

    def leaf_pattern(self, quantity: str) -> Values:
        """leaf -> where the derivative of one quantity may differ from zero; a leaf has the identity."""
        if quantity in self.leaves:
            return {quantity: np.eye(self.width[quantity], dtype=bool)}
        return self.jacobian_pattern.get(quantity, {})

    def hessian_pattern(self, used: Iterable[str]) -> Pairs:
        """Where second derivatives by pairs of leaves may differ from zero when the `used` carry adjoints.

        Pairs of two leaves stand once, in the order of the leaves.
        """
        active = set(used)
        for block in reversed(self.blocks):
            for output, source in block.pattern():
                if output in active:
                    active.add(source)
        total: Pairs = {}
        for block in self.second_order_blocks:
            if active.isdisjoint(block.outputs):
                continue
            for (first, second), part in block.curvature_pattern().items():
                for leaf, left in self.leaf_pattern(first).items():
                    for other, right in self.leaf_pattern(second).items():
                        product = _boolean_product(_boolean_product(left.T, part), right)
                        self._add_pair(total, leaf, other, product, mirrored=first != second)
        return total

    def _add_pair(self, total: Pairs, leaf: str, other: str, product: Array, mirrored: bool) -> None:
        if not mirrored and self.order[leaf] > self.order[other]:
            return  # the same input on both sides: the transposed pair is the one that is kept
        if leaf == other and mirrored:
            product = product | product.T
        if self.order[leaf] > self.order[other]:
            leaf, other, product = other, leaf, product.T
        total[leaf, other] = total.get((leaf, other), False) | product


def _boolean_product(left: Array, right: Array) -> Array:
    return (left.astype(np.float32) @ right.astype(np.float32)) > 0.0


def _in_order_of_use(leaves: Mapping[str, int], blocks: list[Block]) -> tuple[Block, ...]:
    """Sort topologically; UnknownNameError for inputs that nothing computes, GraphCycleError for a cycle."""
    known, ordered = set(leaves), []
    while blocks:
        ready = [block for block in blocks if known.issuperset(block.inputs)]
        if not ready:
            offered = known.union(*(block.outputs for block in blocks))
            needed = set().union(*(block.inputs for block in blocks)) - known
            unknown = sorted(needed - offered)
            if unknown:
                raise UnknownNameError(
                    f"nothing computes {', '.join(unknown)}: check the names the terms ask for"
                )
            raise GraphCycleError(
                f"{', '.join(sorted(needed))} depend on themselves: break the cycle, a load may not depend "
                "on the torque it changes"
            )
        ordered += ready
        known.update(*(block.outputs for block in ready))
        blocks = [block for block in blocks if block not in ready]
    return tuple(ordered)
