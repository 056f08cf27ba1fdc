"""Second derivatives by the unknowns, from those by the leaves at the nodes.

With D_u = du/dz, z the leaves, and lambda the adjoints of all quantities, at a node

    lambda_u = sum_y (dy/du)' lambda_y,
    H = sum over blocks of sum_uw D_u' [d^2 (lambda . y) / du dw] D_w,

summed as `node_derivatives` sums D: over entries that are not zero, by rows with one number of each node.

Let l be the orders of the leaves, T the duration of the arc and Q = T^l z, which is linear in the unknowns.
With the gradient b of the Lagrangian by z, and with dz/dT = z' = -l z / T at fixed Q, second derivatives by
(Q, T) are

    QQ:  H_ij / T^(l_i + l_j)
    QT:  ((H z')_i - l_i b_i / T) / T^l_i
    TT:  z' H z' + sum_i l_i (l_i + 1) b_i z_i / T^2.

T is a leaf as well, of order 0, like all leaves that are linear in durations and parameters ("global" ones,
since many nodes share them). By the control points, the first part is summed over the nodes of a span. All
parts are given as those of a matrix M with Hessian M + M'.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.graph import ChainRule
from trajopt.graph.protocols import Values
from trajopt.solvers.matrices import Entries, all_entries, product_entries
from trajopt.transcription.leaf_map import LeafGroup, LeafMap
from trajopt.transcription.node_derivatives import (
    ONE,
    FirstDerivatives,
    FirstNumbers,
    LoopTables,
    OfThread,
    RowNumbers,
    Rows,
    Tape,
    lane_width,
    one_part,
)
from trajopt.transcription.tape_kernels import add_over_spans


class SecondNumbers:
    """Numbers of second derivatives, and the raw ones that the program's entries are sums of."""

    def __init__(self, structure: SecondDerivatives) -> None:
        nodes, spans = structure.first.nodes, structure.spans
        self.at = RowNumbers(structure.rows, nodes, np.dtype(float))
        self.raw = np.zeros(structure.raw_size)
        self.over_spans = self.raw[: spans.size]
        self.by_global = self.raw[spans.size :].reshape(-1, lane_width(nodes))


