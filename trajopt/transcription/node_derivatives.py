"""Derivatives of quantities by the leaves at all nodes, as sums of products whose places are found once.

With y = f(u) the blocks, z the leaves and D = d(all quantities)/dz,

    D_y = sum_u (dy/du) D_u,

and what of D is not zero follows from the patterns of the blocks. Every entry is a row of an array with one
number of each node; every sum is a list of products of two rows, which `tape_kernels` adds up: a tape, as
automatic differentiation calls it. What blocks give stands where D has it, so that derivatives by leaves are
only copied. On nonzero entries alone, D of a trot, 200 quantities by 73 leaves, is a fifth of the numbers.
`transcription/hessian.py` has second derivatives.

By the numerators Q of the leaves z = Q / T^l and the arc's duration T, with z' = dz/dT = -l z / T at fixed Q,
derivatives are D / T^l and, by T, sum over the leaves of D z'.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from trajopt.base.arguments import implements
from trajopt.base.arrays import Array, read_only
from trajopt.graph.graph import ChainRule
from trajopt.graph.protocols import Block, Derivatives, NonzeroBlock, Pairs
from trajopt.solvers.matrices import Entries, entries_of_rows
from trajopt.transcription.leaf_map import EXPONENTS, LeafMap, LeafPoint
from trajopt.transcription.tape_kernels import add_row_products

ONE = 0  # the row of T^0; those of 1/T, 1/T^2 ... follow
LANES = 16  # nodes that compiled loops take at once
APART = 8  # further numbers of a row, so that rows do not meet in the same lines of the processor's cache


class LoopTables:
    """Arrays that direct a compiled loop; read-only in copies, too, as loops are compiled for such arrays."""

    def __init__(self, *arrays: Array) -> None:
        self.arrays = read_only(arrays)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(read_only(state))


class Tape:
    """Sums of products of two rows each, which are added to the rows of an array.

    parts : (targets, lefts, rights, factors) of terms, one part after the other
    fresh : (rows,) bool, the targets that are zero before their first term
    """

    def __init__(self, parts: Sequence[Sequence[Any]], fresh: Array) -> None:
        columns = [_by_target(np.broadcast_arrays(*part)) for part in parts if np.size(part[0])]
        target, left, right, factor = np.concatenate(columns or [np.zeros((4, 0))], axis=1)
        first = np.flatnonzero(np.diff(target, prepend=-1))
        targets = target[first].astype(int)
        own, earliest = np.unique(targets, return_index=True)
        clears = np.zeros(first.size, dtype=bool)
        clears[earliest] = fresh[own]
        starts = np.append(first, target.size)
        self._tables = LoopTables(targets, starts, left.astype(int), right.astype(int), factor, clears)

    def run(self, into: Array, left: Array, right: Array, count: int) -> None:
        """Add the products of rows of `left` and `right` to `into`, (rows, lanes), in the first lanes."""
        if self._tables.arrays[0].size:
            add_row_products(into, left, right, count, *self._tables.arrays)


def _by_target(part: Sequence[Array]) -> Array:
    """The terms of a part, whose order does not matter, one target after the other."""
    return np.stack([each[np.argsort(part[0], kind="stable")] for each in part]).astype(float)


def one_part(terms: Sequence[Sequence[Any]]) -> list[Array]:
    """The terms of several parts of a tape as one part."""
    together = [np.broadcast_arrays(*each) for each in terms]
    return [np.concatenate(each) for each in zip(*together, strict=True)] or [np.zeros(0)] * 4


class Rows:
    """Numbers of rows of an array, given out one after the other; and those that blocks' numbers come to."""

    def __init__(self) -> None:
        self.count = 0
        self.copied: list[tuple[int, tuple[str, str] | None, Array]] = []

    def more(self, *shape: int) -> Array:
        """The next rows, as many as an array of this shape has entries."""
        first = self.count
        self.count += int(np.prod(shape))
        return np.arange(first, self.count).reshape(shape)

    def where(self, mask: Array) -> Array:
        """The next rows where a mask is true, -1 elsewhere."""
        found = np.full(mask.shape, -1)
        found[mask] = self.more(int(np.count_nonzero(mask)))
        return found

    def mask(self, *targets: Array) -> Array:
        """The mask of the rows given out so far that are `targets`, (count,)."""
        found = np.zeros(self.count, dtype=bool)
        found[np.concatenate([np.zeros(0, dtype=int), *map(np.ravel, targets)])] = True
        return found

    def copies_of(self, number: int, block: Block, pattern: Pairs) -> Pairs:
        """The next rows, to which the numbers of all pairs of a block are copied, -1 for zeros left out."""
        first, is_sparse = self.count, implements(block, NonzeroBlock)
        found = {
            pair: self.where(part) if is_sparse else self.more(*part.shape) for pair, part in pattern.items()
        }
        if not is_sparse:
            self.copied += [(number, pair, own) for pair, own in found.items()]
        elif self.count > first:
            self.copied.append((number, None, np.arange(first, self.count)))
        return found


