"""From second derivatives by the leaves at the nodes to those by the unknowns.

With H and bar the second and first derivatives of the Lagrangian by the leaves z of a node, those by (Q, T)
are, with z' = dz/dT = -l z / T,

    H_QQ = H / T^(l + m),    H_QT = (H z' - l bar / T) / T^l,    H_TT = z' H z' + sum l (l + 1) bar z / T^2.

By control points, H_QQ is summed over the nodes of a span in one dense product. All parts are given as those
of a matrix M with H = M + M'.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

import numpy as np

from trajopt.arrays import Array
from trajopt.graph.block import Pairs
from trajopt.graph.chain_rule import increase
from trajopt.transcription.derivatives.jacobian import CurveGroup, LeafMap, LeafPoint
from trajopt.transcription.derivatives.span_groups import SpanGroups
from trajopt.transcription.derivatives.sparse_entries import Entries, joined, product_entries

SMALL = 100  # entries of a matrix below which going through its rows costs more than copying it whole


class CurvatureMap:
    """Raw second derivatives in three parts: two local control points, one and the clock, the clock twice.

    pairs : the pairs of leaves, in the order of the leaves, whose second derivatives are not all zero
    direct : those among them that blocks give themselves, which `ChainRule.hessian` adds to
    """

    def __init__(
        self,
        leaf_map: LeafMap,
        pairs: Iterable[tuple[str, str]],
        direct: Set[tuple[str, str]],
        columns: dict[str, slice],
    ) -> None:
        self.leaf_map, self.columns, self._direct = leaf_map, columns, direct
        pairs = list(pairs)
        self._spans = SpanGroups(leaf_map.spline_map.nodes.span)
        self._planes = []
        for a, group in enumerate(leaf_map.groups):
            for other in leaf_map.groups[a:]:
                mine = [pair for pair in pairs if pair[0] in group.leaves and pair[1] in other.leaves]
                if mine:
                    self._planes.append(_Planes(leaf_map, self._spans, group, other, mine, columns))
        spline = leaf_map.spline_width
        self._clock_pairs = [pair for pair in pairs if pair in direct and columns[pair[1]].start >= spline]
        # Pairs of two leaves stand once, above the diagonal; those of one leaf stand twice.
        self._half = np.triu(np.ones((leaf_map.width - spline,) * 2))
        for leaf in leaf_map.leaves:
            place = slice(columns[leaf].start - spline, columns[leaf].stop - spline)
            if place.start >= 0:
                self._half[place, place] = 0.5

    def zeros(self) -> tuple[Pairs, list[Array]]:
        """Room for second derivatives by the direct pairs of leaves; `raw` reads the arrays behind it."""
        nodes, spline, width = self.leaf_map.nodes, self.leaf_map.spline_width, self.leaf_map.width
        arrays: list[Array] = [np.zeros((nodes, *planes.shape)) for planes in self._planes]
        second: Pairs = {}
        for planes, array in zip(self._planes, arrays, strict=True):
            second |= {pair: array[:, i] for i, pair in enumerate(planes.pairs) if pair in self._direct}
        arrays.append(np.zeros((nodes, width, width - spline)))
        for first, other in self._clock_pairs:
            across = slice(self.columns[other].start - spline, self.columns[other].stop - spline)
            second[first, other] = arrays[-1][:, self.columns[first], across]
        return second, arrays

    def raw(
        self, point: LeafPoint, second: Pairs, arrays: list[Array], total: Array | None, bar: Array
    ) -> Array:
        """The raw second derivatives of `entries`.

        second, arrays, total : as `zeros` gives and `ChainRule.hessian` fills and returns them
        bar : (K, width) adjoints of the leaves
        """
        spline, own = self.leaf_map.spline_width, self.leaf_map.own - self.leaf_map.spline_width
        slope = point.slope
        turned = self._times_slopes(second, slope)
        if total is not None:
            turned += np.matmul(total[:, :spline], slope[:, :, None])[:, :, 0]
            for planes, array in zip(self._planes, arrays, strict=False):
                planes.increase(array, total)
            increase(arrays[-1], total[:, :, spline:])
        parts = [p.by_control_points(point, a) for p, a in zip(self._planes, arrays, strict=False)]
        clock = arrays[-1]
        cross, both = clock[:, :spline], clock[:, spline:] * self._half
        bent = slope * bar
        both[:, own] += np.matmul(slope[:, None, :spline], cross)[:, 0]
        both[:, own, own] += 0.5 * (
            (slope[:, :spline] * turned).sum(axis=1)
            - point.inverse[:, 0] * (bent @ (1.0 + self.leaf_map.order))
        )
        cross[:, :, own] += turned - (self.leaf_map.order * point.inverse * bar)[:, :spline]
        cross *= point.scale[:, :spline, None]
        return np.concatenate([part.ravel() for part in (*parts, cross, both)])

    def _times_slopes(self, second: Pairs, slope: Array) -> Array:
        """H z' by the leaves of splines, (K, spline_width)."""
        order, columns = self.leaf_map.order, self.columns
        found = np.zeros((self.leaf_map.nodes, self.leaf_map.spline_width))
        for (first, other), part in second.items():
            one, two = columns[first], columns[other]
            if order[two.start]:
                increase(found[:, one], np.matmul(part, slope[:, two, None])[:, :, 0])
            if first != other and order[one.start] and two.stop <= found.shape[1]:
                increase(found[:, two], np.matmul(slope[:, None, one], part)[:, 0])
        return found

    # -- structure ----------------------------------------------------------------------------------------

    def entries(self, pattern: Array, touched: Array) -> tuple[Entries, int]:
        """Where every raw second derivative belongs in M, by y; and how many there are.

        pattern : (spans, width, width), where H may differ from zero; touched : (spans, width), which leaves
        carry an adjoint
        """
        leaf_map, offset, parts = self.leaf_map, 0, []
        for planes in self._planes:
            found, size = planes.entries(pattern, self.columns)
            parts.append(_moved(found, offset))
            offset += size
        spline, own = leaf_map.spline_width, leaf_map.own - leaf_map.spline_width
        pattern = pattern | pattern.transpose(0, 2, 1)
        moves = leaf_map.order > 0
        turned = pattern[:, :, moves].any(axis=2) | (touched & moves)
        clock = pattern[:, :, spline:].copy()
        clock[:, :spline, own] |= turned[:, :spline]
        clock[:, spline:] &= self._half > 0.0
        clock[:, leaf_map.own] |= clock[:, moves].any(axis=1)
        span = leaf_map.spline_map.nodes.span
        for rows in (slice(0, spline), slice(spline, leaf_map.width)):
            mask = clock[span][:, rows]
            index = np.flatnonzero(mask)
            k, row, column = np.unravel_index(index, mask.shape)
            left, right = k * leaf_map.width + rows.start + row, k * leaf_map.width + spline + column
            parts.append(product_entries(offset + index, leaf_map.B, left, leaf_map.B, right))
            offset += mask.size
        return joined(parts), offset


