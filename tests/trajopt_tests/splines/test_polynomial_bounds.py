"""Upper bounds of spline derivatives: no value lies above, and the bound is attained."""

from itertools import pairwise

import numpy as np
import pytest
from tiers import fast_first

from trajopt.splines.basis import Curve, SplineBasis
from trajopt.splines.polynomial_bounds import jumping, pieces_of, pieces_of_group, upper_bound


def random_curve(seed):
    """Two arcs of random degrees, the first with knots of random multiplicity."""
    rng = np.random.default_rng(seed)
    inner = np.sort(rng.uniform(0.05, 0.95, 3))
    degree = int(rng.integers(2, 17))
    first = SplineBasis.clamped([0.0, *inner, 1.0], degree, rng.integers(1, degree + 1, 3))
    second = SplineBasis.uniform(3, int(rng.integers(2, 9)))
    points = (rng.normal(size=(first.count, 2)), rng.normal(size=(second.count, 2)))
    return Curve((first, second), points, np.array([1.3, 0.7]))


def times_within(curve, first, last):
    edges = np.unique([first, last, *np.clip(curve.knot_times, first, last)])
    grids = [np.linspace(a + 1e-10, b - 1e-10, 1001) for a, b in pairwise(edges)]
    return np.concatenate(grids)


@pytest.mark.parametrize("order", range(4))
@fast_first(
    ("window", "seeds"), [((0.0, 2.0), range(4)), ((0.0, 2.0), range(4, 12)), ((0.4, 1.6), range(12))]
)
def test_no_value_of_a_derivative_lies_above_its_bound_and_one_reaches_it(order, window, seeds):
    for seed in seeds:
        curve = random_curve(seed)
        pieces = pieces_of(curve, 1, order)
        size = max(1.0, np.abs(pieces.coefficients).max())
        values = curve(times_within(curve, *window), order)[:, 1]
        bound = upper_bound(pieces.within(*window))
        assert values.max() <= bound.value + 1e-9 * size  # the curve itself is evaluated with rounding
        assert bound.value <= values.max() + 1e-3 * size and bound.value <= bound.hull
        near = curve(np.clip(bound.time + np.array([-1e-9, 1e-9]), *window), order)[:, 1]
        assert np.abs(near - bound.value).min() < 1e-5 * size


def test_a_peak_of_a_jerk_limit_beside_a_knot_is_not_missed():
    """The jerk of a cubic is constant on a span: a span shorter than any grid counts like the others."""
    basis = SplineBasis.clamped([0.0, 0.5, 0.5 + 1e-7, 1.0], 3)
    points = np.zeros((basis.count, 1))
    points[2] = 1e-3
    bound = upper_bound(pieces_of(Curve((basis,), (points,), np.ones(1)), 0, 3))
    inside = Curve((basis,), (points,), np.ones(1))(0.5 + 0.5e-7, 3)[0]
    assert bound.value >= abs(inside) * (1.0 - 1e-12) or bound.value >= inside


def test_jumps_of_the_acceleration_are_found_at_their_knots():
    quadratic = SplineBasis.uniform(4, 2)
    rng = np.random.default_rng(0)
    curve = Curve((quadratic,), (rng.normal(size=(quadratic.count, 1)),), np.array([2.0]))
    pieces, _, _ = pieces_of_group(curve, 0, 2)
    assert jumping(pieces, 1e-6).all() and np.allclose(pieces.start[1:], [0.5, 1.0, 1.5])
    cubic = SplineBasis.uniform(4, 3)
    curve = Curve((cubic,), (rng.normal(size=(cubic.count, 1)),), np.array([2.0]))
    of_a, of_jerk = (pieces_of_group(curve, 0, order)[0] for order in (2, 3))
    assert not jumping(of_a, 1e-6).any() and jumping(of_jerk, 1e-6).all()


def test_a_coefficient_that_is_not_finite_is_no_bound():
    """A control point of a cubic acts on four spans: the bound tells where the first of them begins."""
    basis = SplineBasis.uniform(8, 3)
    points = np.zeros((basis.count, 1))
    points[5] = np.nan
    bound = upper_bound(pieces_of(Curve((basis,), (points,), np.ones(1)), 0, 0))
    assert np.isnan(bound.value) and bound.time == 0.25
