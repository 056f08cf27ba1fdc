"""Costs and constraints as weighted sums of quantities at the nodes, with constant sparse weights.

Rows at nodes take one node each, differences compare two nodes, costs sum over all nodes with the weights
of a quadrature. Being linear in the quantities, neither adds second derivatives of its own. Which rows there
are is structure; their limits are values of a problem, `given_limits`. Rows that no unknown changes are no
rows of the program (`ConstantRows`): they hold for the values of a problem, or never will.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.graph import Graph
from trajopt.graph.protocols import Block, Values
from trajopt.graph.quantities import SPLINE_LEAVES, integrand
from trajopt.problem.problem import Problem
from trajopt.solvers.matrices import entries_of_rows, product
from trajopt.splines.node_sets import Neighbours, difference
from trajopt.splines.polynomial_bounds import control_point_rows
from trajopt.splines.trajectory import Nodes
from trajopt.transcription.leaf_map import LeafMap
from trajopt.transcription.linear_equations.linear_rows import Conditions
from trajopt.transcription.unknowns import RowLabel, continuity_name

Widths = Mapping[str, int]  # quantity -> how many components it has


Limits = tuple[Array, Array]  # lower and upper, (width,) each


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Rows lower <= weights @ quantity <= upper of the program, one per row of weights and component.

    has_lower, has_upper : (rows, width) which limits there are; entries with neither are no rows
    is_equation : (rows, width) where the two are equal
    source : the place of the limits among `given_limits`
    order : (width,) which component of the first node each component is compared with, None for itself
    """

    name: str
    quantity: str
    weights: sparse.csr_array  # (rows, K)
    has_lower: Array
    has_upper: Array
    is_equation: Array
    source: int
    order: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows of the weights, and components of the quantity."""
        return self.has_lower.shape

    @cached_property
    def kept(self) -> Array:
        """Mask of the entries of (rows, width), flattened, that have a limit and are rows of the program."""
        return np.ravel(self.has_lower | self.has_upper)

    @property
    def count(self) -> int:
        """The number of rows of the program."""
        return int(self.kept.sum())

    def limits(self, given: Sequence[Limits]) -> Limits:
        """The limits of (rows, width), infinite where there are none."""
        lower, upper = (each[self.node] if np.ndim(each) == 2 else each for each in given[self.source])
        return np.where(self.has_lower, lower, -np.inf), np.where(self.has_upper, upper, np.inf)

    def without(self, entries: Array) -> RowGroup:
        """The group without these entries of (rows, width)."""
        has_lower, has_upper, is_equation = (
            mask & ~entries for mask in (self.has_lower, self.has_upper, self.is_equation)
        )
        return replace(self, has_lower=has_lower, has_upper=has_upper, is_equation=is_equation)

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """The rows of the program as a matrix times the quantity, node by node, (count, K width)."""
        width = self.has_lower.shape[1]
        row, component = np.divmod(np.flatnonzero(self.kept), width)
        origin, node, weight = entries_of_rows(self.weights, row)
        component = component[origin]
        if self.order is not None:
            component = np.where(node == 0, self.order[component], component)
        starts = np.concatenate([[0], np.cumsum(np.bincount(origin, minlength=row.size))])
        shape = (row.size, self.weights.shape[1] * width)
        return sparse.csr_array((weight, node * width + component, starts), shape=shape)

    def spread(self, values: Array) -> Array:
        """One value per row of the program as (rows, width), zero where there is none."""
        full = np.zeros(self.kept.size, dtype=values.dtype)
        full[self.kept] = values
        return full.reshape(self.has_lower.shape)

    @cached_property
    def node(self) -> Array:
        """The node that reports name for each row of the weights: the last one with a weight, (rows,).

        The first node for a row without weights, as of an integral over a part that holds no span.
        """
        ends, filled = self.weights.indptr[1:], np.diff(self.weights.indptr) > 0
        found = np.zeros(ends.size, dtype=np.int64)
        found[filled] = self.weights.indices[ends[filled] - 1]
        return found

    def labels(self, nodes: Nodes, names: Callable[[str, int], list[str]]) -> Iterator[RowLabel]:
        """The label of every row of the program; `names` gives those of a quantity's components."""
        width, several, last = self.has_lower.shape[1], bool(nodes.arc[-1]), self.node
        components = names(self.quantity, width)
        for row, component in zip(*np.divmod(np.flatnonzero(self.kept), width), strict=True):
            node = int(last[row])
            arc = int(nodes.arc[node]) if several else None
            yield RowLabel(self.name, components[component], node, float(nodes.s[node]), arc)


