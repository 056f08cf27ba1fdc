"""The point of least squared violation, against closed forms and scipy's least squares."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares
from small_nlps import hs071, quadratic_with_rows

from trajopt.solvers.wrappers.constraint_generation import least_violation

INF = np.inf


def program(rows, row_lower, row_upper):
    """Linear rows in two unknowns."""
    return quadratic_with_rows(np.eye(2), np.zeros(2), rows, row_lower, row_upper)


def test_contradicting_limits_share_the_violation():
    y = least_violation(program([[1, 0], [1, 0]], [4.0, -INF], [INF, 1.0]), [0.0, 7.0])
    assert y == pytest.approx([2.5, 7.0], abs=1e-6)


def test_an_equation_hardly_gives_way():
    # y_0 = 4 beside y_0 <= 1: (w^2 4 + 1) / (w^2 + 1) with the weight w of the equation.
    both = program([[1, 0], [1, 0]], [4.0, -INF], [4.0, 1.0])
    assert least_violation(both, [0.0, 0.0])[0] == pytest.approx((4e4 + 1.0) / (1e4 + 1.0), abs=1e-6)
    assert least_violation(both, [0.0, 0.0], equality_weight=1.0)[0] == pytest.approx(2.5, abs=1e-6)


def test_bounds_of_the_unknowns_hold():
    bounded = replace(program([[1, 1]], [4.0], [INF]), upper=np.array([1.0, 2.0]))
    assert least_violation(bounded, [0.0, 0.0]) == pytest.approx([1.0, 2.0], abs=1e-9)


def test_rows_that_can_hold_do():
    nlp = hs071()
    y = least_violation(nlp, [1.0, 1.0, 1.0, 1.0])
    assert np.prod(y) >= 25.0 - 1e-8 and y @ y == pytest.approx(40.0, abs=1e-8)
    assert np.all((y >= 1.0) & (y <= 5.0))


def test_a_nonlinear_contradiction_ends_where_scipy_does():
    # hs071 with a product of 120, which no point on the sphere of 40 has.
    nlp = replace(hs071(), row_lower=np.array([120.0, 40.0]))

    def distances(y):
        return np.array([max(120.0 - np.prod(y), 0.0), y @ y - 40.0])

    peer = least_squares(distances, nlp.start, bounds=(1.0, 5.0), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    mine = least_violation(nlp, nlp.start, equality_weight=1.0)
    assert 0.5 * np.sum(distances(mine) ** 2) <= 1.01 * peer.cost


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_rows_that_are_not_finite_end_at_the_start(broken):
    nlp = program([[1, 0]], [4.0], [INF])
    nlp = replace(nlp, rows=lambda y: np.array([broken - y[0]]))
    assert least_violation(nlp, [0.5, 2.0]).tolist() == [0.5, 2.0]


def test_without_time_it_ends_at_the_start():
    nlp = program([[1, 0]], [4.0], [INF])
    assert least_violation(nlp, [0.5, 2.0], seconds=-1.0).tolist() == [0.5, 2.0]
