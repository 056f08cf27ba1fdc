"""From leaves to unknowns: the only place that knows basis matrices, 1/T and its powers.

The unknowns are x = (control points of every arc, durations T of every arc, parameters). At a node of arc a,

    q = B_0 P,   v = B_1 P / T_a,   a = B_2 P / T_a^2,   jerk = B_3 P / T_a^3,   t = s T_a + earlier T,

so every leaf is z_l = Q_l / T^l with Q_l = B_l P linear in x. Extra curves (contact forces, say) are columns
of P, of order 0. Derivatives are taken in `leaf_map.py` and `curvature_map.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trajopt.arrays import Array
from trajopt.graph.block import Values
from trajopt.graph.leaves import parameter_leaf, spline_leaves
from trajopt.splines.trajectory import Trajectory
from trajopt.transcription.unknowns import layout_of


class Projection:
    """Where the leaves at the nodes come from: columns of x, basis functions, durations."""

    def __init__(
        self,
        trajectory: Trajectory,
        n: int,
        parameters: Mapping[str, int] | None = None,
        extras: Mapping[str, int] | None = None,
    ) -> None:
        self.trajectory = trajectory
        self.nodes = trajectory.nodes
        self.spline = spline_leaves(n, extras or {})
        self.curves = n + sum((extras or {}).values())
        self.layout = layout_of(trajectory, self.curves, parameters or {})
        nodes, layout = self.nodes, self.layout
        self.width = nodes.basis.shape[2]
        first = layout.offsets[nodes.arc] + self.curves * nodes.first_control_point
        #: column of x of local control point i, curve j at node k: (K, width, curves)
        curves = np.arange(self.curves)
        self.columns = first[:, None, None] + self.curves * np.arange(self.width)[:, None] + curves
        # A padded basis function of a short arc may point past it; its values are zero.
        self.columns = np.minimum(self.columns, max(layout.control_point_count - 1, 0))
        self._clock = self._clock_jacobians()

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
            values[leaf] = self._clock[leaf] @ tail
        return values

    @property
    def clock_leaves(self) -> tuple[str, ...]:
        """The leaves that are linear in durations and parameters, in the order of all leaves."""
        return tuple(self._clock)

    def clock_jacobian(self, leaf: str) -> Array:
        """d leaf / d (durations, parameters), constant, (K, width, globals)."""
        return self._clock[leaf]

    def _clock_jacobians(self) -> dict[str, Array]:
        """Constant Jacobians (K, width, globals) of the leaves linear in durations and parameters."""
        nodes, layout = self.nodes, self.layout
        arcs = len(self.trajectory.arcs)
        shape = (nodes.count, 1, layout.global_count)
        time, total, own = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        every = np.arange(nodes.count)
        own[every, 0, nodes.arc] = 1.0
        total[:, 0, :arcs] = 1.0
        time[:, 0, :arcs] = np.arange(arcs) < nodes.arc[:, None]
        time[every, 0, nodes.arc] = nodes.s
        clock = {"t": time, "duration": total, "arc_duration": own}
        for name, place in layout.parameters.items():
            width = place.stop - place.start
            selection = np.zeros((nodes.count, width, layout.global_count))
            first = place.start - layout.control_point_count
            selection[:, np.arange(width), first + np.arange(width)] = 1.0
            clock[parameter_leaf(name)] = selection
        return clock
