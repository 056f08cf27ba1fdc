"""Closed loops: values at the start and guesses that do not fit move to the loop."""

import numpy as np
import pytest
from closed_linkage import NEAR, ROBOT, SPEED, START, linkage
from numpy.testing import assert_allclose

import trajopt
from tests.support import four_bar
from trajopt.base.errors import LoopWarning
from trajopt.problem.contacts.loop_poses import ClosedGuess


def test_values_that_do_not_fit_move_to_the_loop_and_are_named():
    problem, _ = linkage()
    with pytest.warns(
        LoopWarning, match=r"q at the start .* coupler_joint from 0.4 to 0.1976.*rocker_joint from 1.3"
    ):
        problem.start_at(q=[START, 0.4, 1.3])
    (start,) = [each for each in problem.constraints if each.name == "q at the start"]
    assert start.lower.tolist() == [START, -np.inf, -np.inf]


@pytest.mark.long
def test_velocities_and_accelerations_that_do_not_fit_are_named():
    problem, _ = linkage()
    with pytest.warns(LoopWarning, match="v at the start"):
        problem.start_at(q=[START, None, None], v=[1.0, 0.0, 0.0])
    other, _ = linkage()
    _, w, alpha = four_bar.motion(np.array([START]), SPEED)
    joints = [[each[0, 0], each[0, 1] - each[0, 0], each[0, 2]] for each in (w, alpha)]
    other.start_at(q=[START, None, None], v=joints[0], a=joints[1])  # these fit
    with pytest.warns(LoopWarning, match="a at the end"):
        other.end_at(q=[START, None, None], v=joints[0], a=0.0)


@pytest.mark.long
@pytest.mark.parametrize("before", [True, False])
def test_closed_values_of_all_joints_may_be_given_in_either_order(before):
    pose = four_bar.pose(np.array([START]))[0]
    problem = trajopt.Problem(ROBOT, trajopt.Trajectory.collocation(8, 4, duration=1.0))
    if before:
        problem.start_at(q=pose, v=0.0)
    problem.close_loop("coupler_end", "rocker_end", near=NEAR)
    problem.passive("coupler_joint", "rocker_joint")
    if not before:
        problem.start_at(q=pose, v=0.0)
    problem.end_at(q=four_bar.pose(np.array([1.0]))[0], v=0.0)
    problem.minimize(trajopt.tau**2)
    solution = trajopt.solve(problem, progress="silent", starts=1, refine=None)
    assert solution.converged
    assert_allclose(solution.q(0.0), pose, atol=1e-8)
    assert_allclose(solution.q(1.0), four_bar.pose(np.array([1.0]))[0], atol=1e-4)
    assert_allclose(solution.v([0.0, 1.0]), 0.0, atol=1e-9)


@pytest.mark.long
def test_a_closed_pose_holds_the_joints_that_are_named():
    problem, _ = linkage()
    crank = np.linspace(0.0, 6.0, 9)
    for expected in four_bar.pose(crank):
        found = problem.closed_pose(expected + np.array([0.0, 0.1, -0.1]), "crank_joint")
        assert_allclose(found, expected, atol=1e-9)
    with pytest.raises(trajopt.base.errors.UnknownNameError, match="crank_joint"):
        problem.closed_pose(NEAR, "krank_joint")


@pytest.mark.long
def test_a_guess_is_closed_on_one_branch():
    problem, _ = linkage(6)
    s = np.linspace(0.0, 1.0, 40)

    def crank_turns(s):
        return np.stack([START + 6.0 * s, 0.5 + 0.0 * s, 1.5 + 0.0 * s], axis=-1)

    guess = ClosedGuess.of(problem, crank_turns)
    angle = four_bar.pose(START + 6.0 * s)
    difference = (guess(s) - angle + np.pi) % (2.0 * np.pi) - np.pi
    assert_allclose(difference, 0.0, atol=1e-9)
