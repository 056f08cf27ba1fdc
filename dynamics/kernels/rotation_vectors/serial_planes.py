"""Carries derivatives that stand node by node between a robot with rotation vectors and its serial form.

The same formulas as in `serial_products.py`, on arrays (nodes, rows, n') as blocks have them; arrays that are
not given are empty. E, D1, D2 : rows of nine numbers for every rotation vector.
"""

from __future__ import annotations

from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.rotation_vectors.serial_products import FACTORS_2, FACTORS_3, PLACES_2, PLACES_3


@inlined
def add_times(found, row, first, given, given_row, places, matrix, column, factor, transposed):
    """found[row, first...] += factor given[row, places...] matrix, or the same of the transposed arrays."""
    for j in range(3):
        total = found[0, 0] * 0.0
        for i in range(3):
            total += given[given_row, places[i]] * matrix[column + 3 * i + j]
        if transposed:
            found[first + j, row] += factor * total
        else:
            found[row, first + j] += factor * total


@kernel
def carry_outputs(by_q, by_v, by_a, own, firsts, E, D1, D2, out_q, out_v, out_a):
    """Derivatives of outputs by q, v and a, (nodes, m, n') each -> (nodes, m, n)."""
    for node in range(len(by_q)):
        for r in range(by_q.shape[1]):
            carry_row(by_q[node], r, own, firsts, E[node], out_q[node])
            if len(by_v) > 0:
                carry_row(by_v[node], r, own, firsts, E[node], out_v[node])
            if len(by_a) > 0:
                carry_row(by_a[node], r, own, firsts, E[node], out_a[node])
            for g in range(len(firsts)):
                at, column = firsts[g], 9 * g
                places = own[at : at + 3]
                if len(by_v) > 0:
                    add_times(out_q[node], r, at, by_v[node], r, places, D1[node], column, 1.0, False)
                if len(by_a) > 0:
                    add_times(out_q[node], r, at, by_a[node], r, places, D2[node], column, 1.0, False)
                    add_times(out_v[node], r, at, by_a[node], r, places, D1[node], column, 2.0, False)


@inlined
def carry_row(serial, row, own, firsts, E, out):
    """A row of n' numbers -> n."""
    for i in range(len(own)):
        out[row, i] = serial[row, own[i]]
    for g in range(len(firsts)):
        at = firsts[g]
        x, y, z = out[row, at], out[row, at + 1], out[row, at + 2]
        for j in range(3):
            column = 9 * g + j
            out[row, at + j] = x * E[column] + y * E[column + 3] + z * E[column + 6]


@kernel
def carry_rows(serial, own, firsts, E, out):
    """E' of rows, (nodes, n', m) -> (nodes, n, m)."""
    for node in range(len(out)):
        for i in range(len(own)):
            for c in range(out.shape[2]):
                out[node, i, c] = serial[node, own[i], c]
        mix_rows(out[node], firsts, E[node])


@inlined
def mix_rows(out, firsts, E):
    """E' of the rows of every rotation vector, in place."""
    for g in range(len(firsts)):
        at = firsts[g]
        for c in range(out.shape[1]):
            x, y, z = out[at, c], out[at + 1, c], out[at + 2, c]
            for j in range(3):
                column = 9 * g + j
                out[at + j, c] = x * E[column] + y * E[column + 3] + z * E[column + 6]


@kernel
def carry_planes(qq, qv, qa, vv, own, firsts, E, D1, D2, half, out_qq, out_qv, out_qa, out_vv):
    """Second derivatives, (nodes, n', n') each -> (nodes, n, n); half : (n, n') for what is carried by rows.

    By q and q all planes add, by q and v those of (q, v), (q, a) and (v, v).
    """
    n, wide = out_qq.shape[1], qq.shape[1]
    for node in range(len(qq)):
        for which in range(4):
            if which == 0:
                plane, out = qq[node], out_qq[node]
            elif which == 1:
                if len(qv) == 0:
                    continue
                plane, out = qv[node], out_qv[node]
            elif which == 2:
                if len(qa) == 0:
                    continue
                plane, out = qa[node], out_qa[node]
            else:
                if len(vv) == 0:
                    continue
                plane, out = vv[node], out_vv[node]
            for i in range(n):
                for c in range(wide):
                    half[i, c] = plane[own[i], c]
            mix_rows(half, firsts, E[node])
            for i in range(n):
                carry_row(half, i, own, firsts, E[node], out)
            for g in range(len(firsts)):
                at, column = firsts[g], 9 * g
                places = own[at : at + 3]
                for i in range(n):
                    if which == 1:
                        add_times(out_qq[node], i, at, half, i, places, D1[node], column, 1.0, False)
                        add_times(out_qq[node], i, at, half, i, places, D1[node], column, 1.0, True)
                    elif which == 2:
                        add_times(out_qq[node], i, at, half, i, places, D2[node], column, 1.0, False)
                        add_times(out_qq[node], i, at, half, i, places, D2[node], column, 1.0, True)
                        add_times(out_qv[node], i, at, half, i, places, D1[node], column, 2.0, False)
                    elif which == 3:
                        add_times(out_qv[node], i, at, half, i, places, D1[node], column, 1.0, True)
                if which == 3:
                    add_both(plane, own, firsts, D1[node], g, out_qq[node])


@inlined
def add_both(plane, own, firsts, D1, g, out):
    """D1' of rows and D1 of columns of the plane by v and v, for rows of one rotation vector."""
    at = firsts[g]
    for h in range(len(firsts)):
        to = firsts[h]
        for a in range(3):
            for b in range(3):
                total = plane[0, 0] * 0.0
                for i in range(3):
                    for j in range(3):
                        inner = plane[own[at + i], own[to + j]]
                        total += D1[9 * g + 3 * i + a] * inner * D1[9 * h + 3 * j + b]
                out[at + a, to + b] += total


@kernel
def add_chart_curvature(
    polynomials, size, places_4, factors_4, first, v, a, g_q, g_v, g_a, own, out_qq, out_qv, out_qa, out_vv
):
    """L_z . z_xy of one rotation vector; g_q, g_v, g_a : (nodes, n') first derivatives L_z."""
    for node in range(len(out_qq)):
        zero = polynomials[node, 0] * 0.0
        for j in range(3):
            for k in range(3):
                qq, qv, qa = zero, zero, zero
                for i in range(3):
                    at, place = i * size, own[first + i]
                    second = polynomials[node, at + PLACES_2[j, k]] * FACTORS_2[j, k]
                    qq += g_q[node, place] * second
                    if len(g_v) == 0:
                        continue
                    turned, bent = zero, zero
                    for l in range(3):
                        third = polynomials[node, at + PLACES_3[j, k, l]] * FACTORS_3[j, k, l]
                        turned += third * v[node, first + l]
                        if len(g_a) > 0:
                            bent += third * a[node, first + l]
                            for m in range(3):
                                fourth = polynomials[node, at + places_4[j, k, l, m]] * factors_4[j, k, l, m]
                                bent += fourth * v[node, first + l] * v[node, first + m]
                    qq += g_v[node, place] * turned
                    qv += g_v[node, place] * second
                    if len(g_a) > 0:
                        qq += g_a[node, place] * bent
                        qv += 2.0 * g_a[node, place] * turned
                        qa += g_a[node, place] * second
                out_qq[node, first + j, first + k] += qq
                if len(g_v) > 0:
                    out_qv[node, first + j, first + k] += qv
                if len(g_a) > 0:
                    out_qa[node, first + j, first + k] += qa
                    out_vv[node, first + j, first + k] += 2.0 * qa
