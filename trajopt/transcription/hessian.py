"""Second derivatives by the unknowns, from those by the leaves at the nodes.

At a node, let z be the leaves, l their orders, T the duration of the arc and Q = T^l z, which is linear in
the unknowns. With the gradient b and the Hessian H of the Lagrangian by z, and with dz/dT = z' = -l z / T at
fixed Q, second derivatives by (Q, T) are

    QQ:  H_ij / T^(l_i + l_j)
    QT:  ((H z')_i - l_i b_i / T) / T^l_i
    TT:  z' H z' + sum_i l_i (l_i + 1) b_i z_i / T^2.

T is a leaf as well, of order 0, like all leaves that are linear in durations and parameters ("global" ones,
since many nodes share them). By the control points, the first part is summed over the nodes of a span in one
dense product. All parts are given as those of a matrix M with Hessian M + M'.

Second derivatives by pairs of leaves that come through other quantities are multiplied pair by pair.

With D_u = du/dz, z the leaves, and u and w inputs of blocks that are no leaves,

    H = sum over u of D_u' P_u,    P_u = sum over w of [d^2 (lambda . y) / du dw] D_w.

One product over all leaves has entries that stand in H twice, and multiplies by zeros wherever a quantity
depends on some leaves only, as places depend on positions alone. Here, quantities that depend on the same
leaves and stand in neighbouring rows of D are one run; a pair of leaves gets the products of the runs that
depend on both. Worth while where leaves are wide: below ten joints the single product is faster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trajopt.base.arrays import Array, cached_if_small
from trajopt.graph.graph import ChainRule, Graph, increase, neighbours
from trajopt.graph.protocols import Pairs, Values
from trajopt.solvers.matrices import Entries, all_entries, product_entries
from trajopt.transcription.leaf_map import LeafGroup, LeafMap, LeafPoint


class SecondDerivatives:
    """The entries of M before elimination: control points by control points, then pairs with a global leaf.

    By pairs of leaves, in their order, whose second derivatives are not all zero. Where leaves are wide all
    pairs are filled, see `InnerCurvature`; else those that blocks give themselves, and `total` has the rest.
    """

    def __init__(
        self,
        leaf_map: LeafMap,
        pairs: Sequence[tuple[str, str]],
        filled: Collection[tuple[str, str]],
        inner: InnerCurvature | None = None,
    ) -> None:
        self.leaf_map, self._inner, self._filled = leaf_map, inner, filled
        columns, spline = leaf_map.columns, leaf_map.spline_width
        spans = SpanGroups(leaf_map.span)
        self._by_curves = []
        for first, group in enumerate(leaf_map.groups):
            for other in leaf_map.groups[first:]:
                mine = [pair for pair in pairs if pair[0] in group.leaves and pair[1] in other.leaves]
                if mine:
                    self._by_curves.append(_CurvePair(leaf_map, spans, group, other, mine))
        self._with_global = [p for p in pairs if p in filled and columns[p[1]].start >= spline]
        # By two global leaves: different ones stand once in M, one and the same counts twice in M + M'.
        self._global_share = np.triu(np.ones((leaf_map.width - spline,) * 2))
        for place in columns.values():
            if place.start >= spline:
                own = slice(place.start - spline, place.stop - spline)
                self._global_share[own, own] = 0.5

    @staticmethod
    def of(leaf_map: LeafMap, chain: ChainRule) -> SecondDerivatives:
        """Second derivatives that the chain rule's graph has; for narrow leaves, the same ones as before."""
        pairs = tuple(chain.graph.hessian_pattern(chain.used))
        # Second derivatives of more than ten curves are multiplied pair by pair of leaves
        if any(group.curve_count > 10 for group in leaf_map.groups):
            inner = InnerCurvature(chain.graph, chain.rows, chain.columns)
            return SecondDerivatives(leaf_map, pairs, frozenset(pairs), inner)
        return _of_pairs(leaf_map.spline_map.layout.size, leaf_map, pairs, frozenset(chain.direct_pairs()))

    def zeros(self) -> tuple[Pairs, list[Array]]:
        """Room for second derivatives by pairs of leaves; `fill` adds them, `raw` reads the arrays behind.

        One array for every pair of groups of curves, (K, pairs, width, width), and one for all leaves by the
        global ones, (K, width, global width).
        """
        leaf_map, columns = self.leaf_map, self.leaf_map.columns
        nodes, spline, width = leaf_map.nodes, leaf_map.spline_width, leaf_map.width
        arrays: list[Array] = []
        second: Pairs = {}
        for part in self._by_curves:
            arrays.append(np.zeros((nodes, *part.shape)))
            for i, pair in enumerate(part.pairs):
                if pair in self._filled:
                    second[pair] = arrays[-1][:, i]
        arrays.append(np.zeros((nodes, width, width - spline)))
        for first, other in self._with_global:
            across = slice(columns[other].start - spline, columns[other].stop - spline)
            second[first, other] = arrays[-1][:, columns[first], across]
        return second, arrays

    def fill(self, chain: ChainRule, u: Values, D: Array, adjoints: Array, second: Pairs) -> Array | None:
        """Add the second derivatives of `ChainRule.hessian`, with its arguments and its result.

        chain : that of the constructor, or it with other data
        """
        if self._inner is None:
            return chain.hessian(u, D, adjoints, second)
        products = InnerProducts(self._inner, D)
        for curvature in chain.curvatures(u, adjoints, second):
            products.add(curvature)
        products.add_to(second)
        return None

    def raw(
        self, point: LeafPoint, second: Pairs, arrays: list[Array], total: Array | None, adjoints: Array
    ) -> Array:
        """The raw second derivatives of `entries`.

        second, arrays, total : as `zeros` gives and `fill` fills and returns them
        adjoints : b, (K, width)
        """
        spline, free = self.leaf_map.spline_width, self.leaf_map.free_durations
        H_slope = self._times_slope(point.slope, second, total) if free else None
        *by_curves, by_global = arrays
        found = []
        for part, array in zip(self._by_curves, by_curves, strict=True):
            if total is not None:
                part.add(array, total)
            found.append(part.by_control_points(point, array))
        if total is not None:
            increase(by_global, total[:, :, spline:])
        mixed, both = by_global[:, :spline], by_global[:, spline:] * self._global_share
        if H_slope is not None:
            slope, T = point.slope[:, :spline], self.leaf_map.duration_column - spline
            if self._with_global or total is not None:
                both[:, T] += np.matmul(slope[:, None], mixed)[:, 0]
            # sum_i l_i (l_i + 1) b_i z_i / T^2 = -z' . (l + 1) b / T: both parts of TT in one product.
            by_T = point.inverse * adjoints[:, :spline]
            H_slope -= self.leaf_map.order[:spline] * by_T
            both[:, T, T] += 0.5 * np.einsum("kw,kw->k", slope, H_slope - by_T)
            mixed[:, :, T] += H_slope
        mixed *= point.scale[:, :spline, None]
        return np.concatenate([part.ravel() for part in (*found, mixed, both)])

    def _times_slope(self, slope: Array, second: Pairs, total: Array | None) -> Array:
        """H z' by the leaves of splines, (K, spline_width)."""
        order, columns, spline = self.leaf_map.order, self.leaf_map.columns, self.leaf_map.spline_width
        found = np.zeros((self.leaf_map.nodes, spline))
        if total is not None:
            found += np.matmul(total[:, :spline], slope[:, :, None])[:, :, 0]
        for (first, other), part in second.items():
            one, two = columns[first], columns[other]
            if order[two.start]:
                increase(found[:, one], np.matmul(part, slope[:, two, None])[:, :, 0])
            if first != other and order[one.start] and two.stop <= found.shape[1]:
                increase(found[:, two], np.matmul(slope[:, None, one], part)[:, 0])
        return found

    # -- structure ----------------------------------------------------------------------------------------

    def entries(self, pattern: Array, has_adjoint: Array) -> tuple[Entries, int]:
        """Places of every raw second derivative in M, by y; and their number.

        pattern : (spans, width, width), where H may differ from zero
        has_adjoint : (spans, width), where b may
        """
        leaf_map, offset, parts = self.leaf_map, 0, []
        for part in self._by_curves:
            found, size = part.entries(pattern)
            parts.append(replace(found, index=found.index + offset))
            offset += size
        spline, span = leaf_map.spline_width, leaf_map.span
        by_global = self._global_pattern(pattern, has_adjoint)[span]
        for rows in (slice(0, spline), slice(spline, leaf_map.width)):
            mask = by_global[:, rows]
            index = np.flatnonzero(mask)
            k, row, column = np.unravel_index(index, mask.shape)
            left, right = k * leaf_map.width + rows.start + row, k * leaf_map.width + spline + column
            parts.append(product_entries(offset + index, leaf_map.B, left, leaf_map.B, right))
            offset += mask.size
        return all_entries(parts), offset

    def _global_pattern(self, pattern: Array, has_adjoint: Array) -> Array:
        """Mask of nonzero second derivatives by a leaf and a global leaf, (spans, width, global).

        The duration of the arc takes part wherever a leaf is divided by it.
        """
        leaf_map, spline = self.leaf_map, self.leaf_map.spline_width
        divided = leaf_map.order > 0
        pattern = pattern | pattern.transpose(0, 2, 1)
        by_duration = pattern[:, :, divided].any(axis=2) | (has_adjoint & divided)
        found = pattern[:, :, spline:].copy()
        found[:, :spline, leaf_map.duration_column - spline] |= by_duration[:, :spline]
        found[:, spline:] &= self._global_share > 0.0
        found[:, leaf_map.duration_column] |= found[:, divided].any(axis=1)
        return found


