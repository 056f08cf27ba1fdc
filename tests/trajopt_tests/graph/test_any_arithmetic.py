"""Traced expressions in any arithmetic: the operations that are offered, and those that are refused."""

import math
from typing import Any

import casadi
import numpy as np
import pytest
from tiers import every

from trajopt.graph.trace import trace
from trajopt.taylor_models.taylor_model import TaylorModel

POINT = 0.7  # where functions are compared


def in_models(function, x=POINT) -> Any:
    """A function of `node.q[0]` by Taylor models that are constants: value and radius."""
    block = trace(lambda node: function(node.q[0]), "y", lambda name: 1)
    model = TaylorModel(np.array([[x]]), np.zeros(1))
    (found,) = block.value_over({"q": [model]}, TaylorModel.constant)["y"]
    return found if isinstance(found, float) else (float(found.coefficients[0, 0]), float(found.radius[0]))


@every(
    "function, expected",
    [
        (lambda x: 2.0 * x + 3.0 - x, POINT + 3.0),
        (lambda x: -x * x, -(POINT**2)),
        (lambda x: 2.5 / x, 2.5 / POINT),
        (lambda x: x / 3.0, POINT / 3.0),
        (lambda x: 1.0 / x, 1.0 / POINT),
        (lambda x: x**3, POINT**3),
        (lambda x: x**-2, POINT**-2),
        (lambda x: x**1.5, POINT**1.5),
        (casadi.sqrt, math.sqrt(POINT)),
        (casadi.sin, math.sin(POINT)),
        (casadi.cos, math.cos(POINT)),
        (casadi.tan, math.tan(POINT)),
        (casadi.exp, math.exp(POINT)),
        (casadi.log, math.log(POINT)),
        (casadi.tanh, math.tanh(POINT)),
        (casadi.atan, math.atan(POINT)),
        (casadi.asin, math.asin(POINT)),
        (casadi.acos, math.acos(POINT)),
        (casadi.sinh, math.sinh(POINT)),
        (casadi.cosh, math.cosh(POINT)),
        (casadi.asinh, math.asinh(POINT)),
        (lambda x: casadi.acosh(2.0 * x), math.acosh(2.0 * POINT)),
        (casadi.atanh, math.atanh(POINT)),
        (casadi.log1p, math.log1p(POINT)),
        (casadi.expm1, math.expm1(POINT)),
        (lambda x: casadi.hypot(x, 0.3), math.hypot(POINT, 0.3)),
        (lambda x: casadi.atan2(x, -2.0), math.atan2(POINT, -2.0)),
        (lambda x: casadi.atan2(-1.0, -x), math.atan2(-1.0, -POINT)),
        (lambda x: casadi.fabs(-x), POINT),
        (lambda x: casadi.sign(-x), -1.0),
        (lambda x: casadi.fmax(x, 0.0), POINT),
        (lambda x: casadi.fmin(0.2, x) + casadi.fmax(x, 0.9), 1.1),
        (lambda x: casadi.if_else(x > 0.5, 3.0, x), 3.0),
        (lambda x: casadi.if_else(x <= 0.5, 3.0, x), POINT),
        (lambda x: casadi.logic_and(x > 0.5, x < 1.0) + casadi.logic_or(x > 1.0, x < 0.0), 1.0),
        (lambda x: (x == 0.5) + 2.0 * (x != 0.5) + casadi.logic_not(x), 2.0),
    ],
)
def test_every_operation_gives_its_value_within_a_small_radius(function, expected):
    value, radius = in_models(function)
    assert abs(value - expected) <= radius + 2e-16 * abs(expected)
    assert radius <= 1e-13


@pytest.mark.parametrize(
    "function",
    [
        casadi.erf,
        casadi.floor,
        lambda x: casadi.fmod(x, 0.3),
        lambda x: 2.0**x,
        lambda x: x**x,
    ],
)
def test_every_other_operation_is_refused(function):
    with pytest.raises(NotImplementedError):
        in_models(function)


def test_structural_zeros_stay_floats_and_what_they_do_not_have_is_refused():
    def of_zero(function):
        block = trace(lambda node: function(node.q[0]), "y", lambda name: 1)
        return block.value_over({"q": [0.0]}, TaylorModel.constant)["y"]

    assert of_zero(casadi.sin) == [0.0] and of_zero(casadi.cos) == [1.0] and of_zero(casadi.exp) == [1.0]
    assert of_zero(casadi.tanh) == [0.0] and of_zero(lambda x: casadi.fmax(x, 0.0)) == [0.0]
    assert of_zero(lambda x: casadi.fabs(x) + casadi.if_else(x > 0.0, 1.0, -1.0)) == [-1.0]
    for function in (casadi.log, lambda x: 1.0 / x, lambda x: x**0.5 + x**-1.5, casadi.acos):
        with pytest.raises(NotImplementedError):
            of_zero(function)


@pytest.mark.parametrize("function", [casadi.sqrt, casadi.log, lambda x: 1.0 / x, lambda x: x**0.3])
def test_where_a_function_may_not_exist_the_radius_is_infinite(function):
    block = trace(lambda node: function(node.q[0]), "y", lambda name: 1)
    around_zero = TaylorModel(np.array([[0.1], [0.2]]), np.zeros(1))
    (found,) = block.value_over({"q": [around_zero]}, TaylorModel.constant)["y"]
    assert np.isinf(found.radius).all()
    assert np.isinf((found * 0.0).radius).all()
