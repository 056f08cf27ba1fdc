"""The nonlinear program in the unknowns y: what a solver sees, evaluated once per point.

minimize f(y)   subject to   row_lower <= g(y) <= row_upper,   lower <= y <= upper
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from trajopt.arrays import Array
from trajopt.errors import EvaluationError
from trajopt.graph.block import Pairs, Values
from trajopt.graph.chain_rule import ChainRule
from trajopt.graph.graph import Graph
from trajopt.transcription.derivatives.hessian import CurvatureMap
from trajopt.transcription.derivatives.jacobian import LeafMap
from trajopt.transcription.derivatives.sparse_entries import EntryMap
from trajopt.transcription.row_groups import Objective, RowGroup
from trajopt.transcription.spline_map import SplineMap
from trajopt.transcription.unknowns import Unknowns


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

    def __init__(self, chain: ChainRule, leaf_map: LeafMap, y: Array) -> None:
        self._chain = chain
        self.key = y.tobytes()
        self.leaves = leaf_map.at(y)

    @cached_property
    def values(self) -> Values:
        """Every quantity, (K, width)."""
        return self._chain.graph.values(self.leaves.values)

    @cached_property
    def stacked(self) -> Array:
        """The used quantities side by side, node by node, flat."""
        return self._chain.stacked(self.values).ravel()

    @cached_property
    def partials(self) -> list[Pairs]:
        """The direct partials of every block."""
        return self._chain.graph.partials(self.values)

    @cached_property
    def jacobian(self) -> Array:
        """Derivatives of all quantities by all leaves, (K, rows, columns) as `ChainRule` lays them out."""
        z = self.leaves.z
        return self._chain.jacobian(self.partials, z.shape[0], z.dtype)


@dataclass(frozen=True, eq=False)
class NLP:
    """Objective, rows and their exact derivatives by y, scaled; made by `transcribe`.

    Rows are the linear ones first, then those of every group in turn, node by node, component by component.
    Multipliers follow grad f + J' lambda - z_lower + z_upper = 0. The last point is cached, so that the five
    questions a solver asks at one point cost one evaluation of the dynamics and one of each derivative.
    """

    graph: Graph
    chain: ChainRule
    leaf_map: LeafMap
    curvature_map: CurvatureMap | None
    spline_map: SplineMap
    unknowns: Unknowns
    objectives: tuple[Objective, ...]
    linear: LinearBlock
    groups: tuple[RowGroup, ...]
    lower: Array
    upper: Array
    start: Array
    jacobian_map: EntryMap
    hessian_map: EntryMap
    weights: sparse.csr_array
    row_scale: Array
    objective_scale: float
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
        return A.row, A.col, A.data * self.row_scale[A.row]

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
        from trajopt.transcription.nonfinite import culprit

        return culprit(self, y)

    # -- functions ----------------------------------------------------------------------------------------

    def objective(self, y: Array) -> float:
        """f(y), scaled."""
        value: Any = self._objective_weights @ self.at(y).stacked
        return value

    def objective_values(self, y: Array) -> list:
        """The weighted value of every objective, unscaled."""
        values = self.at(y).values
        return [use.weight * (use.node_weights @ values[use.quantity]).sum() for use in self.objectives]

    def rows(self, y: Array) -> Array:
        """g(y), scaled, (row_count,)."""
        nonlinear = self._scaled_weights @ self.at(y).stacked
        if not self.linear.b.size:
            return nonlinear
        A, b = self._scaled_linear
        return np.concatenate([A @ y + b, nonlinear])

    def gradient(self, y: Array) -> Array:
        """Gradient of the scaled objective, (variable_count,)."""
        point = self.at(y)
        return self.leaf_map.gradient(point.leaves, self._leaf_adjoints(point, self._objective_weights))

    def jacobian(self, y: Array) -> Array:
        """Nonzeros of the scaled Jacobian in the order of `jacobian_rows`, `jacobian_columns`."""
        linear = self._linear_triplets[2]
        if not self.jacobian_map.rows.size:
            return linear
        point = self.at(y)
        bounded = point.jacobian[:, : self.chain.bounded_count]
        values = self.jacobian_map(self.leaf_map.jacobian(point.leaves, bounded))
        return np.concatenate([linear, values]) if linear.size else values

    def hessian(self, y: Array, row_multipliers: Array, objective_factor: float = 1.0) -> Array:
        """Nonzeros of the lower triangle of objective_factor * f'' + sum_r lambda_r g_r''."""
        if self.curvature_map is None:
            raise EvaluationError("a block has no second derivatives: solve with hessian='lbfgs'")
        point = self.at(y)
        adjoints = objective_factor * self._objective_weights
        adjoints += self._weights_transposed @ row_multipliers[self.linear.b.size :]
        by_leaf = self._leaf_adjoints(point, adjoints)
        by_quantity = self.chain.adjoints(point.partials, adjoints.reshape(by_leaf.shape[0], -1))
        second, arrays = self.curvature_map.zeros()
        total = self.chain.hessian(point.values, point.jacobian, by_quantity, second)
        return self.hessian_map(self.curvature_map.raw(point.leaves, second, arrays, total, by_leaf))

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
        if cached is None or cached.key != y.tobytes():
            cached = Evaluation(self.chain, self.leaf_map, y)
            self.__dict__["_last"] = cached
        return cached

    # -- parts --------------------------------------------------------------------------------------------

    @cached_property
    def _scaled_linear(self) -> tuple[sparse.csr_array, Array]:
        scale = self.row_scale[: self.linear.b.size]
        return sparse.csr_array(sparse.diags_array(scale) @ self.linear.A), scale * self.linear.b

    @cached_property
    def _scaled_weights(self) -> sparse.csr_array:
        scale = self.row_scale[self.linear.b.size :]
        return sparse.csr_array(sparse.diags_array(scale) @ self.weights)

    @cached_property
    def _weights_transposed(self) -> sparse.csr_array:
        return self._scaled_weights.T.tocsr()

    @cached_property
    def _objective_weights(self) -> Array:
        """Weights of the scaled objective on the used quantities, node by node, flat."""
        weights = np.zeros((self.leaf_map.nodes, self.chain.used_count))
        for use in self.objectives:
            weights[:, self.chain.rows[use.quantity]] += use.weight * use.node_weights[:, None]
        return self.objective_scale * weights.ravel()

    def _leaf_adjoints(self, point: Evaluation, adjoints: Array) -> Array:
        """Adjoints of the leaves (K, width) from those of the used quantities."""
        used = point.jacobian[:, : self.chain.used_count]
        return np.matmul(adjoints.reshape(used.shape[0], 1, -1), used)[:, 0]
