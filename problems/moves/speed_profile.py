"""The fastest squared path speed on a grid, by a backward and a forward pass (TOPP-RA).

x_i = s'^2 at the grid points, linear between them. Every segment has rows

    alpha x_(i+1) + beta x_i <= gamma,   gamma >= 0

so that standing still is allowed everywhere. Backward, K_i is the greatest x_i from which a motion to the end
exists, a linear program in (x_i, x_(i+1)); forward, x_(i+1) is the greatest value that can be reached from
x_i and does not exceed K_(i+1). Where alpha beta <= 0 in all rows, as on fine grids away from points at which
the second rate of s has no influence on a limit, the result is the greatest x at all points at once, hence
that of least time; elsewhere it tends to it as the grid becomes finer.

Source: Pham and Pham (2018), A new approach to time-optimal path parameterization based on reachability
analysis, IEEE T-RO 34(3), with the rows of both ends of a segment ("interpolation scheme"). The linear
programs are solved row by row, as in Seidel (1991).
"""

from __future__ import annotations

import numpy as np

from dynamics.kernels.compile import inlined, kernel
from trajopt.base.arrays import Array

ROUNDING = 64.0 * float(np.finfo(float).eps)  # of a row's terms: less is no violation


@inlined
def constraint(rows, i, m, warm, ceiling_y, ceiling_x):
    """The m-th constraint of a segment: four of the box, two rows tried first, then all rows."""
    if m == 0:
        return -1.0, 0.0, 0.0
    if m == 1:
        return 1.0, 0.0, ceiling_y
    if m == 2:
        return 0.0, -1.0, 0.0
    if m == 3:
        return 0.0, 1.0, ceiling_x
    at = warm[m - 4] if m < 6 else m - 6
    return rows[i, at, 0], rows[i, at, 1], rows[i, at, 2]


@inlined
def best_on_row(rows, i, m, warm, ceiling_y, ceiling_x):
    """The point (y, x) with the greatest x on the line of constraint m that meets those before it.

    It is foot + t (dy, dx), with the direction in which x rises.
    """
    alpha, beta, gamma = constraint(rows, i, m, warm, ceiling_y, ceiling_x)
    square = alpha * alpha + beta * beta
    y_foot, x_foot = alpha * gamma / square, beta * gamma / square
    sign = 1.0 if alpha >= 0.0 else -1.0
    dy, dx = -sign * beta, sign * alpha
    low, high = -np.inf, np.inf
    for other in range(m):
        p, r, c = constraint(rows, i, other, warm, ceiling_y, ceiling_x)
        slope, room = p * dy + r * dx, c - p * y_foot - r * x_foot
        least = ROUNDING * (abs(p * dy) + abs(r * dx))
        if slope > least:
            high = min(high, room / slope)
        elif slope < -least:
            low = max(low, room / slope)
    t = high if high < np.inf else low
    return min(max(y_foot + t * dy, 0.0), ceiling_y), min(max(x_foot + t * dx, 0.0), ceiling_x)


@kernel
def backward_pass(rows, ceilings, speeds):
    """K_i into `speeds` (points,), the last one given; rows (segments, count, 3), ceilings (points,) of x."""
    segments, count = rows.shape[0], rows.shape[1]
    warm = np.zeros(2, np.int64)  # rows active on the segment behind, likely active here
    active = np.zeros(2, np.int64)
    for i in range(segments - 1, -1, -1):
        y, x = speeds[i + 1], ceilings[i]
        warm[:] = active
        for m in range(4, count + 6):
            alpha, beta, gamma = constraint(rows, i, m, warm, speeds[i + 1], ceilings[i])
            if alpha * y + beta * x - gamma > ROUNDING * (abs(alpha) * y + abs(beta) * x + gamma):
                y, x = best_on_row(rows, i, m, warm, speeds[i + 1], ceilings[i])
                active[1] = active[0]
                active[0] = warm[m - 4] if m < 6 else m - 6
        speeds[i] = x


@kernel
def forward_pass(rows, ceilings, speeds):
    """x_i into `speeds`, the first one given, below `ceilings`, the K_i of the backward pass."""
    for i in range(rows.shape[0]):
        x, highest = speeds[i], ceilings[i + 1]
        for k in range(rows.shape[1]):
            alpha = rows[i, k, 0]
            if alpha > 0.0:
                highest = min(highest, (rows[i, k, 2] - rows[i, k, 1] * x) / alpha)
        speeds[i + 1] = max(highest, 0.0)


def fastest_profile(rows: Array, ceilings: Array, start: float = 0.0, end: float = 0.0) -> Array:
    """The greatest x at all grid points, (segments + 1,).

    rows : (segments, count > 0, 3), alpha, beta and gamma; ceilings : (segments + 1,) bounds of x alone
    start, end : x at both ends, zero at rest. The first value is less than `start` where no motion begins so
        fast, the last one less than `end` where none becomes so fast
    """
    controllable, speeds = np.empty(len(ceilings)), np.empty(len(ceilings))
    controllable[-1] = min(end, ceilings[-1])
    backward_pass(rows, ceilings, controllable)
    speeds[0] = min(start, controllable[0])
    forward_pass(rows, controllable, speeds)
    return speeds
