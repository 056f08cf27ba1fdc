"""Compiled loops of the factorization L D L' of a sparse symmetric matrix K whose pivots have a fixed order.

A pivot is a block of one or two neighbouring rows; D has these blocks on its diagonal, L is one there. Davis,
Direct Methods for Sparse Linear Systems (2006), section 4.8, "up-looking" factorization; blocks of two: Bunch
and Parlett, SIAM J. Numer. Anal. 8 (1971) 639. In Python these loops would take a
thousand times as long.

Last the step of Newton's method along the active set W of the step before,

    K [d; mu] = [-g; limits],      K = [H  A_W'; A_W  0],

which is the end of the homotopy of `quadratic_program` where no constraint joins or leaves W.

`layout` is a `sparse_kkt.FactorLayout` as a tuple, as `compiled_loops` asks. Sums of arrays stand as loops,
too: for each sum of whole arrays numba first compiles texts of errors about shapes, which takes seconds.
"""

from __future__ import annotations

import numpy as np

from trajopt.solvers.newton.compiled_loops import compiled


@compiled
def upper_triangle(slots: np.ndarray, H: np.ndarray, A: np.ndarray, values: np.ndarray) -> None:
    """Sum entries of H and A into their slots of values (entries,), without those that have none."""
    values[:] = 0.0
    for k in range(H.size):
        if slots[k] < values.size:
            values[slots[k]] += H[k]
    for k in range(A.size):
        values[slots[H.size + k]] += A[k]


@compiled
def factorize(
    layout: tuple,
    values: np.ndarray,
    least: np.ndarray,
    singular: float,
    L: np.ndarray,
    inverse: np.ndarray,
) -> tuple[int, int, float]:
    """Fill L and D^-1: how many pivots are positive, how many were lifted, and the growth.

    K is changed: the negative ones of `least`, those of constraints, are added to its diagonal.

    values : the entries of the upper triangle of K, as `own` has their rows
    least : (size,): a pivot of a smaller size, or NaN, is lifted to this one, which has its sign
    singular : of the products in the determinant of a block, below which their difference is none
    L : (entries, 2), the columns of both rows of a block; of a block of one the second is not used
    inverse : (size, 2): of a block (a, b; b, c) both rows of its inverse, of one number (1 / a, 0)

    The growth is the largest of sum_b l_kb D_b l_kb / least_k, sizes taken: times the rounding unit it
    bounds what rounding does to the diagonal (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
    section 11.1).
    """
    starts, heads, own, first, below, needs, needed = layout
    size = least.size
    work, filled = np.zeros(size), first[:-1].copy()
    positive, lifted, growth = 0, 0, 0.0
    for b in range(starts.size - 1):
        begin, end = starts[b], starts[b + 1]
        head, off = 0.0, 0.0
        for k in range(begin, end):
            change, spent = 0.0, 0.0
            for at in range(heads[k], heads[k + 1]):
                work[own[at]] += values[at]
            for j in needed[needs[b] : needs[b + 1]]:
                column, place = starts[j], filled[j]
                y = work[column]
                work[column] = 0.0
                if starts[j + 1] - column == 1:
                    one = y * inverse[column, 0]
                    for p in range(first[j], place):
                        work[below[p]] -= L[p, 0] * y
                    change += one * y
                    spent += abs(one * y)
                else:
                    z = work[column + 1]
                    work[column + 1] = 0.0
                    one = y * inverse[column, 0] + z * inverse[column, 1]
                    two = y * inverse[column + 1, 0] + z * inverse[column + 1, 1]
                    for p in range(first[j], place):
                        work[below[p]] -= L[p, 0] * y + L[p, 1] * z
                    L[place, 1] = two
                    change += one * y + two * z
                    spent += abs(one * y) + abs(two * z)
                L[place, 0] = one
                filled[j] = place + 1
            pivot = work[k] + min(least[k], 0.0) - change
            work[k] = 0.0
            growth = max(growth, spent / abs(least[k]))
            if k > begin:
                off = work[begin]
                work[begin] = 0.0
            if end - begin == 1:
                if not abs(pivot) >= abs(least[k]):
                    pivot, lifted = least[k], lifted + 1
                positive += 1 if pivot > 0.0 else 0
                inverse[k, 0], inverse[k, 1] = 1.0 / pivot, 0.0
            elif k == begin:
                head = pivot
            else:
                product, square = head * pivot, off * off
                smallest = singular * (abs(product) + square) + abs(least[begin] * least[k])
                if not abs(product - square) >= smallest:
                    head, pivot, off, lifted = least[begin], least[k], 0.0, lifted + 1
                determinant = head * pivot - off * off
                positive += 1 if determinant < 0.0 else (2 if head > 0.0 else 0)
                inverse[begin, 0], inverse[begin, 1] = pivot / determinant, -off / determinant
                inverse[k, 0], inverse[k, 1] = -off / determinant, head / determinant
    return positive, lifted, growth


