"""Bounds of the unknowns y, and linear rows: bounds of eliminated unknowns and limits on velocity hulls.

Which bounds and rows there are is structure (`LinearRows`), made once; their numbers are values of a problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, StructureError
from trajopt.graph.leaves import extra_leaf
from trajopt.graph.protocols.dynamics import DescribedJoints, Dynamics
from trajopt.problem.costs_and_constraints import AdditionalCurve, Constraint
from trajopt.problem.problem import Problem
from trajopt.solvers.optimality.violation import bound_violation
from trajopt.transcription.linear_equations.elimination import Elimination
from trajopt.transcription.linear_equations.velocity_hull import VelocityHull, velocity_hull
from trajopt.transcription.row_labels import Label, UnknownLabel, UnknownLabels
from trajopt.transcription.spline_map import SplineMap

BOUND_TOLERANCE = 1e-9  # how far an eliminated, hence fixed, unknown may lie outside its bounds


@dataclass(frozen=True, eq=False)
class Bounds:
    """lower <= values <= upper, entry by entry; infinite where there is none."""

    lower: Array
    upper: Array

    def clipped(self, values: Array) -> Array:
        """The nearest values inside."""
        return np.minimum(np.maximum(values, self.lower), self.upper)

    def violation(self, values: Array) -> float:
        """The largest distance by which an entry lies outside; 0 where all are inside."""
        return float(bound_violation(values, self.lower, self.upper).max(initial=0.0))

    def scaled(self, factors: Array) -> Bounds:
        """The bounds of values that are multiplied by positive factors."""
        return Bounds(factors * self.lower, factors * self.upper)


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Which linear rows there are: of bounded entries of x that are eliminated, then of the velocity hull.

    bounded : those entries of x
    A : the rows by y for the limits of the problem that they were made of, all of them
    hull_limits : these limits
    unknowns : labels of the entries of x
    """

    bounded: Array
    hull: VelocityHull
    A: sparse.csr_array
    hull_limits: Array
    unknowns: UnknownLabels

    @cached_property
    def entries(self) -> Array:
        """How many unknowns each row has: one narrows the bounds of y, several make a row of the program."""
        return np.diff(self.A.indptr)

    @cached_property
    def kept(self) -> Array:
        """The rows of the program."""
        return np.flatnonzero(self.entries > 1)

    def label(self, row: int) -> Label:
        """The label of a row."""
        if row < self.bounded.size:
            return self.unknowns.label(int(self.bounded[row]))
        return self.hull.label(row - self.bounded.size)

    def matrix(self, problem: Problem, N: sparse.csr_array) -> sparse.csr_array:
        """A for the limits of a problem, which stand in it beside the durations; its pattern is the same."""
        limits = self.hull.limits(problem)
        if np.array_equal(limits, self.hull_limits):
            return self.A
        A = _by_unknowns(self.bounded, self.hull, limits, N)
        if not (np.array_equal(A.indptr, self.A.indptr) and np.array_equal(A.indices, self.A.indices)):
            row = int(np.argmax(np.diff(A.indptr) != self.entries))
            raise StructureError(
                f"the limit of {self.label(row)} is zero now, or was when the problem was compiled, which "
                "changes the sparsity of its row: compile the problem again with this value"
            )
        return A


@dataclass(frozen=True, eq=False)
class LinearBlock:
    """Rows lower <= A y + b <= upper of the program whose Jacobian never changes."""

    A: sparse.csr_array
    b: Array
    bounds: Bounds
    rows: LinearRows

    @property
    def count(self) -> int:
        return self.b.size

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        return tuple(self.rows.label(int(row)) for row in self.rows.kept)


def linear_rows(problem: Problem, spline_map: SplineMap, N: sparse.csr_array, free: Array) -> LinearRows:
    """The linear rows of a problem whose equations leave the entries `free` of x = N y + c."""
    x_bounds, hull = variable_bounds(problem, spline_map), velocity_hull(problem, spline_map)
    bounded = np.isfinite(x_bounds.lower) | np.isfinite(x_bounds.upper)
    bounded[free] = False
    eliminated, limits = np.flatnonzero(bounded), hull.limits(problem)
    A = _by_unknowns(eliminated, hull, limits, N)
    return LinearRows(eliminated, hull, A, limits, UnknownLabels.of(problem, spline_map.layout))


