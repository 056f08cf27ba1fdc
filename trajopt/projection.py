"""From leaves to unknowns: the only place that knows basis matrices, 1/T and its powers.

The unknowns are x = (control points of every arc, durations T of every arc, parameters). At a node of arc a,

    q = B_0 P,   v = B_1 P / T_a,   a = B_2 P / T_a^2,   jerk = B_3 P / T_a^3,   t = s T_a + earlier T,

so every leaf is z_l = Q_l / T^l with Q_l = B_l P linear in x. The derivatives by P are B_l / T^l, those by T
are -l z_l / T and l (l + 1) z_l / T^2. Extra curves (contact forces, say) are columns of P, of order 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from trajopt.block import Array, Pairs, Values
from trajopt.layout import layout_of, parameter_leaf, spline_leaves
from trajopt.span_groups import SpanGroups
from trajopt.trajectory import Trajectory


class Projection:
    """Maps leaf values, gradients, Jacobians and Hessians at the nodes to and from the unknowns x."""

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
        self._spans = SpanGroups(nodes.span)
        self._every_node = np.arange(nodes.count)

    def alive(self, leaves: Iterable[str]) -> Array:
        """Which local control points these leaves feel at every node, (K, width)."""
        orders = [self.spline[leaf].order for leaf in leaves if leaf in self.spline]
        return (self.nodes.basis[orders] != 0.0).any(axis=0)

    # -- values -------------------------------------------------------------------------------------------

    def arc_durations(self, x: Array) -> Array:
        """Duration of every node's arc, (K,)."""
        return x[self.layout.durations][self.nodes.arc]

    def leaf_values(self, x: Array, needed: set[str]) -> Values:
        """The needed leaves at all nodes, (K, width); real or complex x."""
        local = x[self.columns]
        duration = self.arc_durations(x)[:, None]
        values: Values = {}
        for leaf, (order, curves) in self._spline_items():
            if leaf in needed:
                shape = np.einsum("ki,kij->kj", self.nodes.basis[order], local[:, :, curves])
                values[leaf] = shape / duration**order
        tail = x[self.layout.control_point_count :]
        for leaf in needed.difference(self.spline):
            values[leaf] = self._clock[leaf] @ tail
        return values

    def clock_jacobian(self, leaf: str) -> Array:
        """d leaf / d (durations, parameters), constant, (K, width, globals)."""
        return self._clock[leaf]

    # -- gradient -----------------------------------------------------------------------------------------

    def gradient(self, x: Array, z: Values, bar: Values) -> Array:
        """d/dx of a scalar from its leaf adjoints bar (K, width)."""
        gradient = np.zeros(self.layout.size, dtype=x.dtype)
        inverse = 1.0 / self.arc_durations(x)
        local = np.zeros(self.columns.shape, dtype=x.dtype)
        tail = gradient[self.layout.control_point_count :]
        for leaf, (order, curves) in self._spline_items():
            if leaf not in bar:
                continue
            basis = self.nodes.basis[order] * inverse[:, None] ** order
            local[:, :, curves] += basis[:, :, None] * bar[leaf][:, None, :]
            if order:
                along = -order * inverse * (bar[leaf] * z[leaf]).sum(axis=1)
                np.add.at(tail, self.nodes.arc, along)
        for leaf, jacobian in self._clock.items():
            if leaf in bar:
                tail += bar[leaf].ravel() @ jacobian.reshape(-1, tail.size)
        np.add.at(gradient, self.columns, local)
        return gradient

    # -- Jacobian -----------------------------------------------------------------------------------------

    def jacobian(self, x: Array, z: Values, derivative: Values, at: Array) -> tuple[Array, Array]:
        """d quantity / dx at the nodes `at`, from leaf -> (K, m, width).

        Returns the part by local control points, (nodes, m, curves, width), and by durations and
        parameters, (nodes, m, globals); `self.columns` says where the former belong.
        """
        inverse = 1.0 / self.arc_durations(x)[at]
        rows = next(iter(derivative.values())).shape[1]
        wide = np.zeros((at.size, rows, self.layout.global_count), dtype=x.dtype)
        local = np.zeros((at.size, rows, self.curves, self.width), dtype=x.dtype)
        for curves, leaves in self._by_curves(derivative).items():
            orders = [self.spline[leaf].order for leaf in leaves]
            stacked = np.stack(
                [derivative[leaf][at] for leaf in leaves], axis=-1
            )  # (nodes, m, curves, orders)
            basis = np.stack([self.nodes.basis[o][at] * inverse[:, None] ** o for o in orders], axis=1)
            product = np.matmul(stacked.reshape(at.size, -1, len(orders)), basis)
            local[:, :, slice(*curves)] = product.reshape(at.size, rows, -1, self.width)
        for leaf, (order, _) in self._spline_items():
            if order and leaf in derivative:
                along = np.matmul(derivative[leaf][at], z[leaf][at][:, :, None])[:, :, 0]
                wide[np.arange(at.size), :, self.nodes.arc[at]] -= order * inverse[:, None] * along
        for leaf, jacobian in self._clock.items():
            if leaf in derivative:
                wide += np.matmul(derivative[leaf][at], jacobian[at])
        return local, wide

    def jacobian_pattern(self, derivative: Values) -> tuple[Array, Array]:
        """Structure of `jacobian` at a node: (m, curves) by control points, (m, globals, arcs) by others."""
        rows = next(iter(derivative.values())).shape[0]
        local = np.zeros((rows, self.curves), dtype=bool)
        wide = np.zeros((rows, self.layout.global_count, len(self.trajectory.arcs)), dtype=bool)
        for leaf, (order, curves) in self._spline_items():
            if leaf in derivative:
                local[:, curves] |= derivative[leaf]
                if order:
                    for arc in range(len(self.trajectory.arcs)):
                        wide[:, arc, arc] |= derivative[leaf].any(axis=1)
        for leaf, jacobian in self._clock.items():
            if leaf in derivative:
                for arc in range(len(self.trajectory.arcs)):
                    reach = (jacobian[self.nodes.arc == arc] != 0.0).any(axis=0)
                    wide[:, :, arc] |= (derivative[leaf][:, :, None] & reach).any(axis=1)
        return local, wide

    # -- Hessian ------------------------------------------------------------------------------------------

    def hessian(self, x: Array, z: Values, bar: Values, second: Pairs) -> Array:
        """Raw Hessian entries, in the order of `hessian_places`, summed over the nodes of each span.

        The raw entries are those of a matrix M with H = M + M'.
        """
        inverse = 1.0 / self.arc_durations(x)
        slopes = {leaf: self._by_globals(leaf, inverse, z) for pair in second for leaf in pair}
        products = _times_slopes(second, slopes)
        half = self._half_hessian(inverse, second)
        cross = self._cross_hessian(inverse, bar, products)
        both = self._global_hessian(inverse, z, bar, slopes, products)
        return np.concatenate([half.ravel(), cross.ravel(), both.ravel()])

    def hessian_places(self, pattern_of_span: list[Pairs], gradient_of_span: list[set[str]]):
        """Rows and columns in x, and the structural mask, of the raw entries of `hessian`.

        `pattern_of_span` holds the leaf pattern of the second derivatives on every span,
        `gradient_of_span` the leaves that carry an adjoint there.
        """
        n, width, tail = self.curves, self.width, self.layout.global_count
        columns = self.columns[self._spans.first_node]  # (spans, width, curves)
        spans = columns.shape[0]
        half_mask = np.zeros((spans, width, width, n, n), dtype=bool)
        cross_mask = np.zeros((spans, width, n, tail), dtype=bool)
        global_mask = np.zeros((tail, tail), dtype=bool)
        for span, (pattern, touched) in enumerate(zip(pattern_of_span, gradient_of_span, strict=True)):
            nodes = self._spans.members(span)
            arc = self.nodes.arc[nodes[0]]
            alive = np.asarray(self.nodes.basis[:, nodes].any(axis=(0, 1)))
            reach = self._reach(nodes)
            for (first, other), part in pattern.items():
                if first in self.spline and other in self.spline:
                    rows, across = self.spline[first].curves, self.spline[other].curves
                    half_mask[span][:, :, rows, across] |= (alive[:, None] & alive)[:, :, None, None] & part
            for pair, part in pattern.items():
                for (one, two), block in ((pair, part), (pair[::-1], part.T)):
                    wide = np.asarray((block[:, :, None] & reach[two]).any(axis=1))  # (width of one, globals)
                    if one in self.spline:
                        cross_mask[span][:, self.spline[one].curves] |= alive[:, None, None] & wide
                    global_mask |= (reach[one][:, :, None] & wide[:, None, :]).any(axis=0)
            for leaf, (order, curves) in self._spline_items():
                if order and leaf in touched:
                    cross_mask[span, :, curves, arc] |= alive[:, None]
                    global_mask[arc, arc] = True
        half_rows = np.broadcast_to(columns[:, :, None, :, None], half_mask.shape)
        half_columns = np.broadcast_to(columns[:, None, :, None, :], half_mask.shape)
        globals_ = self.layout.control_point_count + np.arange(tail)
        cross_rows = np.broadcast_to(columns[:, :, :, None], cross_mask.shape)
        cross_columns = np.broadcast_to(globals_, cross_mask.shape)
        parts = (
            (half_rows, cross_rows, np.broadcast_to(globals_[:, None], (tail, tail))),
            (half_columns, cross_columns, np.broadcast_to(globals_, (tail, tail))),
            (half_mask, cross_mask, np.tril(global_mask | global_mask.T)),
        )
        row, column, mask = (np.concatenate([part.ravel() for part in group]) for group in parts)
        return row, column, mask

    def _half_hessian(self, inverse: Array, second: Pairs) -> Array:
        """sum_k B_l[k, i] B_m[k, i'] T^-(l+m) H_lm[k, j, j'], l <= m, half if l = m: (spans, i, i', j, j')"""
        spans, width, basis = self._spans.count, self.width, self.nodes.basis
        half = np.zeros((spans, width, width, self.curves, self.curves))
        for (rows, across), pairs in self._pairs_by_curves(second).items():
            weights = []
            for first, other in pairs:
                low, high = self.spline[first].order, self.spline[other].order
                factor = inverse ** (low + high) * (0.5 if first == other else 1.0)
                weights.append((factor[:, None] * basis[low])[:, :, None] * basis[high][:, None, :])
            size = (self.nodes.count, len(pairs), -1)
            blocks = np.stack([second[pair] for pair in pairs], axis=1)
            left = self._spans.gather(np.stack(weights, axis=1).reshape(size))
            right = self._spans.gather(blocks.reshape(size))
            left, right = left.reshape(spans, -1, width * width), right.reshape(spans, -1, right.shape[-1])
            product = np.matmul(left.transpose(0, 2, 1), right)
            shape = (spans, width, width, *blocks.shape[2:])
            half[:, :, :, slice(*rows), slice(*across)] += product.reshape(shape)
        return half

    def _cross_hessian(self, inverse: Array, bar: Values, products: Values) -> Array:
        """Control points against durations and parameters: (spans, i, j, globals)."""
        nodes, tail = self.nodes, self.layout.global_count
        result = np.zeros((nodes.count, self.width, self.curves, tail))
        for leaf, (order, curves) in self._spline_items():
            if leaf not in products and not (order and leaf in bar):
                continue
            shape = (nodes.count, curves.stop - curves.start, tail)
            along = products[leaf].copy() if leaf in products else np.zeros(shape)
            if order and leaf in bar:
                along[self._every_node, :, nodes.arc] -= order * inverse[:, None] * bar[leaf]
            basis = nodes.basis[order] * inverse[:, None] ** order
            result[:, :, curves] += basis[:, :, None, None] * along[:, None]
        return self._spans.sum(result)

    def _global_hessian(
        self, inverse: Array, z: Values, bar: Values, slopes: Values, products: Values
    ) -> Array:
        """Durations and parameters against each other, lower triangle with half the diagonal."""
        tail = self.layout.global_count
        total = np.zeros((tail, tail))
        for leaf, product in products.items():
            total += slopes[leaf].reshape(-1, tail).T @ product.reshape(-1, tail)
        for leaf, (order, _) in self._spline_items():
            if order and leaf in bar:
                bend = order * (order + 1) * inverse**2 * (bar[leaf] * z[leaf]).sum(axis=1)
                np.add.at(total, (self.nodes.arc, self.nodes.arc), bend)
        return np.tril(total) - 0.5 * np.diag(np.diag(total))

    def _spline_items(self) -> Iterator[tuple[str, tuple[int, slice]]]:
        for leaf, spline in self.spline.items():
            yield leaf, (spline.order, spline.curves)

    def _by_curves(self, leaves: Iterable[str]) -> dict[tuple[int, int], list[str]]:
        """The spline leaves among `leaves`, grouped by the curves that they are derivatives of."""
        groups: dict[tuple[int, int], list[str]] = {}
        for leaf in leaves:
            if leaf in self.spline:
                curves = self.spline[leaf].curves
                groups.setdefault((curves.start, curves.stop), []).append(leaf)
        return groups

    def _pairs_by_curves(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple, list[tuple[str, str]]]:
        groups: dict[tuple, list[tuple[str, str]]] = {}
        for first, other in pairs:
            if first in self.spline and other in self.spline:
                rows, across = self.spline[first].curves, self.spline[other].curves
                key = ((rows.start, rows.stop), (across.start, across.stop))
                groups.setdefault(key, []).append((first, other))
        return groups

    def _by_globals(self, leaf: str, inverse: Array, z: Values) -> Array:
        """d leaf / d (durations, parameters) at every node, (K, width, globals)."""
        if leaf in self._clock:
            return self._clock[leaf]
        order, curves = self.spline[leaf].order, self.spline[leaf].curves
        jacobian = np.zeros((self.nodes.count, curves.stop - curves.start, self.layout.global_count))
        if order:
            jacobian[self._every_node, :, self.nodes.arc] = -order * inverse[:, None] * z[leaf]
        return jacobian

    def _reach(self, nodes: Array) -> dict[str, Array]:
        """Structure of `_by_globals` on the nodes of one span: leaf -> (width, globals)."""
        reach = {leaf: np.any(jacobian[nodes] != 0.0, axis=0) for leaf, jacobian in self._clock.items()}
        arc = self.nodes.arc[nodes[0]]
        for leaf, (order, curves) in self._spline_items():
            reach[leaf] = np.zeros((curves.stop - curves.start, self.layout.global_count), dtype=bool)
            reach[leaf][:, arc] = order > 0
        return reach

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


def _times_slopes(second: Pairs, slopes: Values) -> Values:
    """sum_w H[u, w] dw/d(globals) for every leaf u, (K, width, globals); each pair counts on both sides."""
    products: Values = {}
    for (first, other), part in second.items():
        mine = np.matmul(part, slopes[other])
        products[first] = products[first] + mine if first in products else mine
        if first != other:
            mirrored = np.matmul(part.transpose(0, 2, 1), slopes[first])
            products[other] = products[other] + mirrored if other in products else mirrored
    return products
