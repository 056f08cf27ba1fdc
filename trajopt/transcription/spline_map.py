"""From the unknowns x to the leaves of the graph at the nodes: basis matrices and powers of 1/T.

At a node of arc a, with control points P and the arc's duration T_a,

    q = B_0 P,   v = B_1 P / T_a,   a = B_2 P / T_a^2,   jerk = B_3 P / T_a^3,   t = s T_a + earlier T,

so every leaf is z_l = Q_l / T^l with Q_l = B_l P linear in x. Additional curves (contact forces, say) are
columns of P, of order 0, or have P and B of their own, as controls do. Their derivatives by the unknowns
are taken in `derivatives`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trajopt.base.arrays import Array
from trajopt.base.content_cache import LARGEST_CACHED, Content, cached_by_content
from trajopt.graph.leaves import SplineLeaf, parameter_leaf
from trajopt.graph.protocols.block import Values
from trajopt.problem.problem import Problem
from trajopt.splines.basis import HIGHEST_DERIVATIVE, SplineBasis
from trajopt.splines.trajectory import Nodes
from trajopt.transcription.unknowns import CurvePlaces, Layout, layout_of


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
    """

    def __init__(self, nodes: Nodes, spline: Mapping[str, SplineLeaf], layout: Layout) -> None:
        self.nodes, self.spline, self.layout = nodes, spline, layout
        bases = [self.nodes.basis, *(basis_at(self.nodes, g.bases) for g in self.layout.groups[1:])]
        self.groups = tuple(
            _group_at_nodes(self.nodes, basis, places)
            for basis, places in zip(bases, self.layout.groups, strict=True)
        )
        self._global = _global_jacobians(self.nodes, self.layout)

    @staticmethod
    def of(problem: Problem) -> SplineMap:
        """The map of a problem; problems with the same nodes, curves and parameters share it."""
        nodes, spline, layout = problem.trajectory.nodes, problem.spline_leaves, layout_of(problem)
        if layout.size > LARGEST_CACHED:
            return SplineMap(nodes, spline, layout)
        leaves = (
            (name, each.order, each.curves.stop, each.width, each.group) for name, each in spline.items()
        )
        return _kept_map(Content((nodes, spline, layout), nodes, *leaves, layout.key))

    def arc_durations(self, x: Array) -> Array:
        """Duration of every node's arc, (K,)."""
        return x[self.layout.durations][self.nodes.arc]

    def entries(self, leaf: str, component: int, node: int) -> tuple[Array, Array]:
        """Columns of x and factors of the numerator T^l z_l of a leaf's component at a node."""
        spline = self.spline[leaf]
        group = self.groups[spline.group]
        own = group.own(spline.curves).start + component
        return group.columns[node, :, own], group.basis[spline.order, node]

    def leaf_values(self, x: Array, needed: set[str]) -> Values:
        """The needed leaves at all nodes, (K, width); real or complex x."""
        duration = self.arc_durations(x)[:, None]
        values: Values = {}
        for leaf, spline in self.spline.items():
            if leaf in needed:
                group = self.groups[spline.group]
                local = x[group.columns[:, :, group.own(spline.curves)]]
                shape = np.einsum("ki,kij->kj", group.basis[spline.order], local)
                values[leaf] = shape / duration**spline.order
        tail = x[self.layout.control_point_count :]
        for leaf in needed.difference(self.spline):
            values[leaf] = self._global[leaf] @ tail
        return values

    @property
    def global_leaves(self) -> tuple[str, ...]:
        """The leaves that are linear in durations and parameters, in the order of all leaves."""
        return tuple(self._global)

    def global_jacobian(self, leaf: str) -> Array:
        """d leaf / d (durations, parameters), constant, (K, width, durations and parameters)."""
        return self._global[leaf]


@cached_by_content
def _kept_map(parts: Content[tuple[Nodes, Mapping[str, SplineLeaf], Layout]]) -> SplineMap:
    return SplineMap(*parts.value)


def _group_at_nodes(nodes: Nodes, basis: Array, places: CurvePlaces) -> GroupAtNodes:
    width, curves = basis.shape[2], places.curve_count
    points = np.concatenate([basis.first_control_point for basis in places.bases])[nodes.span]
    first = places.offsets[nodes.arc] + curves * points
    columns = first[:, None, None] + curves * np.arange(width)[:, None] + np.arange(curves)
    # A padded basis function of a short arc may point past it; its values are zero.
    return GroupAtNodes(basis, np.minimum(columns, max(places.stop - 1, 0)), places.first_curve)


def basis_at(nodes: Nodes, bases: Sequence[SplineBasis]) -> Array:
    """d^l B / ds^l of bases on the breakpoints of the arcs, at the nodes, (4, K, width)."""
    width = max(basis.degree for basis in bases) + 1
    found, first = np.zeros((HIGHEST_DERIVATIVE + 1, nodes.count, width)), _first_span(bases)
    for arc, basis in enumerate(bases):
        here = np.flatnonzero(nodes.arc == arc)
        values = basis.local_values(nodes.span[here] - first[arc], nodes.s[here])
        found[:, here, : values.shape[2]] = values
    return found


def _first_span(bases: Sequence[SplineBasis]) -> Array:
    """The number of every arc's first span, counted through all arcs."""
    return np.concatenate([[0], np.cumsum([basis.span_count for basis in bases])[:-1]]).astype(int)


def _global_jacobians(nodes: Nodes, layout: Layout) -> dict[str, Array]:
    """Constant Jacobians of time, durations and parameters at the nodes by durations and parameters."""
    arcs = len(layout.bases)
    shape = (nodes.count, 1, layout.global_count)
    time, total, own = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    every = np.arange(nodes.count)
    own[every, 0, nodes.arc] = 1.0
    total[:, 0, :arcs] = 1.0
    time[:, 0, :arcs] = np.arange(arcs) < nodes.arc[:, None]
    time[every, 0, nodes.arc] = nodes.s
    found = {"t": time, "duration": total, "arc_duration": own}
    for name, place in layout.parameters.items():
        width = place.stop - place.start
        selection = np.zeros((nodes.count, width, layout.global_count))
        first = place.start - layout.control_point_count
        selection[:, np.arange(width), first + np.arange(width)] = 1.0
        found[parameter_leaf(name)] = selection
    return found
