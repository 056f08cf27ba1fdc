"""Objective, rows and their exact derivatives by the unknowns: weighted sums of quantities at the nodes.

With u(y) the used quantities at all nodes, node by node in one vector,

    f(y) = w . u(y),        g(y) = (A y + b,  W u(y)),

where w, W, A and b are constant. What follows from u is evaluated once per point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.content_cache import (
    Content,
    cached_if_small,
    of_array,
    of_matrix,
    read_only,
)
from trajopt.base.errors import EvaluationError
from trajopt.graph.chain_rule import ChainRule
from trajopt.graph.graph import Graph
from trajopt.graph.protocols.block import Pairs, Values
from trajopt.transcription.derivatives.hessian import SecondDerivatives
from trajopt.transcription.derivatives.sparse_entries import EntryMap, hessian_map, jacobian_map, row_scaled
from trajopt.transcription.leaf_map import LeafMap, LeafPoint
from trajopt.transcription.row_groups import Objective, RowGroup


class Evaluation:
    """Everything known at one point y; each stage is computed when it is first asked for."""

    def __init__(self, chain: ChainRule, leaves: LeafPoint, key: bytes) -> None:
        self._chain, self.leaves, self.key = chain, leaves, key

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
class Curvature:
    """What makes second derivatives of the program from those of its blocks; made when first asked for.

    Solves without second derivatives, those of `SquareNewton` for one, do not ask.
    """

    chain: ChainRule
    leaf_map: LeafMap
    objectives: Sequence[Objective]
    groups: Sequence[RowGroup]

    @property
    def by_leaves(self) -> SecondDerivatives:
        """The second derivatives by the leaves at all nodes."""
        return self._maps[0]

    @property
    def entries(self) -> EntryMap:
        """Where these belong in the lower triangle of the Hessian."""
        return self._maps[1]

    @cached_property
    def _maps(self) -> tuple[SecondDerivatives, EntryMap]:
        """By the patterns of what is used on every span."""
        chain, span = self.chain, self.leaf_map.spline_map.nodes.span
        used_on = _quantities_by_span(span, self.objectives, self.groups)
        patterns: dict[frozenset[str], Array] = {}
        touched: dict[frozenset[str], Array] = {}
        for used in dict.fromkeys(used_on):
            pattern = np.zeros((chain.width, chain.width), dtype=bool)
            for (first, other), part in chain.graph.hessian_pattern(used).items():
                pattern[chain.columns[first], chain.columns[other]] = part
            patterns[used], touched[used] = pattern, np.any(_jacobian_pattern(chain, used), axis=0)
        second, size = SecondDerivatives.of(self.leaf_map, chain), self.leaf_map.spline_map.layout.size
        by_span = (of_array(np.stack([known[used] for used in used_on])) for known in (patterns, touched))
        return second, _hessian_map(size, second, *by_span)


@dataclass(frozen=True, eq=False)
class ProgramFunctions:
    """Objective, rows, gradient, Jacobian and Hessian; rows are the linear ones A y + b first.

    The last point is cached, so that all five functions at one point cost one evaluation of the dynamics and
    one of each derivative. That is why one object serves one solve at a time.

    leaf_offset : what eliminated unknowns add to the leaves, `LeafMap.offset`
    objective_weights : (K used_count,) of the used quantities, node by node
    row_weights : (rows, K used_count)
    curvature : None where a block gives no second derivatives
    """

    chain: ChainRule
    leaf_map: LeafMap
    curvature: Curvature | None
    row_weights: sparse.csr_array
    jacobian_map: EntryMap
    leaf_offset: Array
    objective_weights: Array
    A: sparse.csr_array
    b: Array

    @property
    def row_count(self) -> int:
        return self.b.size + self.row_weights.shape[0]

    @cached_property
    def jacobian_places(self) -> tuple[Array, Array]:
        """Row and column of every nonzero of the Jacobian."""
        of_linear = np.repeat(np.arange(self.b.size), np.diff(self.A.indptr))
        return (
            np.concatenate([of_linear, self.jacobian_map.rows]),
            np.concatenate([self.A.indices, self.jacobian_map.columns]),
        )

    @property
    def hessian_places(self) -> tuple[Array, Array]:
        """Row and column of every nonzero of the lower triangle of the Hessian; none without curvature."""
        if self.curvature is None:
            return np.zeros(0, dtype=int), np.zeros(0, dtype=int)
        return self.curvature.entries.rows, self.curvature.entries.columns

    def objective(self, y: Array) -> float:
        """f(y)."""
        value: Any = self.objective_weights @ self.at(y).stacked
        return value

    def rows(self, y: Array) -> Array:
        """g(y), (row_count,)."""
        nonlinear = self.row_weights @ self.at(y).stacked
        return np.concatenate([self.A @ y + self.b, nonlinear]) if self.b.size else nonlinear

    def gradient(self, y: Array) -> Array:
        """df/dy, (variables,)."""
        return self._at(y, "gradient", self._gradient)

    def _gradient(self, point: Evaluation) -> Array:
        place = self._minimized
        weights = self.objective_weights.reshape(self.leaf_map.nodes, -1)[:, place]
        by_leaf = np.matmul(weights[:, None], point.jacobian[:, : self.chain.used_count][:, place])[:, 0]
        return self.leaf_map.gradient(point.leaves, by_leaf)

    def jacobian(self, y: Array) -> Array:
        """Nonzeros of dg/dy in the order of `jacobian_places`."""
        return self._at(y, "jacobian", self._jacobian)

    def _jacobian(self, point: Evaluation) -> Array:
        if not self.jacobian_map.rows.size:
            return self.A.data
        bounded = point.jacobian[:, : self.chain.bounded_count]
        values = self.jacobian_map(self.leaf_map.jacobian(point.leaves, bounded))
        return np.concatenate([self.A.data, values]) if self.A.data.size else values

    def jacobian_of_rows(self, kept: Array) -> Callable[[Array], Array]:
        """The function of y that gives the nonzeros of `jacobian` in the rows that are kept, in their order.

        kept : (row_count,) boolean. Derivatives by leaves are mapped to y only where these rows need them.
        """
        count, rows = self.chain.bounded_count, self.jacobian_places[0]
        linear = self.A.data[kept[rows[: self.A.nnz]]]
        chosen, lines = self.jacobian_map.chosen(kept[self.jacobian_map.rows], self.chain.width)
        node, row = np.divmod(lines, max(count, 1))

        def values(y: Array) -> Array:
            point = self.at(y)
            raw = self.leaf_map.jacobian_at(point.leaves, point.jacobian[node, row], node)
            return np.concatenate([linear, chosen @ raw])

        return values

    def hessian(self, y: Array, row_multipliers: Array, objective_factor: float) -> Array:
        """Nonzeros of the lower triangle of objective_factor * f'' + sum_r lambda_r g_r''."""
        if self.curvature is None:
            raise EvaluationError("a block has no second derivatives: solve with hessian='lbfgs'")
        point = self.at(y)
        adjoints = objective_factor * self.objective_weights
        adjoints += self._weights_transposed @ row_multipliers[self.b.size :]
        by_leaf = self._leaf_adjoints(point, adjoints)
        by_quantity = self.chain.adjoints(point.partials, adjoints.reshape(by_leaf.shape[0], -1))
        by_leaves = self.curvature.by_leaves
        second, arrays = by_leaves.zeros()
        total = by_leaves.fill(self.chain, point.values, point.jacobian, by_quantity, second)
        return self.curvature.entries(by_leaves.raw(point.leaves, second, arrays, total, by_leaf))

    def at(self, y: Array) -> Evaluation:
        """The evaluation at y, the last one again when y is the same."""
        cached = self.__dict__.get("_last")
        if cached is None or cached.key != y.tobytes():
            cached = Evaluation(self.chain, self.leaf_map.at(y, self.leaf_offset), y.tobytes())
            self.__dict__["_last"] = cached
        return cached

    def _at(self, y: Array, what: str, computed: Callable[[Evaluation], Array]) -> Array:
        """What is computed at y, the same read-only array again when y is the same."""
        point, known = self.at(y), self.__dict__.setdefault("_known", {})
        if known.get("point") is not point:
            known.clear()
            known["point"] = point
        if what not in known:
            known[what] = read_only(computed(point))
        return known[what]

    def scaled(self, row_factors: Array, objective_factor: float) -> ProgramFunctions:
        """The same functions, times constant factors of the rows (row_count,) and of the objective."""
        of_linear, of_rest = row_factors[: self.b.size], row_factors[self.b.size :]
        scaled = replace(
            self,
            objective_weights=objective_factor * self.objective_weights,
            A=row_scaled(self.A, of_linear),
            b=of_linear * self.b,
            row_weights=row_scaled(self.row_weights, of_rest),
            jacobian_map=self.jacobian_map.scaled(row_factors),
        )
        scaled.__dict__["_last"] = self.__dict__.get("_last")  # no factor changes what is evaluated
        return scaled

    @cached_property
    def _minimized(self) -> slice:
        """Of the used quantities, from the first to the last that the objective weighs."""
        weighed = np.flatnonzero(self.objective_weights.reshape(self.leaf_map.nodes, -1).any(axis=0))
        return slice(weighed[0], weighed[-1] + 1) if weighed.size else slice(0, 0)

    @cached_property
    def _weights_transposed(self) -> sparse.csc_array:
        return self.row_weights.T

    def _leaf_adjoints(self, point: Evaluation, adjoints: Array) -> Array:
        """Adjoints of the leaves (K, width) from those of the used quantities."""
        used = point.jacobian[:, : self.chain.used_count]
        return np.matmul(adjoints.reshape(used.shape[0], 1, -1), used)[:, 0]


@dataclass(frozen=True, eq=False)
class ProgramMaps:
    """The structure of a program's functions: what maps quantities at the nodes to rows and derivatives.

    All that is left of `ProgramFunctions` when values are taken away; see there.
    """

    chain: ChainRule
    leaf_map: LeafMap
    curvature: Curvature | None
    row_weights: sparse.csr_array
    jacobian_map: EntryMap

    def functions(
        self,
        chain: ChainRule,
        c: Array,
        objectives: Sequence[Objective],
        A: sparse.csr_array,
        b: Array,
    ) -> ProgramFunctions:
        """The functions, not scaled, of a problem's values.

        chain : this one, or it with other data
        c : of the eliminated unknowns, x = N y + c
        objectives : with the problem's weights
        A, b : the linear rows A y + b
        """
        return ProgramFunctions(
            chain,
            self.leaf_map,
            self.curvature,
            self.row_weights,
            self.jacobian_map,
            leaf_offset=self.leaf_map.offset(c),
            objective_weights=_objective_weights(chain, objectives, self.leaf_map.nodes),
            A=A,
            b=b,
        )


def program_maps(
    graph: Graph,
    leaf_map: LeafMap,
    objectives: Sequence[Objective],
    groups: Sequence[RowGroup],
    linear_count: int,
) -> ProgramMaps:
    """What turns the quantities of a graph into linear_count linear rows, the rows of groups, and costs."""
    bounded = [group.quantity for group in groups]
    minimized = [objective.quantity for objective in objectives]
    chain = ChainRule(graph, bounded, minimized, leaf_map.leaves)
    row_weights = _row_weights(chain, groups, leaf_map.nodes)
    pattern = _jacobian_pattern(chain, chain.used)[: chain.bounded_count]
    contents = of_array(pattern), chain.used_count, of_matrix(row_weights)
    size = leaf_map.spline_map.layout.size
    return ProgramMaps(
        chain=chain,
        leaf_map=leaf_map,
        curvature=Curvature(chain, leaf_map, objectives, groups) if graph.has_curvature else None,
        row_weights=row_weights,
        jacobian_map=_jacobian_map(size, leaf_map, *contents, linear_count),
    )


@cached_if_small
def _jacobian_map(
    leaf_map: LeafMap,
    pattern: Content[Array],
    stride: int,
    weights: Content[sparse.csr_array],
    first_row: int,
) -> EntryMap:
    """The entries of the Jacobian from `first_row` on; pattern and stride as in `jacobian_entries`."""
    entries, raw_size = leaf_map.jacobian_entries(pattern.value, stride)
    return jacobian_map(entries, weights.value, raw_size, first_row)


@cached_if_small
def _hessian_map(second: SecondDerivatives, pattern: Content[Array], has_adjoint: Content[Array]) -> EntryMap:
    return hessian_map(*second.entries(pattern.value, has_adjoint.value))


def _objective_weights(chain: ChainRule, objectives: Sequence[Objective], nodes: int) -> Array:
    """The objective as weights of the used quantities, node by node, flat."""
    weights = np.zeros((nodes, chain.used_count))
    for cost in objectives:
        weights[:, chain.rows[cost.quantity]] += cost.weight * cost.node_weights[:, None]
    return weights.ravel()


def _row_weights(chain: ChainRule, groups: Sequence[RowGroup], nodes: int) -> sparse.csr_array:
    """The rows of all groups as one matrix times the used quantities, node by node."""
    values, columns, counts = [np.zeros(0)], [np.zeros(0, dtype=int)], [np.zeros(1, dtype=int)]
    for group in groups:
        place = chain.rows[group.quantity]
        own = group.matrix
        node, component = np.divmod(own.indices, place.stop - place.start)
        values.append(own.data)
        columns.append(node * chain.used_count + place.start + component)
        counts.append(np.diff(own.indptr))
    parts = (np.concatenate(values), np.concatenate(columns), np.cumsum(np.concatenate(counts)))
    return sparse.csr_array(parts, shape=(parts[2].size - 1, nodes * chain.used_count))


def _jacobian_pattern(chain: ChainRule, quantities: Sequence[str] | frozenset[str]) -> Array:
    """Where derivatives of quantities by the leaves may differ from zero, laid out as by `chain`."""
    pattern = np.zeros((chain.used_count, chain.width), dtype=bool)
    for quantity in quantities:
        for leaf, part in chain.graph.leaf_pattern(quantity).items():
            pattern[chain.rows[quantity], chain.columns[leaf]] = part
    return pattern


def _quantities_by_span(
    span: Array, objectives: Sequence[Objective], groups: Sequence[RowGroup]
) -> list[frozenset[str]]:
    """Which quantities are minimized or bounded at the nodes of every span."""
    used: list[set[str]] = [set() for _ in range(int(span.max()) + 1)]
    for objective in objectives:
        for s in np.unique(span[objective.node_weights != 0.0]):
            used[s].add(objective.quantity)
    for group in groups:
        for s in np.unique(span[group.weights.indices]):
            used[s].add(group.quantity)
    return [frozenset(quantities) for quantities in used]
