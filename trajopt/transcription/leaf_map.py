"""The leaves at the nodes as functions of the unknowns; gradients by y from those by leaves; nearest motions.

At a node of arc a, with control points P and the arc's duration T_a,

    q = B_0 P,   v = B_1 P / T_a,   a = B_2 P / T_a^2,   jerk = B_3 P / T_a^3,   t = s T_a + earlier T,

so every leaf is z = Q / T^l with Q = B_l P linear in x (`SplineMap`), and in y (`LeafMap`). Additional curves
(contact forces, for example) are columns of P, of order 0, or have P and B of their own, as controls do.
Derivatives by z become derivatives by (Q, T) node by node, with dz/dT = -l z / T at fixed Q; the rest is a
constant sparse matrix (`solvers/matrices.py`).

Solvers order the unknowns in time by the spans that each acts on, `unknown_spans`.

Among the motions that meet the linear equations, `nearest_point` is the one nearest to another.

With x = N y + c the solutions of the equations and x' a motion that meets others (another goal's), it is

    min over y of  sum over nodes and curves of (d^2 (p - p') / ds^2)^2  +  |x - x'|^2,

p and p' the curves of x and x', s the normalised time of an arc. So it differs from x' along all of the
motion, by a smooth curve: with only those control points moved that the equations ask for, positions would
change by as much within one interval, and accelerations by hundreds of times more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import splu

from trajopt.base.arrays import Array, cached_if_small, keyed
from trajopt.graph.protocols import Values
from trajopt.graph.quantities import SplineLeaf, parameter_leaf, slices_of
from trajopt.problem.problem import Problem
from trajopt.solvers.matrices import entries_of_rows, matrix_of_parts, product
from trajopt.splines.basis import HIGHEST_DERIVATIVE, SplineBasis
from trajopt.splines.trajectory import Nodes
from trajopt.transcription.elimination import Elimination, GeneralSolution
from trajopt.transcription.unknowns import Layout, layout_of


@dataclass(frozen=True, eq=False)
class GroupAtNodes:
    """Curves with a common basis, at the nodes.

    basis : (4, K, width) derivatives of the basis functions of the local control points
    columns : (K, width, curves) the column of x of local control point i and curve j
    first_curve : the first of them among all curves
    """

    basis: Array
    columns: Array
    first_curve: int

    def own(self, curves: slice) -> slice:
        """These curves, counted among those of the group."""
        return slice(curves.start - self.first_curve, curves.stop - self.first_curve)


class SplineMap:
    """The leaves at all nodes as functions of x: which columns, basis functions and durations each takes.

    layout : of x
    groups : curves with a common basis, the joints' first
    spline : leaves that are derivatives of curves, by name, with order and curves
    global_jacobians : leaves that are linear in durations and parameters, by name, with their constant
        derivatives by these, (K, width, durations and parameters)
    """

    def __init__(self, nodes: Nodes, spline: Mapping[str, SplineLeaf], layout: Layout) -> None:
        self.nodes, self.spline, self.layout = nodes, spline, layout
        self.groups: list[GroupAtNodes] = []
        for places in layout.groups:
            basis = basis_at(nodes, places.bases) if self.groups else nodes.basis
            points = np.concatenate([one.first_control_point for one in places.bases])[nodes.span]
            first = places.offsets[nodes.arc] + places.curve_count * points
            local = places.curve_count * np.arange(basis.shape[2])[:, None] + np.arange(places.curve_count)
            # A padded basis function of a short arc may point past it; its values are zero.
            columns = np.minimum(first[:, None, None] + local, max(places.stop - 1, 0))
            self.groups.append(GroupAtNodes(basis, columns, places.first_curve))
        self.global_jacobians = _global_jacobians(nodes, layout)

    @staticmethod
    def of(problem: Problem) -> SplineMap:
        """The map of a problem; problems with the same nodes, curves and parameters share it."""
        nodes, spline, layout = problem.trajectory.nodes, problem.spline_leaves, layout_of(problem)
        leaves = [(name, each.order, each.curves.stop, each.group) for name, each in spline.items()]
        return _spline_map(layout.size, nodes, keyed(spline, *leaves), keyed(layout, layout.key))

    def entries(self, leaf: str, component: int, node: int) -> tuple[Array, Array]:
        """Columns of x and factors of the numerator T^l z_l of a leaf's component at a node."""
        spline = self.spline[leaf]
        group = self.groups[spline.group]
        own = group.own(spline.curves).start + component
        return group.columns[node, :, own], group.basis[spline.order, node]

    def fill(self, x: Array, leaf: str, value: ArrayLike) -> None:
        """Write a value (width,) to every control point of an additional curve in x, or to a parameter."""
        if (spline := self.spline.get(leaf)) is None:
            parameters = {parameter_leaf(name): place for name, place in self.layout.parameters.items()}
            x[parameters[leaf]] = value
            return
        places = self.layout.groups[spline.group]
        for points in places.control_points(x):
            points[:, spline.curves.start - places.first_curve : spline.curves.stop - places.first_curve] = (
                value
            )

    def leaf_values(self, x: Array, needed: set[str]) -> Values:
        """The needed leaves at all nodes, (K, width); real or complex x."""
        duration = x[self.layout.durations][self.nodes.arc, None]
        values: Values = {}
        for leaf, spline in self.spline.items():
            if leaf in needed:
                group = self.groups[spline.group]
                local = x[group.columns[:, :, group.own(spline.curves)]]
                shape = np.einsum("ki,kij->kj", group.basis[spline.order], local)
                values[leaf] = shape / duration**spline.order
        tail = x[self.layout.control_point_count :]
        for leaf in needed.difference(self.spline):
            values[leaf] = self.global_jacobians[leaf] @ tail
        return values


