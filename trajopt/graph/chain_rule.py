"""The chain rule at the nodes: first and second derivatives of quantities by the leaves of the graph.

First derivatives are accumulated forward through the blocks, adjoints backward; second derivatives are those
of the blocks, weighted with the adjoints and multiplied by first derivatives from both sides.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.graph import Graph
from trajopt.graph.protocols.block import Block, Pairs, Values
from trajopt.graph.quantities import slices_of


class Edge(NamedTuple):
    """An edge of the graph: partial derivatives of outputs of one block by one of its inputs, the source.

    Outputs that stand in neighbouring rows of D share an edge, so that they share a matrix product.
    """

    outputs: tuple[str, ...]
    source: str
    rows: slice  # of the outputs in D
    place: slice  # of the source: columns of D for a leaf, rows of D for anything else
    is_leaf: bool
    is_first: bool  # whether nothing stands in its place of D before

    def partial(self, direct: Pairs, widths: Mapping[str, int], nodes: int) -> Array:
        """d outputs / d source, (nodes, rows, width); pairs that a block leaves out are zero."""
        width, found = self.place.stop - self.place.start, []
        for output in self.outputs:
            part = direct.get((output, self.source))
            found.append(np.zeros((nodes, widths[output], width)) if part is None else part)
        return found[0] if len(found) == 1 else np.concatenate(found, axis=1)


class ChainRule:
    """Derivatives of the `bounded` and `minimized` quantities of a graph by the stacked `leaves`.

    With y = f(u) a block, z the leaves, D = d(all quantities)/dz and lambda the adjoints, at every node

        D_y = sum_u (dy/du) D_u                                       forward, in the order of the blocks
        lambda_u = sum_y (dy/du)' lambda_y                            backward
        H = sum over blocks of sum_uw D_u' [d^2 (lambda_y . y) / du dw] D_w

    rows : quantity -> its rows of D, bounded quantities (leaves among them too) first, then minimized ones
    columns : leaf -> its columns of D
    used_count : rows of the bounded and minimized quantities; those of all others follow
    """

    def __init__(
        self, graph: Graph, bounded: Iterable[str], minimized: Iterable[str], leaves: Sequence[str]
    ) -> None:
        self.graph = graph
        first, wanted = set(bounded), {*bounded, *minimized}
        names = [*graph.leaves, *(name for block in graph.blocks for name in block.outputs)]
        bounded = [name for name in names if name in first]
        minimized = [name for name in names if name in wanted and name not in first]
        self.used = (*bounded, *minimized)
        inner = [name for name in names if name not in wanted and name not in graph.leaves]
        self.rows = slices_of({name: graph.width[name] for name in (*self.used, *inner)})
        self.columns = slices_of({leaf: graph.width[leaf] for leaf in leaves})
        self.bounded_count = sum(graph.width[name] for name in bounded)
        self.used_count = sum(graph.width[name] for name in self.used)
        self.row_count = max((place.stop for place in self.rows.values()), default=0)
        self.width = max((place.stop for place in self.columns.values()), default=0)
        self._position = {leaf: place for place, leaf in enumerate(leaves)}
        self._identities = [name for name in self.used if name in graph.leaves]
        self._edges = [self._edges_of(block) for block in graph.blocks]
        self._cleared = self._rows_to_clear()

    def on(self, graph: Graph) -> ChainRule:
        """The chain rule of a graph with other blocks of the same structure, `Graph.with_blocks`."""
        other = copy.copy(self)
        other.graph = graph
        return other

    def direct_pairs(self) -> set[tuple[str, str]]:
        """Pairs of leaves, in their order, that some block itself gives second derivatives by."""
        found = set()
        for block in self.graph.second_order_blocks:
            for pair in block.curvature_pattern():
                if set(pair) <= self.columns.keys():
                    first, second = sorted(pair, key=self._position.__getitem__)
                    found.add((first, second))
        return found

    def stacked(self, u: Values) -> Array:
        """The used quantities side by side, (K, used_count)."""
        if not self.used:  # nothing is minimized, and every condition is linear
            return np.zeros((len(next(iter(u.values()))), 0))
        return np.concatenate([u[name] for name in self.used], axis=1)

    def jacobian(self, partials: Sequence[Pairs], nodes: int, dtype: np.dtype) -> Array:
        """D (nodes, row_count, width) from the direct partials of the blocks."""
        D = np.empty((nodes, self.row_count, self.width), dtype)
        for rows in self._cleared:
            D[:, rows] = 0.0
        for leaf in self._identities:
            D[:, self.rows[leaf], self.columns[leaf]] = np.eye(self.graph.width[leaf])
        for direct, edges in zip(partials, self._edges, strict=True):
            for edge in edges:
                part = edge.partial(direct, self.graph.width, nodes)
                into = D[:, edge.rows, edge.place] if edge.is_leaf else D[:, edge.rows]
                if edge.is_leaf and edge.is_first:
                    into[...] = part
                elif edge.is_leaf:
                    increase(into, part)
                elif edge.is_first:
                    np.matmul(part, D[:, edge.place], out=into)
                else:
                    increase(into, np.matmul(part, D[:, edge.place]))
        return D

    def adjoints(self, partials: Sequence[Pairs], used: Array) -> Array:
        """Adjoints (K, row_count) of all quantities from those of the used ones, (K, used_count).

        The adjoints of leaves are left out: D' times those of the used quantities gives them in one product.
        """
        adjoints = np.zeros((used.shape[0], self.row_count))
        adjoints[:, : self.used_count] = used
        for direct, edges in zip(reversed(partials), reversed(self._edges), strict=True):
            for edge in edges:
                if not edge.is_leaf:
                    part = edge.partial(direct, self.graph.width, len(adjoints))
                    increase(adjoints[:, edge.place], np.matmul(adjoints[:, None, edge.rows], part)[:, 0])
        return adjoints

    def hessian(self, u: Values, D: Array, adjoints: Array, into: Pairs) -> Array | None:
        """H, with the adjoints that `adjoints` gives, in two parts of which it is the sum.

        into : (leaf, leaf) -> (K, width, width), to which second derivatives of blocks by their leaves are
            added: symmetric matrices for pairs of one leaf; pairs of two leaves stand once, in the order of
            the leaves. Pairs that are no keys are left out.
        returned : the part through other quantities, symmetric (K, width, width) over all leaves, or None
        """
        half: dict[str, Array] = {}  # u -> sum over w of [d^2 (lambda . y) / du dw] D_w, (K, m_u, width)
        for curvature in self.curvatures(u, adjoints, into):
            for (first, second), part in curvature.items():
                self._multiply(half, first, second, part, D)
                if first != second:
                    self._multiply(half, second, first, part.transpose(0, 2, 1), D)
        return self._product(half, D) if half else None

    def curvatures(self, u: Values, adjoints: Array, into: Pairs) -> Iterator[Pairs]:
        """The second derivatives of every block; those by two leaves are added to `into` and left out.

        into : as `hessian` takes it
        """
        for block in self.graph.second_order_blocks:
            if not block.outputs:  # all rows of its terms are constant
                continue
            weights = {name: np.ascontiguousarray(adjoints[:, self.rows[name]]) for name in block.outputs}
            others: Pairs = {}
            for (first, second), part in block.curvature(u, weights).items():
                if first in self.graph.leaves and second in self.graph.leaves:
                    self._add_pair(into, first, second, part)
                else:
                    others[first, second] = part
            yield others

    def _multiply(self, half: dict[str, Array], first: str, second: str, part: Array, D: Array) -> None:
        """Add [d^2 / d first d second] D_second to the half product of the first."""
        if second in self.graph.leaves:
            total = half.setdefault(first, np.zeros((*part.shape[:2], self.width)))
            increase(total[:, :, self.columns[second]], part)
            return
        product = np.matmul(part, D[:, self.rows[second]])
        half[first] = half[first] + product if first in half else product

    def _add_pair(self, into: Pairs, first: str, second: str, part: Array) -> None:
        if self._position[first] > self._position[second]:
            first, second, part = second, first, part.transpose(0, 2, 1)
        if (first, second) in into:
            increase(into[first, second], part)

    def _product(self, half: dict[str, Array], D: Array) -> Array:
        """sum over u of D_u' half_u; for a leaf, D_u is the identity."""
        inner = [name for name in half if name not in self.graph.leaves]
        left = np.concatenate([D[:, self.rows[name]] for name in inner], axis=1)
        right = np.concatenate([half[name] for name in inner], axis=1)
        total = np.matmul(left.transpose(0, 2, 1), right)
        for name in half.keys() - set(inner):
            increase(total[:, self.columns[name]], half[name])
        return total

    def _rows_to_clear(self) -> list[slice]:
        """The rows of D that no first edge fills over all columns."""
        filled = np.zeros(self.row_count + 2, dtype=bool)
        filled[[0, -1]] = True
        for edge in chain.from_iterable(self._edges):
            if edge.is_first and not edge.is_leaf:
                filled[1:-1][edge.rows] = True
        ends = np.flatnonzero(np.diff(filled)).tolist()
        return list(map(slice, ends[::2], ends[1::2]))

    def _edges_of(self, block: Block) -> list[Edge]:
        """The edges into a block, neighbouring outputs with the same source in one.

        Those over all columns of D come first, then those in the columns of one leaf.
        """
        by_source: dict[str, list[str]] = {}
        for output, source in block.pattern():
            by_source.setdefault(source, []).append(output)
        added, found, order = np.zeros(self.row_count, dtype=bool), [], list(self.rows)
        for source in sorted(by_source, key=self.graph.leaves.__contains__):
            is_leaf, outputs = source in self.graph.leaves, sorted(by_source[source], key=order.index)
            for names in neighbours(outputs, self.rows):
                rows = slice(self.rows[names[0]].start, self.rows[names[-1]].stop)
                place = self.columns[source] if is_leaf else self.rows[source]
                found.append(Edge(tuple(names), source, rows, place, is_leaf, not added[rows].any()))
                added[rows] |= not is_leaf
        return found


def neighbours(
    names: Iterable[str], rows: Mapping[str, slice], like: Callable[[str], Any] = lambda name: None
) -> list[list[str]]:
    """Names, in the order of their rows, parted where rows do not meet or what is alike differs."""
    runs: list[list[str]] = []
    for name in names:
        last = runs[-1][-1] if runs else None
        if last is not None and rows[last].stop == rows[name].start and like(last) == like(name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return runs


def increase(view: Array, part: Array) -> None:
    """Add in place; `array[place] += part` would also copy the sum onto itself."""
    np.add(view, part, out=view)
