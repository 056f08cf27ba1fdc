"""B-spline bases against their definition."""

import numpy as np
import pytest
from scipy.interpolate import BSpline

from trajopt.base.errors import ShapeError
from trajopt.splines.basis import SplineBasis


def naive_basis(knots, degree, i, s):
    """The Cox-de Boor recursion, word by word; the last non-empty interval is closed."""
    if degree == 0:
        last = knots[i + 1] == knots[-1] and s == knots[-1] and knots[i] < knots[i + 1]
        return float(knots[i] <= s < knots[i + 1] or last)
    value = 0.0
    if knots[i + degree] > knots[i]:
        value += (s - knots[i]) / (knots[i + degree] - knots[i]) * naive_basis(knots, degree - 1, i, s)
    if knots[i + degree + 1] > knots[i + 1]:
        width = knots[i + degree + 1] - knots[i + 1]
        value += (knots[i + degree + 1] - s) / width * naive_basis(knots, degree - 1, i + 1, s)
    return value


BASES = [
    SplineBasis.uniform(5, 2),
    SplineBasis.uniform(4, 3),
    SplineBasis.uniform(1, 5),
    SplineBasis.clamped([0.0, 0.1, 0.5, 0.55, 1.0], 3, [1, 3, 2]),
    SplineBasis.clamped([0.0, 0.3, 1.0], 10, [4]),
]


@pytest.mark.parametrize("basis", BASES)
def test_local_values_are_those_of_the_recursion(basis):
    for span in range(basis.span_count):
        left, right = basis.breakpoints[span : span + 2]
        s = left + (right - left) * np.array([0.0, 0.2, 0.7])
        values = basis.local_values(span, s)[0]
        first = basis.first_control_point[span]
        for row, point in zip(values, s, strict=True):
            oracle = [naive_basis(basis.knots, basis.degree, i, point) for i in range(basis.count)]
            assert np.allclose(oracle[first : first + basis.degree + 1], row, rtol=0, atol=1e-13)
            assert np.isclose(sum(oracle), 1.0) and np.isclose(row.sum(), 1.0)


@pytest.mark.parametrize("basis", BASES)
def test_derivatives_of_the_basis_are_those_of_the_lower_degree(basis):
    """B'_i,d = d / (t_i+d - t_i) B_i,d-1 - d / (t_i+d+1 - t_i+1) B_i+1,d-1."""
    knots, degree = basis.knots, basis.degree
    for span in range(basis.span_count):
        s = basis.breakpoints[span : span + 2].mean()
        first = basis.first_control_point[span]
        for local, value in enumerate(basis.local_values(span, s)[1, 0]):
            i, oracle = first + local, 0.0
            if knots[i + degree] > knots[i]:
                oracle += degree / (knots[i + degree] - knots[i]) * naive_basis(knots, degree - 1, i, s)
            if knots[i + degree + 1] > knots[i + 1]:
                width = knots[i + degree + 1] - knots[i + 1]
                oracle -= degree / width * naive_basis(knots, degree - 1, i + 1, s)
            assert np.isclose(value, oracle, rtol=1e-10, atol=1e-10)


def test_each_span_gives_its_own_limit_at_a_breakpoint():
    basis = SplineBasis.clamped([0.0, 0.4, 1.0], 3, [2])  # C1: the acceleration jumps
    left, right = basis.local_values(0, 0.4)[2, 0], basis.local_values(1, 0.4)[2, 0]
    points = np.random.default_rng(0).standard_normal(basis.count)
    first = basis.first_control_point
    values = left @ points[first[0] : first[0] + 4], right @ points[first[1] : first[1] + 4]
    near = basis.evaluate(points[:, None], [0.4 - 1e-9, 0.4 + 1e-9], 2)[:, 0]
    assert np.allclose(values, near, rtol=1e-6)
    assert abs(values[0] - values[1]) > 1.0


def test_a_curve_of_a_coarser_space_is_reproduced_exactly_on_finer_knots_and_higher_degree():
    coarse = SplineBasis.uniform(4, 3)
    points = np.random.default_rng(1).standard_normal((coarse.count, 2))
    s = np.linspace(0.0, 1.0, 101)
    for fine in (
        SplineBasis.clamped([0.0, 0.1, 0.25, 0.5, 0.6, 0.75, 1.0], 3),
        SplineBasis.clamped(coarse.breakpoints, 4, [2, 2, 2]),
    ):
        inserted = fine.interpolate(coarse.evaluate(points, fine.greville))
        for order in range(3):
            assert np.allclose(
                fine.evaluate(inserted, s, order), coarse.evaluate(points, s, order), rtol=1e-9, atol=1e-9
            )


