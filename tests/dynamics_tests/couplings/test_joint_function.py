"""Functions of joints: the closed forms that they must contain, ends, derivatives of one inside another."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from dynamics import CouplingError
from dynamics.couplings.joint_function import (
    JointFunction,
    Pieces,
    fitted_cubics,
    piecewise_linear,
    polynomial,
)

X = np.array([-1.0, -0.4, 0.1, 0.9, 1.3, 2.0])


def test_a_cubic_is_its_own_spline_as_end_pieces_take_its_third_derivative():
    y = 0.3 - X + 0.5 * X**2 + 2.0 * X**3
    q = np.linspace(-1.0, 2.0, 50)
    found = fitted_cubics(X, y).derivatives(q, 4)
    expected = [
        0.3 - q + 0.5 * q**2 + 2.0 * q**3,
        -1.0 + q + 6.0 * q**2,
        1.0 + 12.0 * q,
        12.0 + 0.0 * q,
        0.0 * q,
    ]
    np.testing.assert_allclose(found[:, :-1], np.array(expected)[:, :-1], rtol=0.0, atol=1e-12)


def test_between_the_ends_it_is_the_cubic_spline_with_the_same_slopes_there():
    y = np.sin(3.0 * X)
    own = fitted_cubics(X, y)
    slopes = own.derivatives(X[[0, -1]], 1)[1]
    scipy = CubicSpline(X, y, bc_type=((1, slopes[0]), (1, slopes[1])))
    q = np.linspace(-1.0, 2.0, 77)
    np.testing.assert_allclose(own(q), scipy(q), rtol=0.0, atol=1e-13)


def test_three_points_make_a_parabola_and_two_a_line():
    q = np.linspace(0.0, 2.0, 9)
    np.testing.assert_allclose(fitted_cubics([0.0, 0.5, 2.0], [1.0, 1.25, 5.0])(q), 1.0 + q**2, atol=1e-14)
    np.testing.assert_allclose(fitted_cubics([0.0, 2.0], [1.0, 5.0])(q), 1.0 + 2.0 * q, atol=1e-14)


def test_beyond_both_ends_it_is_straight():
    own = fitted_cubics(X, np.sin(3.0 * X))
    for end, beyond in ((-1.0, [-1.5, -9.0]), (2.0, [2.0, 3.0, 40.0])):
        value, slope = own.derivatives(np.array([end]), 1)[:, 0]
        found = own.derivatives(np.array(beyond), 2)
        np.testing.assert_allclose(found[0], value + slope * (np.array(beyond) - end), rtol=1e-13)
        np.testing.assert_allclose(found[1], slope, rtol=1e-13)
        assert not found[2].any()


def test_a_smoothed_spline_meets_the_points_and_has_four_continuous_derivatives():
    own = fitted_cubics(X, np.sin(3.0 * X))
    smooth = own.smoothed
    points = np.concatenate([X, 0.5 * (X[1:] + X[:-1])])
    np.testing.assert_allclose(smooth(points), own(points), rtol=0.0, atol=1e-13)
    between = np.linspace(-1.0, 2.0, 301)
    assert np.abs(smooth(between) - own(between)).max() < 0.05
    borders, h = smooth.parts[0].breaks[2:-1], 1e-9
    before, behind = smooth.derivatives(borders - h, 5), smooth.derivatives(borders + h, 5)
    for k in range(5):
        assert np.abs(behind[k] - before[k]).max() < 3.0 * h * (np.abs(before[k + 1]).max() + 1.0)
    jumps = own.derivatives(X + h, 3)[3] - own.derivatives(X - h, 3)[3]
    assert np.abs(jumps).max() > 10.0
    for end, beyond in zip(smooth.parts[0].breaks[[1, -1]], (-9.0, 9.0), strict=True):
        before, behind = smooth.derivatives(end + h * np.array([-1.0, 1.0]), 1).T
        np.testing.assert_allclose(behind, before, rtol=0.0, atol=1e-7)
        value, slope = smooth.derivatives(np.array(end), 1)
        found = smooth.derivatives(np.array(beyond), 4)
        assert found[0] == pytest.approx(value + slope * (beyond - end)) and found[1] == pytest.approx(slope)
        assert not found[2:].any()


def test_a_smoothed_spline_stays_close_where_points_are_unevenly_spaced():
    """Through points and middles alone it is off by up to 13 % of the range here."""
    rng = np.random.default_rng(0)
    for count in (4, 8, 12):
        for _ in range(10):
            widths = 10.0 ** rng.uniform(-2.0, 0.0, count - 1)
            x = np.concatenate([[0.0], np.cumsum(widths)])
            own = fitted_cubics(x, np.cumsum([0.0, *widths * rng.normal(size=count - 1)]))
            q, smooth = np.linspace(x[0] - 5.0, x[-1] + 5.0, 4001), own.smoothed
            inside = own(np.linspace(x[0], x[-1], 1001))
            assert np.abs(smooth(q) - own(q)).max() < 0.006 * np.ptp(inside)
            assert smooth.parts[0].coefficients.shape[0] == 6


def test_smoothing_leaves_lines_and_what_is_no_spline():
    q = np.linspace(-9.0, 9.0, 40)
    line = fitted_cubics(X, 1.0 - X).smoothed
    np.testing.assert_allclose(line(q), 1.0 - q, rtol=0.0, atol=1e-12)
    for own in (polynomial([1.0, 0.0, 2.0, 3.0]), piecewise_linear(X, np.sin(X))):
        assert own.smoothed.parts == own.parts
    inside = fitted_cubics(X, np.cos(X)).of(polynomial([0.1, 0.8])).smoothed
    assert inside.parts[0].is_affine and inside.parts[1].coefficients.shape[0] == 6


def test_derivatives_of_one_function_in_another_converge_as_taylor_polynomials_do():
    own = fitted_cubics(X, np.cos(X)).of(polynomial([0.1, 0.8, -0.2, 0.05]))
    at, steps = 0.35, 2.0 ** -np.arange(3.0, 7.0)
    expansion = own.expansion(np.array([at]), 4)[:, 0]
    for order in range(1, 4):
        terms = sum(expansion[k] * steps**k for k in range(order + 1))
        errors = np.abs(own(at + steps) - terms)
        assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(order + 1, abs=0.2)


def test_lines_between_points_go_on_beyond_both_ends():
    own = piecewise_linear([0.0, 1.0, 3.0], [0.0, 2.0, 0.0])
    np.testing.assert_allclose(own(np.array([-1.0, 0.5, 1.0, 2.0, 5.0])), [-2.0, 1.0, 2.0, 1.0, -2.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fitted_cubics([0.0], [1.0]), "give as many of both, two or more"),
        (lambda: fitted_cubics([0.0, 1.0, 1.0], [0.0, 1.0, 2.0]), "they must increase"),
        (lambda: piecewise_linear([0.0, np.nan], [0.0, 1.0]), "all must be finite"),
        (lambda: Pieces(np.zeros(2), np.zeros((3, 2))), "which must increase"),
        (
            lambda: Pieces(np.zeros(1), np.zeros((3, 2))),
            r"give finite ones of shapes \(m,\) and \(powers, m\)",
        ),
        (lambda: JointFunction(()), "give one piecewise polynomial or several"),
    ],
)
def test_what_is_no_function_is_refused(make, message):
    with pytest.raises(CouplingError, match=message):
        make()
