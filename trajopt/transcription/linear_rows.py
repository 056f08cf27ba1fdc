"""The linear part of a problem: equalities to eliminate and bounds on unknowns or on rows of them.

Positions are linear in the control points, velocities in control points and durations together
(v T = B_1 P), accelerations only where they vanish or the duration is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from trajopt.arrays import Array
from trajopt.graph.leaves import SPLINE_LEAVES, extra_leaf
from trajopt.problem.costs_and_constraints import Constraint
from trajopt.problem.problem import Problem
from trajopt.splines.node_sets import END, START, ArcNodes
from trajopt.transcription.spline_map import SplineMap


@dataclass
class LinearRows:
    """Rows lower <= A x <= upper under construction, each with a name for reports."""

    size: int
    rows: list[Array] = field(default_factory=list)
    columns: list[Array] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def add(self, columns, values, lower: float, upper: float, name: str) -> None:
        values = np.atleast_1d(np.asarray(values, dtype=float))
        self.rows.append(np.full(values.size, len(self.names)))
        self.columns.append(np.atleast_1d(np.asarray(columns)))
        self.values.append(values)
        self.lower.append(float(lower))
        self.upper.append(float(upper))
        self.names.append(name)

    def matrix(self) -> sparse.csr_array:
        shape = (len(self.names), self.size)
        if not self.names:
            return sparse.csr_array(shape)
        triplets = (np.concatenate(self.rows), np.concatenate(self.columns))
        matrix = sparse.coo_array((np.concatenate(self.values), triplets), shape=shape).tocsr()
        matrix.eliminate_zeros()
        return matrix


def linear_equalities(problem: Problem, spline_map: SplineMap) -> tuple[LinearRows, list[Constraint]]:
    """Rows A x = b for elimination, and the constraints that are not among them."""
    rows = LinearRows(spline_map.layout.size)
    rest = []
    for constraint in problem.constraints:
        equal = _linear_equal(problem, constraint)
        if equal.any():
            _add_node_equalities(rows, problem, spline_map, constraint, equal)
            lower, upper = (
                np.where(equal, absent, bound)
                for absent, bound in ((-np.inf, constraint.lower), (np.inf, constraint.upper))
            )
            constraint = replace(constraint, lower=lower, upper=upper)
        if not equal.all():
            rest.append(constraint)
    for column, arc in zip(_duration_columns(spline_map), problem.trajectory.arcs, strict=True):
        shortest, longest = arc.duration_bounds
        if shortest == longest:
            rows.add(column, 1.0, shortest, shortest, "the fixed duration")
    return rows, rest


def periodic_equalities(rows: LinearRows, problem: Problem, spline_map: SplineMap) -> list:
    """Add q and, on one arc or fixed durations, v periodicities; return those that must become rows."""
    rest = []
    last, basis = spline_map.nodes.count - 1, spline_map.nodes.basis
    for use in problem.periodicities:
        leaf = spline_map.spline.get(use.term.quantity)
        shifted = leaf is not None and leaf.order > 0 and bool(np.any(use.offset))
        if leaf is None or shifted or (leaf.order > 0 and len(problem.trajectory.arcs) > 1):
            rest.append(use)
            continue
        labels = problem.component_names(use.term.quantity, len(use.signs))
        for component, sign in enumerate(use.signs):
            j, k = leaf.curves.start + component, leaf.curves.start + use.order[component]
            columns = np.concatenate([spline_map.columns[last, :, j], spline_map.columns[0, :, k]])
            values = np.concatenate([basis[leaf.order, last], -sign * basis[leaf.order, 0]])
            rhs = use.offset[component]
            label = f", {labels[component]}" if labels[component] else ""
            rows.add(columns, values, rhs, rhs, use.name + label)
    return rest


def continuity_equalities(rows: LinearRows, problem: Problem, spline_map: SplineMap) -> list[tuple[int, str]]:
    """Add position continuity between arcs; return (arc, quantity) pairs that must become rows."""
    nodes, bilinear = spline_map.nodes, []
    for arc in range(len(problem.trajectory.arcs) - 1):
        left, right = problem.trajectory.border(arc)
        for order in range(problem.trajectory.continuity + 1):
            if order:
                bilinear.append((arc, SPLINE_LEAVES[order]))
                continue
            for j, joint in enumerate(problem.dynamics.joint_names):
                columns = np.concatenate([spline_map.columns[left, :, j], spline_map.columns[right, :, j]])
                values = np.concatenate([nodes.basis[0, left], -nodes.basis[0, right]])
                rows.add(columns, values, 0.0, 0.0, f"continuity of {joint} after arc {arc}")
    return bilinear


def variable_bounds(problem: Problem, spline_map: SplineMap) -> tuple[Array, Array, list[str]]:
    """Bounds and names of the entries of x: hull bounds of positions, durations, parameters."""
    layout, trajectory = spline_map.layout, problem.trajectory
    lower, upper = np.full(layout.size, -np.inf), np.full(layout.size, np.inf)
    names = []
    points = zip(*(layout.control_points(bound) for bound in (lower, upper)), strict=True)
    for arc_index, ((low, high), arc) in enumerate(zip(points, trajectory.arcs, strict=True)):
        for leaf, bound in _curve_bounds(problem):
            curves = spline_map.spline[leaf].curves
            low[:, curves] = np.maximum(low[:, curves], bound.lower)
            high[:, curves] = np.minimum(high[:, curves], bound.upper)
        names += [
            f"control point {i} of {curve} in arc {arc_index} (near s = {s:.3g}{limits})"
            for i, s in enumerate(arc.basis.greville)
            for curve, limits in _curve_names(problem)
        ]
    for arc_index, arc in enumerate(trajectory.arcs):
        place = layout.duration(arc_index)
        lower[place], upper[place] = arc.duration_bounds
        names.append(f"duration of arc {arc_index}")
    for name, place in layout.parameters.items():
        lower[place], upper[place] = problem.parameters[name].lower, problem.parameters[name].upper
        names += [f"parameter {name}"] * (place.stop - place.start)
    return lower, upper, names


def velocity_hull_rows(problem: Problem, spline_map: SplineMap) -> LinearRows:
    """lower T <= control points of B_1 P <= upper T, two rows each: linear, and true for all t."""
    layout = spline_map.layout
    rows = LinearRows(layout.size)
    for constraint in problem.constraints:
        if constraint.hold != "hull" or constraint.term.quantity != "v":
            continue
        for arc_index, arc in enumerate(problem.trajectory.arcs):
            knots, degree = arc.basis.knots, arc.basis.degree
            widths = knots[degree + 1 : -1] - knots[1 : -degree - 1]
            for i, width in enumerate(widths):
                for j, joint in enumerate(problem.dynamics.joint_names):
                    earlier, later = (layout.column(arc_index, point, j) for point in (i, i + 1))
                    columns, slope = [earlier, later, layout.duration(arc_index)], degree / width
                    label = f"{constraint.name} of {joint}"
                    if np.isfinite(constraint.lower[j]):
                        rows.add(columns, [-slope, slope, -constraint.lower[j]], 0.0, np.inf, label)
                    if np.isfinite(constraint.upper[j]):
                        rows.add(columns, [-slope, slope, -constraint.upper[j]], -np.inf, 0.0, label)
    return rows


def _curve_bounds(problem: Problem):
    """(leaf, what bounds its curves): hull limits of the positions and extra curves."""
    for constraint in problem.constraints:
        if constraint.hold == "hull" and constraint.term.quantity == "q":
            yield "q", constraint
    for name, extra in problem.extras.items():
        yield extra_leaf(name), extra


def _curve_names(problem: Problem) -> list[tuple[str, str]]:
    """(curve, what bounds it) for every joint and extra curve."""
    hull = [c.name for c in problem.constraints if c.hold == "hull" and c.term.quantity == "q"]
    limits = f", by '{' and '.join(hull)}'" if hull else ""
    extras = [f"{name} {i}" for name, extra in problem.extras.items() for i in range(extra.lower.size)]
    return [(joint, limits) for joint in problem.dynamics.joint_names] + [(name, "") for name in extras]


def _linear_equal(problem: Problem, constraint: Constraint) -> Array:
    """Which components of a constraint are equations that are linear in the unknowns."""
    quantity, equal = constraint.term.quantity, constraint.lower == constraint.upper
    if constraint.over.is_difference:
        return np.zeros_like(equal)
    # Joints held at a speed on an arc of their own stay rows: pivots among the coefficients of a high degree
    # are ill-conditioned, 37 iterations became 222; and their multipliers are wanted.
    held = isinstance(constraint.over, ArcNodes) and constraint.over.part != "whole"
    if held and quantity in ("v", "a", "jerk"):
        return np.zeros_like(equal)
    if quantity in ("q", "v", "duration", "t") or quantity.startswith(("parameter:", "extra:")):
        return equal
    if quantity not in ("a", "jerk"):
        return np.zeros_like(equal)
    fixed = all(arc.duration_bounds[0] == arc.duration_bounds[1] for arc in problem.trajectory.arcs)
    return equal if fixed else equal & (constraint.lower == 0.0)


def _add_node_equalities(
    rows: LinearRows, problem: Problem, spline_map: SplineMap, constraint: Constraint, equal: Array
) -> None:
    quantity, nodes = constraint.term.quantity, spline_map.nodes
    for k in constraint.over.nodes(problem.trajectory):
        if quantity in spline_map.spline:
            order, curves = spline_map.spline[quantity].order, spline_map.spline[quantity].curves
            labels = problem.component_names(quantity, curves.stop - curves.start)
            duration = spline_map.layout.duration(int(nodes.arc[k]))
            shortest, longest = problem.trajectory.arcs[nodes.arc[k]].duration_bounds
            for component in np.flatnonzero(equal):
                columns = spline_map.columns[k, :, curves.start + component]
                values, rhs = nodes.basis[order, k], constraint.lower[component]
                if order == 1 and shortest < longest:
                    columns, values, rhs = np.append(columns, duration), np.append(values, -rhs), 0.0
                elif order:
                    rhs = rhs * shortest**order if shortest == longest else 0.0
                label = f", {labels[component]}" if labels[component] else ""
                rows.add(
                    columns, values, rhs, rhs, constraint.name + label + _when(spline_map, constraint, k)
                )
        else:
            for component in np.flatnonzero(equal):
                gradient = spline_map.global_jacobian(quantity)[k][component]
                columns = spline_map.layout.control_point_count + np.arange(gradient.size)
                rhs = constraint.lower[component]
                rows.add(columns, gradient, rhs, rhs, constraint.name + _when(spline_map, constraint, k))


def _when(spline_map: SplineMap, constraint: Constraint, node: int) -> str:
    """Where a node is, unless the constraint's name says so: durations are not known here, so no seconds."""
    if constraint.over in (START, END):
        return ""
    nodes = spline_map.nodes
    of = f" of arc {nodes.arc[node]}" if nodes.arc[-1] else ""
    return f" at s = {nodes.s[node]:.4g}{of} (node {node})"


def _duration_columns(spline_map: SplineMap) -> range:
    return range(spline_map.layout.durations.start, spline_map.layout.durations.stop)