class SecondDerivatives:
    """The rows and sums of second derivatives by leaves, and the entries of M before elimination.

    Rows of the array of numbers: adjoints of all quantities as `ChainRule` orders them, then
    b, Hz : gradient by leaves, and H z', of every column
    H : (width, width) the upper triangle of second derivatives by leaves, -1 for zeros
    """

    def __init__(self, chain: ChainRule, first: FirstDerivatives) -> None:
        leaf_map = first.leaf_map
        self.first, self.rows, self._used_count = first, Rows(), chain.used_count
        self.adjoints = self.rows.more(len(first.D))
        self._b, self._Hz = self.rows.more(leaf_map.width), self.rows.more(leaf_map.width)
        # b is D' times the adjoints of used quantities, before those of others are added
        used, column = np.nonzero((first.D[: chain.used_count] >= 0) & (leaf_map.order > 0))
        self._has_b = np.unique(column) if leaf_map.free_durations else column[:0]
        by_leaf = (self._b[column], used, first.D[used, column], 1.0)
        edges = [(u, y, own, 1.0) for y, u, own in reversed(first.edges)]
        parts = [by_leaf, *edges] if leaf_map.free_durations else edges
        self._backward = Tape(parts, self.rows.mask(self._b))
        self.H = np.full((leaf_map.width,) * 2, -1)
        sums = [*self._through_quantities(chain)]
        if leaf_map.free_durations:
            sums += self._by_duration()
        self._sums = Tape([part for part, _ in sums], self.rows.mask(*(targets for _, targets in sums)))
        self.spans = SpanSums(leaf_map, self.H)
        spline = leaf_map.spline_width
        mask = np.triu(np.ones(self.H.shape, dtype=bool)) & (self.H >= 0)
        mask[:, :spline] = False
        rows = Rows()
        self.by_global = rows.where(mask)
        i, j = np.nonzero(mask)
        scaled = (self.by_global[i, j], self.H[i, j], leaf_map.order[i], np.where(i == j, 0.5, 1.0))
        self._scaled = Tape([scaled], np.ones(rows.count, dtype=bool))
        self.raw_size = self.spans.size + rows.count * lane_width(first.nodes)
        self._own = OfThread()

    def _through_quantities(self, chain: ChainRule) -> Iterator[tuple[Sequence[Array], Array]]:
        """Sums of H, with the rows among them that no block fills.

        For two quantities u and w that are no leaves, W_u = [d^2 (lambda . y) / du dw] D_w comes first.
        """
        D, halves, terms, fresh = self.first.D, [], [], []
        for number, block in enumerate(chain.graph.second_order_blocks):
            stated = block.curvature_pattern()
            copies = self.rows.copies_of(number, block, stated)
            for (one, other), part in stated.items():
                own, (i, j) = copies[one, other], np.nonzero(part)
                if one in chain.columns and other in chain.columns:
                    i, j, own = i + chain.columns[one].start, j + chain.columns[other].start, own[i, j]
                    kept = (i <= j) | (one != other)
                    i, j, own = np.minimum(i, j)[kept], np.maximum(i, j)[kept], own[kept]
                    if np.all(self.H[i, j] < 0):
                        self.H[i, j] = own
                    else:
                        terms.append((i, j, own, np.full(own.size, ONE), np.ones(own.size)))
                elif one in chain.columns or other in chain.columns:
                    leaf, inner = (one, other) if one in chain.columns else (other, one)
                    k, m = (i, j) if one in chain.columns else (j, i)
                    at, column = np.nonzero(D[chain.rows[inner].start + m] >= 0)
                    row = chain.columns[leaf].start + k[at]
                    slope = D[chain.rows[inner].start + m[at], column]
                    terms.append((*_upper(row, column), own[i, j][at], slope, 1.0 + (row == column)))
                else:
                    left, right = D[chain.rows[one]], D[chain.rows[other]]
                    at, column = np.nonzero(right[j] >= 0)
                    mask = np.zeros(left.shape, dtype=bool)
                    mask[i[at], column] = True
                    W = self.rows.where(mask)
                    halves.append((W[i[at], column], own[i, j][at], right[j[at], column], 1.0))
                    fresh.append(W[mask])
                    pairs = (left >= 0)[:, :, None] & mask[:, None, :]
                    row, a, b = np.nonzero(np.triu(pairs) if one == other else pairs)
                    factor = 1.0 + ((a == b) & (one != other))
                    terms.append((*_upper(a, b), W[row, b], left[row, a], factor))
        i, j, left, right, factor = one_part(terms) if terms else [np.zeros(0)] * 5
        target, new = self._targets(i.astype(int), j.astype(int))
        yield one_part(halves), np.concatenate([np.zeros(0, dtype=int), *fresh])
        yield (target, left, right, factor), new

    def _by_duration(self) -> Iterator[tuple[Sequence[Any], Array]]:
        """Second derivatives by T, added to H, with the rows that nothing filled before."""
        first, order, T = self.first, self.first.leaf_map.order, self.first.leaf_map.duration_column
        i, j = np.nonzero(self.H >= 0)
        below = (i != j) & (order[i] > 0)
        one, other = np.append(i[order[j] > 0], j[below]), np.append(j[order[j] > 0], i[below])
        yield (self._Hz[one], self.H[_upper(one, other)], first.slope[other], 1.0), self._Hz
        terms, through = [], np.unique(one)
        for c in through:
            terms.append((*_upper(c, T), self._Hz[c], ONE, 1.0 + (c == T)))
            if order[c] > 0:
                terms.append((T, T, self._Hz[c], first.slope[c], 1.0))
        for c in self._has_b:
            terms.append((*_upper(c, T), self._b[c], ONE + 1, -order[c]))
            terms.append((T, T, self._b[c], first.over_T[c], -order[c] - 1.0))
        if terms:
            i, j, left, right, factor = (np.array(each) for each in zip(*terms, strict=True))
            target, new = self._targets(i, j)
            yield (target, left, right, factor), new

    def _targets(self, i: Array, j: Array) -> tuple[Array, Array]:
        """The rows of entries of H, and those among them that are new."""
        missing = np.zeros(self.H.shape, dtype=bool)
        missing[i, j] = True
        missing &= self.H < 0
        self.H[missing] = self.rows.where(missing)[missing]
        return self.H[i, j], self.H[missing]

    @property
    def numbers(self) -> SecondNumbers:
        """The arrays of this thread: two must not write into one."""
        kept: dict[str, SecondNumbers] = vars(self._own)
        if "numbers" not in kept:
            kept["numbers"] = SecondNumbers(self)
        return kept["numbers"]

    # --- numbers --------------------------------------------------------------------------------------

    def raw(self, chain: ChainRule, u: Values, first: FirstNumbers, adjoints: Array) -> Array:
        """The raw second derivatives of `entries`.

        chain : that of the constructor, or it with other data
        adjoints : of the used quantities, (used_count, lanes)
        """
        numbers = self.numbers
        at, values, slopes = numbers.at, numbers.at.values, first.at.values
        values[: self._used_count] = adjoints
        values[self._used_count : self.adjoints.size] = 0.0
        self._backward.run(values, values, slopes, at.lanes)
        at.copy(chain.curvature_nonzeros(u, at.read))
        self._sums.run(values, values, slopes, at.lanes)
        self.spans.add(values, slopes, numbers.over_spans)
        self._scaled.run(numbers.by_global, values, slopes, at.lanes)
        return numbers.raw

    # --- structure ------------------------------------------------------------------------------------

    def entries(self, pattern: Array, has_adjoint: Array) -> tuple[Entries, int]:
        """Places of every raw second derivative in M, by y; and their number.

        pattern : (spans, width, width), where H may differ from zero
        has_adjoint : (spans, width), where b may
        """
        leaf_map = self.first.leaf_map
        pattern = pattern | pattern.transpose(0, 2, 1)
        parts, offset = [self.spans.entries(pattern)], self.spans.size
        mask = self._by_global_pattern(pattern, has_adjoint)[leaf_map.span] & (self.by_global >= 0)
        k, i, j = np.nonzero(mask)
        index = offset + self.by_global[i, j] * lane_width(self.first.nodes) + k
        left, right = k * leaf_map.width + i, k * leaf_map.width + j
        parts.append(product_entries(index, leaf_map.B, left, leaf_map.B, right))
        return all_entries(parts), self.raw_size

    def _by_global_pattern(self, pattern: Array, has_adjoint: Array) -> Array:
        """Mask of second derivatives by (Q, T) that may differ from zero, (spans, width, width).

        The duration of the arc takes part wherever a leaf is divided by it.
        """
        leaf_map, found = self.first.leaf_map, pattern.copy()
        divided, T = leaf_map.order > 0, leaf_map.duration_column
        if leaf_map.free_durations:
            by_duration = pattern[:, :, divided].any(axis=2) | (has_adjoint & divided)
            found[:, :, T] |= by_duration
            found[:, T] |= by_duration
            found[:, T, T] |= by_duration[:, divided].any(axis=1)
        return found


