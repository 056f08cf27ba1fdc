"""The rotation vector's chart beside the one of three joints in series, as polynomials around a point.

For p near p_0, Exp(p_0)' Exp(p_0 + d) = Rx(e_1) Ry(e_2) Rz(e_3) gives e(d) with e(0) = 0; its derivatives at
d = 0 carry velocities, accelerations and forces from one chart to the other. With c_k of `stumpff.py` at
s = |p|^2, Exp(p) = c_0 1 + c_1 p^ + c_2 p p' is made of polynomials and of functions of s alone.
"""

from __future__ import annotations

import numpy as np

from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.inertia import clear
from dynamics.kernels.rotation_vectors.polynomial import (
    COUNTS,
    PLACES,
    PRODUCT_COUNTS,
    PRODUCTS,
    SIZE,
    add_multiple,
    copy,
    multiply,
    set_linear,
)
from dynamics.kernels.rotation_vectors.stumpff import taylor_coefficients
from dynamics.kernels.simd import gather, load, same, scatter, store, width
from dynamics.kernels.spatial_algebra import workspace

# slots of the workspace, in polynomials: p, change of s and its power, c_0 to c_2, c_1 p and c_2 p, c_2 p p',
# Exp(p), Exp(p_0)' Exp(p), and places for products
P, S, POWER, C, CP, OUTER, EXP, RELATIVE, SCRATCH = 0, 3, 4, 5, 8, 14, 20, 29, 34
SLOTS = (SCRATCH + 3) * SIZE
SQUARES = tuple(PLACES[powers] for powers in ((2, 0, 0), (0, 2, 0), (0, 0, 2)))


@inlined
def exponential(work, products, size, degree, p, taylor, node):
    """Exp(p) around p_0."""
    clear(work, S * SIZE, SIZE)
    for i in range(3):
        start = gather(p, node, i)
        set_linear(work, size, start, i, (P + i) * SIZE)
        store(work, S * SIZE + 1 + i, 2.0 * start)
        if degree > 1:
            store(work, S * SIZE + SQUARES[i], same(work, 1.0))
        clear(work, (C + i) * SIZE, size)
        store(work, (C + i) * SIZE, gather(taylor, node, i * (degree + 1)))
    copy(work, size, S * SIZE, POWER * SIZE)
    for order in range(1, degree + 1):
        for k in range(3):
            factor = gather(taylor, node, k * (degree + 1) + order)
            add_multiple(work, size, factor, POWER * SIZE, (C + k) * SIZE)
        if order < degree:
            multiply(work, products, size, POWER * SIZE, S * SIZE, SCRATCH * SIZE)
            copy(work, size, SCRATCH * SIZE, POWER * SIZE)
    for i in range(3):
        multiply(work, products, size, (C + 1) * SIZE, (P + i) * SIZE, (CP + i) * SIZE)
        multiply(work, products, size, (C + 2) * SIZE, (P + i) * SIZE, (CP + 3 + i) * SIZE)
    for i in range(3):
        for j in range(i, 3):
            at = (OUTER + i * (5 - i) // 2 + j) * SIZE
            multiply(work, products, size, (CP + 3 + i) * SIZE, (P + j) * SIZE, at)
    for i in range(3):
        for j in range(3):
            least, most, at = min(i, j), max(i, j), (EXP + 3 * i + j) * SIZE
            copy(work, size, (OUTER + least * (5 - least) // 2 + most) * SIZE, at)
            if i == j:
                add_multiple(work, size, same(work, 1.0), C * SIZE, at)
            else:
                sign = same(work, 1.0 if (i - j) % 3 == 1 else -1.0)
                add_multiple(work, size, sign, (CP + 3 - i - j) * SIZE, at)


@inlined
def relative_entry(work, size, i, j, to):
    """An entry of Exp(p_0)' Exp(p)."""
    clear(work, to, size)
    for k in range(3):
        add_multiple(work, size, load(work, (EXP + 3 * k + i) * SIZE), (EXP + 3 * k + j) * SIZE, to)


@inlined
def add_cube(work, products, size, factor, at):
    """x + factor x^3 in place of x."""
    square, cube = SCRATCH * SIZE, (SCRATCH + 1) * SIZE
    multiply(work, products, size, at, at, square)
    multiply(work, products, size, at, square, cube)
    add_multiple(work, size, same(work, factor), cube, at)


@inlined
def divide(work, products, size, degree, at, by):
    """-x / y in place of x, where y is 1 at zero; 1 / y = 1 - (y - 1) (1 - (y - 1) ...)."""
    inverse, product = SCRATCH * SIZE, (SCRATCH + 1) * SIZE
    one = same(work, 1.0)
    store(work, by, load(work, by) - one)
    clear(work, inverse, size)
    store(work, inverse, one)
    for _ in range(degree):
        multiply(work, products, size, by, inverse, product)
        clear(work, inverse, size)
        add_multiple(work, size, same(work, -1.0), product, inverse)
        store(work, inverse, load(work, inverse) + one)
    multiply(work, products, size, at, inverse, product)
    clear(work, at, size)
    add_multiple(work, size, same(work, -1.0), product, at)


@kernel
def _serial_chart(p, taylor, products, size, degree, rotation, out):
    work = workspace(p, SLOTS)
    C00, C01, C02, C12, C22 = (
        RELATIVE * SIZE, (RELATIVE + 1) * SIZE, (RELATIVE + 2) * SIZE,
        (RELATIVE + 3) * SIZE, (RELATIVE + 4) * SIZE,
    )  # fmt: skip
    for node in range(0, p.shape[0], width(p)):
        exponential(work, products, size, degree, p, taylor, node)
        for entry in range(9):
            scatter(rotation, node, entry, load(work, (EXP + entry) * SIZE))
        relative_entry(work, size, 0, 0, C00)
        relative_entry(work, size, 0, 1, C01)
        relative_entry(work, size, 0, 2, C02)
        relative_entry(work, size, 1, 2, C12)
        relative_entry(work, size, 2, 2, C22)
        # sin e_2 = C02, tan e_1 = -C12 / C22, tan e_3 = -C01 / C00
        divide(work, products, size, degree, C12, C22)
        divide(work, products, size, degree, C01, C00)
        if degree > 2:
            add_cube(work, products, size, 1.0 / 6.0, C02)
            add_cube(work, products, size, -1.0 / 3.0, C12)
            add_cube(work, products, size, -1.0 / 3.0, C01)
        for k in range(size):
            scatter(out, node, k, load(work, C12 + k))
            scatter(out, node, size + k, load(work, C02 + k))
            scatter(out, node, 2 * size + k, load(work, C01 + k))


def serial_chart(p: np.ndarray, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Exp(p), (nodes, 9), row by row, and the polynomials e(d) one after the other, up to a degree of 1 to 4.

    p : (nodes, 3), contiguous
    """
    size, nodes = COUNTS[degree], len(p)
    rotation, out = np.empty((nodes, 9), p.dtype), np.empty((nodes, 3 * size), p.dtype)
    products = PRODUCTS[: PRODUCT_COUNTS[degree]]
    _serial_chart(p, taylor_coefficients(p, degree), products, size, degree, rotation, out)
    return rotation, out
