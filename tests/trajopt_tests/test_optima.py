"""Problems whose optimum is known in closed form, and the two-link arm against its bang-bang time."""

import numpy as np
import pytest
from hand_written import PointMasses, two_link_minimum_time

import trajopt

TWO_LINK_OPTIMUM = 0.3918545395  # seconds, switching-time solution integrated to 1e-13


def test_least_acceleration_rest_to_rest_costs_twelve_and_is_the_cubic():
    """min of the integral of a^2, q from 0 to 1 in unit time at rest: q = 3 t^2 - 2 t^3, cost 12."""
    problem = trajopt.Problem(PointMasses(), trajopt.Trajectory.uniform(3, 3, duration=1.0))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.minimize(trajopt.a**2)
    solution = trajopt.solve(problem)
    assert solution.converged
    assert np.isclose(solution.objective, 12.0, rtol=1e-9)
    t = np.linspace(0.0, 1.0, 11)
    assert np.allclose(solution.q(t)[:, 0], 3 * t**2 - 2 * t**3, atol=1e-8)
    assert solution.kkt.error < 1e-8


@pytest.mark.parametrize(("mass", "force", "distance", "time"), [(2.0, 50.0, 1.0, 0.4), (1.0, 1.0, 1.0, 2.0)])
def test_bang_bang_masses_arrive_in_their_least_time_when_a_knot_lies_at_the_switch(
    mass, force, distance, time
):
    """T = 2 sqrt(m d / F): the quadratic spline with a knot in the middle contains the optimum."""
    dynamics = PointMasses(1, mass, force)
    problem = trajopt.Problem(dynamics, trajopt.Trajectory.uniform(2, 2, duration=(0.01, 10.0)))
    problem.start_at(q=-distance, v=0.0)
    problem.end_at(q=0.0, v=0.0)
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    solution = trajopt.solve(problem, trajopt.Ipopt(tol=1e-10))
    assert solution.converged and np.isclose(solution.duration, time, rtol=1e-8)
    assert solution.verify().simulation_error < 1e-9
    # Pontryagin: dT = lambda dF, pushing limit active in the first half, braking limit in the second.
    multipliers = solution.multipliers["torque limits"][:, 0]
    half = solution.node_times < 0.5 * time - 1e-9
    assert np.all(multipliers[half] >= -1e-9) and multipliers[half].max() > 0.0
    assert np.isclose(np.abs(multipliers).sum(), 0.5 * time / force, rtol=1e-6)


@pytest.mark.long
def test_two_link_durations_approach_the_bang_bang_time_with_order_two():
    errors = []
    for intervals in (10, 20, 40):
        solution = trajopt.solve(two_link_minimum_time(intervals))
        assert solution.converged and solution.kkt.error < 1e-7
        errors.append(solution.duration / TWO_LINK_OPTIMUM - 1.0)
    orders = np.diff(np.log2(errors))
    assert errors[-1] < 1e-3 and np.all(np.array(errors) > 0.0)
    assert np.allclose(orders, -2.0, atol=0.2)


def test_slsqp_and_ipopt_agree_on_the_two_link_arm():
    """On the same program: where nodes are added at peaks, these differ with the last digits of an answer."""
    ipopt = trajopt.solve(two_link_minimum_time(10), refine=None)
    slsqp = trajopt.solve(two_link_minimum_time(10), trajopt.Slsqp(tol=1e-10), refine=None)
    assert ipopt.converged and slsqp.converged
    assert np.isclose(ipopt.duration, slsqp.duration, rtol=1e-7)


def test_several_arcs_with_own_durations_reach_the_double_integrator_optimum():
    """Two quadratic arcs of one span each: the free durations find the switch at half time."""
    arc = trajopt.Arc(trajopt.SplineBasis.uniform(1, 2), (0.05, 5.0))
    problem = trajopt.Problem(PointMasses(1, 1.0, 1.0), trajopt.Trajectory((arc, arc), continuity=1))
    problem.start_at(q=-1.0, v=0.0)
    problem.end_at(q=0.0, v=0.0)
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    solution = trajopt.solve(problem)
    assert solution.converged and np.isclose(solution.duration, 2.0, rtol=1e-7)
    assert np.allclose(solution.curve.durations, 1.0, rtol=1e-5)


def test_hull_limits_hold_for_all_times():
    problem = trajopt.Problem(
        PointMasses(1, 1.0, 5.0), trajopt.Trajectory.uniform(8, 3, duration=(0.1, 10.0))
    )
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to_joint_limits()
    problem.subject_to(trajopt.v, -0.6, 0.6, hold="hull")
    problem.subject_to(trajopt.q, -0.01, 1.0, hold="hull")
    problem.minimize(trajopt.duration)
    solution = trajopt.solve(problem)
    t = np.linspace(0.0, solution.duration, 2001)
    assert solution.converged
    assert np.abs(solution.v(t)).max() <= 0.6 + 1e-8
    assert solution.v(t).max() > 0.59
    assert solution.q(t).max() <= 1.0 + 1e-8


