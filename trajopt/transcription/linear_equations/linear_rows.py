"""The linear equations of a problem, for elimination, and the conditions that are left.

Positions are linear in the control points, velocities in control points and durations together
(v T = B_1 P), accelerations only where they vanish or the duration is fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from trajopt.arrays import Array
from trajopt.graph.leaves import SPLINE_LEAVES, is_extra, is_parameter
from trajopt.problem.costs_and_constraints import Constraint, Periodicity
from trajopt.problem.problem import Problem
from trajopt.splines.node_sets import END, START, ArcNodes
from trajopt.transcription.row_labels import FIXED_DURATION, RowLabel, arc_where_several, continuity_name
from trajopt.transcription.spline_map import SplineMap


@dataclass
class LinearRows:
    """Rows lower <= A x <= upper under construction, each with a label for reports."""

    size: int
    rows: list[Array] = field(default_factory=list)
    columns: list[Array] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    labels: list[RowLabel] = field(default_factory=list)

    def add(self, columns, values, lower: float, upper: float, label: RowLabel) -> None:
        values = np.atleast_1d(np.asarray(values, dtype=float))
        self.rows.append(np.full(values.size, len(self.labels)))
        self.columns.append(np.atleast_1d(np.asarray(columns)))
        self.values.append(values)
        self.lower.append(float(lower))
        self.upper.append(float(upper))
        self.labels.append(label)

    def matrix(self) -> sparse.csr_array:
        shape = (len(self.labels), self.size)
        if not self.labels:
            return sparse.csr_array(shape)
        triplets = (np.concatenate(self.rows), np.concatenate(self.columns))
        matrix = sparse.coo_array((np.concatenate(self.values), triplets), shape=shape).tocsr()
        matrix.eliminate_zeros()
        return matrix


@dataclass(frozen=True)
class Conditions:
    """Conditions of a problem: linear equations A x = b, and the others, which become rows of the program.

    continuity : (arc, quantity) for every quantity in which an arc agrees with the next
    """

    equations: LinearRows
    constraints: tuple[Constraint, ...]
    periodicities: tuple[Periodicity, ...]
    continuity: tuple[tuple[int, str], ...]


def conditions_of(problem: Problem, spline_map: SplineMap) -> Conditions:
    """The conditions of a problem, equations that are linear in the unknowns apart from all others."""
    equations = LinearRows(spline_map.layout.size)
    constraints = tuple(_constraints(equations, problem, spline_map))
    periodicities = tuple(_periodicities(equations, problem, spline_map))
    continuity = tuple(_continuity(equations, problem, spline_map))
    return Conditions(equations, constraints, periodicities, continuity)


def _constraints(rows: LinearRows, problem: Problem, spline_map: SplineMap) -> Iterator[Constraint]:
    """Add equations and fixed durations; yield the constraints, or the parts of them, that must be rows."""
    for constraint in problem.constraints:
        equal = _linear_equal(problem, constraint)
        if equal.any():
            if constraint.hold == "hull" and constraint.term.quantity == "q":
                _add_control_points(rows, problem, spline_map, constraint, equal)
            else:
                _add_node_equalities(rows, problem, spline_map, constraint, equal)
            lower, upper = (
                np.where(equal, absent, bound)
                for absent, bound in ((-np.inf, constraint.lower), (np.inf, constraint.upper))
            )
            constraint = replace(constraint, lower=lower, upper=upper)
        if not equal.all():
            yield constraint
    layout = spline_map.layout
    for index, arc in enumerate(problem.trajectory.arcs):
        shortest, longest = arc.duration_bounds
        if shortest == longest:
            label = RowLabel(FIXED_DURATION, arc=arc_where_several(layout, index))
            rows.add(layout.duration(index), 1.0, shortest, shortest, label)


def _periodicities(rows: LinearRows, problem: Problem, spline_map: SplineMap) -> Iterator[Periodicity]:
    """Add periodicities of q and, on one arc, of v; yield those that must be rows."""
    last = spline_map.nodes.count - 1
    for periodicity in problem.periodicities:
        leaf = spline_map.spline.get(periodicity.term.quantity)
        shifted = leaf is not None and leaf.order > 0 and bool(np.any(periodicity.offset))
        if leaf is None or shifted or (leaf.order > 0 and len(problem.trajectory.arcs) > 1):
            yield periodicity
            continue
        labels = problem.component_names(periodicity.term.quantity, len(periodicity.signs))
        for component, sign in enumerate(periodicity.signs):
            quantity = periodicity.term.quantity
            after, factors = spline_map.entries(quantity, component, last)
            before, others = spline_map.entries(quantity, int(periodicity.order[component]), 0)
            columns, values = np.concatenate([after, before]), np.concatenate([factors, -sign * others])
            rhs = periodicity.offset[component]
            rows.add(columns, values, rhs, rhs, RowLabel(periodicity.name, labels[component]))


def _continuity(rows: LinearRows, problem: Problem, spline_map: SplineMap) -> Iterator[tuple[int, str]]:
    """Add continuity of positions; yield (arc, quantity) of what must be rows."""
    nodes = spline_map.nodes
    for arc in range(len(problem.trajectory.arcs) - 1):
        left, right = problem.trajectory.border(arc)
        for j, joint in enumerate(problem.dynamics.joint_names):
            before, factors = spline_map.entries("q", j, left)
            after, others = spline_map.entries("q", j, right)
            columns, values = np.concatenate([before, after]), np.concatenate([factors, -others])
            label = RowLabel(continuity_name("q"), joint, left, float(nodes.s[left]), arc)
            rows.add(columns, values, 0.0, 0.0, label)
        for order in range(1, problem.trajectory.continuity + 1):
            yield arc, SPLINE_LEAVES[order]


def _linear_equal(problem: Problem, constraint: Constraint) -> Array:
    """Which components of a constraint are equations that are linear in the unknowns."""
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
    fixed = all(arc.duration_bounds[0] == arc.duration_bounds[1] for arc in problem.trajectory.arcs)
    return equal if fixed else equal & (constraint.lower == 0.0)


def _add_control_points(
    rows: LinearRows, problem: Problem, spline_map: SplineMap, constraint: Constraint, equal: Array
) -> None:
    """Positions that are constant: all control points have the value, so the curve has it for all t."""
    layout, joints = spline_map.layout, problem.dynamics.joint_names
    for arc, basis in enumerate(layout.bases):
        for joint in map(int, np.flatnonzero(equal)):
            value = constraint.lower[joint]
            for i in range(basis.count):
                where = arc_where_several(layout, arc)
                label = RowLabel(constraint.name, joints[joint], arc=where, control_point=i)
                rows.add(layout.column(arc, i, joint), 1.0, value, value, label)


def _add_node_equalities(
    rows: LinearRows, problem: Problem, spline_map: SplineMap, constraint: Constraint, equal: Array
) -> None:
    quantity, nodes = constraint.term.quantity, spline_map.nodes
    leaf, layout = spline_map.spline.get(quantity), spline_map.layout
    names = problem.component_names(quantity, equal.size)
    chosen = constraint.over.nodes(problem.trajectory)
    for k in chosen[constraint.over.carries_equations(problem.trajectory)]:
        shortest, longest = problem.trajectory.arcs[nodes.arc[k]].duration_bounds
        for component in np.flatnonzero(equal):
            rhs = constraint.lower[component]
            if leaf is None:
                values = spline_map.global_jacobian(quantity)[k][component]
                columns = layout.control_point_count + np.arange(values.size)
            else:
                columns, values = spline_map.entries(quantity, int(component), int(k))
                if leaf.order == 1 and shortest < longest:
                    columns = np.append(columns, layout.duration(int(nodes.arc[k])))
                    values, rhs = np.append(values, -rhs), 0.0
                elif leaf.order:
                    rhs = rhs * shortest**leaf.order if shortest == longest else 0.0
            rows.add(columns, values, rhs, rhs, _label(spline_map, constraint, names[component], int(k)))


def _label(spline_map: SplineMap, constraint: Constraint, component: str, node: int) -> RowLabel:
    """The label of an equation at a node; start and end need no node."""
    if constraint.over in (START, END):
        return RowLabel(constraint.name, component)
    nodes = spline_map.nodes
    arc = arc_where_several(spline_map.layout, int(nodes.arc[node]))
    return RowLabel(constraint.name, component, node, float(nodes.s[node]), arc)
