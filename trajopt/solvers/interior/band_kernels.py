"""Compiled loops over a band with an arrow: its sum from constraints, solutions, and their refinement.

A symmetric matrix of n unknowns, the first `inner` of them in a band, is kept as three arrays: `band`
(inner, half + 1), whose row p holds the entries (p + d, p); `arrow` (inner, edge), which holds (inner + k, p)
at [p, k]; `corner` (edge, edge). Behind the unknowns of the arrow, the edge holds rows that stay rows.

The rows of G stand one after the other, those from starts[r] on with their columns; rows[groups[g]] to
rows[groups[g + 1]] have the same columns, which are looked up once for all of them.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from trajopt.solvers.newton.compiled_loops import compiled

EPSILON = float(np.finfo(float).eps)
COARSE = 1e-9  # relative residual above which equations may depend on each other

# Sums in any order, so that SIMD lanes can share them; NaN and infinity stay what they are.
_compiled = partial(compiled, fastmath={"reassoc", "contract"})


@_compiled
def add_products(
    starts: np.ndarray,
    columns: np.ndarray,
    groups: np.ndarray,
    rows: np.ndarray,
    values: np.ndarray,
    near: int,
    D: np.ndarray,
    band: np.ndarray,
    arrow: np.ndarray,
    corner: np.ndarray,
) -> None:
    """Add the lower triangle of G' diag(D) G, for the rows of the first `near` groups."""
    inner, most = band.shape[0], 0
    for g in range(near):
        r = rows[groups[g]]
        most = max(most, starts[r + 1] - starts[r])
    local = np.empty((most, most))
    for g in range(near):
        first = rows[groups[g]]
        begin, width = starts[first], starts[first + 1] - starts[first]
        local[:width, :width] = 0.0
        for k in range(groups[g], groups[g + 1]):
            r = rows[k]
            row, weight = values[starts[r] : starts[r + 1]], D[r]
            for i in range(width):
                factor, sums = weight * row[i], local[i]
                for j in range(i, width):
                    sums[j] += factor * row[j]
        run = 1  # columns side by side in the band
        while run < width and columns[begin + run] == columns[begin] + run and columns[begin + run] < inner:
            run += 1
        for i in range(width):
            p, behind = columns[begin + i], i
            if p < inner and i < run:
                sums, column = local[i, i:run], band[p]
                for d in range(run - i):
                    column[d] += sums[d]
                behind = run
            for j in range(behind, width):
                q = columns[begin + j]
                if q < inner:
                    band[p, q - p] += local[i, j]
                elif p < inner:
                    arrow[p, q - inner] += local[i, j]
                else:
                    corner[q - inner, p - inner] += local[i, j]


@_compiled
def forward_columns(band: np.ndarray, columns: np.ndarray) -> None:
    """columns (inner, k) become L^-1 columns, for the band's Cholesky factor L."""
    inner, wide = band.shape
    for p in range(inner):
        solved = columns[p]
        for k in range(solved.size):
            solved[k] /= band[p, 0]
        for d in range(1, min(wide, inner - p)):
            factor, later = band[p, d], columns[p + d]
            for k in range(solved.size):
                later[k] -= factor * solved[k]


@_compiled
def edge_inverse(
    arrow: np.ndarray, corner: np.ndarray, rest: int, shift: float, flexibility: np.ndarray
) -> tuple[bool, np.ndarray]:
    """Inverse of the Schur complement of the edge, and whether it belongs to a positive definite matrix.

    arrow : L^-1 arrow;  corner : its lower triangle counts;  rest : the number of unknowns among the edge
    flexibility : of the rows behind them
    """
    edge = corner.shape[0]
    S, inverse = np.zeros((edge, edge)), np.eye(edge)
    for p in range(arrow.shape[0]):
        row = arrow[p]
        for k in range(edge):
            sums, factor = S[k], row[k]
            for m in range(k + 1):
                sums[m] -= factor * row[m]
    for k in range(edge):
        for m in range(k + 1):
            S[k, m] += corner[k, m]
            S[m, k] = S[k, m]
        S[k, k] += shift if k < rest else -flexibility[k - rest]
    for k in range(edge):  # Gauss and Jordan: pivots of unknowns are positive, then those of rows negative
        pivot = S[k, k]
        if not (pivot > 0.0 if k < rest else pivot < 0.0):
            return False, inverse
        for m in range(edge):
            factor = S[m, k] / pivot
            if m != k and factor != 0.0:
                for j in range(edge):
                    S[m, j] -= factor * S[k, j]
                    inverse[m, j] -= factor * inverse[k, j]
        for j in range(edge):
            S[k, j] /= pivot
            inverse[k, j] /= pivot
    return True, inverse