def test_periodicity_holds_in_position_and_velocity_with_signs():
    problem = trajopt.Problem(PointMasses(2), trajopt.Trajectory.uniform(6, 3, duration=1.0))
    problem.subject_to_periodic(trajopt.q, signs=[1.0, -1.0])
    problem.subject_to_periodic(trajopt.v, signs=[1.0, -1.0])
    problem.subject_to(trajopt.q, equals=[0.2, 0.3], over="start")
    problem.subject_to(trajopt.v, lower=0.5, over="start")
    problem.minimize(trajopt.a**2)
    solution = trajopt.solve(problem)
    assert solution.converged
    assert np.allclose(solution.q(1.0), [0.2, -0.3], atol=1e-9)
    assert np.allclose(solution.v(1.0), solution.v(0.0) * [1.0, -1.0], atol=1e-9)


@pytest.mark.long
def test_lbfgs_reaches_the_same_optimum_as_the_exact_hessian():
    exact = trajopt.solve(two_link_minimum_time(10))
    approximate = trajopt.solve(two_link_minimum_time(10), trajopt.Ipopt(hessian="lbfgs"))
    assert approximate.converged and np.isclose(exact.duration, approximate.duration, rtol=1e-6)


def test_periodicity_swaps_sides_and_shifts():
    """A step: left and right change places while the whole moves on by 0.6."""
    problem = trajopt.Problem(PointMasses(3), trajopt.Trajectory.uniform(6, 3, duration=1.0))
    problem.subject_to_periodic(trajopt.q, order=[0, 2, 1], offset=[0.6, 0.0, 0.0])
    problem.subject_to_periodic(trajopt.v, order=[0, 2, 1])
    problem.subject_to(trajopt.q, equals=[0.0, 0.3, -0.2], over="start")
    problem.subject_to_periodic(trajopt.tau, signs=[1.0, 0.0, 0.0], name="equal forces")
    problem.minimize(trajopt.a**2)
    solution = trajopt.solve(problem)
    assert solution.converged
    assert np.allclose(solution.q(1.0), [0.6, -0.2, 0.3], atol=1e-9)
    assert np.allclose(solution.v(1.0), solution.v(0.0)[[0, 2, 1]], atol=1e-9)
    assert np.allclose(solution.tau(1.0), solution.tau(0.0) * [1.0, 0.0, 0.0], atol=1e-7)


def test_components_without_a_limit_are_no_rows():
    problem = two_link_minimum_time(5)
    free = trajopt.transcribe(problem).row_count
    problem.subject_to(trajopt.tau, [-np.inf, -8.0], [np.inf, np.inf], name="elbow only")
    assert trajopt.transcribe(problem).row_count == free + problem.trajectory.nodes.count


def test_a_limit_that_fixes_some_joints_and_bounds_others_is_eliminated_and_kept_in_parts():
    problem = trajopt.Problem(PointMasses(3), trajopt.Trajectory.uniform(6, 3, duration=1.0))
    problem.start_at(q=[0.0, 0.5, 0.0], v=0.0)
    problem.end_at(q=[1.0, 0.5, 1.0])
    problem.subject_to(trajopt.q, [-np.inf, 0.5, -0.1], [np.inf, 0.5, 1.05], name="held and bounded")
    problem.minimize(trajopt.a**2)
    nlp = trajopt.transcribe(problem)
    assert not np.any(nlp.row_lower == nlp.row_upper) and nlp.row_count == problem.trajectory.nodes.count - 2
    solution = trajopt.solve(problem)
    q = solution.q(np.linspace(0.0, 1.0, 51))
    assert solution.converged and np.allclose(q[:, 1], 0.5, atol=1e-12) and q[:, 2].max() <= 1.05 + 1e-3


@pytest.mark.parametrize("arcs", [1, 2])
def test_velocities_change_places_over_several_arcs_and_with_an_offset_too(arcs):
    """Where the condition is bilinear in durations and control points it is a row, not an elimination."""
    arc = trajopt.Arc(trajopt.SplineBasis.uniform(3, 4), (0.3, 2.0))
    problem = trajopt.Problem(PointMasses(3), trajopt.Trajectory((arc,) * arcs))
    offset = [0.0, 0.25, 0.0] if arcs == 1 else 0.0
    problem.subject_to_periodic(trajopt.v, signs=[1.0, -1.0, 1.0], order=[2, 0, 1], offset=offset)
    problem.start_at(q=[0.0, 0.1, 0.2], v=[0.7, -0.4, 0.3])
    problem.end_at(q=[1.0, 0.5, 0.4])
    problem.minimize(trajopt.a**2)
    problem.minimize(trajopt.duration)
    solution = trajopt.solve(problem)
    assert solution.converged
    assert np.allclose(solution.v(solution.duration), [0.3, -0.7 + (arcs == 1) * 0.25, -0.4], atol=1e-8)