def _upper(i: Any, j: Any) -> tuple[Any, Any]:
    """The places of (i, j) in an upper triangle."""
    return np.minimum(i, j), np.maximum(i, j)


class SpanSums:
    """Second derivatives by the control points of two groups of curves, for all pairs of groups.

    At a span, with the pairs of leaves (l, m) of two groups,

        M[i, j, i', j'] = sum over nodes k and pairs of  B_l[k, i] B_m[k, i'] H_lm[k, j, j'] / T^(l + m),

    for local control points i, i' and curves j, j'; of H the upper triangle, half of its diagonal.

    size : numbers of all sums, those of a pair of curves span after span
    """

    def __init__(self, leaf_map: LeafMap, H: Array) -> None:
        self._leaf_map = leaf_map
        self._first_node = np.flatnonzero(np.diff(leaf_map.span, prepend=-1))
        self.size, basis_size, counts, tables, products = 0, 0, [np.zeros(1, int)], [], []
        self._groups: list[tuple[LeafGroup, LeafGroup, Array, Array, Array, Array]] = []
        widths, places = [], []
        for number, group in enumerate(leaf_map.groups):
            for other in leaf_map.groups[number:]:
                shape = group.orders.size, group.curve_count, other.orders.size, other.curve_count
                own = H[group.columns, other.columns].reshape(shape).transpose(1, 3, 0, 2)
                j, other_j, left, right = np.nonzero(own >= 0)
                if not j.size:
                    continue
                width = group.basis.shape[2] * other.basis.shape[2]
                pairs = np.einsum("kil,kjm->lmkij", group.basis[:, 0], other.basis[:, 0])
                curves = j * other.curve_count + other_j
                starts = np.flatnonzero(np.diff(curves, prepend=-1))
                place = self.size + np.arange(starts.size) * self._first_node.size * width
                halves = (group is other) & (left == right) & (j == other_j)
                power = group.orders[left] + other.orders[right]
                at = basis_size + (left * other.orders.size + right) * leaf_map.nodes * width
                tables.append((own[j, other_j, left, right], power, np.where(halves, 0.5, 1.0), at))
                counts.append(np.diff(np.append(starts, j.size)))
                widths.append(np.full(starts.size, width))
                places.append(place)
                products.append(pairs.ravel())
                self._groups.append((group, other, j[starts], other_j[starts], own, place))
                self.size += starts.size * self._first_node.size * width
                basis_size += pairs.size
        rows, exponents, factors, bases = np.concatenate(tables or [np.zeros((4, 0))], axis=1)
        nodes = np.append(self._first_node, leaf_map.nodes)
        starts = np.cumsum(np.concatenate(counts))
        empty = np.zeros(0)
        self._tables = LoopTables(
            *(nodes, starts, rows.astype(int), exponents.astype(int), factors, bases.astype(int)),
            *(np.concatenate([empty, *products]), np.concatenate([empty, *widths]).astype(int)),
            np.concatenate([empty, *places]).astype(int),
        )

    def add(self, values: Array, powers: Array, into: Array) -> None:
        """Write the sums of rows of H, `values`, and of powers of 1/T into an array (size,)."""
        if self.size:
            add_over_spans(values, powers, *self._tables.arrays, into)

    def entries(self, pattern: Array) -> Entries:
        """Places of every number in M, by y; pattern : (spans, width, width), where H may not be zero."""
        N, first, spans, found = self._leaf_map.N, self._first_node, self._first_node.size, []
        for group, other, j, other_j, own, place in self._groups:
            shape = spans, group.orders.size, group.curve_count, other.orders.size, other.curve_count
            curves = pattern[:, group.columns, other.columns].reshape(shape).transpose(0, 2, 4, 1, 3)
            curves = np.any(curves & (own >= 0), axis=(3, 4))[:, j, other_j]
            mine, others = self._control_points(group), self._control_points(other)
            mask = curves[:, :, None, None] & mine[:, None, :, None] & others[:, None, None, :]
            span, item, i, other_i = np.nonzero(mask)
            width, right_width = mask.shape[2] * mask.shape[3], mask.shape[3]
            index = place[item] + span * width + i * right_width + other_i
            left = group.x_columns[first][span, i, j[item]]
            right = other.x_columns[first][span, other_i, other_j[item]]
            found.append(product_entries(index, N, left, N, right))
        none = np.zeros(0, dtype=int)
        return all_entries([Entries(none, none, none, np.zeros(0)), *found])

    def _control_points(self, group: LeafGroup) -> Array:
        """Local control points that act on the nodes of every span, (spans, i)."""
        return np.logical_or.reduceat(np.any(group.basis[:, 0] != 0.0, axis=2), self._first_node)
