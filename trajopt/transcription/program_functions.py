"""Objective, rows and their exact derivatives by the unknowns: weighted sums of quantities at the nodes.

With u(y) the used quantities at all nodes, node by node in one vector,

    f(y) = w . u(y),        g(y) = (A y + b,  W u(y)),

where w, W, A and b are constant. What follows from u is evaluated once per point.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeVar, overload

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array, cached_if_small, keyed, read_only
from trajopt.base.errors import EvaluationError
from trajopt.graph.graph import ChainRule, Graph
from trajopt.graph.protocols import Derivatives, Values
from trajopt.solvers.matrices import Entries, EntryMap, Triplets, entries_of_rows, product, row_scaled
from trajopt.transcription.conditions import Objective, RowGroup
from trajopt.transcription.hessian import SecondDerivatives
from trajopt.transcription.leaf_map import LeafMap, LeafPoint
from trajopt.transcription.node_derivatives import FirstDerivatives, FirstNumbers

FunctionsT = TypeVar("FunctionsT", bound="ProgramFunctions")


@dataclass(eq=False)
class Evaluation:
    """Everything known at one point y; each stage is computed when it is first asked for.

    gradient, rows_jacobian : of the program at y, None until they are asked for
    """

    chain: ChainRule
    first: FirstDerivatives
    leaves: LeafPoint
    key: bytes
    gradient: Array | None = None
    rows_jacobian: Array | None = None

    @cached_property
    def values(self) -> Values:
        """Every quantity, (K, width)."""
        return self.chain.graph.values(self.leaves.values)

    @cached_property
    def stacked(self) -> Array:
        """The used quantities side by side, node by node, flat."""
        if not self.chain.used:  # nothing is minimized, and every condition is linear
            return np.zeros(0)
        return np.concatenate([self.values[name] for name in self.chain.used], axis=1).ravel()

    @cached_property
    def nonzeros(self) -> list[Derivatives]:
        """The direct partials of every block, `Graph.nonzeros`."""
        return self.chain.graph.nonzeros(self.values)

    @property
    def derivatives(self) -> FirstNumbers:
        """Derivatives of all quantities by all leaves, which hold until those of another point are asked."""
        if "values" not in vars(self):
            self.values, self.nonzeros = self.chain.graph.values_and_nonzeros(self.leaves.values)
        return self.first.numbers(self.leaves, self.nonzeros)


@dataclass(frozen=True, eq=False)
class Curvature:
    """The maps from second derivatives of the blocks to those of the program; made when first asked for.

    Solves without second derivatives, those of `SquareNewton` for one, do not ask.
    """

    chain: ChainRule
    first: FirstDerivatives
    objectives: Sequence[Objective]
    groups: Sequence[RowGroup]

    @cached_property
    def by_leaves(self) -> SecondDerivatives:
        """The second derivatives by the leaves at all nodes."""
        size = self.first.leaf_map.spline_map.layout.size
        return _second_derivatives(size, keyed(self.chain, *self.chain.structure), self.first)

    @cached_property
    def entries(self) -> EntryMap:
        """Places of these in the lower triangle of the Hessian, by the patterns of every span."""
        chain, spline_map = self.chain, self.first.leaf_map.spline_map
        span = spline_map.nodes.span
        used_on: list[set[str]] = [set() for _ in range(int(span.max()) + 1)]
        for objective in self.objectives:
            for s in np.unique(span[objective.node_weights != 0.0]):
                used_on[s].add(objective.quantity)
        for group in self.groups:
            for s in np.unique(span[group.weights.indices]):
                used_on[s].add(group.quantity)
        patterns = np.zeros((len(used_on), chain.width, chain.width), dtype=bool)
        touched = np.zeros((len(used_on), chain.width), dtype=bool)
        for used in set(map(frozenset, used_on)):
            own = [place for place, others in enumerate(used_on) if others == used]
            for (first, other), part in chain.graph.hessian_pattern(used).items():
                patterns[own, chain.columns[first], chain.columns[other]] = part
            touched[own] = np.any(_jacobian_pattern(chain, used), axis=0)
        return _hessian_map(spline_map.layout.size, self.by_leaves, patterns, touched)


@dataclass(frozen=True, eq=False)
class ProgramMaps:
    """The structure of a program's functions: the maps from quantities at the nodes to rows and derivatives.

    first : first derivatives by the leaves at all nodes
    curvature : None where a block gives no second derivatives
    row_weights : (rows, K used_count)
    """

    chain: ChainRule
    leaf_map: LeafMap
    first: FirstDerivatives
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
        weights = np.zeros((self.leaf_map.nodes, chain.used_count))
        for cost in objectives:
            weights[:, chain.rows[cost.quantity]] += cost.weight * cost.node_weights[self.leaf_map.kept, None]
        linear_rows = np.repeat(np.arange(b.size), np.diff(A.indptr))
        return ProgramFunctions(
            chain,
            self.leaf_map,
            self.first,
            self.curvature,
            self.row_weights,
            self.jacobian_map,
            leaf_offset=self.leaf_map.offset(c),
            objective_weights=weights.ravel(),
            A=A,
            b=b,
            jacobian_rows=np.concatenate([linear_rows, self.jacobian_map.rows]),
            jacobian_columns=np.concatenate([A.indices, self.jacobian_map.columns]),
        )


@dataclass(frozen=True, eq=False)
class ProgramFunctions(ProgramMaps):
    """Objective, rows, gradient, Jacobian and Hessian; rows are the linear ones A y + b first.

    The last point is cached, so that all five functions at one point cost one evaluation of the dynamics and
    one of each derivative. That is why one object serves one solve at a time.

    leaf_offset : the share of eliminated unknowns in the leaves, `LeafMap.offset`
    objective_weights : (K used_count,) of the used quantities, node by node
    jacobian_rows, jacobian_columns : row and column of every nonzero of the Jacobian
    """

    leaf_offset: Array
    objective_weights: Array
    A: sparse.csr_array
    b: Array
    jacobian_rows: Array
    jacobian_columns: Array

    @property
    def row_count(self) -> int:
        return self.b.size + self.row_weights.shape[0]

    @property
    def has_hessian(self) -> bool:
        return self.curvature is not None

    @property
    def hessian_rows(self) -> Array:
        """The row of every nonzero of the lower triangle of the Hessian; none without curvature."""
        return np.zeros(0, dtype=int) if self.curvature is None else self.curvature.entries.rows

    @property
    def hessian_columns(self) -> Array:
        """The column of every nonzero of the lower triangle of the Hessian."""
        return np.zeros(0, dtype=int) if self.curvature is None else self.curvature.entries.columns

    def objective(self, y: Array) -> float:
        """f(y)."""
        stacked = self.at(y).stacked
        with np.errstate(invalid="ignore"):  # zero times infinity far away: the solver takes a shorter step
            value: Any = self.objective_weights @ stacked
        return value

    def rows(self, y: Array) -> Array:
        """g(y), (row_count,)."""
        nonlinear = product(self.row_weights, self.at(y).stacked)
        return np.concatenate([product(self.A, y) + self.b, nonlinear]) if self.b.size else nonlinear

    def gradient(self, y: Array) -> Array:
        """df/dy, (variables,); read-only."""
        point = self.at(y)
        if point.gradient is None:
            by_leaf = self.first.gradient(point.derivatives, self._objective_lanes)
            point.gradient = read_only(self.leaf_map.gradient(point.leaves, by_leaf))
        return point.gradient

    def jacobian(self, y: Array) -> Array:
        """Nonzeros of dg/dy in the order of `jacobian_rows` and `jacobian_columns`; read-only."""
        point = self.at(y)
        if point.rows_jacobian is None:
            values = self.A.data
            if self.jacobian_map.rows.size:
                values = product(self.jacobian_map.matrix, self.first.jacobian(point.derivatives))
                values = np.concatenate([self.A.data, values]) if self.A.data.size else values
            point.rows_jacobian = read_only(values)
        return point.rows_jacobian

    def jacobian_of_rows(self, kept: Array) -> Callable[[Array], Array]:
        """The function of y that gives the nonzeros of `jacobian` in the rows that are kept, in their order.

        kept : (row_count,) boolean. Derivatives by leaves are mapped to y in these rows alone.
        """
        linear = self.A.data[kept[self.jacobian_rows[: self.A.nnz]]]
        chosen = self.jacobian_map.matrix[np.flatnonzero(kept[self.jacobian_map.rows])]

        def values(y: Array) -> Array:
            return np.concatenate([linear, product(chosen, self.first.jacobian(self.at(y).derivatives))])

        return values

    def hessian(self, y: Array, row_multipliers: Array, objective_factor: float = 1.0) -> Array:
        """Nonzeros of the lower triangle of objective_factor * f'' + sum_r lambda_r g_r''."""
        if self.curvature is None:
            raise EvaluationError("a block has no second derivatives: solve with hessian='lbfgs'")
        point = self.at(y)
        lanes = self._objective_lanes
        adjoints = (self._weights_transposed @ row_multipliers[self.b.size :]).reshape(lanes.shape)
        adjoints += objective_factor * lanes
        raw = self.curvature.by_leaves.raw(self.chain, point.values, point.derivatives, adjoints)
        return product(self.curvature.entries.matrix, raw)

    def at(self, y: Array) -> Evaluation:
        """The evaluation at y, the last one again when y is the same."""
        cached = self.__dict__.get("_last")
        if cached is None or cached.key != y.tobytes():
            cached = Evaluation(self.chain, self.first, self.leaf_map.at(y, self.leaf_offset), y.tobytes())
            self.__dict__["_last"] = cached
        return cached

    @overload
    def scaled(self, row_factors: Array, objective_factor: float) -> ProgramFunctions: ...
    @overload
    def scaled(
        self, row_factors: Array, objective_factor: float, made: type[FunctionsT], **others: Any
    ) -> FunctionsT: ...
    def scaled(
        self,
        row_factors: Array,
        objective_factor: float,
        made: type[ProgramFunctions] | None = None,
        **others: Any,
    ) -> ProgramFunctions:
        """The same functions, times constant factors of the rows (row_count,) and of the objective.

        made : the class of the result, None: this one; `others` are its further fields
        """
        of_linear, of_rest = row_factors[: self.b.size], row_factors[self.b.size :]
        others |= {
            "objective_weights": objective_factor * self.objective_weights,
            "A": row_scaled(self.A, of_linear),
            "b": of_linear * self.b,
            "row_weights": row_scaled(self.row_weights, of_rest),
            "jacobian_map": self.jacobian_map.scaled(row_factors),
        }
        own = {field.name: getattr(self, field.name) for field in fields(ProgramFunctions)}
        scaled = (made or ProgramFunctions)(**own | others)
        last = vars(self).get("_last")
        if last is not None:  # evaluated already, but for what the factors change
            last = copy.copy(last)
            last.gradient = last.rows_jacobian = None
        vars(scaled)["_last"] = last
        return scaled

    @cached_property
    def _objective_lanes(self) -> Array:
        """The weights of the used quantities in the objective, (used_count, lanes)."""
        return self.first.lanes_of(self.objective_weights.reshape(self.leaf_map.nodes, -1))

    @cached_property
    def _weights_transposed(self) -> Triplets:
        """The map from multipliers of rows to adjoints of used quantities, (used_count, lanes) flat."""
        weights, (count, lanes) = self.row_weights, self._objective_lanes.shape
        node, quantity = np.divmod(weights.indices, max(count, 1))
        rows = np.repeat(np.arange(weights.shape[0], dtype=node.dtype), np.diff(weights.indptr))
        return Triplets(quantity * lanes + node, rows, weights.data, (count * lanes, weights.shape[0]))


def program_maps(
    graph: Graph,
    leaf_map: LeafMap,
    objectives: Sequence[Objective],
    groups: Sequence[RowGroup],
    linear_count: int,
) -> ProgramMaps:
    """The maps from quantities of a graph to costs and rows of groups, behind `linear_count` linear rows."""
    bounded = [group.quantity for group in groups]
    minimized = [objective.quantity for objective in objectives]
    chain = ChainRule(graph, bounded, minimized, leaf_map.leaves)
    row_weights = _row_weights(chain, groups, leaf_map.kept)
    weighed = np.zeros(chain.used_count, dtype=bool)
    for quantity in minimized:
        weighed[chain.rows[quantity]] = True
    size, pattern = leaf_map.spline_map.layout.size, _jacobian_pattern(chain, chain.rows)
    first = _first_derivatives(size, keyed(chain, *chain.structure), leaf_map, pattern, weighed)
    return ProgramMaps(
        chain=chain,
        leaf_map=leaf_map,
        first=first,
        curvature=Curvature(chain, first, objectives, groups) if graph.has_curvature else None,
        row_weights=row_weights,
        jacobian_map=_jacobian_map(size, first, chain.used_count, row_weights, linear_count),
    )


_first_derivatives = cached_if_small(FirstDerivatives)
_second_derivatives = cached_if_small(SecondDerivatives)


@cached_if_small
def _jacobian_map(
    first: FirstDerivatives, stride: int, weights: sparse.csr_array, first_row: int
) -> EntryMap:
    """Entries of weights @ (raw Jacobian of every node and component), rows counted from `first_row`."""
    raw, raw_size = first.entries(stride)
    origin, row, weight = entries_of_rows(weights.tocsc(), raw.row)
    factor = raw.factor[origin] * weight
    return EntryMap.of(Entries(raw.index[origin], first_row + row, raw.column[origin], factor), raw_size)


@cached_if_small
def _hessian_map(second: SecondDerivatives, pattern: Array, has_adjoint: Array) -> EntryMap:
    """Lower triangle of M + M' from the entries of M."""
    raw, raw_size = second.entries(pattern, has_adjoint)
    a, b = raw.row, raw.column
    factor = raw.factor * np.where(a == b, 2.0, 1.0)
    return EntryMap.of(Entries(raw.index, np.maximum(a, b), np.minimum(a, b), factor), raw_size)