@compiled
def _solve_in_place(layout: tuple, L: np.ndarray, inverse: np.ndarray, x: np.ndarray) -> None:
    """x becomes (L D L')^-1 x."""
    starts, _, _, first, below, _, _ = layout
    for b in range(starts.size - 1):
        k = starts[b]
        y = x[k]
        if starts[b + 1] - k == 1:
            for p in range(first[b], first[b + 1]):
                x[below[p]] -= L[p, 0] * y
            x[k] = inverse[k, 0] * y
        else:
            z = x[k + 1]
            for p in range(first[b], first[b + 1]):
                x[below[p]] -= L[p, 0] * y + L[p, 1] * z
            x[k] = inverse[k, 0] * y + inverse[k, 1] * z
            x[k + 1] = inverse[k + 1, 0] * y + inverse[k + 1, 1] * z
    for b in range(starts.size - 2, -1, -1):
        k = starts[b]
        y, z = 0.0, 0.0
        for p in range(first[b], first[b + 1]):
            y += L[p, 0] * x[below[p]]
            z += L[p, 1] * x[below[p]]
        x[k] -= y
        if starts[b + 1] - k == 2:
            x[k + 1] -= z


@compiled
def _subtract_product(layout: tuple, values: np.ndarray, x: np.ndarray, right: np.ndarray) -> None:
    """right becomes right - K x."""
    _, heads, own, _, _, _, _ = layout
    for k in range(x.size):
        total = 0.0
        for at in range(heads[k], heads[k + 1]):
            total += values[at] * x[own[at]]
            if own[at] != k:
                right[own[at]] -= values[at] * x[k]
        right[k] -= total


@compiled
def corrected_solution(
    layout: tuple,
    order: np.ndarray,
    values: np.ndarray,
    L: np.ndarray,
    inverse: np.ndarray,
    right: np.ndarray,
) -> tuple[np.ndarray, float]:
    """K^-1 right, corrected by its residual once, and the largest entry of the residual that is left.

    Row k of the layout is row order[k] of K and of both sides.
    """
    rest = right[order]
    side, x = rest.copy(), rest.copy()
    _solve_in_place(layout, L, inverse, x)
    _subtract_product(layout, values, x, rest)
    _solve_in_place(layout, L, inverse, rest)
    for k in range(x.size):
        x[k] += rest[k]
    _subtract_product(layout, values, x, side)
    found, missed = np.empty_like(x), 0.0
    for k in range(x.size):
        found[order[k]] = x[k]
        missed = max(missed, abs(side[k])) if side[k] == side[k] else np.inf
    return found, missed


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
    for k in range(n):
        right[k] = -g[k]
    for i in range(m):
        if side[i] != 0:
            right[place] = (lower[i] if side[i] < 0 else upper[i]) / lengths[i]
            place += 1
    for k in range(right.size):
        largest = max(largest, abs(right[k]))
    found, missed = corrected_solution(layout, order, values, L, inverse, right)
    if not missed <= accurate * largest:
        return False, d, mu
    for k in range(n):
        d[k] = found[k]
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
