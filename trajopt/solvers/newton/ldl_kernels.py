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
def filled_columns(blocks: int, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of rows below the diagonal in the columns of L, and these rows, column after column.

    A column has those of the matrix, whose entries stand at (j, i), i < j, and those of all columns whose
    first row below the diagonal it is: its children in the elimination tree (Davis, section 4.1).
    """
    heads = np.zeros(blocks + 1, np.int64)
    for k in range(i.size):
        heads[i[k] + 1] += 1
    for b in range(blocks):
        heads[b + 1] += heads[b]
    own, filled = np.empty(i.size, np.int64), heads.copy()
    for k in range(i.size):
        own[filled[i[k]]] = j[k]
        filled[i[k]] += 1
    child, sibling, seen = np.full(blocks, -1), np.full(blocks, -1), np.full(blocks, -1)
    counts, first = np.zeros(blocks, np.int64), np.zeros(blocks + 1, np.int64)
    rows, size = np.empty(own.size + blocks, np.int64), 0
    for b in range(blocks):
        first[b], parent = size, blocks
        if size + blocks > rows.size:
            longer = np.empty(2 * rows.size, np.int64)
            longer[:size] = rows[:size]
            rows = longer
        for at in range(heads[b], heads[b + 1]):
            row = own[at]
            if seen[row] != b:
                seen[row], rows[size] = b, row
                size, parent = size + 1, min(parent, row)
        c = child[b]
        while c >= 0:
            for at in range(first[c], first[c] + counts[c]):
                row = rows[at]
                if row != b and seen[row] != b:
                    seen[row], rows[size] = b, row
                    size, parent = size + 1, min(parent, row)
            c = sibling[c]
        counts[b] = size - first[b]
        if parent < blocks:
            sibling[b], child[parent] = child[parent], b
    return counts, rows[:size]


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
def _subtract_column(
    runs: np.ndarray,
    begins: np.ndarray,
    below: np.ndarray,
    L: np.ndarray,
    b: int,
    end: int,
    y: float,
    x: np.ndarray,
) -> None:
    """x becomes x - l y, l the entries before `end` of the column of a block of one.

    Its rows stand in runs of neighbours, so that the loop over one has no table of places.
    """
    for run in range(runs[b], runs[b + 1]):
        p = begins[run]
        if p >= end:
            return
        row, at = np.uint64(below[p]), np.uint64(p)
        for k in range(np.uint64(min(begins[run + 1], end) - p)):
            x[row + k] -= L[np.uint64(0), at + k] * y


@compiled
def _subtract_columns(
    runs: np.ndarray,
    begins: np.ndarray,
    below: np.ndarray,
    L: np.ndarray,
    b: int,
    end: int,
    y: float,
    z: float,
    x: np.ndarray,
) -> None:
    """x becomes x - l_1 y - l_2 z, of the entries before `end` of both columns of a block."""
    for run in range(runs[b], runs[b + 1]):
        p = begins[run]
        if p >= end:
            return
        row, at = np.uint64(below[p]), np.uint64(p)
        for k in range(np.uint64(min(begins[run + 1], end) - p)):
            x[row + k] -= L[np.uint64(0), at + k] * y + L[np.uint64(1), at + k] * z


@compiled
def _column_times(
    runs: np.ndarray, begins: np.ndarray, below: np.ndarray, column: np.ndarray, b: int, x: np.ndarray
) -> float:
    """l' x of a column of a block."""
    total = 0.0
    for run in range(runs[b], runs[b + 1]):
        p = begins[run]
        row, at = np.uint64(below[p]), np.uint64(p)
        for k in range(np.uint64(begins[run + 1] - p)):
            total += column[at + k] * x[row + k]
    return total


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
    L : (2, entries), the columns of both rows of a block; of a block of one the second is not used
    inverse : (size, 2): of a block (a, b; b, c) both rows of its inverse, of one number (1 / a, 0)

    The growth is the largest of sum_b l_kb D_b l_kb / least_k, sizes taken: times the rounding unit it
    bounds what rounding does to the diagonal (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
    section 11.1).
    """
    starts, heads, own, first, below, needs, needed, runs, begins = layout
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
                    _subtract_column(runs, begins, below, L, j, place, y, work)
                    change += one * y
                    spent += abs(one * y)
                else:
                    z = work[column + 1]
                    work[column + 1] = 0.0
                    one = y * inverse[column, 0] + z * inverse[column, 1]
                    two = y * inverse[column + 1, 0] + z * inverse[column + 1, 1]
                    _subtract_columns(runs, begins, below, L, j, place, y, z, work)
                    L[1, place] = two
                    change += one * y + two * z
                    spent += abs(one * y) + abs(two * z)
                L[0, place] = one
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
    starts, _, _, first, below, _, _, runs, begins = layout
    for b in range(starts.size - 1):
        k = starts[b]
        y = x[k]
        if starts[b + 1] - k == 1:
            _subtract_column(runs, begins, below, L, b, first[b + 1], y, x)
            x[k] = inverse[k, 0] * y
        else:
            z = x[k + 1]
            _subtract_columns(runs, begins, below, L, b, first[b + 1], y, z, x)
            x[k] = inverse[k, 0] * y + inverse[k, 1] * z
            x[k + 1] = inverse[k + 1, 0] * y + inverse[k + 1, 1] * z
    for b in range(starts.size - 2, -1, -1):
        k = starts[b]
        x[k] -= _column_times(runs, begins, below, L[0], b, x)
        if starts[b + 1] - k == 2:
            x[k + 1] -= _column_times(runs, begins, below, L[1], b, x)


@compiled
def _subtract_product(layout: tuple, values: np.ndarray, x: np.ndarray, right: np.ndarray) -> None:
    """right becomes right - K x."""
    heads, own = layout[1], layout[2]
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
    L, inverse = np.zeros((2, layout[4].size)), np.empty((order.size, 2))
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