_spline_map = cached_if_small(SplineMap)


def basis_at(nodes: Nodes, bases: Sequence[SplineBasis]) -> Array:
    """d^l B / ds^l of bases on the breakpoints of the arcs, at the nodes, (4, K, width)."""
    width, first = max(basis.degree for basis in bases) + 1, 0
    found = np.zeros((HIGHEST_DERIVATIVE + 1, nodes.count, width))
    for arc, basis in enumerate(bases):
        here = np.flatnonzero(nodes.arc == arc)
        values = basis.local_values(nodes.span[here] - first, nodes.s[here])
        found[:, here, : values.shape[2]] = values
        first += basis.span_count
    return found


def _global_jacobians(nodes: Nodes, layout: Layout) -> dict[str, Array]:
    """Constant Jacobians of time, durations and parameters at the nodes by durations and parameters."""
    arcs, shared = len(layout.bases), layout.size - layout.control_point_count
    shape = (nodes.count, 1, shared)
    time, total, own = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    every = np.arange(nodes.count)
    own[every, 0, nodes.arc] = 1.0
    total[:, 0, :arcs] = 1.0
    time[:, 0, :arcs] = np.arange(arcs) < nodes.arc[:, None]
    time[every, 0, nodes.arc] = nodes.s
    found = {"t": time, "duration": total, "arc_duration": own}
    for name, place in layout.parameters.items():
        width = place.stop - place.start
        selection = np.zeros((nodes.count, width, shared))
        first = place.start - layout.control_point_count
        selection[:, np.arange(width), first + np.arange(width)] = 1.0
        found[parameter_leaf(name)] = selection
    return found


DURATION = "arc_duration"  # the leaf that is T
EXPONENTS = np.arange(7)  # powers of 1/T, up to two jerks in one product