def bounds_and_linear_block(
    problem: Problem, spline_map: SplineMap, rows: LinearRows, elimination: Elimination
) -> tuple[Bounds, LinearBlock]:
    """Bounds on y; bounds on eliminated entries of x become bounds on y or linear rows, as velocity hulls do.

    Raises InfeasibleBoundsError where equalities fix an unknown outside its bounds, or leave it no room.
    """
    x_bounds = variable_bounds(problem, spline_map)
    c, free, eliminated, hull = elimination.c, elimination.free, rows.bounded, rows.hull
    A = rows.matrix(problem, elimination.N)
    of_hull = hull.matrix(hull.limits(problem)) @ c if hull.count else np.zeros(0)
    b = np.concatenate([c[eliminated], of_hull])
    ends = Bounds(
        np.concatenate([x_bounds.lower[eliminated], hull.lower]),
        np.concatenate([x_bounds.upper[eliminated], hull.upper]),
    )
    bounds = Bounds(x_bounds.lower[free].copy(), x_bounds.upper[free].copy())
    _check_fixed(rows, b, ends, problem.dynamics)
    _bound_by(A, b, ends, np.flatnonzero(rows.entries == 1), bounds)
    crossed = np.flatnonzero(bounds.lower > bounds.upper)
    if crossed.size:
        i = int(crossed[0])
        raise InfeasibleBoundsError(
            f"{rows.unknowns.label(int(free[i]))} would have to lie in [{bounds.lower[i]:.6g}, "
            f"{bounds.upper[i]:.6g}]: the limits contradict the boundary conditions"
        )
    kept = rows.kept
    A = A if kept.size == len(b) else sparse.csr_array(A[kept])
    return bounds, LinearBlock(A, b[kept], Bounds(ends.lower[kept], ends.upper[kept]), rows)


def _by_unknowns(bounded: Array, hull: VelocityHull, limits: Array, N: sparse.csr_array) -> sparse.csr_array:
    """The linear rows as a matrix times y."""
    if not hull.count:
        return N[bounded]
    return sparse.csr_array(sparse.vstack([N[bounded], hull.matrix(limits) @ N], format="csr"))


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


def _curve_bounds(problem: Problem) -> Iterator[tuple[str, Constraint | AdditionalCurve]]:
    """(leaf, what bounds its curves): hull limits of the positions and additional curves."""
    for constraint in problem.constraints:
        if constraint.hold == "hull" and constraint.term.quantity == "q":
            yield "q", constraint
    for name, extra in problem.extras.items():
        yield extra_leaf(name), extra


def _check_fixed(rows: LinearRows, b: Array, bounds: Bounds, dynamics: Dynamics) -> None:
    """Rows that no unknown changes hold already, or never will."""
    fixed = np.flatnonzero(rows.entries == 0)
    value, low, high = b[fixed], bounds.lower[fixed], bounds.upper[fixed]
    slack = BOUND_TOLERANCE * np.maximum(1.0, np.abs(value))
    for i in np.flatnonzero(~((low - slack <= value) & (value <= high + slack)))[:1]:
        label = rows.label(int(fixed[i]))
        raise InfeasibleBoundsError(
            f"{label} is fixed at {value[i]:.6g} by the boundary conditions but its "
            f"limits are [{low[i]:.6g}, {high[i]:.6g}]: move the boundary value or widen the limit"
            f"{_in_radians(label, float(value[i]), dynamics)}"
        )


def _in_radians(label: Label, value: float, dynamics: Dynamics) -> str:
    """The end of a message about an angle that may have been meant in degrees, or nothing."""
    described = dynamics.joints if isinstance(dynamics, DescribedJoints) else ()
    turning = {joint.name for joint in described if joint.kind == "revolute"}
    if not isinstance(label, UnknownLabel) or label.name not in turning or abs(value) <= 2.0 * np.pi:
        return ""
    return f"; angles are in rad, and {value:.6g} degrees are {np.deg2rad(value):.4g}"


def _bound_by(A: sparse.csr_array, b: Array, ends: Bounds, single: Array, bounds: Bounds) -> None:
    """Rows with one unknown each narrow its bounds."""
    first = A.indptr[single]
    column, value = A.indices[first], A.data[first]
    limits = [(end[single] - b[single]) / value for end in (ends.lower, ends.upper)]
    np.maximum.at(bounds.lower, column, np.minimum(*limits))
    np.minimum.at(bounds.upper, column, np.maximum(*limits))
