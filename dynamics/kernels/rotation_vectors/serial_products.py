"""Carries motion, forces and first derivatives between a robot with rotation vectors and its serial form.

Rows of nodes hold, for one rotation vector after the other, the nine entries of a matrix: E, D1, D2 and
tau_e . E2 of `serial_motion.py`. `own` : (n,) places of coordinates in the serial form; `firsts` : the first
coordinate of every rotation vector.
"""

from __future__ import annotations

import math

from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.rotation_vectors.polynomial import derivative_places
from dynamics.kernels.simd import gather, load, store, width
from dynamics.kernels.spatial_algebra import workspace

PLACES_2, FACTORS_2 = derivative_places(2)
PLACES_3, FACTORS_3 = derivative_places(3)


@kernel
def chart_derivatives(polynomials, size, degree, first, v, a, own, E, D1, D2, moved_v, moved_a, at):
    """E, D1 and D2 of one rotation vector from column `at`, as far as the degree of its polynomials reaches.

    moved_v, moved_a : its e' and e'' are put there, where v and a are given and not empty
    """
    for node in range(len(E)):
        zero = polynomials[node, 0] * 0.0
        for i in range(3):
            rate, second = zero, zero
            for j in range(3):
                column = at + 3 * i + j
                slope = polynomials[node, i * size + 1 + j]
                E[node, column] = slope
                if len(v) == 0:
                    continue
                rate += slope * v[node, first + j]
                if degree < 2:
                    continue
                one, two = zero, zero
                for k in range(3):
                    bent = polynomials[node, i * size + PLACES_2[j, k]] * FACTORS_2[j, k]
                    one += bent * v[node, first + k]
                    if len(a) > 0:
                        two += bent * a[node, first + k]
                D1[node, column] = one
                if len(a) > 0:
                    second += slope * a[node, first + j] + one * v[node, first + j]
                if degree > 2:
                    for k in range(3):
                        for l in range(3):
                            third = polynomials[node, i * size + PLACES_3[j, k, l]] * FACTORS_3[j, k, l]
                            two += third * v[node, first + k] * v[node, first + l]
                    D2[node, column] = two
            if len(v) > 0:
                moved_v[node, own[first + i]] = rate
            if len(a) > 0:
                moved_a[node, own[first + i]] = second


@kernel
def held_angles(rotation, q, at):
    """Yaw and pitch into columns before `at` of q, roll into it, then zero twice: real numbers alone."""
    for node in range(len(q)):
        R = rotation[node]
        yaw = math.atan2(R[3], R[0])
        s, c = math.sin(yaw), math.cos(yaw)
        q[node, at - 2] = yaw
        q[node, at - 1] = math.atan2(-R[6], c * R[0] + s * R[3])
        q[node, at] = math.atan2(s * R[2] - c * R[5], c * R[4] - s * R[1])
        q[node, at + 1] = q[node, at + 2] = 0.0


@kernel
def carry_forces(serial, own, firsts, E, out):
    """E' tau_e, (nodes, n') -> (nodes, n); as well derivatives of one number by e -> by p."""
    for node in range(len(out)):
        for i in range(len(own)):
            out[node, i] = serial[node, own[i]]
        for g in range(len(firsts)):
            at = firsts[g]
            x, y, z = serial[node, own[at]], serial[node, own[at + 1]], serial[node, own[at + 2]]
            for j in range(3):
                column = 9 * g + j
                out[node, at + j] = E[node, column] * x + E[node, column + 3] * y + E[node, column + 6] * z


@inlined
def solve(a, b, c, d, e, f, g, h, i, x, y, z):
    """M^-1 (x, y, z) with the rows (a, b, c), (d, e, f) and (g, h, i) of M; not finite where it has none."""
    first, second, third = e * i - f * h, f * g - d * i, d * h - e * g
    factor = 1.0 / (a * first + b * second + c * third)
    return (
        factor * (first * x + (c * h - b * i) * y + (b * f - c * e) * z),
        factor * (second * x + (a * i - c * g) * y + (c * d - a * f) * z),
        factor * (third * x + (b * g - a * h) * y + (a * e - b * d) * z),
    )


@kernel
def solve_forces(forces, own, firsts, E, out):
    """E'^-1 tau, (nodes, n) -> (nodes, n'); what is held is left as it is."""
    for node in range(len(out)):
        for i in range(len(own)):
            out[node, own[i]] = forces[node, i]
        for g in range(len(firsts)):
            at, (a, b, c, d, e, f, u, v, w) = firsts[g], matrix_of(E[node], 9 * g)
            x, y, z = forces[node, at], forces[node, at + 1], forces[node, at + 2]
            x, y, z = solve(a, d, u, b, e, v, c, f, w, x, y, z)
            out[node, own[at]], out[node, own[at + 1]], out[node, own[at + 2]] = x, y, z


@kernel
def solve_accelerations(serial, v, own, firsts, E, D1, out):
    """p'' = E^-1 (e'' - D1 p'), (nodes, n') -> (nodes, n)."""
    for node in range(len(out)):
        for i in range(len(own)):
            out[node, i] = serial[node, own[i]]
        for g in range(len(firsts)):
            at, (a, b, c, d, e, f, k, l, m) = firsts[g], matrix_of(E[node], 9 * g)
            for i in range(3):
                for j in range(3):
                    out[node, at + i] -= D1[node, 9 * g + 3 * i + j] * v[node, at + j]
            x, y, z = out[node, at], out[node, at + 1], out[node, at + 2]
            x, y, z = solve(a, b, c, d, e, f, k, l, m, x, y, z)
            out[node, at], out[node, at + 1], out[node, at + 2] = x, y, z


