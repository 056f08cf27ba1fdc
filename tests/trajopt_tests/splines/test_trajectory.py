"""Nodes, quadrature, and curves in time."""

import numpy as np
import pytest
from hand_written import PointMasses

import trajopt
from trajopt import Arc, SplineBasis, Trajectory
from trajopt.base.errors import OptionError, ShapeError
from trajopt.splines.basis import Curve, CurveGroup
from trajopt.splines.node_sets import node_set


def test_smooth_spans_share_their_end_and_jumping_ones_do_not():
    cubic = Trajectory.uniform(5, 3).nodes
    assert cubic.count == 5 * 3 + 1
    quadratic = Trajectory.uniform(5, 2).nodes
    assert quadratic.count == 5 * 4
    doubled = Trajectory((Arc(SplineBasis.clamped([0.0, 0.5, 1.0], 3, [2])),)).nodes
    assert doubled.count == 8


@pytest.mark.parametrize("degree", [2, 3, 5])
def test_node_weights_integrate_splines_exactly(degree):
    trajectory = Trajectory.uniform(6, degree)
    basis, nodes = trajectory.arcs[0].basis, trajectory.nodes
    points = np.random.default_rng(2).standard_normal((basis.count, 1))
    local = points[nodes.first_control_point[:, None] + np.arange(degree + 1), 0]
    values = (nodes.basis[0] * local).sum(axis=1)
    knots = basis.knots
    exact = ((knots[degree + 1 :] - knots[: -degree - 1]) / (degree + 1)) @ points[:, 0]
    assert np.isclose(nodes.weight @ values, exact, rtol=1e-13)


def test_extra_nodes_carry_no_weight_and_change_no_integral():
    plain = Trajectory.uniform(4, 3)
    richer = Trajectory(plain.arcs, extra_points=((0.1, 0.25, 0.61),))
    assert richer.nodes.count == plain.nodes.count + 2  # 0.25 is a node already
    assert np.isclose(richer.nodes.weight.sum(), 1.0)


def test_a_window_integral_counts_its_own_spans_only():
    trajectory = Trajectory.uniform(4, 3)
    weights = node_set((0.25, 0.75)).cost_weights(trajectory)
    s = trajectory.nodes.s
    assert np.isclose(weights @ s**3, (0.75**4 - 0.25**4) / 4, rtol=1e-13)
    with pytest.raises(OptionError, match=r"needs breakpoints at its ends: the nearest is 0\.25"):
        node_set((0.3, 0.75)).cost_weights(trajectory)


def test_an_empty_window_is_refused():
    with pytest.raises(OptionError, match="no node lies in the window"):
        node_set((0.4, 0.41)).nodes(Trajectory.uniform(1, 3))


def test_a_curve_has_the_derivatives_of_its_polynomial_in_seconds():
    basis = SplineBasis.uniform(3, 3)
    points = basis.interpolate(basis.greville[:, None] ** 3)
    curve = Curve((basis,), (points,), np.array([2.0]))
    t = np.linspace(0.0, 2.0, 9)
    for order, exact in enumerate((t**3 / 8, 3 * t**2 / 8, 6 * t / 8, np.full(9, 6 / 8))):
        assert np.allclose(curve(t, order)[:, 0], exact, atol=1e-12)
    assert np.allclose(curve.at_progress(t / 2), curve(t))


def test_a_curve_of_two_arcs_runs_through_both():
    basis = SplineBasis.uniform(1, 2)
    line = basis.greville[:, None]
    curve = Curve((basis, basis), (line, 1.0 + line), np.array([1.0, 3.0]))
    assert curve.duration == 4.0
    assert np.allclose(curve([0.5, 1.0, 2.5, 4.0])[:, 0], [0.5, 1.0, 1.5, 2.0])
    assert np.allclose(curve.knot_times, [0.0, 1.0, 4.0])
    assert np.allclose(curve.arc_duration([0.5, 2.0]), [1.0, 3.0])


def test_times_outside_the_motion_are_refused():
    basis = SplineBasis.uniform(1, 2)
    curve = Curve((basis,), (basis.greville[:, None],), np.array([1.0]))
    with pytest.raises(ShapeError, match="the motion lasts from 0 to 1 s"):
        curve([0.0, 1.5])
    with pytest.raises(ShapeError, match="the motion lasts"):
        curve(np.nan)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Arc(SplineBasis.uniform(2), (1.0, 0.5)), "0 < shortest <= longest"),
        (lambda: Arc(SplineBasis.uniform(2), -1.0), "0 < shortest"),
        (
            lambda: Arc(SplineBasis.uniform(2), 1.0, 1),
            "nodes_per_span = 1: expected a whole",
        ),
        (lambda: Trajectory(()), "at least one arc"),
        (
            lambda: Trajectory((Arc(SplineBasis.uniform(2)),), continuity=5),
            "velocity. = 5: expected",
        ),
        (lambda: Trajectory((Arc(SplineBasis.uniform(2)),), extra_points=((), ())), "2 entries for 1 arcs"),
    ],
)
def test_impossible_trajectories_are_refused(build, message):
    with pytest.raises(ShapeError, match=message):
        build()


def test_arcs_of_a_uniform_trajectory_meet_as_smoothly_as_is_asked():
    assert trajopt.Trajectory.uniform(4, arcs=2).continuity == 1
    problem = trajopt.Problem(PointMasses(1), trajopt.Trajectory.uniform(4, 5, 1.0, arcs=2, continuity=2))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to(trajopt.q, equals=0.8, over=trajopt.ArcNodes(0, "end"))
    problem.minimize(trajopt.v**2)
    problem.subject_to(trajopt.jerk, -100.0, 100.0, name="jerk")
    smooth = trajopt.solve(problem)
    assert smooth.a(1.0 - 1e-9) == pytest.approx(smooth.a(1.0 + 1e-9), abs=1e-5)
    assert smooth.verify().verdict == "PASS"
    jumping = trajopt.solve(problem.on(trajopt.Trajectory.uniform(4, 5, 1.0, arcs=2)))
    assert "continuity=2 where arcs meet" in jumping.verify().reason
    with pytest.raises(ShapeError, match=r"continuity .* = 3: expected a whole number, 2 at most"):
        trajopt.Trajectory.uniform(4, arcs=2, continuity=3)


def test_orders_of_some_curves_are_those_of_all_and_others_stay_zero():
    rng, quintic, cubic = np.random.default_rng(3), SplineBasis.uniform(3, 5), SplineBasis.uniform(3, 3)
    points = [
        tuple(rng.standard_normal((b.count, n)) for _ in range(2)) for b, n in ((quintic, 2), (cubic, 3))
    ]
    apart = (CurveGroup((cubic, cubic), points[1]),)
    curve = Curve((quintic, quintic), points[0], np.array([0.7, 1.1]), apart)
    t = np.linspace(0.0, 1.8, 31)
    whole = curve.derivatives(t, (0, 1, 2))
    some = curve.derivatives(t, (0, 1, 2), [(2, slice(1, 2)), (0, slice(4, 5)), (1, slice(1, 3))])
    for order, columns in ((0, slice(2, 5)), (1, slice(0, 5)), (2, slice(0, 2))):
        assert np.array_equal(some[order][:, columns], whole[order][:, columns])
    assert not some[0][:, :2].any() and not some[2][:, 2:].any() and whole[0][:, :2].all()
