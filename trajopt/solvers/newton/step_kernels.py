"""A compiled loop: the step of Newton's method along the active set of the step before.

    K [d; mu] = [-g; limits],      K = [H  A_W'; A_W  0]

It is the end of the homotopy of `quadratic_program` where no constraint joins or leaves the active set W.
Arguments are arrays, as `compiled_loops` asks.
"""

from __future__ import annotations

import numpy as np

from trajopt.solvers.newton.compiled_loops import compiled
from trajopt.solvers.newton.ldl_kernels import corrected_solution, factorize, upper_triangle


@compiled
def fill_sides(mu: np.ndarray, lower: np.ndarray, upper: np.ndarray, strong: float, side: np.ndarray) -> None:
    """Fill the active set by the multipliers, -1, 0 or 1, as `newton.active_sides` does.

    strong : of the largest multiplier, or of 1: multipliers above it hold a limit
    """
    largest = 1.0
    for i in range(mu.size):
        largest = max(largest, abs(mu[i]))
    for i in range(mu.size):
        side[i] = 0
        if abs(mu[i]) > strong * largest:
            if mu[i] > 0.0 and upper[i] < np.inf:
                side[i] = 1
            elif mu[i] < 0.0 and lower[i] > -np.inf:
                side[i] = -1
        if side[i] == 0 and lower[i] == upper[i]:
            side[i] = 1


@compiled
def step_along(
    layout: tuple,
    order: np.ndarray,
    is_unknown: np.ndarray,
    slots: np.ndarray,
    both: np.ndarray,
    kept: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    side: np.ndarray,
    H: np.ndarray,
    A: np.ndarray,
    g: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    numbers: tuple,
) -> tuple[bool, np.ndarray, np.ndarray]:
    """True if d (n,) and mu (m,) are the strict minimum of the quadratic program, and these.

    layout, order, is_unknown, slots : of the factors, see `PivotOrder`
    both : the entries of the lower triangle that both triangles of H have, the diagonal's shift left out
    kept : the entries of A in rows of active constraints
    rows, columns : of the entries of A (m, n)
    lower, upper : limits of A d (m,)
    numbers : shift of the diagonal, of the largest entry of H; length below which a row is zero; least size
        of a pivot; products that are zero beside others; rounding unit; residual that is none
    """
    shift, zero, least_pivot, singular, eps, accurate = numbers
    n, m = g.size, side.size
    lengths = np.zeros(m)
    for k in range(A.size):
        lengths[rows[k]] += A[k] * A[k]
    for i in range(m):
        lengths[i] = max(np.sqrt(lengths[i]), zero)
    unit = np.empty(A.size)
    for k in range(A.size):
        unit[k] = A[k] / lengths[rows[k]]
    size = 1.0
    for k in range(H.size):
        size = max(size, abs(H[k]))
    data = np.empty(both.size + n)
    for k in range(both.size):
        data[k] = H[both[k]]
    data[both.size :] = shift * size
    values = np.empty(layout[2].size)
    upper_triangle(slots, data, unit[kept], values)
    least = np.empty(order.size)
    for k in range(order.size):
        least[k] = least_pivot * size if is_unknown[k] else -least_pivot / size
    L, inverse = np.zeros((layout[4].size, 2)), np.empty((order.size, 2))
    positive, lifted, growth = factorize(layout, values, least, singular, L, inverse)
    d, mu = np.zeros(n), np.zeros(m)
    if positive != n or lifted > 0 or not growth * eps <= 1.0:
        return False, d, mu
    right, largest, place = np.empty(order.size), 1.0, n
    right[:n] = -g
    for i in range(m):
        if side[i] != 0:
            right[place] = (lower[i] if side[i] < 0 else upper[i]) / lengths[i]
            place += 1
    for k in range(right.size):
        largest = max(largest, abs(right[k]))
    found, missed = corrected_solution(layout, order, values, L, inverse, right)
    if not missed <= accurate * largest:
        return False, d, mu
    d[:] = found[:n]
    along = np.zeros(m)
    for k in range(unit.size):
        along[rows[k]] += unit[k] * d[columns[k]]
    place = n
    for i in range(m):
        if side[i] == 0:
            if not lower[i] / lengths[i] <= along[i] <= upper[i] / lengths[i]:
                return False, d, mu
            continue
        if side[i] * found[place] < 0.0 and lower[i] != upper[i]:
            return False, d, mu
        mu[i] = found[place] / lengths[i]
        place += 1
    return True, d, mu
