"""Control points of accelerations and jerks as weighted sums of their values at nodes.

On every span a derivative of a spline is a polynomial of degree p, sum_k b_k B_k(u) with the Bernstein
polynomials B_k on u in [0, 1], and lies between the smallest and the largest of its control points b_k. The
values at p + 1 nodes of the span determine them,

    b = V^-1 f,   V_(jk) = B_k(u_j),   f_j the values,

so that limits on them are rows like those at nodes, with constant weights.
"""

from __future__ import annotations

from math import comb

import numpy as np
from scipy import sparse

from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.splines.basis import SAME_TIME
from trajopt.splines.trajectory import Arc, Trajectory


def control_point_rows(trajectory: Trajectory, order: int) -> sparse.csr_array:
    """The control points of a derivative of every span as a matrix times the values at all nodes, (rows, K).

    order : of the derivative, 2 of the acceleration and 3 of the jerk
    A control point that two spans share, as the derivative is continuous there, is one row. Raises
    OptionError where a span has too few nodes.
    """
    nodes, parts, columns = trajectory.nodes, [], []
    for index, arc in enumerate(trajectory.arcs):
        degree, breaks = max(arc.basis.degree - order, 0), arc.basis.breakpoints
        continuous = np.append(False, arc.basis.multiplicities < degree + 1)
        mine = np.flatnonzero(nodes.arc == index)
        first_span = nodes.span[mine[0]]
        for span, smooth in enumerate(continuous):
            points = _points(arc, degree, bool(smooth), bool(span and arc.shared_ends[span - 1]))
            s = breaks[span] + (breaks[span + 1] - breaks[span]) * points
            apart = np.where(nodes.span[mine] == first_span + span, 0.0, SAME_TIME)
            distances = np.abs(nodes.s[mine] - s[:, None]) + apart  # of two nodes at a breakpoint the own one
            weights = np.linalg.inv(bernstein(points, degree))[int(smooth) :]
            parts.append(weights)
            columns.append(np.broadcast_to(mine[distances.argmin(axis=1)], weights.shape))
    values, places = (np.concatenate([part.ravel() for part in each]) for each in (parts, columns))
    counts = np.concatenate([np.full(len(part), part.shape[1]) for part in parts])
    by_rows = values, places, np.append(0, np.cumsum(counts))
    return sparse.csr_array(by_rows, shape=(counts.size, nodes.count))


def bernstein(u: Array, degree: int) -> Array:
    """The Bernstein polynomials of a degree at u (k,), (k, degree + 1)."""
    k = np.arange(degree + 1)
    return np.array([comb(degree, i) for i in k]) * u[:, None] ** k * (1.0 - u[:, None]) ** (degree - k)


def _points(arc: Arc, degree: int, continuous: bool, shared: bool) -> Array:
    """Degree + 1 points of the span's rule, in [0, 1]; the left end only where its node has the span's value.

    continuous : whether the derivative is, at the left end;  shared : whether its node is one of both spans
    """
    points = arc.unit_rule[0]
    if shared and not continuous:
        points = points[1:]
    if points.size < degree + 1:
        raise OptionError(
            f"hold='hull' needs {degree + 1} nodes in every span of {arc.mesh}: give nodes_per_span="
            f"{arc.nodes_per_span + degree + 1 - points.size}, or hold='nodes'"
        )
    return points[np.unique(np.linspace(0, points.size - 1, degree + 1).round().astype(int))]