_of_pairs = cached_if_small(SecondDerivatives)


class SpanGroups:
    """Nodes grouped by span; groups of unequal size are padded.

    index : (spans, slots) the nodes of every span, the last one again where there are fewer
    """

    def __init__(self, span: Array) -> None:
        self.first_node = np.flatnonzero(np.diff(span, prepend=-1))
        self.count = self.first_node.size
        sizes = np.diff(np.append(self.first_node, span.size))
        slots = np.arange(sizes.max())
        self.index = self.first_node[:, None] + np.minimum(slots, sizes[:, None] - 1)
        self._empty = slots >= sizes[:, None]

    def gather(self, per_node: Array) -> Array:
        """(K, ...) to (spans, slots, ...), padding slots zero."""
        gathered = per_node[self.index]
        gathered[self._empty] = 0
        return gathered


class _CurvePair:
    """Second derivatives by the control points of two groups of curves, one for each pair of their leaves.

    With the pairs of leaves (l, m) in `pairs`, at a span,

        M[i, j, i', j'] = sum over nodes k and pairs of  B_l[k, i] B_m[k, i'] H_lm[k, j, j'] / T^(l + m),

    for local control points i, i' and curves j, j'; with half of it where l and m are the same leaf.
    """

    def __init__(
        self,
        leaf_map: LeafMap,
        spans: SpanGroups,
        group: LeafGroup,
        other: LeafGroup,
        pairs: list[tuple[str, str]],
    ) -> None:
        self.leaf_map, self.spans, self.group, self.other, self.pairs = leaf_map, spans, group, other, pairs
        self.shape = (len(pairs), group.curve_count, other.curve_count)
        columns = leaf_map.columns
        flat = np.arange(leaf_map.width**2).reshape(leaf_map.width, -1)
        #: where the pairs' entries stand in (width, width) matrices over all leaves, flat
        self.places = np.stack([flat[columns[first], columns[second]] for first, second in pairs]).ravel()
        products, powers = [], []
        for first, second in pairs:
            one, two = group.leaves.index(first), other.leaves.index(second)
            left, right = group.basis[:, 0, :, one], other.basis[:, 0, :, two]
            factor = 0.5 if first == second else 1.0
            products.append(factor * left[:, :, None] * right[:, None, :])
            powers.append(group.orders[one] + other.orders[two])
        slots, size = spans.index.shape[1], group.basis.shape[2] * other.basis.shape[2]
        by_node = np.stack(products, axis=1).reshape(leaf_map.nodes, len(pairs), size)
        by_span = spans.gather(by_node).reshape(spans.count, slots * len(pairs), size)
        self._products = np.ascontiguousarray(by_span.transpose(0, 2, 1))
        self._powers = np.tile(np.array(powers), slots)
        self._arc = leaf_map.arc[spans.first_node]

    def add(self, array: Array, total: Array) -> None:
        """Add second derivatives by all leaves (K, width, width), whose groups are narrow."""
        flat = array.reshape(len(array), -1)
        flat += total.reshape(len(total), -1).take(self.places, axis=1)

    def by_control_points(self, point: LeafPoint, array: Array) -> Array:
        """M as (spans, i i', j j') from H by the pairs of leaves, (K, pairs, j, j')."""
        powers = point.powers[:, self._powers]
        powers = (powers if len(powers) == 1 else powers[self._arc])[:, None]
        spans, _, size = self._products.shape
        gathered = array.reshape(len(array), -1).take(self.spans.index, axis=0)
        return np.matmul(self._products * powers, gathered.reshape(spans, size, -1))

    def entries(self, pattern: Array) -> tuple[Entries, int]:
        """Places of every entry of `by_control_points` in M by y; and their number."""
        columns, N = self.leaf_map.columns, self.leaf_map.N
        mine, others = self._control_points(self.group), self._control_points(self.other)
        curves = np.zeros((self.spans.count, *self.shape[1:]), bool)
        for first, other in self.pairs:
            curves |= pattern[:, columns[first], columns[other]]
        mask = (mine[:, :, None] & others[:, None, :])[:, :, :, None, None] & curves[:, None, None]
        index = np.flatnonzero(mask)
        span, i, other_i, j, other_j = np.unravel_index(index, mask.shape)
        first = self.spans.first_node
        left = self.group.x_columns[first][span, i, j]
        right = self.other.x_columns[first][span, other_i, other_j]
        return product_entries(index, N, left, N, right), mask.size

    def _control_points(self, group: LeafGroup) -> Array:
        """Local control points that act on the nodes of every span, (spans, i)."""
        return np.any(self.spans.gather(np.any(group.basis[:, 0] != 0.0, axis=2)), axis=1)


