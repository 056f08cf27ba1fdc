"""Compiled loops of the factorization L D L' of a sparse symmetric matrix K whose pivots have a fixed order.

A pivot is a block of one or two neighbouring rows; D has these blocks on its diagonal, L is one there.
Columns with the same rows make a panel, which is factorized in a dense matrix, its front: Duff and Reid, ACM
Trans. Math. Softw. 9 (1983) 302; blocks of two: Bunch and Parlett, SIAM J. Numer. Anal. 8 (1971) 639. In
Python these loops would take a thousand times as long.

Last the step of Newton's method along the active set W of the step before,

    K [d; mu] = [-g; limits],      K = [H  A_W'; A_W  0],

which is the end of the homotopy of `quadratic_program` where no constraint joins or leaves W.

`layout` is a `sparse_kkt.FactorLayout` as a tuple, as `compiled_loops` asks. Sums of arrays stand as loops,
too: for each sum of whole arrays numba first compiles texts of errors about shapes, which takes seconds.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from trajopt.solvers.newton.compiled_loops import compiled

# Sums in any order, so that SIMD lanes can share them; NaN and infinity stay what they are.
_reordered = partial(compiled, fastmath={"reassoc", "contract"})


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


@_reordered
def _subtract(front: np.ndarray, L: np.ndarray, done: int, j: int) -> None:
    """Take from column j of a front what the first `done` pivots have there, four of them in one pass."""
    into, q = front[j, j:], 0
    while q + 4 <= done:
        f, g, h, e = L[q, j], L[q + 1, j], L[q + 2, j], L[q + 3, j]
        one, two, three, four = front[q, j:], front[q + 1, j:], front[q + 2, j:], front[q + 3, j:]
        for k in range(into.size):
            into[k] -= (f * one[k] + g * two[k]) + (h * three[k] + e * four[k])
        q += 4
    if q + 2 <= done:
        f, g, one, two = L[q, j], L[q + 1, j], front[q, j:], front[q + 1, j:]
        for k in range(into.size):
            into[k] -= f * one[k] + g * two[k]
        q += 2
    if q < done:
        f, one = L[q, j], front[q, j:]
        for k in range(into.size):
            into[k] -= f * one[k]


@_reordered
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

    values : the entries of the upper triangle of K, as `own` has their columns
    least : (size,): a pivot of a smaller size, or NaN, is lifted to this one, which has its sign
    singular : of the products in the determinant of a block, below which their difference is none
    L : (entries,), of every panel its columns, one after the other, as long as the panel has rows
    inverse : (size, 2): of a block (a, b; b, c) both rows of its inverse, of one number (1 / a, 0)

    The growth is the largest of sum_b l_kb D_b l_kb / least_k, sizes taken: times the rounding unit it
    bounds what rounding does to the diagonal (Higham, Accuracy and Stability of Numerical Algorithms, 2002,
    section 11.1).
    """
    starts, heads, _, panels, first, below, places, columns, children, child, onto, held, turns, blocks = (
        layout
    )
    positive, lifted, growth, most = 0, 0, 0.0, 0
    for p in range(panels.size - 1):
        most = max(most, panels[p + 1] - panels[p] + first[p + 1] - first[p])
    room, updates, spent, used = (
        np.empty(most * most),
        np.empty(held[-1]),
        np.zeros(least.size),
        np.empty(most),
    )
    for p in turns:
        begin, width, b = panels[p], panels[p + 1] - panels[p], blocks[p]
        size = width + first[p + 1] - first[p]
        front = room[: size * size].reshape((size, size))
        own = L[columns[p] : columns[p + 1]].reshape((width, size))
        for i in range(size):
            front[i, i:] = 0.0
        for i in range(width):
            for at in range(heads[begin + i], heads[begin + i + 1]):
                front[i, places[at]] += values[at]
        for at in range(children[p], children[p + 1]):
            place, mine = held[child[at]], onto[first[child[at]] : first[child[at] + 1]]
            for i in range(mine.size):
                into, left = front[mine[i]], updates[place : place + mine.size - i]
                for k in range(left.size):
                    into[mine[i + k]] += left[k]
                place += left.size
        used[:width], used[width:size] = spent[begin : begin + width], 0.0
        i = 0
        while i < width:
            k, is_two = begin + i, starts[b + 1] - starts[b] == 2
            b += 1
            _subtract(front, own, i, i)
            growth = max(growth, used[i] / abs(least[k]))
            head = front[i, i] + min(least[k], 0.0)
            if not is_two:
                if not abs(head) >= abs(least[k]):
                    head, lifted = least[k], lifted + 1
                positive += 1 if head > 0.0 else 0
                inverse[k, 0], inverse[k, 1] = 1.0 / head, 0.0
                i += 1
                raw, one, sums, factor = front[i - 1, i:], own[i - 1, i:], used[i:size], inverse[k, 0]
                for m in range(sums.size):
                    one[m] = raw[m] * factor
                    sums[m] += abs(one[m] * raw[m])
                continue
            _subtract(front, own, i, i + 1)
            growth = max(growth, used[i + 1] / abs(least[k + 1]))
            off, pivot = front[i, i + 1], front[i + 1, i + 1] + min(least[k + 1], 0.0)
            product, square = head * pivot, off * off
            smallest = singular * (abs(product) + square) + abs(least[k] * least[k + 1])
            if not abs(product - square) >= smallest:
                head, pivot, off, lifted = least[k], least[k + 1], 0.0, lifted + 1
            determinant = head * pivot - off * off
            positive += 1 if determinant < 0.0 else (2 if head > 0.0 else 0)
            inverse[k, 0], inverse[k, 1] = pivot / determinant, -off / determinant
            inverse[k + 1, 0], inverse[k + 1, 1] = -off / determinant, head / determinant
            own[i, i + 1] = 0.0
            f, g, h = inverse[k, 0], inverse[k, 1], inverse[k + 1, 1]
            raw, other, sums = front[i, i + 2 :], front[i + 1, i + 2 :], used[i + 2 : size]
            one, two = own[i, i + 2 :], own[i + 1, i + 2 :]
            for m in range(sums.size):
                y, z = raw[m], other[m]
                one[m], two[m] = y * f + z * g, y * g + z * h
                sums[m] += abs(one[m] * y) + abs(two[m] * z)
            i += 2
        for i in range(width, size):
            spent[below[first[p] + i - width]] += used[i]
        place = held[p]
        for i in range(width, size):
            _subtract(front, own, width, i)
            updates[place : place + size - i] = front[i, i:]
            place += size - i
    return positive, lifted, growth


