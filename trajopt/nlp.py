"""The nonlinear program in the unknowns y: what a solver sees, evaluated once per point.

minimize f(y)   subject to   row_lower <= g(y) <= row_upper,   lower <= y <= upper
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from trajopt.assembly import EntryMap
from trajopt.block import Array, Pairs, Values
from trajopt.elimination import Elimination
from trajopt.graph import Graph
from trajopt.projection import Projection
from trajopt.use import Objective, RowGroup


@dataclass(frozen=True, eq=False)
class LinearBlock:
    """Rows lower <= A y + b <= upper whose Jacobian never changes; scaled like all rows."""

    A: sparse.csr_array
    b: Array
    lower: Array
    upper: Array
    names: Sequence[str]


class Evaluation:
    """Everything known at one point y; each stage is computed when it is first asked for."""

    def __init__(
        self, graph: Graph, projection: Projection, elimination: Elimination, y: Array, needed: set[str]
    ) -> None:
        self._graph = graph
        self.y = y
        self.x = elimination.expand(y)
        self.z = projection.leaf_values(self.x, needed)

    @cached_property
    def values(self) -> Values:
        return self._graph.values(self.z)

    @cached_property
    def partials(self) -> list[Pairs]:
        return self._graph.partials(self.values)

    @cached_property
    def jacobians(self) -> dict[str, Values]:
        return self._graph.jacobians(self.partials)


@dataclass(frozen=True, eq=False)
class NLP:
    """Objective, rows and their exact derivatives by y, scaled; made by `transcribe`.

    Rows are the linear ones first, then those of every group in turn, node by node, component by component.
    Multipliers follow grad f + J' lambda - z_lower + z_upper = 0. The last point is cached, so that the five
    questions a solver asks at one point cost one evaluation of the dynamics and one of each derivative.
    """

    graph: Graph
    projection: Projection
    elimination: Elimination
    objectives: tuple[Objective, ...]
    linear: LinearBlock
    groups: tuple[RowGroup, ...]
    lower: Array
    upper: Array
    start: Array
    jacobian_map: EntryMap
    hessian_map: EntryMap
    row_scale: Array
    objective_scale: float
    needed: frozenset[str]
    names: Callable[[str, int], list[str]] | None = None

    # -- sizes and structure ------------------------------------------------------------------------------

    @property
    def variable_count(self) -> int:
        return self.lower.size

    @property
    def row_count(self) -> int:
        return self.row_scale.size

    @property
    def has_hessian(self) -> bool:
        return self.graph.has_curvature

    @property
    def row_lower(self) -> Array:
        return self._row_bounds[0]

    @property
    def row_upper(self) -> Array:
        return self._row_bounds[1]

    @property
    def jacobian_rows(self) -> Array:
        return self._jacobian_places[0]

    @property
    def jacobian_columns(self) -> Array:
        return self._jacobian_places[1]

    @cached_property
    def _row_bounds(self) -> tuple[Array, Array]:
        lower = np.concatenate(
            [self.linear.lower, *(group.lower.ravel()[group.kept] for group in self.groups)]
        )
        upper = np.concatenate(
            [self.linear.upper, *(group.upper.ravel()[group.kept] for group in self.groups)]
        )
        return self.row_scale * lower, self.row_scale * upper

    @cached_property
    def _linear_triplets(self) -> tuple[Array, Array, Array]:
        A = self.linear.A.tocoo()
        rows, columns = A.coords
        return rows, columns, A.data * self.row_scale[rows]

    @cached_property
    def _jacobian_places(self) -> tuple[Array, Array]:
        rows, columns, _ = self._linear_triplets
        return (
            np.concatenate([rows, self.jacobian_map.rows]),
            np.concatenate([columns, self.jacobian_map.columns]),
        )

    @property
    def hessian_rows(self) -> Array:
        return self.hessian_map.rows

    @property
    def hessian_columns(self) -> Array:
        return self.hessian_map.columns

    def component_names(self, quantity: str, width: int) -> list[str]:
        """What messages call the components of a quantity."""
        return self.names(quantity, width) if self.names else [str(i) for i in range(width)]

    def culprit(self, y: Array) -> str:
        """Which term, node and joint is not finite at y; nothing when all is."""
        from trajopt.finiteness import culprit

        return culprit(self, y)

    # -- functions ----------------------------------------------------------------------------------------

    def objective(self, y: Array) -> float:
        """f(y), scaled."""
        return self.objective_scale * sum(self.objective_values(y))

    def objective_values(self, y: Array) -> list:
        """The weighted value of every objective, unscaled."""
        values = self.at(y).values
        return [use.weight * (use.node_weights @ values[use.quantity]).sum() for use in self.objectives]

    def rows(self, y: Array) -> Array:
        """g(y), scaled, (row_count,)."""
        values = self.at(y).values
        linear = self.linear.A @ y + self.linear.b
        nonlinear = [np.ravel(g.weights @ values[g.quantity])[g.kept] for g in self.groups]
        return self.row_scale * np.concatenate([linear, *nonlinear])

    def gradient(self, y: Array) -> Array:
        """Gradient of the scaled objective, (variable_count,)."""
        point = self.at(y)
        bar = self._pull_back(point, self._objective_adjoints(point, self.objective_scale))
        return self._N_transposed @ self.projection.gradient(point.x, point.z, bar)

    def jacobian(self, y: Array) -> Array:
        """Nonzeros of the scaled Jacobian in the order of `jacobian_rows`, `jacobian_columns`."""
        point = self.at(y)
        raw = [part.ravel() for group in self.groups for part in self._group_jacobian(point, group)]
        values = self.jacobian_map(np.concatenate(raw)) if raw else np.zeros(0)
        return np.concatenate([self._linear_triplets[2], values])

    def hessian(self, y: Array, row_multipliers: Array, objective_factor: float = 1.0) -> Array:
        """Nonzeros of the lower triangle of objective_factor * f'' + sum_r lambda_r g_r''."""
        point = self.at(y)
        adjoints = self._objective_adjoints(point, objective_factor * self.objective_scale)
        self._add_row_adjoints(adjoints, self.row_scale * row_multipliers)
        bar = self.graph.pull_back(point.partials, adjoints)
        second = self.graph.hessian(point.values, point.jacobians, bar)
        return self.hessian_map(self.projection.hessian(point.x, point.z, bar, second))

    def physical_multipliers(self, row_multipliers: Array) -> dict[str, Array]:
        """Multipliers without scaling: objective per unit of the row, by constraint name, (rows, width)."""
        unscaled = row_multipliers * self.row_scale / self.objective_scale
        named: dict[str, Array] = {}
        cursor = self.linear.b.size
        for group in self.groups:
            mine = group.spread(unscaled[cursor : cursor + group.count])
            cursor += group.count
            named[group.name] = np.concatenate([named[group.name], mine]) if group.name in named else mine
        return named

    def at(self, y: Array) -> Evaluation:
        """The evaluation at y, the last one again when y is the same."""
        cached = self.__dict__.get("_last")
        if cached is None or cached.y.shape != y.shape or not np.array_equal(cached.y, y):
            cached = Evaluation(self.graph, self.projection, self.elimination, np.array(y), set(self.needed))
            self.__dict__["_last"] = cached
        return cached

    # -- parts --------------------------------------------------------------------------------------------

    @cached_property
    def _N_transposed(self) -> sparse.csr_array:
        return self.elimination.N.T.tocsr()

    @cached_property
    def _group_nodes(self) -> list[Array]:
        return [np.unique(group.weights.indices) for group in self.groups]

    def _pull_back(self, point: Evaluation, adjoints: Values) -> Values:
        if all(name in self.graph.leaves for name in adjoints):
            return adjoints
        return self.graph.pull_back(point.partials, adjoints)

    def _objective_adjoints(self, point: Evaluation, factor: float) -> Values:
        adjoints: Values = {}
        for use in self.objectives:
            width = self.graph.width[use.quantity]
            part = np.repeat((factor * use.weight) * use.node_weights[:, None], width, axis=1)
            adjoints[use.quantity] = adjoints[use.quantity] + part if use.quantity in adjoints else part
        return adjoints

    def _add_row_adjoints(self, adjoints: Values, multipliers: Array) -> None:
        cursor = self.linear.b.size
        for group, transposed in zip(self.groups, self._weights_transposed, strict=True):
            mine = group.spread(multipliers[cursor : cursor + group.count])
            cursor += group.count
            part = transposed @ mine
            name = group.quantity
            adjoints[name] = adjoints[name] + part if name in adjoints else part

    @cached_property
    def _weights_transposed(self) -> list[sparse.csr_array]:
        return [group.weights.T.tocsr() for group in self.groups]

    def _group_jacobian(self, point: Evaluation, group: RowGroup) -> tuple[Array, Array]:
        derivative = leaf_derivatives(
            self.graph, point.jacobians, group.quantity, self.projection.nodes.count
        )
        nodes = self._group_nodes[self.groups.index(group)]
        return self.projection.jacobian(point.x, point.z, derivative, nodes)


def leaf_derivatives(graph: Graph, jacobians: dict[str, Values], quantity: str, node_count: int) -> Values:
    """d quantity / d leaves; the identity for a leaf itself."""
    if quantity in graph.leaves:
        width = graph.width[quantity]
        return {quantity: np.broadcast_to(np.eye(width), (node_count, width, width))}
    return jacobians[quantity]