@inlined
def matrix_of(row, at):
    """Nine numbers, row by row."""
    return (
        row[at], row[at + 1], row[at + 2], row[at + 3], row[at + 4],
        row[at + 5], row[at + 6], row[at + 7], row[at + 8],
    )  # fmt: skip


@kernel
def chart_stiffness(polynomials, size, first, forces, own, out, at):
    """tau_e . E2 of one rotation vector from column `at`: of tau = E' tau_e, what E depends on p."""
    for node in range(len(out)):
        for j in range(3):
            for k in range(3):
                total = forces[node, 0] * 0.0
                for i in range(3):
                    total += forces[node, own[first + i]] * polynomials[node, i * size + PLACES_2[j, k]]
                out[node, at + 3 * j + k] = total * FACTORS_2[j, k]


@inlined
def load_matrix(work, at):
    """Nine numbers, columns of a (3, 3) matrix one after the other."""
    return (
        (load(work, at), load(work, at + 3), load(work, at + 6)),
        (load(work, at + 1), load(work, at + 4), load(work, at + 7)),
        (load(work, at + 2), load(work, at + 5), load(work, at + 8)),
    )


@inlined
def products(row, matrix):
    """A row of three numbers times a matrix that is given by its columns."""
    x, y, z = matrix
    return (
        row[0] * x[0] + row[1] * x[1] + row[2] * x[2],
        row[0] * y[0] + row[1] * y[1] + row[2] * y[2],
        row[0] * z[0] + row[1] * z[1] + row[2] * z[2],
    )


@inlined
def load_row(array, slot, step):
    return load(array, slot), load(array, slot + step), load(array, slot + 2 * step)


@inlined
def store_row(array, slot, step, row):
    store(array, slot, row[0])
    store(array, slot + step, row[1])
    store(array, slot + 2 * step, row[2])


@inlined
def sum3(a, b, factor):
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@kernel
def carry_partials(serial, rows, forces, own, firsts, E, D1, D2, stiffness, out):
    """First derivatives by q, v and a, (rows', 3, n', blocks, width) -> (rows, 3, n, blocks, width).

    rows : places of the rows among those of the serial form; forces : how many of the first are generalized
    forces, n or 0
    """
    n, wide, blocks, groups = out.shape[2], serial.shape[2], out.shape[3], len(firsts)
    work = workspace(E, 36 * groups)
    for block in range(blocks):
        node = block * width(E)
        for k in range(9 * groups):
            store(work, k, gather(E, node, k))
            store(work, 9 * groups + k, gather(D1, node, k))
            store(work, 18 * groups + k, gather(D2, node, k))
            store(work, 27 * groups + k, gather(stiffness, node, k))
        for r in range(len(rows)):
            for which in range(3):
                source, to = (rows[r] * 3 + which) * wide, (r * 3 + which) * n
                for c in range(n):
                    store(out, (to + c) * blocks + block, load(serial, (source + own[c]) * blocks + block))
            for g in range(groups):
                J, first = load_matrix(work, 9 * g), load_matrix(work, 9 * (groups + g))
                second = load_matrix(work, 9 * (2 * groups + g))
                source = rows[r] * 3 * wide + own[firsts[g]]
                by_q = load_row(serial, source * blocks + block, blocks)
                by_v = load_row(serial, (source + wide) * blocks + block, blocks)
                by_a = load_row(serial, (source + 2 * wide) * blocks + block, blocks)
                to = r * 3 * n + firsts[g]
                total = sum3(sum3(products(by_q, J), products(by_v, first), 1.0), products(by_a, second), 1.0)
                store_row(out, to * blocks + block, blocks, total)
                total = sum3(products(by_v, J), products(by_a, first), 2.0)
                store_row(out, (to + n) * blocks + block, blocks, total)
                store_row(out, (to + 2 * n) * blocks + block, blocks, products(by_a, J))
        if forces == 0:
            continue
        for g in range(groups):
            J, at, step = load_matrix(work, 9 * g), firsts[g], 3 * n * blocks
            for column in range(3 * n):
                slot = (at * 3 * n + column) * blocks + block
                store_row(out, slot, step, products(load_row(out, slot, step), J))
            for i in range(3):
                for j in range(3):
                    slot = ((at + i) * 3 * n + at + j) * blocks + block
                    added = load(work, 27 * groups + 9 * g + 3 * i + j)
                    store(out, slot, load(out, slot) + added)


@kernel
def carry_squares(serial, own, firsts, E, out):
    """E' M E of bilinear forms, (planes, n', n', blocks, width) -> (planes, n, n, blocks, width)."""
    planes, n, wide, blocks, groups = out.shape[0], out.shape[1], serial.shape[1], out.shape[3], len(firsts)
    work = workspace(E, 9 * groups)
    for block in range(blocks):
        for k in range(9 * groups):
            store(work, k, gather(E, block * width(E), k))
        for plane in range(planes):
            for r in range(n):
                source, to = (plane * wide + own[r]) * wide, (plane * n + r) * n
                for c in range(n):
                    store(out, (to + c) * blocks + block, load(serial, (source + own[c]) * blocks + block))
                for g in range(groups):
                    slot = (to + firsts[g]) * blocks + block
                    row = products(load_row(out, slot, blocks), load_matrix(work, 9 * g))
                    store_row(out, slot, blocks, row)
            for g in range(groups):
                for c in range(n):
                    slot = ((plane * n + firsts[g]) * n + c) * blocks + block
                    row = products(load_row(out, slot, n * blocks), load_matrix(work, 9 * g))
                    store_row(out, slot, n * blocks, row)