@dataclass(frozen=True, eq=False)
class Objective:
    """weight * sum over nodes and components of node_weights * quantity."""

    name: str
    quantity: str
    weight: float
    node_weights: Array  # (K,)


def objectives_of(problem: Problem) -> tuple[Objective, ...]:
    """Costs by the value at one node, or by the quadrature of T * term."""
    objectives = []
    for cost in problem.costs:
        quantity = integrand(cost.term.quantity) if cost.over.integrates else cost.term.quantity
        weights = cost.over.cost_weights(problem.trajectory)
        objectives.append(Objective(cost.name, quantity, cost.weight, weights))
    return tuple(objectives)


def given_limits(problem: Problem, eased: bool = True) -> list[Limits]:
    """The limits of all constraints, of all integrals, the offsets of all periodicities, zeros, slacks.

    (width,) each, or (K, width) at the nodes where a measured state widens them, unless `eased` is False.
    """
    arc, s = problem.trajectory.nodes.arc, problem.trajectory.nodes.s
    stated = [each.limits_at(arc, s) if eased else (each.lower, each.upper) for each in problem.constraints]
    stated += [(each.lower, each.upper) for each in problem.integrals]
    offsets = [(periodicity.offset, periodicity.offset) for periodicity in problem.periodicities]
    zero = np.zeros(problem.dynamics.n)
    least = [np.asarray(low, dtype=float) for slack in problem.slacks.values() for _, low in slack.rows]
    return [*stated, *offsets, (zero, zero), *[(low, np.full_like(low, np.inf)) for low in least]]


def row_groups(problem: Problem, conditions: Conditions, widths: Widths) -> tuple[RowGroup, ...]:
    """The rows of all conditions that are not linear equations, in the order in which they were added."""
    given = given_limits(problem, eased=False)
    groups = list(_constraint_groups(problem, conditions, widths, given))
    if problem.slacks:
        groups += _slack_groups(problem, widths, given)
    if problem.integrals:
        groups += _integral_groups(problem, given)
    if conditions.periodicities:
        groups += _periodic_groups(problem, conditions, widths, given)
    if conditions.continuity:
        groups += _continuity_groups(problem, conditions, given)
    return tuple([group for group in groups if group.count])


def _constraint_groups(
    problem: Problem, conditions: Conditions, widths: Widths, given: Sequence[Limits]
) -> Iterator[RowGroup]:
    for number, eliminated in conditions.constraints.items():
        constraint = problem.constraints[number]
        if constraint.hold == "hull" and constraint.term.quantity in ("q", "v"):  # bounds, and linear rows
            continue
        if constraint.hold == "hull":
            order = SPLINE_LEAVES.index(constraint.term.quantity)
            weights, held = control_point_rows(problem.trajectory, order), ~eliminated
        else:
            weights = constraint.over.selection(problem.trajectory)
            held = constraint.held_at(problem.trajectory) & ~eliminated
        held = np.broadcast_to(held, (weights.shape[0], widths[constraint.term.quantity]))
        yield _group(constraint.name, constraint.term.quantity, weights, held, given, number)


def _slack_groups(problem: Problem, widths: Widths, given: Sequence[Limits]) -> Iterator[RowGroup]:
    """Slacks at the nodes with weight are at least every piece of their maximum."""
    nodes, source = problem.trajectory.nodes, len(problem.stated)
    for slack in problem.slacks.values():
        chosen = np.flatnonzero(slack.over.cost_weights(problem.trajectory) > 0.0)
        ones, rows = np.ones(chosen.size), np.arange(chosen.size)
        weights = sparse.csr_array((ones, (rows, chosen)), shape=(chosen.size, nodes.count))
        for term, _ in slack.rows:
            source += 1
            held = np.ones((chosen.size, widths[term.quantity]), dtype=bool)
            yield _group(slack.name, term.quantity, weights, held, given, source)


def _integral_groups(problem: Problem, given: Sequence[Limits]) -> Iterator[RowGroup]:
    """One row of quadrature weights per integral, of T * term."""
    for number, bounded in enumerate(problem.integrals, start=len(problem.constraints)):
        weights = sparse.csr_array(bounded.over.cost_weights(problem.trajectory)[None])
        held = np.ones((1, bounded.lower.size), dtype=bool)
        yield _group(bounded.name, integrand(bounded.term.quantity), weights, held, given, number)


