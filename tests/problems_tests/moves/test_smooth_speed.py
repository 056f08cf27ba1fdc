"""Squared rates of a path's coordinate, their time, and the search for the fastest, against closed forms."""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.interpolate import BSpline

from problems.moves.spline_path import SplinePath
from problems.moves.timing.smooth_path import SmoothPath
from problems.moves.timing.smooth_speed import SmoothSpeed, local_values
from problems.moves.timing.speed_search import SpeedBounds, fastest

KNOTS = np.array([0.0, 0.1, 0.35, 0.6, 0.9, 1.0])


def speed(seed=0):
    return SmoothSpeed(KNOTS, np.random.default_rng(seed).uniform(0.2, 3.0, len(KNOTS) + 1))


def test_values_are_those_of_a_quadratic_spline():
    own = speed()
    spline = BSpline(np.concatenate([[0.0] * 2, KNOTS, [1.0] * 2]), own.points, 2)
    w = np.linspace(0.0, 1.0, 200)
    np.testing.assert_allclose(own(w), spline(w), rtol=1e-12)
    found = local_values(KNOTS, own.points, np.array([0.25]))[0]
    middle = KNOTS[:-1] + 0.25 * np.diff(KNOTS)
    np.testing.assert_allclose(found.T, [spline(middle, order) for order in range(3)], rtol=1e-10)


def test_the_coordinate_solves_its_differential_equation():
    own = speed(1)
    t = np.linspace(0.0, own.times[-1], 60)
    found = solve_ivp(
        lambda t, w: np.sqrt(own(w)), (0.0, t[-1]), [0.0], t_eval=t, rtol=1e-12, atol=1e-13, max_step=0.01
    )
    np.testing.assert_allclose(own.w(t), found.y[0], atol=1e-7)
    np.testing.assert_allclose(own.w(t, 1) ** 2, own(own.w(t)), rtol=1e-9)
    np.testing.assert_allclose(own.time_at(own.w(t)), t, atol=1e-9)
    h = 1e-6
    inner = np.linspace(0.01, 0.99, 50) * t[-1]
    for order in (1, 2):
        slope = (own.w(inner + h, order) - own.w(inner - h, order)) / (2.0 * h)
        np.testing.assert_allclose(slope, own.w(inner, order + 1), rtol=1e-5, atol=1e-5)


def test_a_constant_rate_takes_its_time_and_one_nearly_constant_no_other():
    for change in (0.0, 1e-14, 1e-9):
        points = 4.0 + change * np.arange(len(KNOTS) + 1)
        np.testing.assert_allclose(SmoothSpeed(KNOTS, points).times[-1], 0.5, rtol=1e-8)


def test_a_path_at_rest_has_the_derivatives_of_the_composition_and_an_inverse():
    s = np.array([-1.0, 0.5, 2.0])
    path = SplinePath(s, np.random.default_rng(0).normal(size=(6, 2, 3)), s)
    along, w = SmoothPath(path), np.linspace(0.05, 0.6, 20)
    np.testing.assert_allclose(along.w(along.s(w)), w, rtol=1e-12)
    np.testing.assert_array_equal(along.w(s[[0, -1]]), [0.0, 1.0])
    w, h = w[np.abs(w - along.w(s[1:2])) > 0.01], 1e-6
    every, after, before = (along.derivatives(each) for each in (w, w + h, w - h))
    for order in range(3):
        slope = (after[order] - before[order]) / (2.0 * h)
        np.testing.assert_allclose(slope, every[order + 1], rtol=1e-4, atol=1e-4 * np.abs(slope).max())
    for order in (1, 2):
        assert np.all(along.derivatives(np.array([0.0, 1.0]))[order] == 0.0)


def bounds(rows, bound, friction=0.0, is_jerk=False, count=100):
    """One row f . (x, x', x'') with the same factors everywhere."""
    shape, parts = (3, count, 1), np.array([0.0, 0.5, 1.0])
    factors = np.broadcast_to(np.reshape(rows, (3, 1, 1, 1)), (3, *shape)).copy()
    return SpeedBounds(parts, factors, np.full(shape, bound), np.full(shape, friction), np.array([is_jerk]))


def test_the_search_finds_the_largest_x_that_one_bound_allows():
    knots = np.linspace(0.0, 1.0, 101)
    for given, highest in (
        (bounds([2.0, 0.0, 0.0], 3.0), 1.5),  # 2 x <= 3
        (bounds([2.0, 0.0, 0.0], 3.0, friction=1.0), 1.0),  # 2 x + sqrt(x) <= 3
        (bounds([2.0, 0.0, 0.0], 16.0, is_jerk=True), 4.0),  # 2 x^1.5 <= 16
    ):
        np.testing.assert_allclose(given.highest_constant, highest)
        np.testing.assert_allclose(fastest(knots, given).points, highest, rtol=1e-3)


def test_the_search_ends_where_no_start_is_given_and_where_one_is():
    given, knots = bounds([1.0, 0.1, 0.01], 2.0), np.linspace(0.0, 1.0, 101)
    alone = fastest(knots, given)
    again = fastest(knots, given, alone)
    np.testing.assert_allclose(again.times[-1], alone.times[-1], rtol=2e-4)
