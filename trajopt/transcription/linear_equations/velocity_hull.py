"""Limits on the control points of velocities: linear in control points and durations, true for all t.

The control points of the derivative of a spline of degree d with knots k_i are

    d (P_(i+1) - P_i) / (k_(i+d+1) - k_(i+1)) / T,

so that a limit on them, times T, is a linear row. The limits stand in the matrix, beside T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.problem.problem import Problem
from trajopt.transcription.row_labels import RowLabel, arc_where_several
from trajopt.transcription.spline_map import SplineMap
from trajopt.transcription.unknowns import Layout


@dataclass(frozen=True, eq=False)
class VelocityHull:
    """Rows slope (P_later - P_earlier) - limit T, at least 0 for lower limits and at most 0 for upper ones.

    All arrays are (rows,).
    earlier, later, duration : columns of x
    constraint, joint, is_upper : which limit each row holds
    point, arc : of the velocity's control point
    names, joint_names : of all constraints, and of all joints
    """

    layout: Layout
    earlier: Array
    later: Array
    duration: Array
    slope: Array
    constraint: Array
    joint: Array
    is_upper: Array
    point: Array
    arc: Array
    names: tuple[str, ...]
    joint_names: tuple[str, ...]

    @property
    def count(self) -> int:
        return self.slope.size

    @property
    def lower(self) -> Array:
        return np.where(self.is_upper, -np.inf, 0.0)

    @property
    def upper(self) -> Array:
        return np.where(self.is_upper, 0.0, np.inf)

    def limits(self, problem: Problem) -> Array:
        """The limit of every row, (rows,) rad/s or m/s."""
        found = np.zeros(self.count)
        for number in np.unique(self.constraint):
            rows, constraint = self.constraint == number, problem.constraints[number]
            joint, is_upper = self.joint[rows], self.is_upper[rows]
            found[rows] = np.where(is_upper, constraint.upper[joint], constraint.lower[joint])
        return found

    def matrix(self, limits: Array) -> sparse.csr_array:
        """The rows as a matrix times x."""
        shape = (self.count, self.layout.size)
        columns = np.stack([self.earlier, self.later, self.duration], axis=1)
        values = np.stack([-self.slope, self.slope, -limits], axis=1)
        starts = 3 * np.arange(self.count + 1)
        matrix = sparse.csr_array((values.ravel(), columns.ravel(), starts), shape=shape)
        matrix.eliminate_zeros()
        return matrix

    def label(self, row: int) -> RowLabel:
        """The label of a row."""
        side: Literal["lower", "upper"] = "upper" if self.is_upper[row] else "lower"
        return RowLabel(
            self.names[self.constraint[row]],
            self.joint_names[self.joint[row]],
            arc=arc_where_several(self.layout, int(self.arc[row])),
            control_point=int(self.point[row]),
            side=side,
        )


def velocity_hull(problem: Problem, spline_map: SplineMap) -> VelocityHull:
    """The rows of all finite limits on velocities that hold for all t."""
    layout = spline_map.layout
    parts: list[tuple[Array, ...]] = [(np.zeros(0, dtype=int),) * 9]
    for number, constraint in enumerate(problem.constraints):
        if constraint.hold == "hull" and constraint.term.quantity == "v":
            finite = np.isfinite(np.stack([constraint.lower, constraint.upper], axis=1))
            parts += [_of_arc(problem, layout, arc, number, finite) for arc in range(len(layout.bases))]
    earlier, later, duration, slope, constraint, joint, side, point, arc = (
        np.concatenate(each) for each in zip(*parts, strict=True)
    )
    return VelocityHull(
        layout=layout,
        earlier=earlier,
        later=later,
        duration=duration,
        slope=slope,
        constraint=constraint,
        joint=joint,
        is_upper=side == 1,
        point=point,
        arc=arc,
        names=tuple(each.name for each in problem.constraints),
        joint_names=tuple(problem.dynamics.joint_names),
    )


def _of_arc(problem: Problem, layout: Layout, arc: int, number: int, finite: Array) -> tuple[Array, ...]:
    """The rows of one constraint on one arc, control point by control point, joint by joint, lower first.

    finite : (joints, 2) which limits there are
    """
    basis = problem.trajectory.arcs[arc].basis
    knots, degree = basis.knots, basis.degree
    slopes = degree / (knots[degree + 1 : -1] - knots[1 : -degree - 1])
    point, joint, side = (each.ravel() for each in np.indices((slopes.size, *finite.shape)))
    kept = finite[joint, side]
    point, joint, side = point[kept], joint[kept], side[kept]
    same = np.ones(point.size, dtype=int)
    start, curves = int(layout.groups[0].offsets[arc]), layout.curve_count
    earlier = start + point * curves + joint
    return (
        earlier,
        earlier + curves,
        layout.duration(arc) * same,
        slopes[point],
        number * same,
        joint,
        side,
        point,
        arc * same,
    )
