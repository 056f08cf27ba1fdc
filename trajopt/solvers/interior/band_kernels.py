"""Compiled loops over a band with an arrow: its sum from constraints, solutions, and their refinement.

A symmetric matrix of n unknowns, the first `inner` of them in a band, is kept as three arrays: `band`
(inner, half + 1), whose row p holds the entries (p + d, p); `arrow` (inner, edge), which holds (inner + k, p)
at [p, k]; `corner` (edge, edge). Behind the unknowns of the arrow, the edge holds rows that stay rows.

Arguments are arrays and numbers, as numba writes their types to disk.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from trajopt.solvers.newton.ldl_kernels import compiled

# Sums in any order, so that SIMD lanes can share them; NaN and infinity stay what they are.
_compiled = partial(compiled, fastmath={"reassoc", "contract"})


@_compiled
def add_products(
    starts: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    group_starts: np.ndarray,
    group_rows: np.ndarray,
    D: np.ndarray,
    band: np.ndarray,
    arrow: np.ndarray,
    corner: np.ndarray,
) -> None:
    """Add the lower triangle of G' diag(D) G, for rows in groups with the same columns each."""
    inner, most = band.shape[0], 0
    for g in range(group_starts.size - 1):
        r = group_rows[group_starts[g]]
        most = max(most, starts[r + 1] - starts[r])
    local = np.empty((most, most))
    for g in range(group_starts.size - 1):
        first = group_rows[group_starts[g]]
        width = starts[first + 1] - starts[first]
        local[:width, :width] = 0.0
        for k in range(group_starts[g], group_starts[g + 1]):
            r = group_rows[k]
            begin, weight = starts[r], D[r]
            for i in range(width):
                factor = weight * values[begin + i]
                for j in range(i, width):
                    local[i, j] += factor * values[begin + j]
        begin = starts[first]
        for i in range(width):
            p = columns[begin + i]
            for j in range(i, width):
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
        for k in range(columns.shape[1]):
            columns[p, k] /= band[p, 0]
        for d in range(1, min(wide, inner - p)):
            factor = band[p, d]
            for k in range(columns.shape[1]):
                columns[p + d, k] -= factor * columns[p, k]


@_compiled
def _solve(band: np.ndarray, arrow: np.ndarray, inverse: np.ndarray, x: np.ndarray, edge: np.ndarray) -> None:
    """x (inner,) and edge become the solution, from L, L^-1 arrow and the inverse of the Schur complement."""
    inner, wide = band.shape
    for p in range(inner):
        y = x[p] / band[p, 0]
        x[p] = y
        for d in range(1, min(wide, inner - p)):
            x[p + d] -= band[p, d] * y
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
        y = 0.0
        for d in range(1, min(wide, inner - p)):
            y += band[p, d] * x[p + d]
        x[p] = (x[p] - y) / band[p, 0]


@_compiled
def times_rows(starts: np.ndarray, columns: np.ndarray, values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """G x."""
    found = np.empty(starts.size - 1)
    for r in range(found.size):
        total = 0.0
        for k in range(starts[r], starts[r + 1]):
            total += values[k] * x[columns[k]]
        found[r] = total
    return found


@_compiled
def add_transposed(
    starts: np.ndarray, columns: np.ndarray, values: np.ndarray, y: np.ndarray, x: np.ndarray
) -> None:
    """x becomes x + G' y."""
    for r in range(starts.size - 1):
        weight = y[r]
        for k in range(starts[r], starts[r + 1]):
            x[columns[k]] += weight * values[k]


@_compiled
def refined_solution(
    starts: np.ndarray,
    columns: np.ndarray,
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
    `tol` of the right-hand sides; returns how often the factors were applied and the relative residual.
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
    count, left = 0, 1.0
    while count < most and left > tol:
        v, z = Q[count], Z[count]
        for i in range(n):
            z[i] = v[i]
        add_transposed(starts, columns, values, D * v[n:], z[:n])
        for k in range(rest):
            edge[k] = z[inner + k]
        for k in range(far.size):
            edge[rest + k] = v[n + far[k]]
        _solve(band, arrow, inverse, z[:inner], edge)
        for k in range(rest):
            z[inner + k] = edge[k]
        forward = times_rows(starts, columns, values, z[:n])
        for r in range(m):
            z[n + r] = D[r] * (forward[r] - v[n + r])
        for k in range(far.size):
            z[n + far[k]] = edge[rest + k]
        for r in range(m):
            w[n + r] = forward[r] - flexibility[r] * z[n + r]
        for i in range(n):
            w[i] = shift * z[i]
        for k in range(H.size):
            i, j = H_rows[k], H_columns[k]
            w[i] += H[k] * z[j]
            if i != j:
                w[j] += H[k] * z[i]
        add_transposed(starts, columns, values, z[n:], w[:n])
        for _ in range(2):
            for k in range(count + 1):
                product = 0.0
                for i in range(size):
                    product += Q[k, i] * w[i]
                R[k, count] += product
                for i in range(size):
                    w[i] -= product * Q[k, i]
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