def _periodic_groups(
    problem: Problem, conditions: Conditions, widths: Widths, given: Sequence[Limits]
) -> Iterator[RowGroup]:
    """One group per component, as each may have a sign of its own."""
    nodes, first = problem.trajectory.nodes, len(problem.constraints) + len(problem.integrals)
    for number in conditions.periodicities:
        periodicity = problem.periodicities[number]
        quantity = periodicity.term.quantity
        width = widths[quantity]
        for component in periodicity.kept:
            weights = difference(nodes, nodes.count - 1, 0, float(periodicity.signs[component]))
            held = (np.arange(width) == component)[None]
            group = _group(periodicity.name, quantity, weights, held, given, first + number)
            yield replace(group, order=periodicity.order)


def _continuity_groups(
    problem: Problem, conditions: Conditions, given: Sequence[Limits]
) -> Iterator[RowGroup]:
    last = len(problem.stated)
    kept = problem.continuity_at_borders
    for arc, quantity in conditions.continuity:
        weights = Neighbours(arc).selection(problem.trajectory)
        held = kept[[arc]] >= SPLINE_LEAVES.index(quantity)
        yield _group(continuity_name(quantity), quantity, weights, held, given, last)


def _group(
    name: str, quantity: str, weights: sparse.csr_array, held: Array, given: Sequence[Limits], source: int
) -> RowGroup:
    """The rows where `held` (rows, width) and a limit, of the given ones that of the source, is finite."""
    lower, upper = given[source]
    has_lower, has_upper = held & np.isfinite(lower), held & np.isfinite(upper)
    return RowGroup(name, quantity, weights, has_lower, has_upper, held & (lower == upper), source)


@dataclass(frozen=True, eq=False)
class ConstantRows:
    """The rows whose Jacobian is structurally zero, which solvers take for degenerate.

    groups : with these rows alone
    graph, leaf_map : which compute their quantities, at the nodes where these rows are
    """

    groups: tuple[RowGroup, ...]
    graph: Graph
    leaf_map: LeafMap

    def check(
        self,
        leaves: Values,
        other: Mapping[Block, Block],
        given: Sequence[Limits],
        times: Callable[[], Array],
        names: Callable[[str, int], list[str]],
    ) -> None:
        """Check that all these rows lie within their limits.

        leaves : at the nodes, for any unknowns;  other : blocks in place of some of the graph
        given : limits of the problem, `given_limits`
        times : gives those of all nodes
        names : (quantity, width) -> names of its components
        Raises InfeasibleBoundsError, naming term, component and node, for one that does not hold.
        """
        values = self.graph.with_blocks(other).values(leaves)
        for group in self.groups:
            own = values[group.quantity]
            at = np.zeros((group.weights.shape[1], own.shape[1]))
            at[self.leaf_map.kept] = own
            now, fixed = group.spread(product(group.matrix, at.ravel())), group.kept.reshape(group.shape)
            lower, upper = group.limits(given)
            slack = AGREEMENT * np.maximum(1.0, np.abs(now))
            wrong = fixed & ~((now >= lower - slack) & (now <= upper + slack))  # or NaN
            for row, component in np.argwhere(wrong)[:1]:
                label, node = names(group.quantity, fixed.shape[1])[component], int(group.node[row])
                what = f"'{group.name}', component {label}," if label else f"'{group.name}'"
                raise InfeasibleBoundsError(
                    f"{what} is {now[row, component]:.6g} at t = {times()[node]:.4g} s (node {node}) "
                    "whatever the motion, as other conditions fix it, but its limits are "
                    f"[{lower[row, component]:.6g}, {upper[row, component]:.6g}]: widen them, or move "
                    f"the boundary value{'' if node else ', or say start_at(..., measured=True)'}"
                )


def constant_rows(
    groups: Sequence[RowGroup], graph: Graph, leaf_map: LeafMap
) -> tuple[tuple[RowGroup, ...], tuple[RowGroup, ...]]:
    """Groups of the constant rows among those of all groups, and the groups without them."""
    constant, changing = [], []
    for group in groups:
        moving = leaf_map.depending(graph.leaf_pattern(group.quantity), group.has_lower.shape[1]).ravel()
        rows = np.repeat(np.arange(group.count), np.diff(group.matrix.indptr))
        fixed = np.bincount(rows, moving[group.matrix.indices], minlength=group.count) == 0.0
        if fixed.any():
            entries = group.spread(fixed)
            constant.append(group.without(~entries))
            group = group.without(entries)
        if group.count:
            changing.append(group)
    return tuple(constant), tuple(changing)
