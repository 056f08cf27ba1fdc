"""Sine and cosine of eight angles at once.

The library functions take lanes one by one and cost nearly half of an RNEA. This is Cody and Waite's
reduction by quarter turns with Moshier's minimax polynomials (Cephes, sin.c and cos.c): absolute error
below 3e-16 for |angle| < 1e6 rad.
"""

from __future__ import annotations

import cmath

from numba.extending import overload

from dynamics.kernels.simd import lanes_type, nearest

QUARTER_TURNS_PER_RADIAN = 0.6366197723675814
# pi / 2 in three parts; the first two leave room for an exact product with up to 2^28 quarter turns.
QUARTER_1, QUARTER_2, QUARTER_3 = (
    1.57079625129699707031,
    7.54978941586159635335e-8,
    5.39030285815811905290e-15,
)


def sincos(angle):
    """(sin, cos) of a complex number; on SIMD lanes kernels compile `_lanes` instead."""
    return cmath.sin(angle), cmath.cos(angle)


def _lanes(angle):
    turns = nearest(angle * QUARTER_TURNS_PER_RADIAN)
    r = angle - turns * QUARTER_1
    r = r - turns * QUARTER_2
    r = r - turns * QUARTER_3
    z = r * r
    p = z * 1.58962301576546568060e-10 - 2.50507477628578072866e-8
    p = z * p + 2.75573136213857245213e-6
    p = z * p - 1.98412698295895385996e-4
    p = z * p + 8.33333333332211858878e-3
    p = z * p - 1.66666666666666307295e-1
    sine = r + r * (z * p)
    p = z * -1.13585365213876817300e-11 + 2.08757008419747316778e-9
    p = z * p - 2.75573141792967388112e-7
    p = z * p + 2.48015872888517045348e-5
    p = z * p - 1.38888888888730564116e-3
    p = z * p + 4.16666666666665929218e-2
    cosine = 1.0 - 0.5 * z + z * (z * p)
    # Turn by m quarters, m in -2..2, with the exact cosine and sine of m quarter turns.
    m = turns - 4.0 * nearest(0.25 * turns)
    odd = m * m * (4.0 - m * m) * (1.0 / 3.0)
    c, s = (1.0 - odd) * (1.0 - 0.5 * (m * m)), odd * m
    return c * sine + s * cosine, c * cosine - s * sine


@overload(sincos, jit_options={"fastmath": {"contract"}, "error_model": "numpy"})
def _sincos(angle):
    return _lanes if angle == lanes_type else lambda angle: (cmath.sin(angle), cmath.cos(angle))
