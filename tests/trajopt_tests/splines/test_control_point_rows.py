"""Control points of accelerations and jerks bound them for all times."""

import numpy as np
import pytest
from tiers import every, fast_first

import trajopt
from tests.support.hand_written import PointMasses
from trajopt.base.errors import OptionError
from trajopt.splines.polynomial_bounds import control_point_rows, pieces_of


def moved(degree, quantity, bound, multiplicity=1, nodes_per_span=5, hold="hull", intervals=6):
    basis = trajopt.SplineBasis.clamped(
        np.linspace(0.0, 1.0, intervals + 1), degree, np.full(intervals - 1, multiplicity)
    )
    arc = trajopt.Arc(basis, (0.1, 10.0), nodes_per_span)
    problem = trajopt.Problem(PointMasses(1, 1.0, 5.0), trajopt.Trajectory((arc,)))
    problem.start_at(q=0.0, v=0.0, a=0.0)
    problem.end_at(q=1.0, v=0.0, a=0.0)
    problem.subject_to(quantity, -bound, bound, hold=hold, name="held")
    problem.minimize(trajopt.duration)
    return problem


@every("order", [2, 3], fast=1)
@every("multiplicity", [1, 2, 3])
@every("degree", [3, 4, 5, 6])
def test_rows_are_the_control_points_of_every_piece(order, multiplicity, degree):
    if multiplicity > degree - 1:
        pytest.skip("the velocity would jump")
    solution = trajopt.solve(moved(degree, trajopt.a, 6.0, multiplicity, 6, "nodes"), refine=None)
    mesh = solution.problem.trajectory
    rows = control_point_rows(mesh, order)
    basis, first = mesh.nodes.basis[order], mesh.nodes.first_control_point
    points = solution.curve.control_points[0][first[:, None] + np.arange(basis.shape[1]), 0]
    found = rows @ (basis * points).sum(axis=1) / solution.duration**order
    expected = pieces_of(solution.curve, 0, order).coefficients.ravel()
    apart = np.abs(found[:, None] - expected).min(axis=0)
    assert np.all(apart <= 1e-9 * np.abs(expected).max())


@pytest.mark.parametrize(("quantity", "name", "bound"), [(trajopt.a, "a", 4.0), (trajopt.jerk, "jerk", 40.0)])
@fast_first("degree", [4, 5], 1)
def test_hull_limits_hold_for_all_times(quantity, name, bound, degree):
    solution = trajopt.solve(moved(degree, quantity, bound))
    t = np.linspace(0.0, solution.duration, 20001)
    values = np.abs(getattr(solution, name)(t))
    assert solution.converged and solution.verify().holds
    assert 0.95 * bound < values.max() <= bound * (1.0 + 1e-7)
    by_nodes = trajopt.solve(moved(degree, quantity, bound, hold="nodes"), refine=None)
    assert solution.duration >= by_nodes.duration * (1.0 - 1e-9)


def test_the_hull_of_a_free_duration_scales_with_time():
    slow, fast = (trajopt.solve(moved(5, trajopt.jerk, bound)).duration for bound in (5.0, 40.0))
    assert slow == pytest.approx(2.0 * fast, rel=1e-6)  # T^3 times the bound is the distance


def test_spans_with_too_few_nodes_are_told_how_many_they_need():
    with pytest.raises(OptionError, match=r"hold='hull' needs 5 nodes in every span .*nodes_per_span=5"):
        trajopt.solve(moved(6, trajopt.a, 4.0, nodes_per_span=3))
