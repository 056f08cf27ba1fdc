"""The leaves at the nodes as functions of the unknowns y; gradients and Jacobians by y from those by leaves.

A leaf z of order l at a node is Q / T^l, with Q = B y + c linear in y and the duration T of the arc. So there
are two steps: derivatives by z become derivatives by (Q, T) node by node, where dz/dT = -l z / T at fixed Q;
what remains is a constant sparse matrix (`sparse_entries`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.content_cache import LARGEST_CACHED, Content, cached_by_content, of_matrix
from trajopt.graph.protocols.block import Values
from trajopt.transcription.derivatives.sparse_entries import Entries, entries_of_rows, matrix_by_rows
from trajopt.transcription.spline_map import SplineMap

DURATION = "arc_duration"  # the leaf that is T
EXPONENTS = np.arange(7)  # powers of 1/T, up to two jerks in one product


@dataclass(frozen=True, eq=False)
class CurveGroup:
    """Leaves that are derivatives of the same curves.

    orders : of the leaves
    x_columns : (K, width, curves) of x, of the local control points
    columns : of these leaves among all leaves, side by side
    basis : (K, 1, width, orders) values of the basis functions of the local control points
    """

    leaves: tuple[str, ...]
    orders: Array
    x_columns: Array
    columns: slice
    basis: Array

    @property
    def curve_count(self) -> int:
        return self.x_columns.shape[2]


@dataclass(frozen=True, eq=False)
class LeafPoint:
    """Leaves at one y.

    z : (K, width)
    order : of the leaf of every column, (width,)
    powers : of 1/T, from 0 to the highest, (arcs, 7)
    scale, inverse : dz/dQ = 1/T^l (K, width) and 1/T (K, 1); one row where there is one arc
    values : z by name
    """

    z: Array
    order: Array
    powers: Array
    scale: Array
    inverse: Array
    values: Values

    @cached_property
    def slope(self) -> Array:
        """dz/dT at fixed Q, (K, width)."""
        return -self.order * self.inverse * self.z


class LeafMap:
    """The leaves that are needed, side by side: derivatives of joints, extra curves, then global leaves.

    Global leaves (time, durations, parameters) are linear in durations and parameters.

    columns : leaf -> its columns, spline leaves in the first `spline_width` ones
    order : (width,) the order of the leaf of every column
    duration_column : the column of T
    N : x = N y + c
    B : Q = B y + offset at all nodes, (K width, variables); the offset follows from c
    """

    def __init__(self, spline_map: SplineMap, N: sparse.csr_array, needed: Iterable[str]) -> None:
        wanted = {DURATION, *needed}
        shared = [leaf for leaf in spline_map.global_leaves if leaf in wanted]
        spline = [leaf for leaf in spline_map.spline if leaf in wanted]
        self.spline_map, self.N = spline_map, N
        self.leaves = (*spline, *shared)
        self.nodes = spline_map.nodes.count
        self.groups = _curve_groups(spline_map, spline)
        self.spline_width = max((group.columns.stop for group in self.groups), default=0)
        widths = [spline_map.global_jacobian(leaf).shape[1] for leaf in shared]
        by_leaf = [group.curve_count for group in self.groups for _ in group.leaves]
        ends = np.cumsum([0, *by_leaf, *widths]).tolist()
        self.columns = {leaf: slice(*place) for leaf, place in zip(self.leaves, pairwise(ends), strict=True)}
        self.width, self.duration_column = ends[-1], self.columns[DURATION].start
        by_column = [np.repeat(group.orders, group.curve_count) for group in self.groups]
        self.order = np.concatenate([*by_column, np.zeros(sum(widths), dtype=np.int64)]).astype(np.int64)
        arc = spline_map.nodes.arc
        self._arc = None if arc[-1] == 0 else arc
        self._first_of_arc = np.flatnonzero(np.diff(arc, prepend=-1))
        self._by_x = _leaf_matrix(spline_map, self.groups, shared, (self.nodes, self.width))
        self.B = sparse.csr_array(self._by_x @ N)
        self.B.sum_duplicates()
        self._B_transposed = self.B.T

    @staticmethod
    def of(spline_map: SplineMap, N: sparse.csr_array, needed: Iterable[str]) -> LeafMap:
        """The map, the same one as before for the same arguments."""
        if spline_map.layout.size > LARGEST_CACHED:
            return LeafMap(spline_map, N, needed)
        return _kept_map(spline_map, of_matrix(N), frozenset(needed))

    def offset(self, c: Array) -> Array:
        """What eliminated unknowns add to Q, (K width,), where x = N y + c."""
        return self._by_x @ c

    def at(self, y: Array, offset: Array) -> LeafPoint:
        """All leaves at y, real or complex."""
        Q = (self.B @ y + offset).reshape(self.nodes, self.width)
        inverse = 1.0 / Q[self._first_of_arc, self.duration_column]
        powers = inverse[:, None] ** EXPONENTS
        scale, inverse = self.by_node(powers[:, self.order]), self.by_node(inverse[:, None])
        z = Q * scale
        values = {leaf: z[:, place].copy() for leaf, place in self.columns.items()}
        return LeafPoint(z, self.order, powers, scale, inverse, values)

    def depending(self, pattern: Values, width: int) -> Array:
        """Which components of a quantity depend on any unknown at which node, (K, width).

        pattern : leaf -> where derivatives of the quantity by it may differ from zero, (width, leaf width)
        """
        moving = np.diff(self.B.indptr).reshape(self.nodes, self.width) > 0
        found = np.zeros((self.nodes, width), dtype=bool)
        for leaf, part in pattern.items():
            place = self.columns[leaf]
            found |= moving[:, place] @ part.T
            if self.order[place.start] > 0:  # divided by the duration of the arc
                found |= moving[:, [self.duration_column]] & part.any(axis=1)
        return found

    def by_node(self, by_arc: Array) -> Array:
        """(arcs, ...) as (K, ...), or as (1, ...) where there is one arc."""
        return by_arc if self._arc is None else by_arc[self._arc]

    def gradient(self, point: LeafPoint, bar: Array) -> Array:
        """d/dy of a scalar from its adjoints bar (K, width) of z."""
        by_Q = bar * point.scale
        by_Q[:, self.duration_column] += (bar * point.slope).sum(axis=1)
        return self._B_transposed @ by_Q.ravel()

    # -- Jacobian -----------------------------------------------------------------------------------------

    def jacobian(self, point: LeafPoint, D: Array) -> Array:
        """The raw derivatives of `jacobian_entries`, by (Q, T), from those by z, D (K, rows, width)."""
        raw = D * point.scale[:, None, :]
        raw[:, :, self.duration_column] += np.matmul(D, point.slope[:, :, None])[:, :, 0]
        return raw.ravel()

    def jacobian_at(self, point: LeafPoint, D: Array, node: Array) -> Array:
        """As `jacobian` for single rows at nodes: D (lines, width) at the nodes `node`, (lines,)."""
        raw = D * (point.scale if len(point.scale) == 1 else point.scale[node])
        raw[:, self.duration_column] += (D * point.slope[node]).sum(axis=1)
        return raw.ravel()

    def jacobian_entries(self, pattern: Array, stride: int) -> tuple[Entries, int]:
        """Node and row, as k * stride + row, and column of y of every raw derivative; and how many there are.

        pattern : (rows, width), where D may differ from zero
        """
        pattern = pattern.copy()
        pattern[:, self.duration_column] |= pattern[:, self.order > 0].any(axis=1)
        shape = (self.nodes, *pattern.shape)
        index = np.flatnonzero(np.broadcast_to(pattern, shape))
        k, row, leaf = np.unravel_index(index, shape)
        origin, column, factor = entries_of_rows(self.B, k * self.width + leaf)
        place = (k * stride + row)[origin]
        return Entries(index[origin], place, column, factor), int(np.prod(shape))


@cached_by_content
def _kept_map(spline_map: SplineMap, N: Content[sparse.csr_array], needed: frozenset[str]) -> LeafMap:
    return LeafMap(spline_map, N.value, needed)


def _curve_groups(spline_map: SplineMap, spline: list[str]) -> tuple[CurveGroup, ...]:
    by_curves: dict[tuple[int, int], list[str]] = {}
    for leaf in spline:
        curves = spline_map.spline[leaf].curves
        by_curves.setdefault((curves.start, curves.stop), []).append(leaf)
    groups, cursor = [], 0
    for leaves in by_curves.values():
        first = spline_map.spline[leaves[0]]
        at_nodes = spline_map.groups[first.group]
        columns = at_nodes.columns[:, :, at_nodes.own(first.curves)]
        orders = np.array([spline_map.spline[leaf].order for leaf in leaves])
        end = cursor + orders.size * first.width
        basis = np.ascontiguousarray(np.moveaxis(at_nodes.basis[orders], 0, -1)[:, None])
        groups.append(CurveGroup(tuple(leaves), orders, columns, slice(cursor, end), basis))
        cursor = end
    return tuple(groups)


def _leaf_matrix(spline_map: SplineMap, groups, shared, shape: tuple[int, int]) -> sparse.csr_array:
    """Q at all nodes, component by component, as a matrix times x."""
    nodes, width = shape
    tail = spline_map.layout.control_point_count
    rows, columns, values = [], [], []
    for group in groups:
        by_order = group.basis[:, 0].transpose(0, 2, 1)[:, :, None, :]  # (K, orders, 1, i)
        target = group.x_columns.transpose(0, 2, 1)[:, None]  # (K, 1, curves, i)
        full = np.broadcast_shapes(by_order.shape, target.shape)
        component = group.columns.start + np.arange(full[1] * full[2]).reshape(full[1], full[2], 1)
        row = np.arange(nodes)[:, None, None, None] * width + component
        for into, part in ((rows, row), (columns, target), (values, by_order)):
            into.append(np.broadcast_to(part, full).ravel())
    cursor = groups[-1].columns.stop if groups else 0
    for leaf in shared:
        jacobian = spline_map.global_jacobian(leaf)
        k, component, column = np.nonzero(jacobian)
        rows.append(k * width + cursor + component)
        columns.append(tail + column)
        values.append(jacobian[k, component, column])
        cursor += jacobian.shape[1]
    row, column, value = (np.concatenate(parts) for parts in (rows, columns, values))
    kept = value != 0.0
    return matrix_by_rows(row[kept], column[kept], value[kept], (nodes * width, spline_map.layout.size))