@dataclass(frozen=True)
class RowRun:
    """Quantities in neighbouring rows of D that depend on the same leaves.

    rows : of D
    leaves : that the quantities depend on
    span : the columns of D from the first to the last of these leaves
    reach : leaves by which P may differ from zero
    P_span : the columns from the first to the last of those
    """

    rows: slice
    leaves: frozenset[str]
    span: slice
    reach: frozenset[str]
    P_span: slice


class InnerCurvature:
    """The structure of the products above; `InnerProducts` has their numbers.

    rows, columns : quantity -> its rows of D, leaf -> its columns
    diagonal : pairs whose second derivatives are diagonal in every block, as those of sums of squares
    """

    def __init__(self, graph: Graph, rows: Mapping[str, slice], columns: Mapping[str, slice]) -> None:
        self.rows, self.columns = rows, columns
        reach: dict[str, set[str]] = {}
        diagonal: dict[tuple[str, str], bool] = {}
        for block in graph.second_order_blocks:
            for pair, pattern in block.curvature_pattern().items() if block.outputs else ():
                if set(pair) <= graph.leaves.keys():
                    continue
                for one, other in (pair, pair[::-1]):
                    reach.setdefault(one, set()).update(graph.leaf_pattern(other))
                    diagonal[one, other] = diagonal.get((one, other), True) and is_diagonal(pattern)
        self.diagonal = {pair for pair, found in diagonal.items() if found}
        leaves = {name: frozenset(graph.leaf_pattern(name)) for name in reach}
        self.by_leaf = {name: frozenset(found) for name, found in reach.items() if name in graph.leaves}
        self.runs: list[RowRun] = []
        self.run_of: dict[str, int] = {}
        inner = sorted(reach.keys() - self.by_leaf.keys(), key=lambda name: rows[name].start)
        for names in neighbours(inner, rows, leaves.__getitem__):
            union = frozenset().union(*(reach[name] for name in names))
            place = slice(rows[names[0]].start, rows[names[-1]].stop)
            own = leaves[names[0]]
            self.run_of |= dict.fromkeys(names, len(self.runs))
            self.runs.append(RowRun(place, own, self.span(own), union, self.span(union)))

    def span(self, leaves: Iterable[str]) -> slice:
        """The columns from the first to the last of some leaves."""
        places = [self.columns[leaf] for leaf in leaves]
        return slice(min((p.start for p in places), default=0), max((p.stop for p in places), default=0))


