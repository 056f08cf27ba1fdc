"""The motion nearest to another one among those that meet the linear equations.

With x = N y + c the solutions of the equations and x' a motion that meets others (another goal's), it is

    min over y of  sum over nodes and curves of (d^2 (p - p') / ds^2)^2  +  |x - x'|^2,

p and p' the curves of x and x', s the normalised time of an arc. So it differs from x' along all of the
motion, by a smooth curve: with only those control points moved that the equations ask for, positions would
change by as much within one interval, and accelerations by hundreds of times more.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from trajopt.base.arrays import Array
from trajopt.solvers.matrices import matrix_of_parts
from trajopt.transcription.leaf_map import SplineMap
from trajopt.transcription.linear_equations.elimination import Elimination, GeneralSolution


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
