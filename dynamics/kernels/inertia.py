"""Spatial inertia and the Christoffel body factor for kernels, in world axes about the world origin.

An inertia is (m, h, J): mass, mass times centre, rotational inertia about the origin.
A body factor is (Jdot, n, p), twelve numbers linear in a twist u: Jdot the rate of J when the body moves with
u, (n, p) = I u its momentum. As a 6 x 6 matrix it is B[I, u] = [[(Jdot - n^)/2, 0], [-p^, 0]], which equals
1/2 [(u x*) I + (I u) xbar* - I (u x)] (Echeandia and Wensing 2021, eq. 12). Both simply add up over bodies.
"""

from __future__ import annotations

from dynamics.kernels.compile import inlined
from dynamics.kernels.node_batch import BLOCKS_TOGETHER
from dynamics.kernels.simd import load, same, store
from dynamics.kernels.spatial_algebra import (
    add,
    add_scaled,
    constant3,
    constant_symmetric,
    cross,
    dot,
    load3,
    load6,
    load_symmetric,
    rotate,
    scale,
    store3,
    store6,
    store_symmetric,
    sub,
    symmetric_times,
)
from dynamics.model.packed_model import INERTIA, MASS, MOMENT


@inlined
def rotated_inertia(frame, J):
    """R J R'."""
    x, y, z = frame
    a = rotate(frame, (J[0], J[1], J[2]))
    b = rotate(frame, (J[1], J[3], J[4]))
    c = rotate(frame, (J[2], J[4], J[5]))
    return (
        a[0] * x[0] + b[0] * y[0] + c[0] * z[0],
        a[0] * x[1] + b[0] * y[1] + c[0] * z[1],
        a[0] * x[2] + b[0] * y[2] + c[0] * z[2],
        a[1] * x[1] + b[1] * y[1] + c[1] * z[1],
        a[1] * x[2] + b[1] * y[2] + c[1] * z[2],
        a[2] * x[2] + b[2] * y[2] + c[2] * z[2],
    )


@inlined
def body_inertia(array, numbers, body, frame, origin):
    """The inertia of one body at its pose."""
    m = numbers[body, MASS]
    moment = rotate(frame, constant3(numbers, body, MOMENT))
    J = rotated_inertia(frame, constant_symmetric(numbers, body, INERTIA))
    # Steiner from the body's origin p: 2 (p.b) 1 - p b' - b p' with b = moment + m p / 2.
    p, b = origin, add_scaled(moment, 0.5 * m, origin)
    x, y, z = p[0] * b[0], p[1] * b[1], p[2] * b[2]
    steiner = (
        2.0 * (y + z),
        -(p[0] * b[1] + p[1] * b[0]),
        -(p[0] * b[2] + p[2] * b[0]),
        2.0 * (x + z),
        -(p[1] * b[2] + p[2] * b[1]),
        2.0 * (x + y),
    )
    return same(array, m), add_scaled(moment, m, origin), add_symmetric(J, steiner)


@inlined
def add_symmetric(J, K):
    return J[0] + K[0], J[1] + K[1], J[2] + K[2], J[3] + K[3], J[4] + K[4], J[5] + K[5]


@inlined
def inertia_times(inertia, u):
    """I u, the momentum of a twist."""
    m, h, J = inertia
    return add(symmetric_times(J, u[0]), cross(h, u[1])), sub(scale(m, u[1]), cross(h, u[0]))


@inlined
def body_factor(inertia, u):
    """B[I, u]."""
    w, v = u
    _, h, J = inertia
    x = cross(w, (J[0], J[1], J[2]))
    y = cross(w, (J[1], J[3], J[4]))
    z = cross(w, (J[2], J[4], J[5]))
    twice = 2.0 * dot(v, h)
    rate = (
        2.0 * (x[0] - h[0] * v[0]) + twice,
        x[1] + y[0] - h[0] * v[1] - h[1] * v[0],
        x[2] + z[0] - h[0] * v[2] - h[2] * v[0],
        2.0 * (y[1] - h[1] * v[1]) + twice,
        y[2] + z[1] - h[1] * v[2] - h[2] * v[1],
        2.0 * (z[2] - h[2] * v[2]) + twice,
    )
    n, p = inertia_times(inertia, u)
    return rate, n, p


@inlined
def factor_times(factor, u):
    """B u; only the angular part of u counts."""
    rate, n, p = factor
    return scale(0.5, sub(symmetric_times(rate, u[0]), cross(n, u[0]))), cross(u[0], p)


@inlined
def factor_transposed_times(factor, x):
    """The angular part of B' x; the linear part is zero."""
    rate, n, p = factor
    return add(scale(0.5, add(symmetric_times(rate, x[0]), cross(n, x[0]))), cross(p, x[1]))


@inlined
def load_inertia(array, slot):
    return load(array, slot), load3(array, slot + 1), load_symmetric(array, slot + 4)


@inlined
def store_inertia(array, slot, inertia):
    store(array, slot, inertia[0])
    store3(array, slot + 1, inertia[1])
    store_symmetric(array, slot + 4, inertia[2])


@inlined
def load_factor(array, slot):
    n, p = load6(array, slot + 6)
    return load_symmetric(array, slot), n, p


@inlined
def store_factor(array, slot, factor):
    store_symmetric(array, slot, factor[0])
    store6(array, slot + 6, (factor[1], factor[2]))


@inlined
def clear(array, first, count):
    """Set slots to zero."""
    zero = same(array, 0.0)
    for slot in range(first, first + count):
        store(array, slot, zero)


@inlined
def clear_entries(out, planes, entries_to_clear, block):
    """Set the entries of (planes, n, n, blocks, width) that `PackedModel.entries_to_clear` lists to zero.

    For this block and those after it at once, as a block's slots lie far apart: BLOCKS_TOGETHER at a time.
    """
    n, blocks = out.shape[-3], out.shape[-2]
    if block % BLOCKS_TOGETHER == 0:
        for plane in range(planes):
            for entry in entries_to_clear:
                clear(out, (plane * n * n + entry) * blocks + block, min(BLOCKS_TOGETHER, blocks - block))


@inlined
def increase_slots(array, to, source, count):
    """array[to + i] += array[source + i], i < count: adds the sums of a body to those of its parent."""
    for i in range(count):
        store(array, to + i, load(array, to + i) + load(array, source + i))
