"""Bounds of the unknowns y, and linear rows: bounds of eliminated unknowns and limits on velocity hulls.

A limit on a velocity holds for all t where it holds for the control points of the derivative,

    d (P_(i+1) - P_i) / (k_(i+d+1) - k_(i+1)) / T,

of a spline of degree d with knots k_i: times T that is a row linear in control points and durations, with the
limit in the matrix beside T. Which bounds and rows there are is structure (`LinearRows`), made once; their
numbers are values of a problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import is_

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError, StructureError, in_radians
from trajopt.base.tolerances import AGREEMENT
from trajopt.graph.protocols import Dynamics
from trajopt.graph.quantities import described_joints, extra_leaf
from trajopt.problem.contacts.loop_poses import fixed_at
from trajopt.problem.costs_and_constraints import AdditionalCurve, Constraint
from trajopt.problem.problem import Problem
from trajopt.solvers.kkt import bound_violation
from trajopt.solvers.matrices import product
from trajopt.splines.node_sets import START
from trajopt.transcription.elimination import Elimination
from trajopt.transcription.leaf_map import SplineMap
from trajopt.transcription.unknowns import (
    Label,
    Layout,
    RowLabel,
    UnknownLabel,
    UnknownLabels,
    arc_where_several,
)

#: A row of a velocity hull: the limit that it holds, the velocity's control point, the column of x of the
#: position's control point before it, and the slope between both.
HULL_ROW = np.dtype(
    [(name, int) for name in ("constraint", "joint", "is_upper", "point", "arc", "column")]
    + [("slope", float)]
)


@dataclass(frozen=True, eq=False)
class VelocityHull:
    """Rows slope (P_later - P_earlier) - limit T, at least 0 for lower limits and at most 0 for upper ones.

    rows : (rows,) `HULL_ROW`
    """

    problem: Problem
    layout: Layout
    rows: Array

    @staticmethod
    def of(problem: Problem, layout: Layout) -> VelocityHull:
        """The rows of all finite limits on velocities that hold for all t."""
        parts = [np.empty(0, HULL_ROW)]
        for number, constraint in enumerate(problem.constraints):
            if constraint.hold == "hull" and constraint.term.quantity == "v":
                finite = np.isfinite(np.stack([constraint.lower, constraint.upper], axis=1))
                parts += [_of_arc(layout, arc, number, finite) for arc in range(len(layout.bases))]
        return VelocityHull(problem, layout, np.concatenate(parts))

    def limits(self, problem: Problem) -> Array:
        """The limit of every row, (rows,) rad/s or m/s."""
        found = np.zeros(self.rows.size)
        if not found.size:
            return found
        for number in np.unique(self.rows["constraint"]):
            mine, constraint = self.rows["constraint"] == number, problem.constraints[number]
            joint, is_upper = self.rows["joint"][mine], self.rows["is_upper"][mine]
            found[mine] = np.where(is_upper, constraint.upper[joint], constraint.lower[joint])
            if constraint.easing is not None:
                eased = constraint.easing.at(self.rows["arc"][mine], self._times[mine])
                found[mine] += eased[is_upper, range(joint.size), joint]
        return found

    @cached_property
    def _times(self) -> Array:
        """Normalised times of the velocities' control points."""
        places = [basis.slope_greville for basis in self.layout.bases]
        pairs = zip(self.rows["arc"], self.rows["point"], strict=True)
        return np.array([places[arc][point] for arc, point in pairs])

    def matrix(self, limits: Array) -> sparse.csr_array:
        """The rows as a matrix times x."""
        column, slope, size = self.rows["column"], self.rows["slope"], self.rows.size
        durations = self.layout.durations.start + self.rows["arc"]
        columns = np.stack([column, column + self.layout.curve_count, durations], axis=1)
        values = np.stack([-slope, slope, -limits], axis=1)
        starts = columns.shape[1] * np.arange(size + 1)
        parts = (values.ravel(), columns.ravel(), starts)
        matrix = sparse.csr_array(parts, shape=(size, self.layout.size))
        matrix.eliminate_zeros()
        return matrix

    def label(self, row: int) -> RowLabel:
        """The label of a row."""
        number, joint, is_upper, point, arc, *_ = self.rows[row].tolist()
        name, joint_names = self.problem.constraints[number].name, self.problem.dynamics.joint_names
        where, side = arc_where_several(self.layout, arc), "upper" if is_upper else "lower"
        return RowLabel(name, joint_names[int(joint)], arc=where, control_point=point, side=side)


