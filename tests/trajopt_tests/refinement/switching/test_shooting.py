"""Switch times found a second way agree with the certified ones."""

import numpy as np
import pytest
from hand_written import PointMasses, TwoLinkArm, two_link_minimum_time

import trajopt
from trajopt.base import errors
from trajopt.certified.switching.shooting import switching_times

OPTIMUM = 0.3918545395


@pytest.mark.long
def test_shooting_on_durations_agrees_with_the_certified_two_link_arm():
    solution = trajopt.solve(two_link_minimum_time(20), refine=trajopt.Certified())
    check = switching_times(solution)
    assert check.converged and check.gap < 1e-11 and check.difference < 1e-10
    assert np.isclose(check.duration, OPTIMUM, rtol=2e-10)
    assert "switch at 0.0457" in str(check) and "converged" in str(check)


@pytest.mark.long
def test_a_held_velocity_follows_from_forward_dynamics_too():
    dynamics = PointMasses(1, 2.0, 50.0)
    dynamics.limits.velocity = np.array([3.0])
    solution = trajopt.solve(rest_to_rest(dynamics), refine=trajopt.Certified())
    check = switching_times(solution)
    assert check.converged and np.isclose(check.duration, 1.0 / 3.0 + 3.0 / 25.0, rtol=1e-11)


def rest_to_rest(dynamics):
    problem = trajopt.Problem(dynamics, trajopt.Trajectory.uniform(12, duration=(0.05, 5.0)))
    problem.start_at(q=0.0, v=0.0)
    problem.end_at(q=1.0, v=0.0)
    problem.subject_to_joint_limits()
    problem.minimize(trajopt.duration)
    return problem


@pytest.mark.long
def test_without_a_determined_structure_shooting_is_refused():
    with pytest.raises(errors.ProblemError, match="no switching structure"):
        switching_times(trajopt.solve(two_link_minimum_time(8)))
    problem = rest_to_rest(PointMasses(2, 2.0, 50.0))
    problem.constraints = [c for c in problem.constraints if c.name != "q at the end"]
    problem.subject_to(trajopt.q, equals=[1.0, 0.5], over="end")
    with pytest.raises(errors.ProblemError, match="does not determine the torque of every joint"):
        switching_times(trajopt.solve(problem, refine=trajopt.Certified()))


def test_a_dynamics_without_forward_dynamics_cannot_be_integrated():
    class WithoutForwardDynamics(TwoLinkArm):
        forward_dynamics = None

    problem = two_link_minimum_time(12)
    problem.dynamics = WithoutForwardDynamics()
    solution = trajopt.solve(problem, refine=trajopt.Certified())
    with pytest.raises(errors.ProblemError, match="offers no forward_dynamics"):
        switching_times(solution)
