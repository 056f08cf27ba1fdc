"""3D and spatial vector algebra for kernels, on SIMD lanes.

A vector is a 3-tuple, a spatial vector a pair (angular, linear) of them, a frame the 3-tuple of its axes
(the columns of its rotation matrix), a symmetric matrix the 6-tuple (xx, xy, xz, yy, yz, zz). Every entry
is an element of `simd.py`: eight nodes, or one complex number. Constants of the model are plain floats.
"""

from __future__ import annotations

import numpy as np

from dynamics.kernels.compile import inlined, subroutine
from dynamics.kernels.node_batch import CACHE_LINE
from dynamics.kernels.simd import gather, load, same, scatter, store, width

# --- vectors ------------------------------------------------------------------------------------------


@inlined
def add(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def sub(a, b):
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def scale(s, a):
    return s * a[0], s * a[1], s * a[2]


@inlined
def add_scaled(a, s, b):
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@inlined
def negative(a):
    return -a[0], -a[1], -a[2]


@inlined
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def rotate(frame, a):
    """Components along the frame's axes -> components along the axes in which these are given."""
    x, y, z = frame
    return (
        x[0] * a[0] + y[0] * a[1] + z[0] * a[2],
        x[1] * a[0] + y[1] * a[1] + z[1] * a[2],
        x[2] * a[0] + y[2] * a[1] + z[2] * a[2],
    )


@inlined
def rotate_back(frame, a):
    """The inverse of `rotate`."""
    return dot(frame[0], a), dot(frame[1], a), dot(frame[2], a)


@inlined
def symmetric_times(J, a):
    return (
        J[0] * a[0] + J[1] * a[1] + J[2] * a[2],
        J[1] * a[0] + J[3] * a[1] + J[4] * a[2],
        J[2] * a[0] + J[4] * a[1] + J[5] * a[2],
    )


# --- spatial vectors ----------------------------------------------------------------------------------


@inlined
def add6(a, b):
    return add(a[0], b[0]), add(a[1], b[1])


@inlined
def sub6(a, b):
    return sub(a[0], b[0]), sub(a[1], b[1])


@inlined
def scale6(s, a):
    return scale(s, a[0]), scale(s, a[1])


@inlined
def add_scaled6(a, s, b):
    """a + s b."""
    return add_scaled(a[0], s, b[0]), add_scaled(a[1], s, b[1])


@inlined
def dot6(motion, force):
    """Power of a force on a motion."""
    return dot(motion[0], force[0]) + dot(motion[1], force[1])


@inlined
def cross_motion(V, S):
    """V x S, the rate of a motion vector carried along by V."""
    return cross(V[0], S[0]), add(cross(V[0], S[1]), cross(V[1], S[0]))


@inlined
def cross_force(V, f):
    """V x* f, the rate of a force vector carried along by V."""
    return add(cross(V[0], f[0]), cross(V[1], f[1])), cross(V[0], f[1])


# --- memory -------------------------------------------------------------------------------------------


@subroutine
def workspace(array, slots):
    """Uninitialized slots of the kind that `array` has, on a cache line's boundary."""
    count = slots * width(array)
    raw = np.empty(count + CACHE_LINE // array.itemsize, array.dtype)
    skip = (-raw.ctypes.data % CACHE_LINE) // array.itemsize
    return raw[skip : skip + count]


@inlined
def load3(array, slot):
    return load(array, slot), load(array, slot + 1), load(array, slot + 2)


@inlined
def load6(array, slot):
    return load3(array, slot), load3(array, slot + 3)


@inlined
def load_symmetric(array, slot):
    a, b = load3(array, slot), load3(array, slot + 3)
    return a[0], a[1], a[2], b[0], b[1], b[2]


@inlined
def load_frame(array, slot):
    return load3(array, slot), load3(array, slot + 3), load3(array, slot + 6)


@inlined
def store3(array, slot, a):
    store(array, slot, a[0])
    store(array, slot + 1, a[1])
    store(array, slot + 2, a[2])


@inlined
def store6(array, slot, a):
    store3(array, slot, a[0])
    store3(array, slot + 3, a[1])


@inlined
def store_symmetric(array, slot, J):
    store3(array, slot, (J[0], J[1], J[2]))
    store3(array, slot + 3, (J[3], J[4], J[5]))


@inlined
def store_frame(array, slot, frame):
    store3(array, slot, frame[0])
    store3(array, slot + 3, frame[1])
    store3(array, slot + 6, frame[2])


@inlined
def increase(array, slot, value):
    """array[slot] += value."""
    store(array, slot, load(array, slot) + value)


@inlined
def put(array, slot, value, adds):
    """array[slot] = value, or += value where several bodies share a coordinate."""
    if adds:
        increase(array, slot, value)
    else:
        store(array, slot, value)


@inlined
def increase3(array, slot, a):
    store3(array, slot, add(load3(array, slot), a))


@inlined
def increase6(array, slot, a):
    store6(array, slot, add6(load6(array, slot), a))


@inlined
def gather3(array, node, column):
    return gather(array, node, column), gather(array, node, column + 1), gather(array, node, column + 2)


@inlined
def gather6(array, node, column):
    return gather3(array, node, column), gather3(array, node, column + 3)


@inlined
def scatter3(array, node, column, a):
    scatter(array, node, column, a[0])
    scatter(array, node, column + 1, a[1])
    scatter(array, node, column + 2, a[2])


@inlined
def scatter6(array, node, column, a):
    scatter3(array, node, column, a[0])
    scatter3(array, node, column + 3, a[1])


@inlined
def same3(array, a):
    """The constant vector `a` as an element of `array`."""
    return same(array, a[0]), same(array, a[1]), same(array, a[2])


@inlined
def zero3(array):
    zero = same(array, 0.0)
    return zero, zero, zero


@inlined
def constant3(numbers, body, column):
    """Three constants of a body."""
    return numbers[body, column], numbers[body, column + 1], numbers[body, column + 2]


@inlined
def constant_frame(numbers, body, column):
    """A constant frame of a body: nine numbers, axis after axis."""
    return (
        constant3(numbers, body, column),
        constant3(numbers, body, column + 3),
        constant3(numbers, body, column + 6),
    )


@inlined
def constant_symmetric(numbers, body, column):
    a, b = constant3(numbers, body, column), constant3(numbers, body, column + 3)
    return a[0], a[1], a[2], b[0], b[1], b[2]
