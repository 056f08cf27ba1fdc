"""The chain rule at the nodes: derivatives of quantities by leaves, in arrays stacked over both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from trajopt.arrays import Array
from trajopt.graph.block import Block, Pairs, Values
from trajopt.graph.graph import Graph


class Link(NamedTuple):
    """Outputs of one block that stand in neighbouring rows and depend on the same source."""

    outputs: tuple[str, ...]
    source: str
    rows: slice
    across: slice  # columns of a leaf, rows of anything else
    is_leaf: bool

    def part(self, direct: Pairs, widths: Mapping[str, int], nodes: int) -> Array:
        """d outputs / d source, (nodes, rows, width); pairs that a block leaves out are zero."""
        parts = [direct.get((output, self.source)) for output in self.outputs]
        if len(parts) == 1 and parts[0] is not None:
            return parts[0]
        width = self.across.stop - self.across.start
        shapes = ((nodes, widths[output], width) for output in self.outputs)
        return np.concatenate(
            [np.zeros(s) if part is None else part for part, s in zip(parts, shapes, strict=True)], axis=1
        )


class ChainRule:
    """Derivatives of the `bounded` and `minimized` quantities of a graph by the stacked `leaves`.

    With u the direct inputs of a block, z the leaves and D the Jacobian of all quantities by z,

        D_y = sum_u (dy/du) D_u,        H = sum over blocks of D_u' curvature D_w.

    rows : quantity -> its rows of D, bounded quantities (leaves among them too) first, then minimized ones
    columns : leaf -> its columns of D
    """

    def __init__(
        self, graph: Graph, bounded: Iterable[str], minimized: Iterable[str], leaves: Sequence[str]
    ) -> None:
        self.graph = graph
        first, wanted = set(bounded), {*bounded, *minimized}
        names = [*graph.leaves, *(name for block in graph.blocks for name in block.outputs)]
        bounded, minimized = ([n for n in names if n in some] for some in (first, wanted - first))
        self.used = (*bounded, *minimized)
        inner = [name for name in names if name not in wanted and name not in graph.leaves]
        self.rows = _slices([*self.used, *inner], graph.width)
        self.columns = _slices(leaves, graph.width)
        self.bounded_count = sum(graph.width[name] for name in bounded)
        self.used_count = sum(graph.width[name] for name in self.used)
        self.row_count = max((place.stop for place in self.rows.values()), default=0)
        self.width = max((place.stop for place in self.columns.values()), default=0)
        self._position = {leaf: place for place, leaf in enumerate(leaves)}
        self._identities = [name for name in self.used if name in graph.leaves]
        self._links = [list(self._links_of(block)) for block in graph.blocks]

    def direct_pairs(self) -> set[tuple[str, str]]:
        """Pairs of leaves, in their order, that some block itself gives second derivatives by."""
        pairs = {pair for block in self.graph.second_order_blocks for pair in block.curvature_pattern()}
        leaves = [pair for pair in pairs if set(pair) <= self.columns.keys()]
        return {(a, b) if self._position[a] <= self._position[b] else (b, a) for a, b in leaves}

    def stacked(self, u: Values) -> Array:
        """The used quantities side by side, (K, used_count)."""
        return np.concatenate([u[name] for name in self.used], axis=1)

    def jacobian(self, partials: Sequence[Pairs], nodes: int, dtype: np.dtype) -> Array:
        """D (nodes, row_count, width) from the direct partials of the blocks."""
        D = np.zeros((nodes, self.row_count, self.width), dtype)
        for leaf in self._identities:
            D[:, self.rows[leaf], self.columns[leaf]] = np.eye(self.graph.width[leaf])
        for direct, links in zip(partials, self._links, strict=True):
            for link in links:
                part = link.part(direct, self.graph.width, nodes)
                if link.is_leaf:
                    increase(D[:, link.rows, link.across], part)
                else:
                    increase(D[:, link.rows], np.matmul(part, D[:, link.across]))
        return D

    def adjoints(self, partials: Sequence[Pairs], used: Array) -> Array:
        """Adjoints (K, row_count) of all quantities from those of the used ones (reverse sweep).

        Those of leaves are not carried back: D gives them in one product.
        """
        bar = np.zeros((used.shape[0], self.row_count))
        bar[:, : self.used_count] = used
        for direct, links in zip(reversed(partials), reversed(self._links), strict=True):
            for link in links:
                if not link.is_leaf:
                    part = link.part(direct, self.graph.width, len(bar))
                    increase(bar[:, link.across], np.matmul(bar[:, None, link.rows], part)[:, 0])
        return bar

    def hessian(self, u: Values, D: Array, bar: Array, into: Pairs) -> Array | None:
        """d^2 sum(bar . quantity) / dz dz', with `bar` from `adjoints`, in two parts that add up.

        What blocks say of leaves is added to (leaf, leaf) -> (K, width, width): pairs of one leaf are full
        symmetric matrices, pairs of two leaves stand once, in the order of the leaves; pairs that are no keys
        are not wanted. What comes through other quantities is returned as symmetric matrices of all leaves,
        (K, width, width), or None.
        """
        turned: dict[str, Array] = {}  # by quantity u: sum over w of curvature(u, w) D_w
        for block in self.graph.second_order_blocks:
            mine = {name: np.ascontiguousarray(bar[:, self.rows[name]]) for name in block.outputs}
            for (first, second), part in block.curvature(u, mine).items():
                if first in self.graph.leaves and second in self.graph.leaves:
                    self._add_leaves(into, first, second, part)
                    continue
                self._turn(turned, first, second, part, D)
                if first != second:
                    self._turn(turned, second, first, part.transpose(0, 2, 1), D)
        return self._through(turned, D) if turned else None

    def _turn(self, turned: dict[str, Array], first: str, second: str, part: Array, D: Array) -> None:
        """Add part @ D of the second quantity."""
        if second in self.graph.leaves:
            mine = turned.setdefault(first, np.zeros((*part.shape[:2], self.width)))
            increase(mine[:, :, self.columns[second]], part)
            return
        product = np.matmul(part, D[:, self.rows[second]])
        turned[first] = turned[first] + product if first in turned else product

    def _add_leaves(self, into: Pairs, first: str, second: str, part: Array) -> None:
        if self._position[first] > self._position[second]:
            first, second, part = second, first, part.transpose(0, 2, 1)
        if (first, second) in into:
            increase(into[first, second], part)

    def _through(self, turned: dict[str, Array], D: Array) -> Array:
        """sum over quantities u of D_u' turned_u; for a leaf, D_u is the identity."""
        inner = [name for name in turned if name not in self.graph.leaves]
        left = np.concatenate([D[:, self.rows[name]] for name in inner], axis=1)
        right = np.concatenate([turned[name] for name in inner], axis=1)
        total = np.matmul(left.transpose(0, 2, 1), right)
        for name in turned.keys() - set(inner):
            increase(total[:, self.columns[name]], turned[name])
        return total

    def _links_of(self, block: Block) -> Iterable[Link]:
        """The pairs of a block, those of neighbouring outputs with one source together."""
        by_source: dict[str, list[str]] = {}
        for output, source in block.pattern():
            by_source.setdefault(source, []).append(output)
        for source, outputs in by_source.items():
            is_leaf = source in self.graph.leaves
            outputs.sort(key=lambda name: self.rows[name].start)
            gaps = np.cumsum([0, *(self.rows[a].stop != self.rows[b].start for a, b in pairwise(outputs))])
            for _, run in groupby(zip(gaps, outputs, strict=True), key=lambda pair: pair[0]):
                names = tuple(name for _, name in run)
                rows = slice(self.rows[names[0]].start, self.rows[names[-1]].stop)
                across = self.columns[source] if is_leaf else self.rows[source]
                yield Link(names, source, rows, across, is_leaf)


def increase(view: Array, part: Array) -> None:
    """Add in place; `array[place] += part` would also copy the sum onto itself."""
    np.add(view, part, out=view)


def _slices(names: Iterable[str], width: Mapping[str, int]) -> dict[str, slice]:
    found, cursor = {}, 0
    for name in names:
        found[name] = slice(cursor, cursor + width[name])
        cursor += width[name]
    return found