@dataclass(frozen=True, eq=False)
class LeafGroup:
    """Leaves that are derivatives of the same curves.

    orders : of the leaves
    x_columns : (K, width, curves) of x, of the local control points
    columns : of these leaves among all leaves, side by side
    basis : (K, 1, width, orders) values of the basis functions of the local control points
    """

    leaves: tuple[str, ...]
    curve_count: int
    orders: Array
    x_columns: Array
    columns: slice
    basis: Array


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

    Global leaves (time, durations, parameters) are linear in durations and parameters. K are here the nodes
    that are evaluated: collocation leaves out ends of intervals, where nothing is asked.

    kept : (K,) these, among all nodes; at least one of every span
    arc, span : (K,) of these nodes
    columns : leaf -> its columns, spline leaves in the first `spline_width` ones
    order : (width,) the order of the leaf of every column
    duration_column : the column of T
    N : x = N y + c
    B : Q = B y + offset at the nodes, (K width, variables); the offset follows from c
    free_durations : whether T depends on y anywhere; what is by T is left out else
    """

    def __init__(
        self, spline_map: SplineMap, N: sparse.csr_array, needed: Iterable[str], kept: Array
    ) -> None:
        wanted = {DURATION, *needed}
        shared = [leaf for leaf in spline_map.global_jacobians if leaf in wanted]
        spline = [leaf for leaf in spline_map.spline if leaf in wanted]
        self.spline_map, self.N = spline_map, N
        self.leaves = (*spline, *shared)
        self.kept, self.nodes = kept, kept.size
        self.arc, self.span = spline_map.nodes.arc[kept], spline_map.nodes.span[kept]
        self.groups = _curve_groups(spline_map, spline, kept)
        self.spline_width = self.groups[-1].columns.stop if self.groups else 0
        widths = [spline_map.global_jacobians[leaf].shape[1] for leaf in shared]
        by_leaf = [group.curve_count for group in self.groups for _ in group.leaves]
        self.columns = slices_of(dict(zip(self.leaves, [*by_leaf, *widths], strict=True)))
        self.width, self.duration_column = sum(by_leaf) + sum(widths), self.columns[DURATION].start
        by_column = [np.repeat(group.orders, group.curve_count) for group in self.groups]
        self.order = np.concatenate([*by_column, np.zeros(sum(widths), dtype=np.int64)]).astype(np.int64)
        self._first_of_arc = np.flatnonzero(np.diff(self.arc, prepend=-1))
        self._by_x = _leaf_matrix(spline_map, self.groups, shared, kept, self.width)
        self.B = sparse.csr_array(self._by_x @ N)
        self.B.sum_duplicates()
        self._B_transposed = sparse.csr_array(self.B.T)
        entries = np.diff(self.B.indptr).reshape(self.nodes, self.width)
        self.free_durations = bool(entries[:, self.duration_column].any())

    @staticmethod
    def of(
        spline_map: SplineMap, N: sparse.csr_array, needed: Iterable[str], kept: Array | None = None
    ) -> LeafMap:
        """The map, the same one as before for the same arguments; None: all nodes are kept."""
        nodes = np.arange(spline_map.nodes.count) if kept is None else kept
        return _leaf_map(spline_map.layout.size, spline_map, N, frozenset(needed), nodes)

    def offset(self, c: Array) -> Array:
        """The share of eliminated unknowns in Q, (K width,), where x = N y + c."""
        return product(self._by_x, c)

    def at(self, y: Array, offset: Array) -> LeafPoint:
        """All leaves at y, real or complex."""
        Q = (product(self.B, y) + offset).reshape(self.nodes, self.width)
        inverse = 1.0 / Q[self._first_of_arc, self.duration_column]
        powers = inverse[:, None] ** EXPONENTS
        scale, inverse = powers[:, self.order], inverse[:, None]
        if self.arc[-1] > 0:
            scale, inverse = scale[self.arc], inverse[self.arc]
        z = Q * scale
        values = {leaf: z[:, place].copy() for leaf, place in self.columns.items()}
        return LeafPoint(z, self.order, powers, scale, inverse, values)

    def depending(self, pattern: Values, width: int) -> Array:
        """Mask of the components of a quantity that depend on any unknown, by node, (K, width).

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

    def gradient(self, point: LeafPoint, bar: Array) -> Array:
        """d/dy of a scalar from its adjoints bar (K, width) of z."""
        by_Q = bar * point.scale
        if self.free_durations:
            by_Q[:, self.duration_column] += (bar * point.slope).sum(axis=1)
        return product(self._B_transposed, by_Q.ravel())


_leaf_map = cached_if_small(LeafMap)


def _curve_groups(spline_map: SplineMap, spline: list[str], kept: Array) -> tuple[LeafGroup, ...]:
    by_curves: dict[tuple[int, int], list[str]] = {}
    for leaf in spline:
        curves = spline_map.spline[leaf].curves
        by_curves.setdefault((curves.start, curves.stop), []).append(leaf)
    groups, cursor = [], 0
    for leaves in by_curves.values():
        first = spline_map.spline[leaves[0]]
        at_nodes = spline_map.groups[first.group]
        columns = at_nodes.columns[kept][:, :, at_nodes.own(first.curves)]
        orders = np.array([spline_map.spline[leaf].order for leaf in leaves])
        end = cursor + orders.size * first.width
        basis = np.ascontiguousarray(np.moveaxis(at_nodes.basis[np.ix_(orders, kept)], 0, -1)[:, None])
        groups.append(LeafGroup(tuple(leaves), first.width, orders, columns, slice(cursor, end), basis))
        cursor = end
    return tuple(groups)


