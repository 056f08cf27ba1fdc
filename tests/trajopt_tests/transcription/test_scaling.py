"""Factors of rows and objective bring limits, gradients and values near one."""

import numpy as np
import pytest

from trajopt.base.errors import EvaluationError
from trajopt.transcription.bounds import Bounds
from trajopt.transcription.nlp import scaling_at_start

NO_ROWS = Bounds(np.zeros(0), np.zeros(0))
NONE = np.zeros(0)


def test_rows_are_divided_by_their_limits_or_by_their_gradient():
    """A torque of 150 N m, an equation with zero on the right, a band of millimetres, one of slope 0.1."""
    bounds = Bounds(np.array([-150.0, 0.0, -1e-3, 0.0]), np.array([np.inf, 0.0, 1e-3, 0.0]))
    rows, values = np.array([0, 1, 1, 2, 3]), np.array([7.0, -40.0, 3.0, 0.5, 0.1])
    scaling = scaling_at_start(bounds, rows, values, 1.0, np.ones(2))
    assert np.allclose(scaling.rows, [1 / 150.0, 1 / 40.0, 1 / 0.5, 1.0])


def test_the_objective_is_divided_by_the_smaller_of_gradient_and_value_within_a_factor_of_a_hundred():
    factor = [
        scaling_at_start(NO_ROWS, NONE.astype(int), NONE, value, np.array([gradient, 0.0])).objective
        for value, gradient in ((2.0, 0.5), (2.0, 50.0), (2.0, 1e4), (2.0, 1e-9), (0.0, 3.0), (5.0, 0.0))
    ]
    assert np.allclose(factor, [1 / 0.5, 1 / 2.0, 1 / 100.0, 1 / 0.02, 1 / 0.03, 1.0])


def test_a_violation_is_the_largest_distance_to_a_bound():
    bounds = Bounds(np.array([-1.0, -np.inf]), np.array([1.0, 2.0]))
    assert bounds.violation(np.array([0.5, -7.0])) == 0.0
    assert bounds.violation(np.array([-1.5, 2.25])) == 0.5
    assert np.array_equal(bounds.clipped(np.array([-1.5, 2.25])), [-1.0, 2.0])
    assert np.array_equal(bounds.scaled(np.array([2.0, 3.0])).upper, [2.0, 6.0])


def test_an_objective_of_any_size_is_scaled_unless_it_vanishes_beside_its_gradient():
    """A weight of 1e-30 changes nothing; a square that is zero but for rounding is not magnified."""

    def factor(value, gradient):
        return scaling_at_start(NO_ROWS, NONE.astype(int), NONE, value, np.array([gradient])).objective

    assert np.isclose(factor(2e-30, 5e-31), 1 / 5e-31, rtol=1e-12)
    assert factor(1e-33, 1e-16) == 1e8


def test_an_objective_beyond_what_floats_hold_is_refused():
    with pytest.raises(EvaluationError, match="beyond what floats hold: divide its weights"):
        scaling_at_start(NO_ROWS, NONE.astype(int), NONE, np.inf, np.array([np.inf]))
