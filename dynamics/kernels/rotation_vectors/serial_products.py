"""Carries motion, forces and first derivatives between a robot with rotation vectors and its serial form.

Rows of nodes hold, for one rotation vector after the other, the nine entries of a matrix: E, D1, D2 and
tau_e . E2 of `serial_motion.py`. `own` : (n,) places of coordinates in the serial form; `firsts` : the first
coordinate of every rotation vector.
"""

from __future__ import annotations

import math

from dynamics.kernels.compile import kernel
from dynamics.kernels.rotation_vectors.polynomial import derivative_places

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
