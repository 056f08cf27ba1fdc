"""Second derivatives by pairs of leaves that come through other quantities, pair by pair.

With D_u = du/dz, z the leaves, and u and w inputs of blocks that are no leaves,

    H = sum over u of D_u' P_u,    P_u = sum over w of [d^2 (lambda . y) / du dw] D_w.

One product over all leaves has entries that stand in H twice, and multiplies by zeros wherever a quantity
depends on some leaves only, as places depend on positions alone. Here, quantities that depend on the same
leaves and stand in neighbouring rows of D are one run; a pair of leaves gets the products of the runs that
depend on both. Worth while where leaves are wide: below ten joints the single product is faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.graph.graph import Graph, neighbours
from trajopt.graph.protocols.block import Pairs


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
