"""From the unknowns x to the leaves of the graph at the nodes: basis matrices and powers of 1/T.

At a node of arc a, with control points P and the arc's duration T_a,

    q = B_0 P,   v = B_1 P / T_a,   a = B_2 P / T_a^2,   jerk = B_3 P / T_a^3,   t = s T_a + earlier T,

so every leaf is z_l = Q_l / T^l with Q_l = B_l P linear in x. Additional curves (contact forces, say) are
columns of P, of order 0. Their derivatives by the unknowns are taken in `derivatives`.
"""

from __future__ import annotations

import numpy as np

from trajopt.arrays import Array
from trajopt.graph.block import Values
from trajopt.graph.leaves import parameter_leaf, spline_leaves
from trajopt.problem.problem import Problem
from trajopt.splines.trajectory import Nodes
from trajopt.transcription.unknowns import Layout, layout_of


class SplineMap:
    """The leaves at all nodes as functions of x: which columns, basis functions and durations each takes.

    layout : of x
    columns : (K, width, curves) the column of x of local control point i and curve j at node k
    spline : leaves that are derivatives of curves, by name, with order and curves
    """

    def __init__(self, problem: Problem) -> None:
        self.nodes = problem.trajectory.nodes
        extras = {name: extra.lower.size for name, extra in problem.extras.items()}
        self.spline = spline_leaves(problem.dynamics.n, extras)
        self.layout = layout_of(problem)
        nodes, layout, curves = self.nodes, self.layout, self.layout.curve_count
        self.width = nodes.basis.shape[2]
        first = layout.offsets[nodes.arc] + curves * nodes.first_control_point
        columns = first[:, None, None] + curves * np.arange(self.width)[:, None] + np.arange(curves)
        # A padded basis function of a short arc may point past it; its values are zero.
        self.columns = np.minimum(columns, max(layout.control_point_count - 1, 0))
        self._global = _global_jacobians(self.nodes, layout)

    def arc_durations(self, x: Array) -> Array:
        """Duration of every node's arc, (K,)."""
        return x[self.layout.durations][self.nodes.arc]

    def leaf_values(self, x: Array, needed: set[str]) -> Values:
        """The needed leaves at all nodes, (K, width); real or complex x."""
        local = x[self.columns]
        duration = self.arc_durations(x)[:, None]
        values: Values = {}
        for leaf, spline in self.spline.items():
            if leaf in needed:
                shape = np.einsum("ki,kij->kj", self.nodes.basis[spline.order], local[:, :, spline.curves])
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