@_compiled
def _solve(band: np.ndarray, arrow: np.ndarray, inverse: np.ndarray, x: np.ndarray, edge: np.ndarray) -> None:
    """x (inner,) and edge become the solution, from L, L^-1 arrow and the inverse of the Schur complement."""
    inner, wide = band.shape
    for p in range(inner):
        y, column, rest = x[p] / band[p, 0], band[p], x[p:]
        x[p] = y
        for d in range(1, min(wide, inner - p)):
            rest[d] -= column[d] * y
    if edge.size:
        right = edge.copy()
        for p in range(inner):
            for k in range(edge.size):
                right[k] -= arrow[p, k] * x[p]
        for k in range(edge.size):
            edge[k] = 0.0
            for m in range(edge.size):
                edge[k] += inverse[k, m] * right[m]
        for p in range(inner):
            y = 0.0
            for k in range(edge.size):
                y += arrow[p, k] * edge[k]
            x[p] -= y
    for p in range(inner - 1, -1, -1):
        y, column, rest = 0.0, band[p], x[p:]
        for d in range(1, min(wide, inner - p)):
            y += column[d] * rest[d]
        x[p] = (x[p] - y) / column[0]


@_compiled
def times_rows(
    starts: np.ndarray,
    columns: np.ndarray,
    groups: np.ndarray,
    rows: np.ndarray,
    values: np.ndarray,
    x: np.ndarray,
) -> np.ndarray:
    """G x."""
    found, local = np.empty(starts.size - 1), np.empty(x.size)
    for g in range(groups.size - 1):
        first = rows[groups[g]]
        begin, width = starts[first], starts[first + 1] - starts[first]
        for i in range(width):
            local[i] = x[columns[begin + i]]
        for k in range(groups[g], groups[g + 1]):
            r = rows[k]
            row, total = values[starts[r] : starts[r + 1]], 0.0
            for i in range(width):
                total += row[i] * local[i]
            found[r] = total
    return found


@_compiled
def add_transposed(
    starts: np.ndarray,
    columns: np.ndarray,
    groups: np.ndarray,
    rows: np.ndarray,
    values: np.ndarray,
    y: np.ndarray,
    x: np.ndarray,
) -> None:
    """x becomes x + G' y."""
    local = np.empty(x.size)
    for g in range(groups.size - 1):
        first = rows[groups[g]]
        begin, width = starts[first], starts[first + 1] - starts[first]
        local[:width] = 0.0
        for k in range(groups[g], groups[g + 1]):
            r = rows[k]
            row, weight = values[starts[r] : starts[r + 1]], y[r]
            for i in range(width):
                local[i] += weight * row[i]
        for i in range(width):
            x[columns[begin + i]] += local[i]


@_compiled
def add_row_residuals(
    starts: np.ndarray,
    columns: np.ndarray,
    groups: np.ndarray,
    rows: np.ndarray,
    values: np.ndarray,
    D: np.ndarray,
    flexibility: np.ndarray,
    right: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    of_unknowns: np.ndarray,
    of_rows: np.ndarray,
) -> float:
    """y = D (G x - right) but where D is 0, of_rows = G x - flexibility y, and of_unknowns + G' y.

    Returns the length of |G| |x|, of which rounding leaves a share unknown.
    """
    local, sums, square = np.empty(x.size), np.empty(x.size), 0.0
    for g in range(groups.size - 1):
        first = rows[groups[g]]
        begin, width = starts[first], starts[first + 1] - starts[first]
        for i in range(width):
            local[i] = x[columns[begin + i]]
            sums[i] = 0.0
        for k in range(groups[g], groups[g + 1]):
            r = rows[k]
            row, total, size = values[starts[r] : starts[r + 1]], 0.0, 0.0
            for i in range(width):
                total += row[i] * local[i]
            for i in range(width):
                size += abs(row[i] * local[i])
            square += size**2
            if D[r] > 0.0:
                y[r] = D[r] * (total - right[r])
            weight = y[r]
            of_rows[r] = total - flexibility[r] * weight
            for i in range(width):
                sums[i] += weight * row[i]
        for i in range(width):
            of_unknowns[columns[begin + i]] += sums[i]
    return np.sqrt(square)