class RowNumbers:
    """The numbers of rows, (rows, lanes); lanes behind the nodes are zero at first."""

    def __init__(self, rows: Rows, nodes: int, dtype: np.dtype) -> None:
        self.nodes, self.lanes = nodes, lane_width(nodes) - APART
        self.values = np.zeros((rows.count, lane_width(nodes)), dtype)
        self._copied = []
        for block, pair, own in rows.copied:
            lanes = self.values[own.min() : own.max() + 1].reshape(*own.shape, -1)
            self._copied.append((block, pair, np.moveaxis(lanes[..., :nodes], -1, 0)))

    def copy(self, found: Sequence[Derivatives]) -> None:
        """Copy what blocks gave, in their order; pairs that they leave out are zero."""
        for block, pair, into in self._copied:
            given: Any = found[block]
            np.copyto(into, given if pair is None else given.get(pair, 0.0))

    def write(self, rows: slice, by_node: Array) -> None:
        """Write numbers (nodes, rows)."""
        np.copyto(self.values[rows, : self.nodes].T, by_node)

    def read(self, rows: slice) -> Array:
        """The numbers as a contiguous array, (nodes, rows)."""
        return np.ascontiguousarray(self.values[rows, : self.nodes].T)


class OfThread(threading.local):
    """Attributes of one thread alone, as two must not write into one array; none when copied or pickled."""

    def __reduce__(self) -> tuple[type[OfThread], tuple[()]]:
        return OfThread, ()


class FirstNumbers:
    """Numbers of first derivatives at one point; `of` are the partials that they were computed from."""

    def __init__(self, structure: FirstDerivatives, dtype: np.dtype) -> None:
        self.at = RowNumbers(structure.rows, structure.nodes, dtype)
        self.by_row = RowNumbers(structure.row_rows, structure.nodes, dtype)
        self.bar = RowNumbers(structure.bar_rows, structure.nodes, dtype)
        self.of: Sequence[Derivatives] | None = None