def _leaf_matrix(spline_map: SplineMap, groups, shared, kept: Array, width: int) -> sparse.csr_array:
    """Q at the kept nodes, component by component, as a matrix times x."""
    nodes = kept.size
    tail = spline_map.layout.control_point_count
    parts = []
    for group in groups:
        by_order = group.basis[:, 0].transpose(0, 2, 1)[:, :, None, :]  # (K, orders, 1, i)
        target = group.x_columns.transpose(0, 2, 1)[:, None]  # (K, 1, curves, i)
        full = np.broadcast_shapes(by_order.shape, target.shape)
        component = group.columns.start + np.arange(full[1] * full[2]).reshape(full[1], full[2], 1)
        row = np.arange(nodes)[:, None, None, None] * width + component
        parts.append(tuple(np.broadcast_to(part, full).ravel() for part in (row, target, by_order)))
    cursor = groups[-1].columns.stop if groups else 0
    for leaf in shared:
        jacobian = spline_map.global_jacobians[leaf][kept]
        k, component, column = np.nonzero(jacobian)
        parts.append((k * width + cursor + component, tail + column, jacobian[k, component, column]))
        cursor += jacobian.shape[1]
    return matrix_of_parts(parts, (nodes * width, spline_map.layout.size))


@cached_if_small
def unknown_spans(spline_map: SplineMap, N: sparse.csr_array) -> Array:
    """First and last span of every unknown, (n, 2), by x = N y + c; NaN for one that acts on none.

    A span counts where a control point that follows the unknown has a basis function that is not zero at one
    of its nodes. Durations and parameters act on no span of their own, but on all through others.
    """
    size, span = spline_map.layout.size, spline_map.nodes.span
    first, last = np.full(size, np.inf), np.full(size, -np.inf)
    for group in spline_map.groups:
        acts = np.any(group.basis != 0.0, axis=0)  # (K, width)
        node, point = np.nonzero(acts)
        columns = group.columns[node, point]
        here = np.broadcast_to(span[node, None], columns.shape)
        np.minimum.at(first, columns, here)
        np.maximum.at(last, columns, here)
    found = np.stack([np.full(N.shape[1], np.inf), np.full(N.shape[1], -np.inf)], axis=1)
    _, unknown, _ = entries_of_rows(N, np.arange(size))
    row = np.repeat(np.arange(size), np.diff(N.indptr))
    np.minimum.at(found[:, 0], unknown, first[row])
    np.maximum.at(found[:, 1], unknown, last[row])
    found[~np.isfinite(found[:, 0])] = np.nan
    return found


def nearest_change(spline_map: SplineMap, solution: GeneralSolution) -> Array:
    """M (free, fixed): where the entries of x that are not free change by d, those that are change by M d."""
    size, N = solution.A.shape[1], solution.N
    bent = [_second_derivatives(group.basis[2], group.columns, size) for group in spline_map.groups]
    metric = sum((each.T @ each for each in bent), sparse.eye_array(size, format="csr"))
    mixed = (N.T @ metric)[:, solution.fixed]
    return -splu(sparse.csc_array(N.T @ metric @ N)).solve(mixed.toarray())


def nearest_point(elimination: Elimination, change: Array, fixed: Array, x: Array) -> Array:
    """The y of the motion nearest to x; `change` is that of `nearest_change`, `fixed` as there."""
    y = elimination.reduce(x)
    return y + change @ (elimination.expand(y) - x)[fixed]


def _second_derivatives(basis: Array, columns: Array, size: int) -> sparse.csr_array:
    """d^2 p / ds^2 of some curves at all nodes as a matrix times x; arguments as in `GroupAtNodes`."""
    nodes, _, curves = columns.shape
    rows = np.arange(nodes * curves).reshape(nodes, 1, curves)
    parts = np.broadcast_arrays(rows, columns, basis[:, :, None])
    row, column, value = (part.ravel() for part in parts)
    return matrix_of_parts([(row, column, value)], (nodes * curves, size))
