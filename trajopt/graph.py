"""Composition of blocks: values, Jacobians and Hessians of every quantity with respect to the leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from trajopt.block import Array, Block, Pairs, Values
from trajopt.errors import GraphCycleError, UnknownNameError


class Graph:
    """Blocks in an order in which every input is known before it is used.

    With u the direct inputs of a block and z the leaves, the chain rule reads

        dy/dz = sum_u (dy/du) (du/dz),        H = sum over blocks of (du/dz)' curvature (dw/dz),

    the curvature being contracted with the adjoints that a reverse sweep brings to the block's outputs.
    """

    def __init__(self, leaves: Mapping[str, int], blocks: Iterable[Block]) -> None:
        self.leaves = dict(leaves)
        self.order = {leaf: position for position, leaf in enumerate(self.leaves)}
        self.blocks = _in_order_of_use(self.leaves, list(blocks))
        self.width = dict(self.leaves)
        for block in self.blocks:
            self.width.update(block.outputs)
        self.jacobian_pattern = self._jacobian_pattern()

    @property
    def has_curvature(self) -> bool:
        """Whether every block gives second derivatives."""
        return all(getattr(block, "curvature", None) is not None for block in self.blocks)

    def values(self, z: Mapping[str, Array]) -> Values:
        """Every quantity, (K, width), from the leaves (K, width)."""
        u: Values = dict(z)
        for block in self.blocks:
            u.update(block.value(u))
        return u

    def partials(self, u: Values) -> list[Pairs]:
        """The direct partials of every block, in the order of `blocks`."""
        return [block.partials(u) for block in self.blocks]

    def jacobians(self, partials: Sequence[Pairs]) -> dict[str, Values]:
        """quantity -> leaf -> (K, width, leaf width); the identity of a leaf is left out."""
        total: dict[str, Values] = {}
        for direct in partials:
            fresh: dict[str, Values] = {}
            for (output, source), part in direct.items():
                row = fresh.setdefault(output, {})
                if source in self.leaves:
                    _add(row, source, part)
                for leaf, inner in total.get(source, {}).items():
                    _add(row, leaf, np.matmul(part, inner))
            total.update(fresh)
        return total

    def pull_back(self, partials: Sequence[Pairs], adjoints: Mapping[str, Array]) -> Values:
        """Adjoints of every quantity, (K, width), from those of the quantities in use (reverse sweep)."""
        bar: Values = dict(adjoints)
        for direct in reversed(partials):
            for (output, source), part in direct.items():
                if output in bar:
                    _add(bar, source, np.matmul(bar[output][:, None, :], part)[:, 0, :])
        return bar

    def hessian(self, u: Values, jacobians: Mapping[str, Values], adjoints: Values) -> Pairs:
        """d^2 sum(adjoint . quantity) / dz dz' as (leaf, leaf) -> (K, width, width), leaves in order.

        `adjoints` are those of `pull_back`. Pairs of one leaf are full symmetric matrices, pairs of two
        leaves stand once.
        """
        total: Pairs = {}
        for block in self.blocks:
            mine = {name: adjoints[name] for name in block.outputs if name in adjoints}
            if not mine:
                continue
            filled = {name: mine[name] if name in mine else np.zeros_like(u[name]) for name in block.outputs}
            for (first, second), part in block.curvature(u, filled).items():
                for leaf, left in self._by_leaf(first, jacobians):
                    for other, right in self._by_leaf(second, jacobians):
                        product = part if left is None else np.matmul(left.transpose(0, 2, 1), part)
                        product = product if right is None else np.matmul(product, right)
                        self._add_pair(total, leaf, other, product, mirrored=first != second)
        return total

    def hessian_pattern(self, used: Iterable[str]) -> Pairs:
        """Structural pattern of `hessian` when only the `used` quantities carry adjoints."""
        active = set(used)
        for block in reversed(self.blocks):
            for output, source in block.pattern():
                if output in active:
                    active.add(source)
        total: Pairs = {}
        for block in self.blocks:
            if active.isdisjoint(block.outputs):
                continue
            for (first, second), part in block.curvature_pattern().items():
                for leaf, left in self._by_leaf(first, self.jacobian_pattern):
                    for other, right in self._by_leaf(second, self.jacobian_pattern):
                        product = part if left is None else _boolean_product(left.T, part)
                        product = product if right is None else _boolean_product(product, right)
                        self._add_pair(total, leaf, other, product, mirrored=first != second)
        return {pair: np.asarray(part, dtype=bool) for pair, part in total.items()}

    def _by_leaf(self, quantity: str, jacobians: Mapping[str, Values]):
        """The leaves a quantity depends on, with None for the identity of a leaf itself."""
        if quantity in self.leaves:
            return [(quantity, None)]
        return list(jacobians.get(quantity, {}).items())

    def _add_pair(self, total: Pairs, leaf: str, other: str, product: Array, mirrored: bool) -> None:
        if not mirrored and self.order[leaf] > self.order[other]:
            return  # the same input on both sides: the transposed pair is the one that is kept
        if leaf == other and mirrored:
            product = product + product.swapaxes(-1, -2)
        if self.order[leaf] <= self.order[other]:
            _add(total, (leaf, other), product)
        else:
            _add(total, (other, leaf), product.swapaxes(-1, -2))

    def _jacobian_pattern(self) -> dict[str, Values]:
        total: dict[str, Values] = {}
        for block in self.blocks:
            for (output, source), part in block.pattern().items():
                row = total.setdefault(output, {})
                if source in self.leaves:
                    row[source] = row.get(source, False) | part
                for leaf, inner in total.get(source, {}).items():
                    row[leaf] = row.get(leaf, False) | _boolean_product(part, inner)
        return total


def _add(into: dict, key, part: Array) -> None:
    """Sum without touching arrays that a block may still own."""
    into[key] = into[key] + part if key in into else part


def _boolean_product(left: Array, right: Array) -> Array:
    return (left.astype(np.int64) @ right.astype(np.int64)) > 0


def _in_order_of_use(leaves: Mapping[str, int], blocks: list[Block]) -> tuple[Block, ...]:
    """Sort topologically, or say which quantities wait for each other."""
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
