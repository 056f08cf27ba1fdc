"""Costs and constraints as weighted sums of quantities at the nodes, with constant sparse weights.

Rows at nodes take one node each, differences compare two nodes, costs sum over all nodes with the weights
of a quadrature. Being linear in the quantities, neither adds second derivatives of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from trajopt.arrays import Array
from trajopt.problem.problem import Problem
from trajopt.problem.problem_graph import integrand_of
from trajopt.splines.node_sets import difference
from trajopt.splines.trajectory import Nodes
from trajopt.transcription.derivatives.sparse_entries import entries_of_rows
from trajopt.transcription.linear_equations.linear_rows import Conditions
from trajopt.transcription.row_labels import RowLabel, continuity_name

Widths = Mapping[str, int]  # quantity -> how many components it has


@dataclass(frozen=True, eq=False)
class RowGroup:
    """Rows lower <= weights @ quantity <= upper of the program, one per row of weights and component.

    order : which component of the first node each component is compared with, None for itself
    """

    name: str
    quantity: str
    weights: sparse.csr_array  # (rows, K)
    lower: Array  # (rows, width)
    upper: Array  # (rows, width)
    order: Array | None = None  # (width,)

    @property
    def width(self) -> int:
        """How many components the quantity has."""
        return self.lower.shape[1]

    @cached_property
    def kept(self) -> Array:
        """Which entries of (rows, width), flattened, have a finite bound and are rows of the program."""
        return np.ravel(np.isfinite(self.lower) | np.isfinite(self.upper))

    @property
    def count(self) -> int:
        """How many rows of the program there are."""
        return int(self.kept.sum())

    @property
    def matrix(self) -> sparse.csr_array:
        """The rows of the program as a matrix times the quantity, node by node, (count, K width)."""
        row, component = np.divmod(np.flatnonzero(self.kept), self.width)
        origin, node, weight = entries_of_rows(self.weights, row)
        component = component[origin]
        if self.order is not None:
            component = np.where(node == 0, self.order[component], component)
        starts = np.concatenate([[0], np.cumsum(np.bincount(origin, minlength=row.size))])
        shape = (row.size, self.weights.shape[1] * self.width)
        return sparse.csr_array((weight, node * self.width + component, starts), shape=shape)

    def spread(self, values: Array) -> Array:
        """One value per row of the program as (rows, width), zero where there is none."""
        full = np.zeros(self.lower.size, dtype=values.dtype)
        full[self.kept] = values
        return full.reshape(self.lower.shape)

    @property
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
        components, several, last = names(self.quantity, self.width), bool(nodes.arc[-1]), self.node
        for row, component in zip(*np.divmod(np.flatnonzero(self.kept), self.width), strict=True):
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
        quantity = integrand_of(cost.term) if cost.over.integrates else cost.term.quantity
        weights = cost.over.cost_weights(problem.trajectory)
        objectives.append(Objective(cost.name, quantity, cost.weight, weights))
    return tuple(objectives)


def row_groups(problem: Problem, conditions: Conditions, widths: Widths) -> tuple[RowGroup, ...]:
    """The rows of all conditions that are not linear equations, in the order in which they were stated."""
    groups = (
        *_constraint_groups(problem, conditions, widths),
        *_slack_groups(problem, widths),
        *_integral_groups(problem),
        *_periodic_groups(problem, conditions, widths),
        *_continuity_groups(problem, conditions),
    )
    return tuple(group for group in groups if group.count)


def _constraint_groups(problem: Problem, conditions: Conditions, widths: Widths) -> Iterator[RowGroup]:
    for constraint in conditions.constraints:
        if constraint.hold == "hull":
            continue
        weights = constraint.over.selection(problem.trajectory)
        shape = (weights.shape[0], widths[constraint.term.quantity])
        lower, upper = (np.broadcast_to(bound, shape) for bound in (constraint.lower, constraint.upper))
        free = ~constraint.held_at(problem.trajectory)
        lower, upper = np.where(free, -np.inf, lower), np.where(free, np.inf, upper)
        yield RowGroup(constraint.name, constraint.term.quantity, weights, lower, upper)


def _slack_groups(problem: Problem, widths: Widths) -> Iterator[RowGroup]:
    """Slacks at the nodes with weight are at least every piece of what they stand for."""
    nodes = problem.trajectory.nodes
    for slack in problem.slacks.values():
        chosen = np.flatnonzero(slack.over.cost_weights(problem.trajectory) > 0.0)
        ones, rows = np.ones(chosen.size), np.arange(chosen.size)
        weights = sparse.csr_array((ones, (rows, chosen)), shape=(chosen.size, nodes.count))
        for term, least in slack.rows:
            shape = (chosen.size, widths[term.quantity])
            lower = np.broadcast_to(least, shape)
            yield RowGroup(slack.name, term.quantity, weights, lower, np.full(shape, np.inf))


def _integral_groups(problem: Problem) -> Iterator[RowGroup]:
    """One row of quadrature weights per integral, of T * term."""
    for bounded in problem.integrals:
        weights = sparse.csr_array(bounded.over.cost_weights(problem.trajectory)[None])
        lower, upper = bounded.lower[None], bounded.upper[None]
        yield RowGroup(bounded.name, integrand_of(bounded.term), weights, lower, upper)


def _periodic_groups(problem: Problem, conditions: Conditions, widths: Widths) -> Iterator[RowGroup]:
    """One group per component, as each may have a sign of its own."""
    nodes = problem.trajectory.nodes
    for periodicity in conditions.periodicities:
        quantity = periodicity.term.quantity
        width = widths[quantity]
        for component, sign in enumerate(np.broadcast_to(periodicity.signs, (width,))):
            weights = difference(nodes, nodes.count - 1, 0, float(sign))
            lower, upper = np.full((1, width), -np.inf), np.full((1, width), np.inf)
            lower[0, component] = upper[0, component] = periodicity.offset[component]
            yield RowGroup(periodicity.name, quantity, weights, lower, upper, periodicity.order)


def _continuity_groups(problem: Problem, conditions: Conditions) -> Iterator[RowGroup]:
    zero = np.zeros((1, problem.dynamics.n))
    for arc, quantity in conditions.continuity:
        before, after = problem.trajectory.border(arc)
        weights = difference(problem.trajectory.nodes, after, before)
        yield RowGroup(continuity_name(quantity), quantity, weights, zero, zero)
