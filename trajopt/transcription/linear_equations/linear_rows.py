"""The linear equations of a problem, which are eliminated, and its other conditions, which become rows.

Positions are linear in the control points, velocities in control points and durations together
(v T = B_1 P), accelerations only where they vanish or the duration is fixed. Which equations there are is
structure; their right-hand sides are values of the problem: boundary values, offsets, fixed durations.

Among the motions that meet the linear equations, `nearest_point` is the one nearest to another.

With x = N y + c the solutions of the equations and x' a motion that meets others (another goal's), it is

    min over y of  sum over nodes and curves of (d^2 (p - p') / ds^2)^2  +  |x - x'|^2,

p and p' the curves of x and x', s the normalised time of an arc. So it differs from x' along all of the
motion, by a smooth curve: with only those control points moved that the equations ask for, positions would
change by as much within one interval, and accelerations by hundreds of times more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from trajopt.base.arrays import Array
from trajopt.graph.quantities import SPLINE_LEAVES, is_extra, is_parameter
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.solvers.matrices import matrix_of_parts
from trajopt.splines.node_sets import END, START, ArcNodes
from trajopt.transcription.leaf_map import SplineMap
from trajopt.transcription.linear_equations.elimination import Elimination, GeneralSolution
from trajopt.transcription.unknowns import FIXED_DURATION, RowLabel, arc_where_several, continuity_name


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
    for k in chosen[constraint.over.carries_equations(problem.trajectory)]:
        arc = int(nodes.arc[k])
        shortest, longest = problem.trajectory.arcs[arc].duration_bounds
        for component in map(int, np.flatnonzero(equal)):
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


def nearest_change(spline_map: SplineMap, solution: GeneralSolution) -> Array:
    """M (free, fixed): where the entries of x that are not free change by d, those that are change by M d."""
    size, N = solution.A.shape[1], solution.N
    bent = [_second_derivatives(group.basis[2], group.columns, size) for group in spline_map.groups]
    metric = sum((each.T @ each for each in bent), sparse.eye_array(size, format="csr"))
    mixed = (N.T @ metric)[:, solution.fixed]
    return -splu(sparse.csc_array(N.T @ metric @ N)).solve(mixed.toarray())


def nearest_point(elimination: Elimination, change: Array, fixed: Array, x: Array) -> Array:
    """The y of the motion nearest to x; `change` is that of `nearest_change`, `fixed` as there."""
    y = elimination.reduce(x)
    return y + change @ (elimination.expand(y) - x)[fixed]


def _second_derivatives(basis: Array, columns: Array, size: int) -> sparse.csr_array:
    """d^2 p / ds^2 of some curves at all nodes as a matrix times x; arguments as in `GroupAtNodes`."""
    nodes, _, curves = columns.shape
    rows = np.arange(nodes * curves).reshape(nodes, 1, curves)
    parts = np.broadcast_arrays(rows, columns, basis[:, :, None])
    row, column, value = (part.ravel() for part in parts)
    return matrix_of_parts([(row, column, value)], (nodes * curves, size))