@pytest.mark.parametrize(
    ("degree", "multiplicities"),
    [(0, [1, 1, 1]), (1, [1, 2, 1]), (3, [1, 1, 1]), (3, [3, 4, 2]), (7, [1, 2, 1])],
)
def test_interpolation_solves_the_equations_at_the_greville_abscissae(degree, multiplicities):
    """Also where the curve may jump: its values are then those just inside the spans."""
    basis = SplineBasis.of_any_degree([0.0, 0.1, 0.4, 0.7, 1.0], degree, np.array(multiplicities))
    values = np.random.default_rng(2).standard_normal((basis.count, 3))
    equations = [[naive_basis(basis.knots, degree, i, s) for i in range(basis.count)] for s in basis.greville]
    expected = np.linalg.solve(np.array(equations), values)
    np.testing.assert_allclose(basis.interpolate(values), expected, rtol=1e-9, atol=1e-9)


def test_control_points_on_a_line_at_the_greville_abscissae_give_that_line():
    basis = SplineBasis.clamped([0.0, 0.2, 0.9, 1.0], 4, [2, 1])
    s = np.linspace(0.0, 1.0, 17)
    assert np.allclose(basis.evaluate(basis.greville[:, None], s)[:, 0], s, atol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], 1), "degree, of a curve with second derivatives, = 1: expected"),
        (([0.0, 1.0], 3.5), "= 3.5: expected a whole number, 2 or more"),
        (([0.0, 0.5, 0.5, 1.0], 3), "must rise strictly from 0 to 1"),
        (([0.0, np.nan, 1.0], 3), "must rise strictly"),
        (([0.0, 2.0], 3), "must rise strictly from 0 to 1"),
        (([0.0, 0.5, 1.0], 3, [4]), "needs one between 1 and the degree, 3"),
        (([0.0, 0.5, 1.0], 3, [1, 1]), "multiplicities are"),
        (([0.0, 0.5, 1.0], 3, [1.5]), r"multiplicities are \[1\.5\] but each"),
    ],
)
def test_impossible_bases_are_refused(arguments, message):
    with pytest.raises(ShapeError, match=message):
        SplineBasis.clamped(*arguments)


def test_zero_intervals_are_refused():
    with pytest.raises(ShapeError, match="intervals = 0: expected a whole number, 1 or more"):
        SplineBasis.uniform(0)


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_derivatives_beyond_the_degree_are_zero(degree):
    """SciPy 1.15 crashes where it is asked for them on a piecewise constant."""
    basis = SplineBasis(np.array([0.0, 0.5, 1.0]), degree, np.array([degree + 1]))
    values = basis.local_values(1, [0.6, 0.9])
    assert values.shape == (4, 2, degree + 1)
    assert np.all(values[degree + 1 :] == 0.0)
    np.testing.assert_allclose(values[0].sum(axis=1), 1.0, rtol=1e-15)
    control_points = np.ones((2 * (degree + 1), 2))
    assert np.array_equal(basis.evaluate(control_points, [0.2, 0.7], degree + 1), np.zeros((2, 2)))


def of_breakpoints(breakpoints):
    return SplineBasis.of_any_degree(np.asarray(breakpoints), 3, np.ones(len(breakpoints) - 2, dtype=int))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 21])
def test_half_of_equal_spans_are_pairs_and_an_odd_last_one(count):
    edges = np.linspace(0.0, 1.0, count + 1)
    assert np.array_equal(of_breakpoints(edges).halved().breakpoints, np.union1d(edges[::2], [1.0]))


def test_each_span_of_half_is_wider_than_any_it_joins():
    """A wide one between narrow ones included, which every second breakpoint would leave nearly as it is."""
    rng = np.random.default_rng(0)
    graded = [np.cumsum(10.0 ** rng.uniform(-3.0, 0.0, rng.integers(1, 40))) for _ in range(200)]
    wide = np.r_[np.linspace(0.0, 0.3, 65), np.linspace(0.7, 1.0, 65)]
    for edges in ([0.0, *widths / widths[-1]] for widths in graded):
        basis = of_breakpoints(edges)
        half, own = basis.halved().breakpoints, np.diff(basis.breakpoints)
        assert np.all(np.isin(half, basis.breakpoints)) and half[0] == 0.0 and half[-1] == 1.0
        place = np.searchsorted(half, basis.breakpoints[:-1], side="right") - 1
        coarse = place < half.size - 2
        assert np.all(np.diff(half)[place][coarse] >= 1.49 * own[coarse])
        assert np.diff(half)[place][np.argmax(own)] >= min(1.49 * own.max(), 1.0 - 1e-12)
    assert np.diff(of_breakpoints(wide).halved().breakpoints).max() >= 0.6


def test_control_points_of_the_derivative_are_differences_over_the_widths_of_their_knots():
    basis = SplineBasis.clamped([0.0, 0.2, 0.5, 0.6, 1.0], 3)
    points = np.random.default_rng(8).standard_normal((basis.count, 2))
    slopes = (basis.degree / basis.slope_widths)[:, None] * np.diff(points, axis=0)
    lower = BSpline(basis.knots[1:-1], slopes, basis.degree - 1)
    s = np.linspace(0.0, 1.0, 37)
    np.testing.assert_allclose(
        lower(s), basis.spline(points)(s, 1), rtol=0.0, atol=1e-12 * np.abs(slopes).max()
    )