def _row_weights(chain: ChainRule, groups: Sequence[RowGroup], kept: Array) -> sparse.csr_array:
    """The rows of all groups as one matrix times the used quantities, node by node."""
    values, columns, counts = [np.zeros(0)], [np.zeros(0, dtype=int)], [np.zeros(1, dtype=int)]
    for group in groups:
        place = chain.rows[group.quantity]
        own = group.matrix
        node, component = np.divmod(own.indices, place.stop - place.start)
        values.append(own.data)
        columns.append(np.searchsorted(kept, node) * chain.used_count + place.start + component)
        counts.append(np.diff(own.indptr))
    parts = (np.concatenate(values), np.concatenate(columns), np.cumsum(np.concatenate(counts)))
    return sparse.csr_array(parts, shape=(parts[2].size - 1, kept.size * chain.used_count))


def _jacobian_pattern(chain: ChainRule, quantities: Iterable[str]) -> Array:
    """Mask of derivatives of quantities by the leaves that may differ from zero, laid out as by `chain`."""
    pattern = np.zeros((chain.row_count, chain.width), dtype=bool)
    for quantity in quantities:
        for leaf, part in chain.graph.leaf_pattern(quantity).items():
            pattern[chain.rows[quantity], chain.columns[leaf]] = part
    return pattern
