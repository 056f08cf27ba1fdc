"""Limits that hold for all t, and optima to the last digits that are known."""

import numpy as np
import pytest
from hand_written import PointMasses, two_link_minimum_time

import trajopt
from trajopt import errors
from trajopt.excess import largest_excesses
from trajopt.switching import Saturation, Structure, detect

TWO_LINK_OPTIMUM = 0.3918545395  # seconds, known to its last digit
TWO_LINK_SWITCHES = [0.045709, 0.195927, 0.235300]


@pytest.fixture(scope="module")
def certified():
    return trajopt.solve(two_link_minimum_time(20), refine=trajopt.Certified(tol=1e-6))


def test_the_two_link_arm_reaches_its_bang_bang_time_and_switches(certified):
    assert certified.converged
    assert abs(certified.duration - TWO_LINK_OPTIMUM) < 1e-9 * TWO_LINK_OPTIMUM
    assert np.allclose(certified.certificate.structure.times[1:-1], TWO_LINK_SWITCHES, atol=1e-6)
    assert certified.certificate.holds and certified.certificate.method == "switching arcs"


def test_no_torque_oversteps_its_limit_on_a_grid_that_the_search_never_saw(certified):
    t = np.random.default_rng(0).uniform(0.0, certified.duration, 50_000)
    assert np.abs(certified.tau(t)).max() <= 10.0 + 1e-6


def test_simulated_torques_reach_the_end(certified):
    report = certified.verify()
    assert report.simulation_error < 1e-9 and report.simulation_error_end_to_end < 1e-8
    assert report.kkt_error < 1e-8


def test_multipliers_have_the_sign_of_the_torques(certified):
    """Pontryagin: a torque sits at the limit towards which the duration would fall."""
    tau = certified.tau(certified.node_times)
    multipliers = certified.multipliers["torque limits"]
    inside = np.concatenate(
        [np.flatnonzero(certified.problem.trajectory.nodes.arc == arc)[1:-1] for arc in range(4)]
    )
    assert multipliers.shape == (inside.size, 2)
    assert np.all(multipliers * np.sign(tau[inside]) > -1e-7)


def test_where_nothing_is_saturated_nodes_are_added_until_limits_hold():
    """Least effort with a limit that binds at one point only: a structure would be of no use."""
    problem = trajopt.Problem(PointMasses(1, 1.0), trajopt.Trajectory.uniform(5, 4, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to(trajopt.v, upper=1.45, name="speed limit")
    problem.minimize(trajopt.a**2)
    plain = trajopt.solve(problem)
    assert max(e.value for e in largest_excesses(plain)) > 1e-5
    refined = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-7))
    assert refined.certificate.method == "added nodes" and refined.certificate.holds
    t = np.linspace(0.0, 1.0, 20_001)
    assert refined.v(t).max() <= 1.45 + 1e-7
    assert refined.objective >= plain.objective


def test_limits_of_the_convex_hull_say_so():
    problem = trajopt.Problem(
        PointMasses(1, 1.0, 5.0), trajopt.Trajectory.uniform(8, 3, duration=(0.1, 10.0))
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to(trajopt.v, -0.6, 0.6, hold="hull")
    problem.minimize(trajopt.duration)
    solution = trajopt.solve(problem)
    (excess,) = largest_excesses(solution)
    assert excess.hull and "convex hull" in str(excess)


def test_the_sliding_mass_is_certified_to_its_closed_form():
    problem = trajopt.Problem(
        PointMasses(1, 2.0, 50.0), trajopt.Trajectory.uniform(9, 3, duration=(0.01, 10.0))
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    solution = trajopt.solve(problem, refine=trajopt.Certified(tol=1e-6))
    assert solution.certificate.method == "switching arcs" and solution.certificate.holds
    assert np.isclose(solution.duration, 0.4, rtol=1e-9)
    assert np.allclose(solution.certificate.structure.times, [0.0, 0.2, 0.4], atol=1e-8)


def test_a_perturbed_structure_still_finds_the_optimum():
    """The equalities fix the motion: durations wrong by tens of percent are corrected in a few iterations."""
    from trajopt.certified import arc_problem

    uniform = trajopt.solve(two_link_minimum_time(10))
    structure = detect(uniform)
    rng = np.random.default_rng(1)
    wrong = structure.with_times(structure.durations * rng.uniform(0.8, 1.25, structure.arc_count))
    solution = trajopt.solve(arc_problem(uniform.problem, wrong, uniform, 10))
    assert solution.converged and np.isclose(solution.duration, TWO_LINK_OPTIMUM, rtol=1e-9)


def test_a_collapsed_arc_is_dropped_and_equal_neighbours_merge():
    up, down = frozenset({Saturation(0, 0, 1)}), frozenset({Saturation(0, 0, -1)})
    structure = Structure((0.0, 1.0, 1.001, 2.0, 3.0), (up, down, up, down))
    assert structure.without(1) == Structure((0.0, 2.0, 3.0), (up, down))
    assert structure.without(0).arc_count == 3 and structure.without(3).times[-1] == 3.0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"tol": 0.0}, "tol is 0.0"), ({"degree": 30}, "4 to 16"), ({"rounds": 0}, "at least 1")],
)
def test_impossible_refinements_are_refused(options, message):
    with pytest.raises(errors.OptionError, match=message):
        trajopt.Certified(**options)