def _of_arc(layout: Layout, arc: int, number: int, finite: Array) -> Array:
    """The rows of one constraint on one arc, control point by control point, joint by joint, lower first.

    finite : (joints, 2) which limits there are
    """
    basis = layout.bases[arc]
    slopes = basis.degree / basis.slope_widths
    point, joint, side = np.nonzero(np.broadcast_to(finite, (slopes.size, *finite.shape)))
    found = np.empty(point.size, HULL_ROW)
    found["constraint"], found["joint"], found["is_upper"] = number, joint, side
    found["point"], found["arc"], found["slope"] = point, arc, slopes[point]
    found["column"] = layout.groups[0].offsets[arc] + point * layout.curve_count + joint
    return found


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
    """The linear rows: of bounded entries of x that are eliminated, then of the velocity hull.

    bounded : those entries of x
    A : the rows by y for the limits of the problem that they were made of, all of them
    hull_limits, hull_matrix : these limits, and with them the rows of the hull as a matrix times x
    x_bounds, stated : the bounds of all entries of x, and the statements of the problem that they follow from
    unknowns : labels of the entries of x
    entries : unknowns in each row: one narrows the bounds of y, several make a row of the program
    kept : the rows of the program
    """

    bounded: Array
    hull: VelocityHull
    A: sparse.csr_array
    hull_limits: Array
    hull_matrix: sparse.csr_array
    x_bounds: Bounds
    stated: tuple[object, ...]
    unknowns: UnknownLabels
    entries: Array
    kept: Array

    @cached_property
    def kept_matrix(self) -> sparse.csr_array:
        """The rows of A that are kept."""
        return self.A if self.kept.size == self.A.shape[0] else sparse.csr_array(self.A[self.kept])

    def label(self, row: int) -> Label:
        """The label of a row."""
        if row < self.bounded.size:
            return self.unknowns.label(int(self.bounded[row]))
        return self.hull.label(row - self.bounded.size)

    def block(self, problem: Problem, elimination: Elimination, x_bounds: Bounds) -> LinearBlock:
        """All rows, not those alone that are kept, with the numbers of a problem.

        Its limits of velocities stand in the matrix beside the durations; A has one pattern.
        x_bounds : of all entries of x
        """
        limits, c, is_upper = self.hull.limits(problem), elimination.c, self.hull.rows["is_upper"]
        A, by_hull = self.A, self.hull_matrix
        if not np.array_equal(limits, self.hull_limits):
            by_hull = self.hull.matrix(limits)
            A = _by_unknowns(self.bounded, by_hull, elimination.N)
        if not (np.array_equal(A.indptr, self.A.indptr) and np.array_equal(A.indices, self.A.indices)):
            row = int(np.argmax(np.diff(A.indptr) != self.entries))
            raise StructureError(
                f"the limit of {self.label(row)} is zero now, or was when the problem was compiled, which "
                "changes the sparsity of its row: compile the problem again with this value"
            )
        b = np.concatenate([c[self.bounded], product(by_hull, c)])
        lower = np.concatenate([x_bounds.lower[self.bounded], np.where(is_upper, -np.inf, 0.0)])
        upper = np.concatenate([x_bounds.upper[self.bounded], np.where(is_upper, 0.0, np.inf)])
        return LinearBlock(A, b, Bounds(lower, upper), self)


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

    def of_single_unknowns(self) -> tuple[Array, Bounds]:
        """The unknown of every row of a `LinearRows.block` that has one alone, and its bounds by that row."""
        single = np.flatnonzero(self.rows.entries == 1)
        unknown, value = self.A.indices[self.A.indptr[single]], self.A.data[self.A.indptr[single]]
        ends = [(end[single] - self.b[single]) / value for end in (self.bounds.lower, self.bounds.upper)]
        return unknown, Bounds(np.minimum(*ends), np.maximum(*ends))


def linear_rows(problem: Problem, spline_map: SplineMap, N: sparse.csr_array, free: Array) -> LinearRows:
    """The linear rows of a problem whose equations leave the entries `free` of x = N y + c."""
    x_bounds, hull = variable_bounds(problem, spline_map), VelocityHull.of(problem, spline_map.layout)
    bounded = np.isfinite(x_bounds.lower) | np.isfinite(x_bounds.upper)
    bounded[free] = False
    eliminated, limits = np.flatnonzero(bounded), hull.limits(problem)
    by_hull = hull.matrix(limits)
    A = _by_unknowns(eliminated, by_hull, N)
    entries, labels = np.diff(A.indptr), UnknownLabels(problem, spline_map.layout)
    kept, stated = np.flatnonzero(entries > 1), _statements(problem)
    return LinearRows(eliminated, hull, A, limits, by_hull, x_bounds, stated, labels, entries, kept)


