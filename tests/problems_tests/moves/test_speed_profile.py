"""The two passes against one large linear program, and polynomials against what they stand for."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.optimize import linprog

from dynamics import rnea
from problems.moves.motion_limits import MotionLimits
from problems.moves.path_quantities import acceleration_on, squared_speed_on, torque_on
from problems.moves.speed_profile import fastest_profile
from problems.moves.spline_path import SplinePath
from tests.support.random_trees import random_tree


def random_rows(rng, segments, count):
    """Rows that hold at rest, alpha and beta of opposite signs, sizes over three decades."""
    alpha = rng.normal(size=(segments, count, 1)) * 10.0 ** rng.uniform(-2.0, 1.0, (segments, count, 1))
    beta = -alpha * rng.uniform(0.3, 1.7, alpha.shape)
    return np.concatenate([alpha, beta, rng.uniform(0.01, 3.0, alpha.shape)], axis=2)


@pytest.mark.parametrize("seed", range(8))
def test_the_passes_find_the_greatest_speeds_at_all_points_at_once(seed):
    """They maximize every x_i, hence their sum: one linear program in all of them, solved by HiGHS."""
    rng = np.random.default_rng(seed)
    segments, count = 40, 30
    rows, ceilings = random_rows(rng, segments, count), rng.uniform(0.5, 4.0, segments + 1)
    matrix = np.zeros((segments * count, segments + 1))
    for i in range(segments):
        matrix[i * count : (i + 1) * count, i + 1] = rows[i, :, 0]
        matrix[i * count : (i + 1) * count, i] = rows[i, :, 1]
    bounds = [(0.0, top) for top in ceilings]
    bounds[0] = bounds[-1] = (0.0, 0.0)
    best = linprog(-np.ones(segments + 1), matrix, rows[..., 2].ravel(), bounds=bounds, method="highs")
    np.testing.assert_allclose(fastest_profile(rows, ceilings), best.x, atol=1e-7)


def test_without_rows_the_ceilings_are_reached():
    speeds = fastest_profile(np.zeros((3, 1, 3)), np.full(4, 2.0))
    np.testing.assert_array_equal(speeds, [0.0, 2.0, 2.0, 0.0])


def path_and_grid(n, segments=12):
    s = np.linspace(0.0, 2.0, 5)
    spline = CubicSpline(s, np.random.default_rng(n).uniform(-1.0, 1.0, (5, n)))
    path = SplinePath(spline.x, spline.c, spline.x)
    return path, path.grid(segments)


def bernstein_value(coefficients, z):
    """By de Casteljau's convex combinations, (segments, n)."""
    while coefficients.shape[1] > 1:
        coefficients = (1.0 - z) * coefficients[:, :-1] + z * coefficients[:, 1:]
    return coefficients[:, 0]


@pytest.mark.parametrize("z", [0.0, 0.3, 0.5, 1.0])
def test_the_polynomials_of_a_segment_are_speed_acceleration_and_torque(z):
    model = random_tree(3, n=4)
    path, grid = path_and_grid(model.n, 60)
    x = np.random.default_rng(1).uniform(0.5, 2.0, len(grid))
    s = grid[:-1] + z * np.diff(grid)
    square, second = (x[:-1] + z * np.diff(x))[:, None], (0.5 * np.diff(x) / np.diff(grid))[:, None]
    slope = path(s, 1)
    bend = bernstein_value(path.bernstein(grid, 2), z)
    a = slope * second + bend * square
    tau = rnea(model, path(s), slope * np.sqrt(square), a)
    none = np.full(model.n, np.inf)
    limits = MotionLimits(none, none, -none, none)
    for quantity, expected, tolerance in (
        (squared_speed_on(path, grid, limits), slope**2 * square, 1e-12),
        (acceleration_on(path, grid, limits), a, 1e-11),
        (torque_on(model, path, grid, limits), tau, 1e-9 if z in (0.0, 0.5, 1.0) else 1e-3),
    ):
        y, now = x[1:, None, None], x[:-1, None, None]
        found = bernstein_value(quantity.y * y + quantity.x * now + quantity.constant, z)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * np.abs(expected).max())


def test_between_its_nodes_the_torque_is_interpolated_with_third_order():
    model = random_tree(3, n=4)
    none = np.full(model.n, np.inf)
    limits = MotionLimits(none, none, -none, none)
    errors = []
    for segments in (256, 512):
        path, grid = path_and_grid(model.n, segments)
        constant = torque_on(model, path, grid, limits).constant
        s = grid[:-1] + 0.25 * np.diff(grid)
        rest = rnea(model, path(s), 0.0 * path(s), 0.0 * path(s))
        errors.append(np.abs(bernstein_value(constant, 0.25) - rest).max())
    assert errors[0] / errors[1] > 7.0