@_reordered
def _solve_in_place(layout: tuple, L: np.ndarray, inverse: np.ndarray, x: np.ndarray) -> None:
    """x becomes (L D L')^-1 x."""
    starts, panels, first, below, columns = layout[0], layout[3], layout[4], layout[5], layout[7]
    rest = np.empty(x.size)
    for p in range(panels.size - 1):
        width, rows = panels[p + 1] - panels[p], below[first[p] : first[p + 1]]
        own, mine = L[columns[p] : columns[p + 1]].reshape((width, width + rows.size)), x[panels[p] :]
        sums = rest[: rows.size]
        sums[:] = 0.0
        for q in range(width):
            y, inside, further = mine[q], own[q, :width], own[q, width:]
            for i in range(q + 1, width):
                mine[i] -= inside[i] * y
            for i in range(sums.size):
                sums[i] += further[i] * y
        for i in range(rows.size):
            x[rows[i]] -= sums[i]
    for b in range(starts.size - 1):
        k = starts[b]
        y = x[k]
        x[k] = inverse[k, 0] * y
        if starts[b + 1] - k == 2:
            z = x[k + 1]
            x[k] += inverse[k, 1] * z
            x[k + 1] = inverse[k + 1, 0] * y + inverse[k + 1, 1] * z
    for p in range(panels.size - 2, -1, -1):
        width, rows = panels[p + 1] - panels[p], below[first[p] : first[p + 1]]
        own, mine = L[columns[p] : columns[p + 1]].reshape((width, width + rows.size)), x[panels[p] :]
        known = rest[: rows.size]
        for i in range(rows.size):
            known[i] = x[rows[i]]
        for q in range(width - 1, -1, -1):
            inside, further, total = own[q, :width], own[q, width:], 0.0
            for i in range(known.size):
                total += further[i] * known[i]
            for i in range(q + 1, width):
                total += inside[i] * mine[i]
            mine[q] -= total


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
    L, inverse = np.empty(layout[7][-1]), np.empty((order.size, 2))
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
