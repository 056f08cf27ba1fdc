"""Parts of kernels without jumps: what they compute when traced, and what tracing refuses."""

import numpy as np
import pytest

from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.tracing import is_straight


@inlined
def product(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def nested(a, table, row, none):
    first = product(a, (table[row, 0], table[row, 1], table[row, 2]))
    return (first, none), (2 * row - 1) / table.shape[0], -halved(a[0])


@inlined
def halved(x):
    return 0.5 * x if x > 0.0 else 0.0


def test_only_functions_without_jumps_are_traced():
    assert is_straight(product.py_func) and not is_straight(halved.py_func)


@pytest.mark.parametrize("kind", [np.float64, pytest.param(np.complex128, marks=pytest.mark.long)])
def test_a_traced_part_computes_what_python_does(kind):
    @kernel
    def run(a, table, row, out):
        (x, none), ratio, less = nested((a[0], a[1], a[2]), table, row, None)
        out[0], out[1], out[2], out[3], out[4] = x[0], x[1], x[2], ratio, less
        if none is None:
            out[5] = 1.0

    rng, out = np.random.default_rng(0), np.zeros(6, kind)
    a, table = rng.standard_normal(3) + 2.0, rng.standard_normal((4, 3)).astype(kind)
    run(a, table, 2, out)
    expected = [*np.cross(a, table[2]), 3 / 4, -0.5 * a[0], 1.0]
    np.testing.assert_allclose(out, expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (lambda x: max(x, 0.0), "a part without jumps compares a float64: `min` and `max` do"),
        (lambda x: bool(x), "a part without jumps asks whether a float64 is true"),
        (lambda x: x[0], "a part without jumps takes 1 indices of a float64"),
    ],
)
def test_what_cannot_be_traced_is_named(part, message):
    refused = inlined(part)
    with pytest.raises(TypeError, match=message):
        kernel(lambda x: refused(x))(1.0)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (lambda x: x[-1], r"takes entry \(-1,\): whole numbers from 0 on"),
        (lambda x: x[1:], r"takes entry \(slice\(1, None, None\),\): whole numbers"),
        (lambda x: x[0] * np.float64(2.0), "has a float64: numbers of Python are expected"),
    ],
)
def test_entries_of_arrays_that_would_be_others_are_refused(part, message):
    refused = inlined(part)
    with pytest.raises(TypeError, match=message):
        kernel(lambda x: refused(x))(np.ones(3))


def test_a_part_is_not_called_from_python():
    for part in (product, halved):
        with pytest.raises(TypeError, match=f"{part.__name__} is part of kernels: call it in one"):
            part(1.0, 2.0)
