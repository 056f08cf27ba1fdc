"""The KKT residuals: zero at optima worked out by hand, and each one moved by its own kind of error alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_nlps import INF, equality_quadratic, quadratic_with_rows

from trajopt.solvers.kkt import (
    active_set,
    is_optimal_to_rounding,
    kkt_residuals,
    lagrangian_gradient,
)
from trajopt.solvers.solver import WarmStart


def cornered():
    """min |y - (3, 3)|^2 / 2 with y0 + y1 <= 4 and 0 <= y0 <= 1: the optimum is (1, 3), see below."""
    return quadratic_with_rows(
        np.eye(2), [-3, -3], [[1, 1]], [-INF], [4], lower=np.array([0, -INF]), upper=np.array([1, INF])
    )


# grad f = (-2, 0): the row is active but pulls at nothing, the bound holds y0 back with 2.
OPTIMUM = WarmStart(np.array([1.0, 3.0]), np.zeros(1), np.zeros(2), np.array([2.0, 0.0]))


def test_an_optimum_worked_out_by_hand_has_no_residual():
    kkt = kkt_residuals(cornered(), OPTIMUM)
    assert kkt.error == 0.0
    assert kkt.stationarity == kkt.primal == kkt.complementarity == kkt.sign == 0.0


def test_an_equality_quadratic_solved_by_linear_algebra_has_residuals_of_rounding():
    nlp = equality_quadratic()
    answer = WarmStart(nlp.solution, nlp.multipliers, np.zeros(6), np.zeros(6))
    assert kkt_residuals(nlp, answer).error < 1e-13


def test_stationarity_sees_a_multiplier_that_is_off():
    kkt = kkt_residuals(cornered(), replace(OPTIMUM, upper_multipliers=np.array([1.5, 0.0])))
    assert kkt.stationarity == 0.5
    assert (kkt.primal, kkt.complementarity, kkt.sign) == (0.0, 0.0, 0.0)


def test_primal_sees_a_point_outside_a_row_or_a_bound():
    nlp = cornered()
    assert kkt_residuals(nlp, replace(OPTIMUM, y=np.array([1.0, 3.25]))).primal == 0.25
    assert kkt_residuals(nlp, replace(OPTIMUM, y=np.array([1.5, 0.0]))).primal == 0.5
    assert kkt_residuals(nlp, replace(OPTIMUM, y=np.array([-0.125, 0.0]))).primal == 0.125
    assert kkt_residuals(nlp, replace(OPTIMUM, y=np.array([np.nan, 0.0]))).error == INF


def test_complementarity_sees_a_multiplier_away_from_its_bound():
    nlp = cornered()
    inside = WarmStart(np.array([0.5, 3.0]), np.array([0.25]), np.array([1.0, 0.0]), np.zeros(2))
    kkt = kkt_residuals(nlp, inside)
    assert kkt.complementarity == 0.5  # 1.0 * (0.5 - 0); the row's is 0.25 * 0.5
    assert kkt.sign == 0.0


def test_sign_sees_negative_bound_multipliers_and_multipliers_of_absent_bounds():
    nlp = cornered()
    assert kkt_residuals(nlp, replace(OPTIMUM, lower_multipliers=np.array([-0.5, 0.0]))).sign == 0.5
    assert kkt_residuals(nlp, replace(OPTIMUM, lower_multipliers=np.array([0.0, 0.75]))).sign == 0.75
    # Negative would mean that the row's lower bound holds, and there is none.
    assert kkt_residuals(nlp, replace(OPTIMUM, row_multipliers=np.array([-0.25]))).sign == 0.25


def test_large_multipliers_divide_the_dual_residual_as_in_ipopt():
    # Wachter and Biegler's eq. 6: mean of the 1 + 4 multipliers is 300, s_max is 100, so s_d = 3.
    answer = replace(OPTIMUM, upper_multipliers=np.array([1500.0, 0.0]))
    kkt = kkt_residuals(cornered(), answer)
    assert kkt.dual_scale == pytest.approx(3.0, rel=1e-15)
    assert kkt.error == pytest.approx(1498.0 / 3.0, rel=1e-15)
    assert kkt.stationarity == 1498.0


def test_multipliers_not_given_count_as_zero():
    kkt = kkt_residuals(cornered(), WarmStart(OPTIMUM.y))
    assert kkt.stationarity == 2.0


def test_the_lagrangians_gradient_is_the_derivative_of_the_lagrangian():
    nlp, step = equality_quadratic(), 1e-6
    random = np.random.default_rng(5)
    y, multipliers, direction = random.normal(size=6), random.normal(size=3), random.normal(size=6)

    def lagrangian(s):
        at = y + s * direction
        return nlp.objective(at) + multipliers @ nlp.rows(at)

    slope = (lagrangian(step) - lagrangian(-step)) / (2 * step)  # exact for a quadratic, up to rounding
    assert lagrangian_gradient(nlp, y, multipliers) @ direction == pytest.approx(slope, rel=1e-8)


def test_the_active_set_has_what_is_at_or_beyond_its_bound():
    active = active_set(cornered(), np.array([1.0 - 1e-8, 3.0]))
    assert (active.rows_at_lower.tolist(), active.rows_at_upper.tolist()) == ([False], [True])
    assert (active.at_lower.tolist(), active.at_upper.tolist()) == ([False, False], [True, False])
    nlp = equality_quadratic()
    equalities = active_set(nlp, nlp.solution)
    assert equalities.rows_at_lower.all()
    assert equalities.rows_at_upper.all()


@pytest.mark.parametrize("stiffness", [1.0, 1e9])
def test_a_gradient_that_the_rounding_of_unknowns_explains_is_optimal_and_a_larger_one_is_not(stiffness):
    """min k |y - 1/3|^2 / 2: the floats beside 1/3 have gradients of k eps / 3."""
    nlp = quadratic_with_rows(stiffness * np.eye(2), [-stiffness / 3.0] * 2, [[1, 1]], [-INF], [4])

    def off_by(roundings, y1=1.0 / 3.0):
        y = np.array([1.0 / 3.0 + roundings * np.finfo(float).eps / 3.0, y1])
        return WarmStart(y, np.zeros(1), np.zeros(2), np.zeros(2))

    assert is_optimal_to_rounding(nlp, off_by(3.0), 1e-9)
    assert not is_optimal_to_rounding(nlp, off_by(6.0), 1e-9)
    assert not is_optimal_to_rounding(replace(nlp, row_upper=np.array([0.5])), off_by(3.0), 1e-9)
    assert not is_optimal_to_rounding(replace(nlp, has_hessian=False), off_by(3.0), 1e-9)