class InnerProducts:
    """The products of `InnerCurvature` at all nodes: `add` the curvature of every block, then `add_to` H.

    D : (K, rows, width)
    """

    def __init__(self, structure: InnerCurvature, D: Array) -> None:
        self._structure, self._D, nodes = structure, D, len(D)
        self._P = [np.zeros((nodes, _length(run.rows), _length(run.P_span))) for run in structure.runs]
        self._P_of_leaf: dict[str, Array] = {}
        for leaf, reach in structure.by_leaf.items():
            height, width = _length(structure.columns[leaf]), _length(structure.span(reach))
            self._P_of_leaf[leaf] = np.zeros((nodes, height, width))

    def add(self, curvature: Pairs) -> None:
        """Add [d^2 (lambda . y) / du dw] of one block, by pairs of its inputs that are not both leaves."""
        for (first, second), part in curvature.items():
            self._add_part(first, second, part)
            if first != second:
                self._add_part(second, first, part.transpose(0, 2, 1))

    def add_to(self, into: Pairs) -> None:
        """Add to H by pairs of leaves, (leaf, leaf) -> (K, width, width)."""
        columns, structure = self._structure.columns, self._structure
        for (first, second), H in into.items():
            for run, P in zip(structure.runs, self._P, strict=True):
                if first in run.leaves and second in run.reach:
                    D_first = self._D[:, run.rows, columns[first]]
                    H += np.matmul(D_first.transpose(0, 2, 1), P[:, :, _within(run.P_span, columns[second])])
            if second in structure.by_leaf.get(first, ()):
                span = structure.span(structure.by_leaf[first])
                H += self._P_of_leaf[first][:, :, _within(span, columns[second])]

    def _add_part(self, first: str, second: str, part: Array) -> None:
        """Add [d^2 / d first d second] D_second to P of the first."""
        structure = self._structure
        if first in structure.by_leaf:
            P, span = self._P_of_leaf[first], structure.span(structure.by_leaf[first])
        else:
            run = structure.runs[structure.run_of[first]]
            P = self._P[structure.run_of[first]][:, _within(run.rows, structure.rows[first])]
            span = run.P_span
        if second in structure.by_leaf:
            P[:, :, _within(span, structure.columns[second])] += part
        else:
            by = structure.runs[structure.run_of[second]].span
            D_second = self._D[:, structure.rows[second], by]
            if (first, second) in structure.diagonal:
                product = np.einsum("kii->ki", part)[:, :, None] * D_second
            else:
                product = np.matmul(part, D_second)
            P[:, :, _within(span, by)] += product


def is_diagonal(pattern: Array) -> bool:
    """True if only the diagonal of a square matrix, larger than one number, may differ from zero."""
    height, width = pattern.shape
    return height == width > 1 and not pattern[~np.eye(height, dtype=bool)].any()


def _within(whole: slice, part: slice) -> slice:
    """A part of a slice, counted from its start."""
    return slice(part.start - whole.start, part.stop - whole.start)


def _length(of: slice) -> int:
    return of.stop - of.start