def bounds_and_linear_block(
    problem: Problem, spline_map: SplineMap, rows: LinearRows, elimination: Elimination
) -> tuple[Bounds, LinearBlock]:
    """Bounds on y; bounds on eliminated entries of x become bounds on y or linear rows, as velocity hulls do.

    Raises InfeasibleBoundsError where equalities fix an unknown outside its bounds, or leave it no room.
    """
    known = all(map(is_, _statements(problem), rows.stated))
    x_bounds = rows.x_bounds if known else variable_bounds(problem, spline_map)
    free, kept, every = elimination.free, rows.kept, rows.block(problem, elimination, x_bounds)
    fixed = np.flatnonzero(rows.entries == 0)
    if fixed.size and (not problem.measured or _is_partial(problem)):
        _check_fixed(rows, fixed, every.b, every.bounds, problem.dynamics)
    bounds, (unknown, by_rows) = (
        Bounds(x_bounds.lower[free], x_bounds.upper[free]),
        every.of_single_unknowns(),
    )
    np.maximum.at(bounds.lower, unknown, by_rows.lower)
    np.minimum.at(bounds.upper, unknown, by_rows.upper)
    crossed = np.flatnonzero(bounds.lower > bounds.upper)
    if crossed.size:
        i = int(crossed[0])
        raise InfeasibleBoundsError(
            f"{rows.unknowns.label(int(free[i]))} would have to lie in [{bounds.lower[i]:.6g}, "
            f"{bounds.upper[i]:.6g}]: the limits contradict the boundary conditions"
        )
    A = rows.kept_matrix if every.A is rows.A else sparse.csr_array(every.A[kept])
    ends = Bounds(every.bounds.lower[kept], every.bounds.upper[kept])
    return bounds, LinearBlock(A, every.b[kept], ends, rows)


def _by_unknowns(bounded: Array, by_hull: sparse.csr_array, N: sparse.csr_array) -> sparse.csr_array:
    """The linear rows as a matrix times y."""
    if not by_hull.shape[0]:
        return N[bounded]
    return sparse.csr_array(sparse.vstack([N[bounded], by_hull @ N], format="csr"))


def _statements(problem: Problem) -> tuple[object, ...]:
    """All that bounds of entries of x follow from."""
    hulls = (each for each in problem.constraints if each.hold == "hull" and each.term.quantity == "q")
    return (*hulls, *problem.extras.values(), *problem.parameters.values(), problem.trajectory)


def variable_bounds(problem: Problem, spline_map: SplineMap) -> Bounds:
    """Bounds of the entries of x: hull bounds of positions, additional curves, durations, parameters."""
    layout = spline_map.layout
    bounds = Bounds(np.full(layout.size, -np.inf), np.full(layout.size, np.inf))
    hulls = [constraint for constraint in problem.constraints if constraint.hold == "hull"]
    bounded: list[tuple[str, Constraint | AdditionalCurve]] = [
        ("q", hull) for hull in hulls if hull.term.quantity == "q"
    ]
    bounded += [(extra_leaf(name), extra) for name, extra in problem.extras.items()]
    for leaf, bound in bounded:
        group = layout.groups[spline_map.spline[leaf].group]
        curves = spline_map.groups[spline_map.spline[leaf].group].own(spline_map.spline[leaf].curves)
        points = zip(*map(group.control_points, (bounds.lower, bounds.upper)), strict=True)
        for arc, (low, high) in enumerate(points):
            lower, upper = bound.lower, bound.upper
            if isinstance(bound, Constraint):
                lower, upper = bound.limits_at(arc, group.bases[arc].greville)
            low[:, curves] = np.maximum(low[:, curves], lower)
            high[:, curves] = np.minimum(high[:, curves], upper)
    bounds.lower[layout.durations], bounds.upper[layout.durations] = problem.trajectory.duration_bounds
    for name, place in layout.parameters.items():
        parameter = problem.parameters[name]
        bounds.lower[place], bounds.upper[place] = parameter.lower, parameter.upper
    return bounds


def _is_partial(problem: Problem) -> bool:
    """True if some positions or velocities are given at the start but not all: nothing gives way to these."""
    given = [fixed_at(problem, name, START)[0] for name in "qv"]
    return any(own.any() and not own.all() for own in given)


def _check_fixed(rows: LinearRows, fixed: Array, b: Array, bounds: Bounds, dynamics: Dynamics) -> None:
    """Rows `fixed`, which no unknown changes, hold already, or never will."""
    value, low, high = b[fixed], bounds.lower[fixed], bounds.upper[fixed]
    slack = AGREEMENT * np.maximum(1.0, np.abs(value))
    for i in np.flatnonzero(~((low - slack <= value) & (value <= high + slack)))[:1]:
        label = rows.label(int(fixed[i]))
        raise InfeasibleBoundsError(
            f"{label} is fixed at {value[i]:.6g} by the boundary conditions but its "
            f"limits are [{low[i]:.6g}, {high[i]:.6g}]: move the boundary value or widen the limit"
            f"{_in_radians(label, float(value[i]), dynamics)}"
        )


def _in_radians(label: Label, value: float, dynamics: Dynamics) -> str:
    """The end of a message about an angle that may have been meant in degrees, or nothing."""
    turning = {joint.name for joint in described_joints(dynamics) if joint.kind == "revolute"}
    return in_radians(value) if isinstance(label, UnknownLabel) and label.name in turning else ""
