"""The graph of blocks that computes all quantities at a node, its sparsity, and the chain rule through it.

`fused` joins small blocks that share inputs: at a hundred nodes the call of one costs more than its
arithmetic. The fused block computes the same expressions, so that values differ by rounding only.
`NamedBlock` gives blocks other names, and `completed` gives those without sparsity patterns full ones.

`ChainRule` gives first and second derivatives of quantities by the leaves of the graph.

First derivatives are accumulated forward through the blocks, adjoints backward; second derivatives are those
of the blocks, weighted with the adjoints and multiplied by first derivatives from both sides.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations_with_replacement, product
from typing import Any, NamedTuple, TypeVar

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array, Number
from trajopt.base.errors import GraphCycleError, ShapeError, UnknownNameError
from trajopt.graph.elementary import Power
from trajopt.graph.expression import ExpressionBlock, joined
from trajopt.graph.protocols import (
    AnyArithmeticBlock,
    Block,
    Derivatives,
    NonzeroBlock,
    Pairs,
    SecondOrderBlock,
    SymbolicBlock,
    Values,
)
from trajopt.graph.quantities import TIME_LEAVES, slices_of, term_of


class Graph:
    """Blocks in an order in which every input is known before use; `ChainRule` differentiates them.

    width : of every quantity
    inputs : quantities that a block asks for
    """

    def __init__(self, leaves: Mapping[str, int], blocks: Iterable[Block]) -> None:
        self.leaves = dict(leaves)
        self.blocks = _in_order_of_use(self.leaves, list(blocks))
        self.width, self.inputs = dict(self.leaves), set[str]()
        for block in self.blocks:
            self.width.update(block.outputs)
            self.inputs.update(block.inputs)

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
        """True if every block gives second derivatives."""
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

    def values_and_partials(self, z: Mapping[str, Array]) -> tuple[Values, list[Pairs]]:
        """`values` and `partials`, of blocks that give both at once what they share computed once."""
        return self._values_and(z, sparse=False)

    def nonzeros(self, u: Values) -> list[Derivatives]:
        """`partials`, of blocks that give their nonzeros side by side these."""
        return [
            block.value_and_nonzeros(u)[1] if implements(block, NonzeroBlock) else block.partials(u)
            for block in self.blocks
        ]

    def values_and_nonzeros(self, z: Mapping[str, Array]) -> tuple[Values, list[Derivatives]]:
        """`values` and `nonzeros` at once."""
        return self._values_and(z, sparse=True)

    def _values_and(self, z: Mapping[str, Array], sparse: bool) -> tuple[Values, list[Any]]:
        u, found = dict(z), []
        for block in self.blocks:
            is_sparse = sparse and implements(block, NonzeroBlock)
            both = getattr(block, "value_and_nonzeros" if is_sparse else "value_and_partials", None)
            value, partials = (block.value(u), block.partials(u)) if both is None else both(u)
            u.update(value)
            found.append(partials)
        return u, found

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
        """Pairs of leaves whose second derivative may differ from zero when the `used` carry adjoints.

        Pairs of two leaves stand once, in the order of the leaves.
        """
        active = set(used)
        for block in reversed(self.blocks):
            for output, source in block.pattern():
                if output in active:
                    active.add(source)
        total: Pairs = {}
        order = list(self.leaves)
        for block in self.second_order_blocks:
            if active.isdisjoint(block.outputs):
                continue
            for (first, second), part in block.curvature_pattern().items():
                for leaf, left in self.leaf_pattern(first).items():
                    for other, right in self.leaf_pattern(second).items():
                        is_turned = order.index(leaf) > order.index(other)
                        if is_turned and first == second:
                            continue  # the transposed pair, of the same input, is the one that is kept
                        pattern = _boolean_product(_boolean_product(left.T, part), right)
                        if leaf == other and first != second:
                            pattern |= pattern.T
                        pair = (other, leaf) if is_turned else (leaf, other)
                        total[pair] = total.get(pair, False) | (pattern.T if is_turned else pattern)
        return total


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
        for block in ready:
            known.update(block.outputs)
        blocks = [block for block in blocks if block not in ready]
    return tuple(ordered)


def fused(graph: Graph, used: Iterable[str]) -> Graph:
    """The graph with traced terms, and the arithmetic blocks between them, joined where they share an input.

    A fused block keeps as outputs the `used` quantities and the inputs of other blocks. Terms that share an
    input and are none of these, as where all their rows are constant, are left out.
    """
    blocks: list[Block] = []
    clusters = _clusters(graph)
    if len(clusters) == len(graph.blocks):
        return graph
    for cluster in clusters:
        outside = {name for block in graph.blocks if block not in cluster for name in block.inputs}
        wanted = outside.union(used)
        if len(cluster) == 1:
            blocks += cluster
        elif wanted.isdisjoint(name for block in cluster for name in block.outputs):
            continue
        elif any(isinstance(block, ExpressionBlock) for block in cluster):
            symbolic = [block for block in cluster if implements(block, SymbolicBlock)]
            blocks.append(joined(symbolic, graph.width, wanted))
        else:
            blocks += _with_fused_squares(cluster, wanted)
    return Graph(graph.leaves, blocks)


def part_of(graph: Graph, quantities: Iterable[str]) -> Graph:
    """The part of a graph that some quantities follow from, with the leaves that they ask for."""
    wanted, blocks = set(quantities), list[Block]()
    for block in reversed(graph.blocks):
        if not wanted.isdisjoint(block.outputs):
            blocks.append(block)
            wanted.update(block.inputs)
    return Graph({name: width for name, width in graph.leaves.items() if name in wanted}, blocks)


def _with_fused_squares(cluster: list[Block], wanted: set[str]) -> list[Block]:
    """T u^2 as one block where u^2 itself is not wanted; no CasADi, so that complex steps go through."""
    sources = [name for block in cluster for name in block.inputs]
    squares = {block.target: block for block in cluster if isinstance(block, Power) and block.exponent == 2}
    found: list[Block] = []
    for block in cluster:
        square = squares.get(block.source) if isinstance(block, Power) and block.times_duration else None
        if square is not None and square.target not in wanted and sources.count(square.target) == 1:
            found.remove(square)
            width = square.outputs[square.target]
            found.append(Power(square.source, width, block.target, exponent=2, times_duration=True))  # type: ignore[attr-defined]
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
        met = {id(of[link]): of[link] for link in linked if link in of}
        mine = [*(other for found in met.values() for other in found), block]
        clusters = [cluster for cluster in clusters if id(cluster) not in met]
        of.update({link: mine for link, cluster in of.items() if id(cluster) in met})
        of.update(dict.fromkeys(linked, mine))
        clusters.append(mine)
    return clusters


InputT = TypeVar("InputT")


class NamedBlock:
    """A block with other names of its inputs and outputs, and full patterns where it states none.

    inputs : name of an input -> its name here, where that is another one
    outputs : the outputs that are kept -> their names here; None: all, as they are
    Members that the block does not have, such as `curvature`, are None.
    """

    def __init__(
        self, block: Any, inputs: Mapping[str, str] | None = None, outputs: Mapping[str, str] | None = None
    ) -> None:
        self.block = block
        self._from = {name: inputs[name] if inputs and name in inputs else name for name in block.inputs}
        self._to = dict(outputs or {name: name for name in block.outputs})
        self.inputs = {new: block.inputs[name] for name, new in self._from.items()}
        self.outputs = {new: block.outputs[name] for name, new in self._to.items()}
        self.derivatives_are_tested = bool(getattr(block, "derivatives_are_tested", False))
        self.derivatives_are_differences = bool(getattr(block, "derivatives_are_differences", False))
        if getattr(block, "curvature", None) is None:
            self.curvature = None  # type: ignore[assignment]
        if not implements(block, AnyArithmeticBlock):
            self.value_over = None  # type: ignore[assignment]

    def value(self, u: Mapping[str, Array]) -> Values:
        found = self.block.value(self._given(u))
        for name, new in self._to.items():
            if name not in found:
                raise ShapeError(
                    f"the block of {term_of(new)} gave {', '.join(found) or 'nothing'}: "
                    f"its value must hold '{name}'"
                )
        return {new: found[name] for name, new in self._to.items()}

    def value_over(
        self, u: Mapping[str, Sequence[Number]], number: Callable[[float], Number]
    ) -> dict[str, list[Number]]:
        found = self.block.value_over(self._given(u), number)
        return {new: found[name] for name, new in self._to.items()}

    def partials(self, u: Mapping[str, Array]) -> Pairs:
        return self._renamed(self.block.partials(self._given(u)), self._to)

    def pattern(self) -> Pairs:
        pairs = product(self.block.outputs.items(), self.block.inputs.items())
        return self._renamed(self._stated("pattern", pairs), self._to)

    def curvature(self, u: Mapping[str, Array], adjoints: Mapping[str, Array]) -> Pairs:
        count = len(next(iter(adjoints.values())))
        every = {name: np.zeros((count, width)) for name, width in self.block.outputs.items()}
        every |= {name: adjoints[new] for name, new in self._to.items()}
        return self._renamed(self.block.curvature(self._given(u), every), self._from)

    def curvature_pattern(self) -> Pairs:
        pairs = combinations_with_replacement(self.block.inputs.items(), 2)
        return self._renamed(self._stated("curvature_pattern", pairs), self._from)

    def _stated(self, name: str, pairs: Iterable[tuple[tuple[str, int], tuple[str, int]]]) -> Pairs:
        """The pattern that the block states, else one that is full, of these names and widths."""
        stated = getattr(self.block, name, None)
        if stated is not None:
            return stated()
        return {(one, other): np.ones((rows, columns), bool) for (one, rows), (other, columns) in pairs}

    def _given(self, u: Mapping[str, InputT]) -> dict[str, InputT]:
        return {name: u[new] for name, new in self._from.items()}

    def _renamed(self, pairs: Pairs, first: Mapping[str, str]) -> Pairs:
        return {(first[one], self._from[other]): part for (one, other), part in pairs.items() if one in first}


def completed(block: Any) -> Block:
    """The block itself where it states its patterns, else the block with full ones.

    This is where blocks written by users enter: they may leave out `pattern` and `curvature_pattern`, and
    `curvature` may be missing or None. What is returned is a Block, and a SecondOrderBlock where the given
    one has a curvature.
    """
    protocol = Block if getattr(block, "curvature", None) is None else SecondOrderBlock
    return block if implements(block, protocol) else NamedBlock(block)


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
        self._identities = [name for name in self.used if name in graph.leaves]
        self._edges = [self._edges_of(block) for block in graph.blocks]
        filled = np.zeros(self.row_count + 2, dtype=bool)  # by an edge over all columns, and both borders
        filled[[0, -1]] = True
        for edge in chain.from_iterable(self._edges):
            if edge.is_first and not edge.is_leaf:
                filled[1:-1][edge.rows] = True
        ends = np.flatnonzero(np.diff(filled)).tolist()
        self._cleared = list(map(slice, ends[::2], ends[1::2]))

    def on(self, graph: Graph) -> ChainRule:
        """The chain rule of a graph with other blocks of the same structure, `Graph.with_blocks`."""
        other = copy.copy(self)
        other.graph = graph
        return other

    @property
    def structure(self) -> tuple[Hashable, ...]:
        """The key of a chain rule, equal for those whose quantities, leaves and patterns are the same."""
        patterns = [
            (*pair, part.shape, part.tobytes())
            for block in self.graph.blocks
            for stated in (block.pattern, getattr(block, "curvature_pattern", dict))
            for pair, part in ((("", ""), np.zeros(int(implements(block, NonzeroBlock)))), *stated().items())
        ]
        names = (
            *self.rows,
            "",
            *self.columns,
            "",
            *(name for each in self.graph.blocks for name in each.outputs),
        )
        return names, tuple(self.graph.width.items()), self.used_count, self.bounded_count, tuple(patterns)

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

    def curvatures(self, u: Values, adjoints: Callable[[slice], Array]) -> list[Pairs]:
        """The second derivatives of every block; adjoints : rows of D -> adjoints of these, (K, rows)."""
        return self._curvatures(u, adjoints, sparse=False)

    def curvature_nonzeros(self, u: Values, adjoints: Callable[[slice], Array]) -> list[Derivatives]:
        """`curvatures`, of blocks that give their nonzeros side by side these."""
        return self._curvatures(u, adjoints, sparse=True)

    def _curvatures(self, u: Values, adjoints: Callable[[slice], Array], sparse: bool) -> list[Any]:
        found: list[Any] = []
        for block in self.graph.second_order_blocks:
            weights = {output: adjoints(self.rows[output]) for output in block.outputs}
            own = block.curvature_nonzeros if sparse and implements(block, NonzeroBlock) else block.curvature
            found.append(own(u, weights))
        return found

    def hessian(self, u: Values, D: Array, adjoints: Array) -> Array:
        """H, (K, width, width), with the adjoints that `adjoints` gives."""
        H = np.zeros((len(D), self.width, self.width))
        for pairs in self.curvatures(u, lambda rows: np.ascontiguousarray(adjoints[:, rows])):
            for (first, second), part in pairs.items():
                left, right = self._slopes(first, D), self._slopes(second, D)
                product = left.swapaxes(-1, -2) @ part @ right
                H += product if first == second else product + product.swapaxes(1, 2)
        return H

    def _slopes(self, name: str, D: Array) -> Array:
        """The derivatives of a quantity or leaf by all leaves, (..., width of it, width)."""
        return np.eye(self.width)[self.columns[name]] if name in self.columns else D[:, self.rows[name]]

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


def neighbours(names: Iterable[str], rows: Mapping[str, slice]) -> list[list[str]]:
    """Names, in the order of their rows, parted where rows do not meet."""
    runs: list[list[str]] = []
    for name in names:
        if runs and rows[runs[-1][-1]].stop == rows[name].start:
            runs[-1].append(name)
        else:
            runs.append([name])
    return runs


def increase(view: Array, part: Array) -> None:
    """Add in place; `array[place] += part` would also copy the sum onto itself."""
    np.add(view, part, out=view)
