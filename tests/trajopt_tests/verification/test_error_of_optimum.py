"""A verification says how much of the optimum the mesh leaves open, so that a coarse mesh is seen."""

import numpy as np
import pytest

import problems
import trajopt
from benchmarks.published.textbook import complementarity, two_phases
from problems.gallery.classics import brachistochrone
from trajopt.checks.optimality.gain_indicator import gains_of_kinks
from trajopt.splines.basis import SplineBasis

LEAST_TIME = 0.39185454  # s, of the two-link arm, certified


@pytest.mark.long
@pytest.mark.parametrize("intervals", [20, pytest.param(40, marks=pytest.mark.long)])
def test_a_pass_on_a_coarse_mesh_says_how_far_off_it_is(intervals):
    """Products of complementary controls: 5.12 on twenty intervals, 1.6563 on many."""
    solution = trajopt.solve(complementarity(intervals))
    report = solution.verify()
    assert report.holds and report.error_of_optimum > solution.objective - 1.6563
    assert report.summary()["error_of_optimum"] == report.error_of_optimum
    first = " ".join(str(report).splitlines()[:5])
    assert "optimal on this mesh; error of the optimum about" in str(report) and "Refined" in first


@pytest.mark.long
def test_the_error_covers_what_is_known_and_falls_with_the_mesh():
    errors = []
    for intervals in (8, 16, 32):
        solution = trajopt.solve(problems.two_link_rr.build(intervals=intervals))
        errors.append(solution.verify().error_of_optimum)
        assert errors[-1] > solution.objective - LEAST_TIME > 0.0
    assert errors[0] > errors[1] > errors[2] and errors[2] < 0.01 * LEAST_TIME


def test_the_error_of_a_smooth_optimum_is_small():
    report = trajopt.solve(brachistochrone.build()).verify()
    assert 0.0 <= report.error_of_optimum < 1e-6 and "Refined" not in report.optimum


def least_fuel(intervals, points, duration=2.0, limit=2.2, over="path"):
    """Least integral of |u| with x'' = u and |u| at most a limit: full thrust, none, full thrust."""
    system = trajopt.system(["x", "v"], ["u"], rates=lambda node: [node.v, node.u])
    problem = trajopt.Problem(system, trajopt.Trajectory.collocation(intervals, 3, points, duration))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.control("u", lower=-limit, upper=limit)
    problem.minimize(trajopt.absolute(trajopt.state("u")), over=over)
    optimum = limit * (duration - np.sqrt(duration**2 - 4.0 / limit))
    return trajopt.solve(problem), optimum


@pytest.mark.long
@pytest.mark.parametrize(("intervals", "points"), [(4, "lobatto"), (7, "radau"), (7, "gauss")])
def test_a_control_that_switches_at_a_kink_within_a_span_is_seen(intervals, points):
    """Thrust falls to zero along a whole span; its bounds are met at the ends alone."""
    solution, optimum = least_fuel(intervals, points)
    report = solution.verify()
    assert report.holds and report.error_of_optimum > solution.objective - optimum > 1e-3 * optimum
    assert "Refined" in report.optimum


@pytest.mark.long
def test_the_error_at_kinks_falls_with_the_mesh():
    errors = [least_fuel(count, "radau")[0].verify().error_of_optimum for count in (7, 23)]
    assert errors[1] < 0.2 * errors[0]


@pytest.mark.long
def test_a_maximum_over_a_part_of_the_motion_has_slacks_at_its_nodes_alone():
    solution, _ = least_fuel(8, "radau", over=(0.0, 0.5))
    found, (edges,) = gains_of_kinks(solution)[0], solution.curve.knot_times_of_arcs
    assert found.shape == (edges.size - 1,) and np.all(found >= 0.0) and np.any(found)
    assert not np.any(found[edges[:-1] > 0.75 * solution.duration])


def test_a_wide_span_between_narrow_ones_is_seen():
    """Least effort by a control that is constant in spans: 12, but 12 / (1 - 1/27) with a third left whole.

    Where refinement has halved the outer thirds many times, every second breakpoint keeps that span.
    """
    thirds = np.linspace(0.0, 1.0, 4)
    edges = np.union1d(np.linspace(0.0, thirds[1], 33), np.linspace(thirds[2], 1.0, 33))
    system = trajopt.system(["x", "v"], ["u"], rates=lambda node: [node.v, node.u])
    mesh = trajopt.Trajectory.collocation(2, 1, "gauss", 1.0)
    basis = SplineBasis.of_any_degree(edges, 1, np.ones(edges.size - 2, dtype=int))
    problem = trajopt.Problem(system, mesh.with_bases([basis]))
    problem.start_at(x=[0.0, 0.0])
    problem.end_at(x=[1.0, 0.0])
    problem.minimize(trajopt.state("u") ** 2)
    solution = trajopt.solve(problem, refine=None)
    assert solution.objective == pytest.approx(12.0 / (1.0 - 1.0 / 27.0), rel=1e-3)
    error = solution.verify(accuracy=1.0).error_of_optimum  # equations are missed between such nodes
    assert error > solution.objective - 12.0 > 0.4


@pytest.mark.long
def test_phases_have_one_together():
    solution = trajopt.solve(two_phases(16))
    report = solution.verify()
    assert report.error_of_optimum > solution.objective - 1.04168615
    assert "error of the optimum" in " ".join(str(report).splitlines()[:4])


@pytest.mark.long
def test_it_is_not_said_where_it_is_not_known():
    report = trajopt.solve(problems.two_link_rr.build(), refine=trajopt.Certified()).verify()
    assert report.error_of_optimum is None and report.optimum == ""
    failed = trajopt.solve(problems.two_link_rr.build(), solver=trajopt.Ipopt(max_iterations=1)).verify()
    assert failed.verdict == "FAIL" and failed.error_of_optimum is None and np.isfinite(failed.objective)