class FirstDerivatives:
    """The rows of D and its sums, and those of the derivatives of bounded quantities and of a weighted sum.

    Rows of the array of numbers: powers of 1/T from 0 on, then
    slope, over_T : z' and z' / T, of every column
    D : (row_count, width) derivatives of quantities by leaves, laid out as by `ChainRule`, -1 for zeros
    """

    def __init__(self, chain: ChainRule, leaf_map: LeafMap, pattern: Array, weighed: Array) -> None:
        """Structure of a chain; pattern : (row_count, width), nonzeros of D; weighed : (used_count,) bool."""
        self.leaf_map, self.nodes, self.rows = leaf_map, leaf_map.nodes, Rows()
        self.rows.more(EXPONENTS.size)
        self.slope, self.over_T = self.rows.more(leaf_map.width), self.rows.more(leaf_map.width)
        self.D = np.full(pattern.shape, -1)
        #: of the partials between quantities that are no leaves: rows of D of y and u, and their own rows
        self.edges: list[tuple[Array, Array, Array]] = []
        self._forward = self._sums(chain, pattern)
        bounded = slice(0, chain.bounded_count)
        self.by_rows, self.row_rows, self._rows_of = self._by_numerators(self.D[bounded])
        self.bar_rows = Rows()
        self.bar_rows.more(leaf_map.width)
        place, column = np.nonzero((self.D[: chain.used_count] >= 0) & weighed[:, None])
        weights = (column, place, self.D[place, column], 1.0)
        self.bars = np.unique(column)
        self._weighted = Tape([weights], np.ones(leaf_map.width, dtype=bool))
        self._own = OfThread()

    def _sums(self, chain: ChainRule, pattern: Array) -> Tape:
        """Places of all entries of D, and the sums of those that come through other quantities."""
        parts, compact = [], []
        for leaf in set(chain.used).intersection(chain.graph.leaves):
            own = np.arange(chain.graph.width[leaf])
            self.D[chain.rows[leaf].start + own, chain.columns[leaf].start + own] = ONE
        for number, block in enumerate(chain.graph.blocks):
            partials, terms = block.pattern(), []
            copies = self.rows.copies_of(number, block, partials)
            for (output, leaf), own in copies.items():
                if leaf in chain.columns:
                    place = chain.rows[output], chain.columns[leaf]
                    self.D[place] = np.where(pattern[place], own, -1)
            for output in block.outputs:
                place = chain.rows[output]
                missing = pattern[place] & (self.D[place] < 0)
                self.D[place] = np.where(missing, self.rows.where(missing), self.D[place])
                compact.append(self.D[place][missing])
            for (output, source), part in partials.items():
                if source not in chain.columns:
                    i, j = np.nonzero(part)
                    own = copies[output, source][i, j]
                    y, u = chain.rows[output].start + i, chain.rows[source].start + j
                    self.edges.append((y, u, own))
                    at, column = np.nonzero(self.D[u] >= 0)
                    terms.append((self.D[y[at], column], own[at], self.D[u[at], column], 1.0))
            parts.append(one_part(terms))
        return Tape(parts, self.rows.mask(*compact))

    def _by_numerators(self, D: Array) -> tuple[Array, Rows, Tape]:
        """Rows of the derivatives of quantities, D (m, width), by (Q, T), -1 for zeros, and their sums."""
        order, T = self.leaf_map.order, self.leaf_map.duration_column
        mask, rows = D >= 0, Rows()
        divided = mask & (order > 0) if self.leaf_map.free_durations else np.zeros_like(mask)
        whole = mask.copy()
        whole[:, T] |= divided.any(axis=1)
        found = rows.where(whole)
        place, column = np.nonzero(mask)
        at, by = np.nonzero(divided)
        own = (found[place, column], D[place, column], order[column], 1.0)
        through = (found[at, T], D[at, by], self.slope[by], 1.0)
        return found, rows, Tape([one_part([own, through])], np.ones(rows.count, dtype=bool))

    # --- numbers --------------------------------------------------------------------------------------

    def numbers(self, point: LeafPoint, partials: Sequence[Derivatives]) -> FirstNumbers:
        """D at a point with the direct partials of the blocks; it holds until it is computed at another."""
        kept: dict[str, FirstNumbers] = vars(self._own)
        kind = point.z.dtype.char
        if kind not in kept:
            kept[kind] = FirstNumbers(self, point.z.dtype)
        found = kept[kind]
        if found.of is not partials:
            found.of = None
            at = found.at
            powers = point.powers if len(point.powers) == 1 else point.powers[self.leaf_map.arc]
            at.write(slice(0, EXPONENTS.size), powers)
            if self.leaf_map.free_durations:
                at.write(consecutive(self.slope), point.slope)
                at.write(consecutive(self.over_T), point.slope * point.inverse)
            at.copy(partials)
            self._forward.run(at.values, at.values, at.values, at.lanes)
            found.of = partials
        return found

    def jacobian(self, numbers: FirstNumbers) -> Array:
        """The raw derivatives of `entries`."""
        at, by_row = numbers.at, numbers.by_row
        self._rows_of.run(by_row.values, at.values, at.values, at.lanes)
        return by_row.values.ravel()

    def gradient(self, numbers: FirstNumbers, weights: Array) -> Array:
        """Adjoints of the leaves, (nodes, width), of a sum of quantities; weights : (used_count, lanes)."""
        at, bar = numbers.at, numbers.bar
        self._weighted.run(bar.values, weights.astype(at.values.dtype, copy=False), at.values, at.lanes)
        return bar.read(slice(0, self.leaf_map.width))

    def lanes_of(self, by_node: Array) -> Array:
        """Numbers (nodes, ...) as lanes, (..., lanes), zero behind the nodes."""
        found = np.zeros((*by_node.shape[1:], lane_width(self.nodes)))
        found[..., : self.nodes] = np.moveaxis(by_node, 0, -1)
        return found

    # --- structure ------------------------------------------------------------------------------------

    def entries(self, stride: int) -> tuple[Entries, int]:
        """Node and row, as k * stride + row, and column of y of every raw derivative; and their number."""
        leaf_map, width, k = self.leaf_map, lane_width(self.nodes), np.arange(self.nodes)[:, None]
        row, leaf = np.nonzero(self.by_rows >= 0)
        origin, column, factor = entries_of_rows(leaf_map.B, (k * leaf_map.width + leaf).ravel())
        index, place = (self.by_rows[row, leaf] * width + k).ravel(), (k * stride + row).ravel()
        return Entries(index[origin], place[origin], column, factor), self.row_rows.count * width


def lane_width(nodes: int) -> int:
    """Numbers of one row: lanes that are computed, and those between it and the next one."""
    return -(-nodes // LANES) * LANES + APART


def consecutive(rows: Array) -> slice:
    """Rows that stand one after the other as a slice."""
    return slice(int(rows[0]), int(rows[-1]) + 1)
