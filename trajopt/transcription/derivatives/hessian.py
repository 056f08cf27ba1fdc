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
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.content_cache import cached_if_small
from trajopt.graph.graph import ChainRule, increase
from trajopt.graph.protocols.block import Pairs, Values
from trajopt.solvers.matrices import Entries, all_entries, product_entries
from trajopt.transcription.derivatives.inner_curvature import InnerCurvature, InnerProducts
from trajopt.transcription.leaf_map import LeafGroup, LeafMap, LeafPoint

WIDE_GROUP = 10  # curves in a group above which second derivatives are multiplied pair by pair of leaves


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
        if any(group.curve_count > WIDE_GROUP for group in leaf_map.groups):
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
        arrays: list[Array] = [np.zeros((nodes, *part.shape)) for part in self._by_curves]
        second: Pairs = {}
        for part, array in zip(self._by_curves, arrays, strict=True):
            second |= {pair: array[:, i] for i, pair in enumerate(part.pairs) if pair in self._filled}
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
        if total is not None:
            for part, array in zip(self._by_curves, by_curves, strict=True):
                part.add(array, total)
            increase(by_global, total[:, :, spline:])
        found = [
            p.by_control_points(point, array) for p, array in zip(self._by_curves, by_curves, strict=True)
        ]
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
        mine, others = (self._control_points(group) for group in (self.group, self.other))
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
