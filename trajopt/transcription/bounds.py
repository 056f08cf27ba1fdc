"""Bounds of the unknowns y, and linear rows: bounds of eliminated unknowns and limits on velocity hulls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from trajopt.arrays import Array
from trajopt.errors import InfeasibleBoundsError
from trajopt.graph.leaves import extra_leaf
from trajopt.problem.costs_and_constraints import AdditionalCurve, Constraint
from trajopt.problem.problem import Problem
from trajopt.solvers.violation import bound_violation
from trajopt.transcription.linear_equations.elimination import Elimination
from trajopt.transcription.linear_equations.linear_rows import LinearRows
from trajopt.transcription.row_labels import Label, RowLabel, arc_where_several, unknown_label
from trajopt.transcription.spline_map import SplineMap

BOUND_TOLERANCE = 1e-9  # how far an eliminated, hence fixed, unknown may lie outside its bounds


@dataclass(frozen=True, eq=False)
class Bounds:
    """lower <= values <= upper, entry by entry; infinite where there is none."""

    lower: Array
    upper: Array

    def clipped(self, values: Array) -> Array:
        """The nearest values inside."""
        return np.clip(values, self.lower, self.upper)

    def violation(self, values: Array) -> float:
        """The largest distance by which an entry lies outside; 0 where all are inside."""
        return float(bound_violation(values, self.lower, self.upper).max(initial=0.0))

    def scaled(self, factors: Array) -> Bounds:
        """The bounds of values that are multiplied by positive factors."""
        return Bounds(factors * self.lower, factors * self.upper)


@dataclass(frozen=True, eq=False)
class LinearBlock:
    """Rows lower <= A y + b <= upper whose Jacobian never changes."""

    A: sparse.csr_array
    b: Array
    bounds: Bounds
    labels: tuple[Label, ...]

    @property
    def count(self) -> int:
        return self.b.size


def bounds_and_linear_rows(
    problem: Problem, spline_map: SplineMap, elimination: Elimination
) -> tuple[Bounds, LinearBlock]:
    """Bounds on y; bounds on eliminated entries of x become bounds on y or linear rows, as velocity hulls do.

    Raises InfeasibleBoundsError where equalities fix an unknown outside its bounds, or leave it no room.
    """
    x_bounds, layout = variable_bounds(problem, spline_map), spline_map.layout
    N, c, free = elimination.N, elimination.c, elimination.free
    lower, upper = x_bounds.lower[free].copy(), x_bounds.upper[free].copy()
    bounded = np.isfinite(x_bounds.lower) | np.isfinite(x_bounds.upper)
    bounded[free] = False
    eliminated, hull = np.flatnonzero(bounded), velocity_hull_rows(problem, spline_map)
    of_hull = hull.matrix()
    rows = LinearBlock(
        sparse.csr_array(sparse.vstack([N[eliminated], of_hull @ N], format="csr")),
        np.concatenate([c[eliminated], of_hull @ c]),
        Bounds(
            np.concatenate([x_bounds.lower[eliminated], hull.lower]),
            np.concatenate([x_bounds.upper[eliminated], hull.upper]),
        ),
        (*(unknown_label(problem, layout, int(i)) for i in eliminated), *hull.labels),
    )
    entries = np.diff(rows.A.indptr)
    _check_fixed(rows, np.flatnonzero(entries == 0))
    _bound_by(rows, np.flatnonzero(entries == 1), lower, upper)
    crossed = np.flatnonzero(lower > upper)
    if crossed.size:
        i = int(crossed[0])
        label = unknown_label(problem, layout, int(free[i]))
        raise InfeasibleBoundsError(
            f"{label} would have to lie in [{lower[i]:.6g}, {upper[i]:.6g}]: "
            "the limits contradict the boundary conditions"
        )
    return Bounds(lower, upper), _selected(rows, np.flatnonzero(entries > 1))


def variable_bounds(problem: Problem, spline_map: SplineMap) -> Bounds:
    """Bounds of the entries of x: hull bounds of positions, additional curves, durations, parameters."""
    layout = spline_map.layout
    bounds = Bounds(np.full(layout.size, -np.inf), np.full(layout.size, np.inf))
    for leaf, bound in _curve_bounds(problem):
        group = layout.groups[spline_map.spline[leaf].group]
        curves = spline_map.groups[spline_map.spline[leaf].group].own(spline_map.spline[leaf].curves)
        for low, high in zip(*map(group.control_points, (bounds.lower, bounds.upper)), strict=True):
            low[:, curves] = np.maximum(low[:, curves], bound.lower)
            high[:, curves] = np.minimum(high[:, curves], bound.upper)
    for index, arc in enumerate(problem.trajectory.arcs):
        place = layout.duration(index)
        bounds.lower[place], bounds.upper[place] = arc.duration_bounds
    for name, place in layout.parameters.items():
        parameter = problem.parameters[name]
        bounds.lower[place], bounds.upper[place] = parameter.lower, parameter.upper
    return bounds


def velocity_hull_rows(problem: Problem, spline_map: SplineMap) -> LinearRows:
    """lower T <= control points of B_1 P <= upper T, two rows each: linear, and true for all t."""
    layout, arcs = spline_map.layout, problem.trajectory.arcs
    rows = LinearRows(layout.size)
    for constraint in problem.constraints:
        if constraint.hold != "hull" or constraint.term.quantity != "v":
            continue
        for arc_index, arc in enumerate(arcs):
            knots, degree = arc.basis.knots, arc.basis.degree
            widths = knots[degree + 1 : -1] - knots[1 : -degree - 1]
            for i, width in enumerate(widths):
                for j, joint in enumerate(problem.dynamics.joint_names):
                    earlier, later = (layout.column(arc_index, point, j) for point in (i, i + 1))
                    columns, slope = [earlier, later, layout.duration(arc_index)], degree / width
                    label = RowLabel(
                        constraint.name, joint, arc=arc_where_several(layout, arc_index), control_point=i
                    )
                    if np.isfinite(constraint.lower[j]):
                        values = [-slope, slope, -constraint.lower[j]]
                        rows.add(columns, values, 0.0, np.inf, replace(label, side="lower"))
                    if np.isfinite(constraint.upper[j]):
                        values = [-slope, slope, -constraint.upper[j]]
                        rows.add(columns, values, -np.inf, 0.0, replace(label, side="upper"))
    return rows


def _curve_bounds(problem: Problem) -> Iterator[tuple[str, Constraint | AdditionalCurve]]:
    """(leaf, what bounds its curves): hull limits of the positions and additional curves."""
    for constraint in problem.constraints:
        if constraint.hold == "hull" and constraint.term.quantity == "q":
            yield "q", constraint
    for name, extra in problem.extras.items():
        yield extra_leaf(name), extra


def _check_fixed(rows: LinearBlock, fixed: Array) -> None:
    """Rows that no unknown changes hold already, or never will."""
    value, low, high = rows.b[fixed], rows.bounds.lower[fixed], rows.bounds.upper[fixed]
    slack = BOUND_TOLERANCE * np.maximum(1.0, np.abs(value))
    for i in np.flatnonzero(~((low - slack <= value) & (value <= high + slack)))[:1]:
        raise InfeasibleBoundsError(
            f"{rows.labels[fixed[i]]} is fixed at {value[i]:.6g} by the boundary conditions but its limits "
            f"are [{low[i]:.6g}, {high[i]:.6g}]: move the boundary value or widen the limit"
        )


def _bound_by(rows: LinearBlock, single: Array, lower: Array, upper: Array) -> None:
    """Rows with one unknown each narrow its bounds."""
    first = rows.A.indptr[single]
    column, value = rows.A.indices[first], rows.A.data[first]
    ends = [(bound[single] - rows.b[single]) / value for bound in (rows.bounds.lower, rows.bounds.upper)]
    np.maximum.at(lower, column, np.minimum(*ends))
    np.minimum.at(upper, column, np.maximum(*ends))


def _selected(rows: LinearBlock, chosen: Array) -> LinearBlock:
    labels = tuple(rows.labels[i] for i in chosen)
    bounds = Bounds(rows.bounds.lower[chosen], rows.bounds.upper[chosen])
    return LinearBlock(sparse.csr_array(rows.A[chosen]), rows.b[chosen], bounds, labels)