@_compiled
def refined_solution(
    starts: np.ndarray,
    columns: np.ndarray,
    groups: np.ndarray,
    rows: np.ndarray,
    values: np.ndarray,
    far: np.ndarray,
    D: np.ndarray,
    flexibility: np.ndarray,
    H_rows: np.ndarray,
    H_columns: np.ndarray,
    H: np.ndarray,
    shift: float,
    band: np.ndarray,
    arrow: np.ndarray,
    inverse: np.ndarray,
    of_unknowns: np.ndarray,
    of_rows: np.ndarray,
    tol: float,
    most: int,
) -> tuple[np.ndarray, np.ndarray, int, float]:
    """x and y with (H + shift) x + G' y = of_unknowns and G x - flexibility y = of_rows.

    Flexible GMRES (Saad, SIAM J. Sci. Comput. 14, 1993, 461), preconditioned by the factors of a matrix with
    a little added to the flexibility; D is the inverse of that sum, 0 of far rows. Ends where the residual is
    `tol` of the right-hand sides, or what the rounding of G x leaves unknown: 1e-10 of them where differences
    over short spans have slopes of 1e8. Returns how often the factors were applied and the relative residual.
    """
    n, m, inner = of_unknowns.size, of_rows.size, band.shape[0]
    size, rest = n + m, n - inner
    edge, w = np.empty(rest + far.size), np.empty(size)
    Q, Z = np.empty((most + 1, size)), np.empty((most, size))
    R, cosine, sine = np.zeros((most + 1, most)), np.zeros(most), np.zeros(most)
    g = np.zeros(most + 1)
    norm = 0.0
    for i in range(n):
        norm += of_unknowns[i] ** 2
    for i in range(m):
        norm += of_rows[i] ** 2
    norm = np.sqrt(norm)
    x, y = np.zeros(n), np.zeros(m)
    if not norm > 0.0 or not norm < np.inf:
        return x, y, 0, norm
    Q[0, :n], Q[0, n:], g[0] = of_unknowns / norm, of_rows / norm, norm
    count, left, least = 0, 1.0, tol
    while count < most and left > least:
        v, z = Q[count], Z[count]
        for i in range(n):
            z[i] = v[i]
        add_transposed(starts, columns, groups, rows, values, D * v[n:], z[:n])
        for k in range(rest):
            edge[k] = z[inner + k]
        for k in range(far.size):
            edge[rest + k] = v[n + far[k]]
        _solve(band, arrow, inverse, z[:inner], edge)
        for k in range(rest):
            z[inner + k] = edge[k]
        for r in range(m):
            z[n + r] = 0.0
        for k in range(far.size):
            z[n + far[k]] = edge[rest + k]
        for i in range(n):
            w[i] = shift * z[i]
        for k in range(H.size):
            i, j = H_rows[k], H_columns[k]
            w[i] += H[k] * z[j]
            if i != j:
                w[j] += H[k] * z[i]
        size_of_rows = add_row_residuals(
            starts, columns, groups, rows, values, D, flexibility, v[n:], z[:n], z[n:], w[:n], w[n:]
        )
        if not count:
            least = max(tol, min(EPSILON * size_of_rows, COARSE))
        for _ in range(2):
            for k in range(count + 1):
                product, other = 0.0, Q[k]
                for i in range(size):
                    product += other[i] * w[i]
                R[k, count] += product
                for i in range(size):
                    w[i] -= product * other[i]
        length = 0.0
        for i in range(size):
            length += w[i] ** 2
        length = np.sqrt(length)
        for k in range(count):
            one, two = R[k, count], R[k + 1, count]
            R[k, count] = cosine[k] * one + sine[k] * two
            R[k + 1, count] = cosine[k] * two - sine[k] * one
        head = np.hypot(R[count, count], length)
        if not head > 0.0 or not head < np.inf:
            break
        cosine[count], sine[count] = R[count, count] / head, length / head
        R[count, count] = head
        g[count + 1] = -sine[count] * g[count]
        g[count] = cosine[count] * g[count]
        count += 1
        left = abs(g[count]) / norm
        if not length > 0.0:
            break
        for i in range(size):
            Q[count, i] = w[i] / length
    for k in range(count - 1, -1, -1):
        factor = g[k]
        for j in range(k + 1, count):
            factor -= R[k, j] * g[j]
        g[k] = factor / R[k, k]
        for i in range(n):
            x[i] += g[k] * Z[k, i]
        for i in range(m):
            y[i] += g[k] * Z[k, n + i]
    return x, y, count, left


@_compiled
def newton_direction(
    factors: tuple,
    tol: float,
    most: int,
    g: np.ndarray,
    apart: np.ndarray,
    of_slacks: np.ndarray,
    side: np.ndarray,
    sign: np.ndarray,
    t: np.ndarray,
    z: np.ndarray,
    target: np.ndarray,
) -> tuple:
    """Changes of x, slacks, gaps and z, and the new y, of the step towards z t = target; see `NewtonStep`.

    factors : the arguments of `refined_solution` before the right-hand sides
    of_slacks : 1 / S, of slacks;  side, sign : slack and sign of every gap
    Besides, the largest shares of gaps and of z that a whole step takes, and what `refined_solution` returns.
    """
    starts, columns, groups, rows, values = factors[:5]
    flexibility, count = factors[7], of_slacks.size
    b, right = np.zeros(count), -apart
    for k in range(side.size):
        b[side[k]] += sign[k] * target[k] / t[k]
    for i in range(count):
        right[i] += of_slacks[i] * b[i]
    dx, y, applied, left = refined_solution(*factors, -g, right, tol, most)
    ds = times_rows(starts, columns, groups, rows, values, dx)[:count] + apart[:count]
    for i in range(count):
        ds[i] -= (flexibility[i] - of_slacks[i]) * y[i]
        if of_slacks[i] < 1.0:  # of stiff rows: the difference would lose it to rounding
            ds[i] = of_slacks[i] * (y[i] + b[i])
    dt, dz, of_gaps, of_multipliers = np.empty(t.size), np.empty(t.size), 0.0, 0.0
    for k in range(t.size):
        dt[k] = sign[k] * ds[side[k]]
        dz[k] = (target[k] - z[k] * dt[k]) / t[k] - z[k]
        of_gaps = max(of_gaps, -dt[k] / t[k])
        of_multipliers = max(of_multipliers, -dz[k] / z[k])
    return dx, ds, dt, dz, y, of_gaps, of_multipliers, applied, left
