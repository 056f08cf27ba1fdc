"""Stumpff's entire functions c_k(s) = sum_j (-s)^j / (2j + k)!, in which Exp has no square root.

c_0 = cos |p|,  c_1 = sin |p| / |p|,  c_2 = (1 - cos |p|) / |p|^2  at  s = |p|^2,
c_k = 1 / k! - s c_{k+2},  d c_k / ds = (k c_{k+2} - c_{k+1}) / 2
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from numba.extending import overload

from dynamics.kernels.compile import inlined, kernel
from dynamics.kernels.simd import choose_up_to, lanes_type, square_root
from dynamics.kernels.sincos import sincos

# Up to it the series of c_k for the two largest k and the recursion down to c_0 are exact to rounding (the
# terms fall from the first on); above it cosine and sine and the recursion upwards, which divides by s.
SERIES_UP_TO = 10.0
TERMS = 20  # of the series: the next one is below 1e-30 there
LANE_TERMS = 12  # of c_6 and c_7, whose next term is below 1e-18 there
LARGEST = 10  # k of what is computed
INVERSE_FACTORIALS = np.array([1.0 / factorial(k) for k in range(LARGEST + 1)])
#: (k, j): the term of number j by the one before it, without -s
RATIOS = np.array(
    [[1.0 / max(1, (2 * j + k - 1) * (2 * j + k)) for j in range(TERMS + 1)] for k in range(LARGEST + 1)]
)


def series(s: Any, k: int) -> Any:
    """c_k(s) in any arithmetic that knows + - * and /, for |s| up to 40: what is left out is below 1e-20.

    Its constants are whole numbers, which have no rounding.
    """
    total = 1.0
    for j in range(TERMS, 0, -1):
        total = 1.0 - s * total / float((2 * j + k - 1) * (2 * j + k))
    return total / float(factorial(k))


@inlined
def functions(s, last, c):
    """c_0 to c_last at one number s, into an array."""
    if abs(s) <= SERIES_UP_TO:
        for k in range(last - 1, last + 1):
            total = s * 0.0 + 1.0
            for j in range(TERMS, 0, -1):
                total = 1.0 - s * RATIOS[k, j] * total
            c[k] = total * INVERSE_FACTORIALS[k]
        for k in range(last - 2, -1, -1):
            c[k] = INVERSE_FACTORIALS[k] - s * c[k + 2]
        return
    root = np.sqrt(s)
    c[0], c[1] = np.cos(root), np.sin(root) / root
    for k in range(last - 1):
        c[k + 2] = (INVERSE_FACTORIALS[k] - c[k]) / s


@kernel
def _taylor_coefficients(p, degree, out):
    last = 2 + 2 * degree
    c = np.empty(last + 1, p.dtype)
    for node in range(p.shape[0]):
        s = p[node, 0] * p[node, 0] + p[node, 1] * p[node, 1] + p[node, 2] * p[node, 2]
        functions(s, last, c)
        for order in range(degree + 1):
            for k in range(3):
                out[node, k * (degree + 1) + order] = c[k] * INVERSE_FACTORIALS[order]
            for k in range(last - 1 - 2 * order):
                c[k] = 0.5 * (k * c[k + 2] - c[k + 1])


def taylor_coefficients(p: np.ndarray, degree: int) -> np.ndarray:
    """(nodes, 3 (degree + 1)): of c_0, c_1 and c_2 around |p|^2, up to a power; p : (nodes, 3)."""
    out = np.empty((len(p), 3 * (degree + 1)), p.dtype)
    _taylor_coefficients(p, degree, out)
    return out


def stumpff(s):
    """c_0 to c_7 at a complex number; on SIMD lanes kernels compile `_lanes` instead."""
    return _complex(s)


def _lanes(s):
    # Both forms in every lane, so that a node's numbers do not depend on those of its neighbours.
    six, seven = s * -RATIOS[6, LANE_TERMS] + 1.0, s * -RATIOS[7, LANE_TERMS] + 1.0
    for j in range(LANE_TERMS - 1, 0, -1):
        six, seven = 1.0 - s * RATIOS[6, j] * six, 1.0 - s * RATIOS[7, j] * seven
    six, seven = six * INVERSE_FACTORIALS[6], seven * INVERSE_FACTORIALS[7]
    four, five = INVERSE_FACTORIALS[4] - s * six, INVERSE_FACTORIALS[5] - s * seven
    two, three = 0.5 - s * four, INVERSE_FACTORIALS[3] - s * five
    zero, one = 1.0 - s * two, 1.0 - s * three
    root, inverse = square_root(s), 1.0 / s
    sine, cosine = sincos(root)
    first = sine * root * inverse
    second, third = (1.0 - cosine) * inverse, (1.0 - first) * inverse
    fourth, fifth = (0.5 - second) * inverse, (INVERSE_FACTORIALS[3] - third) * inverse
    return (
        choose_up_to(s, SERIES_UP_TO, zero, cosine),
        choose_up_to(s, SERIES_UP_TO, one, first),
        choose_up_to(s, SERIES_UP_TO, two, second),
        choose_up_to(s, SERIES_UP_TO, three, third),
        choose_up_to(s, SERIES_UP_TO, four, fourth),
        choose_up_to(s, SERIES_UP_TO, five, fifth),
        choose_up_to(s, SERIES_UP_TO, six, (INVERSE_FACTORIALS[4] - fourth) * inverse),
        choose_up_to(s, SERIES_UP_TO, seven, (INVERSE_FACTORIALS[5] - fifth) * inverse),
    )


def _complex(s):
    c = np.empty(LARGEST + 1, np.complex128)
    functions(s, 7, c)
    return c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]


@overload(stumpff, jit_options={"fastmath": {"contract"}, "error_model": "numpy"})
def _stumpff(s):
    return _lanes if s == lanes_type else _complex
