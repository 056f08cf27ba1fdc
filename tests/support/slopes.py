"""Slopes at zero of functions of one parameter: central differences, and in thorough tests complex steps.

Differences run the kernels that users run, and must agree to the same number of digits. With complex numbers
every kernel is compiled a second time, three minutes on a new machine: the complex step, which has neither
truncation nor cancellation, is left to thorough tests.
"""

from itertools import pairwise

import numpy as np
import pytest

STEP = 1e-30  # of complex differentiation
_STANDS = "the same test with differences, at the same tolerance, stands for it"


def extrapolated(function, step=0.04):
    """By Richardson's extrapolation of central differences with five steps, each half of the one before.

    At a step of 0.04 the remainder is 2e-14 for frequencies up to 24, which rotors geared by 12 have.
    """
    steps = step * 0.5 ** np.arange(5.0)
    table = [scaled(added(function(h), function(-h), -1.0), 0.5 / h) for h in steps]
    for gain in 4.0 ** np.arange(1.0, 5.0):
        table = [
            added(fine, added(fine, coarse, -1.0), 1.0 / (gain - 1.0)) for coarse, fine in pairwise(table)
        ]
    return table[0]


def complex_step(function, step=None):
    """By the imaginary part of a value; a step of differences is of no use here."""
    found = function(1j * STEP)
    parts = {key: each.imag for key, each in found.items()} if isinstance(found, dict) else found.imag
    return scaled(parts, 1.0 / STEP)


def added(first, second, factor=1.0):
    """first + factor second, of arrays or of dictionaries of them."""
    if isinstance(first, dict):
        return {key: added(first[key], second[key], factor) for key in first}
    return first + factor * second


def scaled(value, factor):
    return {key: factor * each for key, each in value.items()} if isinstance(value, dict) else factor * value


#: A test with the argument `slope` runs with differences, and with complex steps where thorough tests run.
both_ways = pytest.mark.parametrize(
    "slope",
    [
        pytest.param(extrapolated, id="differences"),
        pytest.param(complex_step, id="complex step", marks=pytest.mark.thorough(_STANDS)),
    ],
)


def columns(slope, function, arguments, which, step=0.04):
    """d function / d arguments[which], the direction last, all directions in one batch.

    step : of differences; 1 where the function is a polynomial of low degree, which leaves rounding alone
    """
    inputs = [np.asarray(argument) for argument in arguments]
    directions = np.eye(inputs[which].shape[-1])

    def along(t):
        return function(*inputs[:which], inputs[which] + t * directions, *inputs[which + 1 :])

    return np.moveaxis(slope(along, step), 0, -1)