class _Planes:
    """Pairs of leaves of two groups of curves, and the constant products of their basis functions.

        half[span, i, i'] = sum over nodes and pairs of B_l[k, i] B_m[k, i'] / T^(l + m) H_lm[k],
    with half of it where the two leaves are one.
    """

    def __init__(
        self,
        leaf_map: LeafMap,
        spans: SpanGroups,
        group: CurveGroup,
        other: CurveGroup,
        pairs: list[tuple[str, str]],
        columns: dict[str, slice],
    ) -> None:
        self.leaf_map, self.spans, self.group, self.other, self.pairs = leaf_map, spans, group, other, pairs
        self.shape = (len(pairs), group.curve_count, other.curve_count)
        #: where the entries of the planes stand in (width, width) matrices of all leaves, flat
        self.columns = columns
        by_leaf = np.arange(leaf_map.width**2).reshape(leaf_map.width, -1)
        self.places = np.stack([by_leaf[columns[first], columns[two]] for first, two in pairs]).ravel()
        width, slots = leaf_map.spline_map.width, spans.index.shape[1]
        products, powers = [], []
        for first, second in pairs:
            one, two = group.leaves.index(first), other.leaves.index(second)
            left, right = group.basis[:, 0, :, one], other.basis[:, 0, :, two]
            factor = 0.5 if first == second else 1.0
            products.append(factor * left[:, :, None] * right[:, None, :])
            powers.append(group.orders[one] + other.orders[two])
        by_node = np.stack(products, axis=1).reshape(leaf_map.nodes, len(pairs), width**2)
        by_span = spans.gather(by_node).reshape(spans.count, slots * len(pairs), width**2)
        self._products = np.ascontiguousarray(by_span.transpose(0, 2, 1))
        self._powers = np.tile(np.array(powers), slots)
        self._arc = leaf_map.spline_map.nodes.arc[spans.first_node]

    def increase(self, planes: Array, total: Array) -> None:
        """Add second derivatives by all leaves (K, width, width), small ones in one step."""
        if self.shape[1] * self.shape[2] <= SMALL:
            flat = planes.reshape(len(planes), -1)
            flat += total.reshape(len(total), -1).take(self.places, axis=1)
            return
        for i, (first, second) in enumerate(self.pairs):
            increase(planes[:, i], total[:, self.columns[first], self.columns[second]])

    def by_control_points(self, point: LeafPoint, planes: Array) -> Array:
        """(spans, i i', j j') from the planes (K, pairs, j, j')."""
        powers = point.powers[:, self._powers]
        powers = (powers if len(powers) == 1 else powers[self._arc])[:, None]
        spans, _, size = self._products.shape
        gathered = planes.reshape(len(planes), -1).take(self.spans.index, axis=0)
        return np.matmul(self._products * powers, gathered.reshape(spans, size, -1))

    def entries(self, pattern: Array, columns: dict[str, slice]) -> tuple[Entries, int]:
        spline_map, N = self.leaf_map.spline_map, self.leaf_map.elimination.N
        mine, others = (self._felt(group) for group in (self.group, self.other))
        together = np.zeros((self.spans.count, *self.shape[1:]), bool)
        for first, other in self.pairs:
            together |= pattern[:, columns[first], columns[other]]
        mask = (mine[:, :, None] & others[:, None, :])[:, :, :, None, None] & together[:, None, None]
        index = np.flatnonzero(mask)
        span, i, other_i, j, other_j = np.unravel_index(index, mask.shape)
        column = spline_map.columns[self.spans.first_node]
        left = column[span, i, self.group.curves.start + j]
        right = column[span, other_i, self.other.curves.start + other_j]
        return product_entries(index, N, left, N, right), mask.size

    def _felt(self, group: CurveGroup) -> Array:
        """Which local control points the nodes of every span feel, (spans, i)."""
        return np.any(self.spans.gather(np.any(group.basis[:, 0] != 0.0, axis=2)), axis=1)


def _moved(entries: Entries, offset: int) -> Entries:
    return Entries(entries.index + offset, entries.row, entries.column, entries.factor)
