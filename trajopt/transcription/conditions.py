"""Conditions of a problem: linear equations, which are eliminated, and groups of rows at the nodes.

Costs and constraints are weighted sums of quantities at the nodes, with constant sparse weights. Rows at
nodes take one node each, differences compare two nodes, costs sum over all nodes with the weights of a
quadrature. Being linear in the quantities, neither adds second derivatives of its own. Which rows there are
is structure; their limits are values of a problem, `given_limits`. Rows that no unknown changes are no rows
of the program (`ConstantRows`): they hold for the values of a problem, or never will.

Of the linear equations, positions are linear in the control points, velocities in control points and
durations together (v T = B_1 P), accelerations only where they vanish or the duration is fixed. Which
equations there are is structure; their right-hand sides are values of the problem: boundary values, offsets,
fixed durations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.graph import Graph
from trajopt.graph.protocols import Block, Values
from trajopt.graph.quantities import SPLINE_LEAVES, integrand, is_extra, is_parameter
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.solvers.matrices import entries_of_rows, matrix_of_parts, product
from trajopt.splines.node_sets import END, START, ArcNodes, Neighbours, difference
from trajopt.splines.polynomial_bounds import control_point_rows
from trajopt.splines.trajectory import Nodes
from trajopt.transcription.leaf_map import LeafMap, SplineMap
from trajopt.transcription.unknowns import FIXED_DURATION, RowLabel, arc_where_several, continuity_name

Widths = Mapping[str, int]  # quantity -> how many components it has
Limits = tuple[Array, Array]  # lower and upper, (width,) each


@dataclass(frozen=True, eq=False)
class LinearEquations:
    """Equations A x = b: the matrix, and where each right-hand side comes from.

    b = value T^order, with `value` one of the given ones and T the fixed duration of an arc

    labels : names of the rows
    source : (rows,) places among the given values: 0, the lower bounds of all constraints, the offsets of
        periodicities, the shortest durations
    arc, order : (rows,) the arc and the power of its duration
    """

    A: sparse.csr_array
    labels: tuple[RowLabel, ...]
    source: Array
    arc: Array
    order: Array

    def right_sides(self, problem: Problem) -> Array:
        """b (rows,) of the problem that they were made of, or of one that differs in values alone."""
        durations = problem.trajectory.duration_bounds[0]
        bounds = [constraint.lower for constraint in problem.constraints]
        offsets = [periodicity.offset for periodicity in problem.periodicities]
        given = np.concatenate([[0.0], *bounds, *offsets, durations])
        return given[self.source] * durations[self.arc] ** self.order


@dataclass(frozen=True)
class Conditions:
    """Conditions of a problem: linear equations, and the others, which become rows of the program.

    constraints : number of a constraint -> which components are linear equations, and no rows, (width,)
    periodicities : numbers of those that become rows
    continuity : (arc, quantity) for every quantity in which an arc agrees with the next in some component
    """

    equations: LinearEquations
    constraints: dict[int, Array]
    periodicities: tuple[int, ...]
    continuity: tuple[tuple[int, str], ...]


def conditions_of(problem: Problem, spline_map: SplineMap, kept_as_rows: Collection[int] = ()) -> Conditions:
    """The conditions of a problem, equations that are linear in the unknowns apart from all others.

    kept_as_rows : numbers of constraints that become rows although they are linear equations
    """
    widths = [constraint.lower.size for constraint in problem.constraints]
    widths += [periodicity.offset.size for periodicity in problem.periodicities]
    equations = _Equations(problem, spline_map, np.cumsum([1, *widths]).tolist())
    constraints = dict(_constraints(equations, kept_as_rows))
    periodicities = tuple(_periodicities(equations)) if problem.periodicities else ()
    continuity = tuple(_continuity(equations)) if len(problem.trajectory.arcs) > 1 else ()
    shape, labels = (len(equations.labels), spline_map.layout.size), tuple(equations.labels)
    matrix = matrix_of_parts(equations.parts, shape)
    matrix.sum_duplicates()  # of a period within one span
    matrix.eliminate_zeros()
    source, arc, order = np.array(equations.sources, dtype=int).reshape(-1, 3).T
    linear = LinearEquations(matrix, labels, source, arc, order)
    return Conditions(linear, constraints, periodicities, continuity)


@dataclass
class _Equations:
    """Equations under construction.

    places : of the first value of every constraint, of every offset, and of the durations, among the given
        values
    """

    problem: Problem
    spline_map: SplineMap
    places: list[int]
    parts: list[tuple[Array, Array, Array]] = field(default_factory=list)  # rows, columns, values
    labels: list[RowLabel] = field(default_factory=list)
    sources: list[tuple[int, int, int]] = field(default_factory=list)  # given value, arc, order

    def add(self, columns, values, label: RowLabel, source: int = 0, arc: int = 0, order: int = 0) -> None:
        """Add the equation values . x[columns] = given value * T^order; `source` 0 is the value zero."""
        values = np.atleast_1d(np.asarray(values, dtype=float))
        rows = np.full(values.size, len(self.labels))
        self.parts.append((rows, np.atleast_1d(np.asarray(columns)), values))
        self.labels.append(label)
        self.sources.append((source, arc, order))


def _constraints(rows: _Equations, kept_as_rows: Collection[int]) -> Iterator[tuple[int, Array]]:
    """Add equations and fixed durations; yield the constraints that are rows, or parts of them are."""
    problem, layout = rows.problem, rows.spline_map.layout
    for number, constraint in enumerate(problem.constraints):
        equal = linear_equations_among(problem, constraint)
        if number in kept_as_rows:
            equal = np.zeros_like(equal)
        if equal.any():
            if constraint.hold == "hull" and constraint.term.quantity == "q":
                _add_control_points(rows, number, equal)
            else:
                _add_node_equalities(rows, number, equal)
        if not equal.all():
            yield number, equal
    for index, arc in enumerate(problem.trajectory.arcs):
        if arc.duration_bounds[0] == arc.duration_bounds[1]:
            label = RowLabel(FIXED_DURATION, arc=arc_where_several(layout, index))
            rows.add(layout.durations.start + index, 1.0, label, rows.places[-1] + index)


def _periodicities(rows: _Equations) -> Iterator[int]:
    """Add periodicities of q and, on one arc, of v; yield those that must be rows."""
    problem, spline_map = rows.problem, rows.spline_map
    last = spline_map.nodes.count - 1
    for number, periodicity in enumerate(problem.periodicities):
        leaf = spline_map.spline.get(periodicity.term.quantity)
        shifted = leaf is not None and leaf.order > 0 and bool(np.any(periodicity.offset))
        if leaf is None or shifted or (leaf.order > 0 and len(problem.trajectory.arcs) > 1):
            yield number
            continue
        labels = problem.component_names(periodicity.term.quantity, len(periodicity.signs))
        for component in periodicity.kept:
            sign = periodicity.signs[component]
            quantity = periodicity.term.quantity
            after, factors = spline_map.entries(quantity, component, last)
            before, others = spline_map.entries(quantity, int(periodicity.order[component]), 0)
            columns, values = np.concatenate([after, before]), np.concatenate([factors, -sign * others])
            label = RowLabel(periodicity.name, labels[component])
            source = rows.places[len(problem.constraints) + number] + component
            rows.add(columns, values, label, source)


def _continuity(rows: _Equations) -> Iterator[tuple[int, str]]:
    """Add continuity of positions; yield (arc, quantity) of those that must be rows."""
    problem, spline_map = rows.problem, rows.spline_map
    nodes = spline_map.nodes
    for arc, kept in enumerate(problem.continuity_at_borders):
        left, right = problem.trajectory.border(arc)
        for j, joint in enumerate(problem.dynamics.joint_names):
            if kept[j] < 0:
                continue
            before, factors = spline_map.entries("q", j, left)
            after, others = spline_map.entries("q", j, right)
            columns, values = np.concatenate([before, after]), np.concatenate([factors, -others])
            label = RowLabel(continuity_name("q"), joint, left, float(nodes.s[left]), arc)
            rows.add(columns, values, label)
        for order in range(1, int(kept.max(initial=0)) + 1):
            yield arc, SPLINE_LEAVES[order]


def linear_equations_among(problem: Problem, constraint: Constraint) -> Array:
    """Mask of the components of a constraint that are equations linear in the unknowns."""
    quantity, equal = constraint.term.quantity, constraint.lower == constraint.upper
    if constraint.over.is_difference:
        return np.zeros_like(equal)
    # Joints held at a speed on an arc of their own stay rows: pivots among the coefficients of a high degree
    # are ill-conditioned (222 iterations instead of 37), and the signs of their multipliers are checked.
    held = isinstance(constraint.over, ArcNodes) and constraint.over.part != "whole"
    if held and quantity in ("v", "a", "jerk"):
        return np.zeros_like(equal)
    if quantity in ("q", "v", "duration", "t") or is_extra(quantity) or is_parameter(quantity):
        return equal
    if quantity not in ("a", "jerk"):
        return np.zeros_like(equal)
    return equal & (constraint.lower == 0.0) if problem.trajectory.has_free_duration else equal


def _add_control_points(rows: _Equations, number: int, equal: Array) -> None:
    """Positions that are constant: all control points have the value, so the curve has it for all t."""
    layout, constraint = rows.spline_map.layout, rows.problem.constraints[number]
    joints = rows.problem.dynamics.joint_names
    for arc, basis in enumerate(layout.bases):
        where = arc_where_several(layout, arc)
        for joint in map(int, np.flatnonzero(equal)):
            source = rows.places[number] + joint
            for i in range(basis.count):
                label = RowLabel(constraint.name, joints[joint], arc=where, control_point=i)
                rows.add(layout.groups[0].column(arc, i, joint), 1.0, label, source)


def _add_node_equalities(rows: _Equations, number: int, equal: Array) -> None:
    problem, spline_map, constraint = rows.problem, rows.spline_map, rows.problem.constraints[number]
    quantity, nodes = constraint.term.quantity, spline_map.nodes
    leaf, layout = spline_map.spline.get(quantity), spline_map.layout
    names: Sequence[str] = problem.dynamics.joint_names
    if quantity not in SPLINE_LEAVES:
        names = problem.component_names(quantity, equal.size)
    at_end = constraint.over in (START, END)  # which needs no node
    chosen = constraint.over.nodes(problem.trajectory)
    held = constraint.held_at(problem.trajectory) & equal
    for k, own in zip(chosen[held.any(axis=1)], held[held.any(axis=1)], strict=True):
        arc = int(nodes.arc[k])
        shortest, longest = problem.trajectory.arcs[arc].duration_bounds
        for component in map(int, np.flatnonzero(own)):
            source, order = rows.places[number] + component, 0
            if leaf is None:
                values = spline_map.global_jacobians[quantity][k][component]
                columns = layout.control_point_count + np.arange(values.size)
            else:
                columns, values = spline_map.entries(quantity, component, int(k))
                if leaf.order and shortest == longest:
                    order = leaf.order
                elif leaf.order:
                    source = 0
                if leaf.order == 1 and shortest < longest:
                    columns = np.append(columns, layout.durations.start + arc)
                    values = np.append(values, -constraint.lower[component])
            label = RowLabel(constraint.name, names[component])
            if not at_end:
                label = replace(label, node=int(k), s=float(nodes.s[k]), arc=arc_where_several(layout, arc))
            rows.add(columns, values, label, source, arc, order)


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

    @property
    def takes_single_nodes(self) -> bool:
        """True if every row takes one node."""
        return bool(np.all(np.diff(self.weights.indptr) == 1))

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
