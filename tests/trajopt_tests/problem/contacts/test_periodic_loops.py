"""Periodic motions of robots with closed loops: joints that follow from others repeat with these."""

import numpy as np
import pytest

import dynamics
import trajopt
from problems.gallery.legged.one_legged_hopper import BENT, Y, Z, hopper
from tests.support.closed_linkage import linkage

THIGH, CRANK, FORWARD = 0.25, 0.06, 0.1  # m
FOLLOWS = [9, 10]  # crank and bar of the hopper


def rod(name, parent, place, length):
    own = 0.2 * length**2 / 12.0 * np.diag([1.0, 1.0, 0.05])
    joint = dynamics.Joint(f"{name}_joint", "revolute", Y, position=place)
    return dynamics.Body(name, joint, parent, 0.2, -length / 2.0 * Z, own)


def four_bar_leg():
    """The hopper whose knee a crank at the hip moves by a bar along the thigh: a parallelogram."""
    plain = hopper()
    links = [*plain.bodies, rod("crank", "hip", np.zeros(3), CRANK), rod("bar", "crank", -CRANK * Z, THIGH)]
    ends = {"bar": -THIGH * Z, "shank": -CRANK * Z}
    frames = [dynamics.Frame(f"{link} end", link, position=place) for link, place in ends.items()]
    return dynamics.RigidBodyModel(links, -9.81 * Z, "hopper", frames=(*plain.frames, *frames))


def hop(gait_first=False):
    robot, schedule = four_bar_leg(), trajopt.Schedule([(("foot",), 0.3), ((), 0.2)])
    standing = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, *BENT, BENT[1] + BENT[2], -BENT[2]])
    standing[2] -= dynamics.forward_kinematics(robot, standing, ["foot"]).position[0, 2]
    problem = trajopt.Problem(robot, schedule.trajectory(6))
    problem.passive_base()
    problem.passive("knee", "bar_joint")
    problem.contact("foot", schedule.arcs("foot"), 0.7, 0.03)
    if gait_first:
        problem.subject_to_periodic_gait(FORWARD)
    problem.close_loop("bar end", "shank end", near=standing)
    if not gait_first:
        problem.subject_to_periodic_gait(FORWARD)
    least = np.where(np.array(robot.joint_names) == "knee", 0.3, -np.inf)
    problem.subject_to(trajopt.q, lower=least, hold="hull", name="knee")
    problem.minimize(trajopt.tau**2)
    bent = trajopt.term(name="posture")(lambda node: [node.q[6 + i] - BENT[i] for i in range(len(BENT))])
    problem.minimize(bent**2, 100.0)
    problem.minimize(trajopt.v[6:] ** 2, 0.1)
    problem.guess(np.array([standing, standing + FORWARD * np.eye(robot.n)[0]]))
    return problem


@pytest.mark.long
def test_a_hopper_with_a_four_bar_leg_hops_and_all_of_its_joints_repeat():
    """Nothing periodic is stated of its crank and its bar: the closed loop makes them repeat."""
    problem = hop()
    solution = trajopt.solve(problem, progress="silent", refine=None)
    assert solution.converged
    first, last = solution.q(0.0), solution.q(solution.duration)
    np.testing.assert_allclose(last - first, FORWARD * np.eye(first.size)[0], rtol=0.0, atol=1e-6)
    before, after = solution.v(0.0), solution.v(solution.duration)
    np.testing.assert_allclose(after, before, rtol=0.0, atol=1e-5)
    parallelogram = solution.q(np.linspace(0.0, solution.duration, 101))[:, 7:]
    np.testing.assert_allclose(parallelogram[:, 2], parallelogram[:, :2].sum(axis=1), rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(parallelogram[:, 3], -parallelogram[:, 1], rtol=0.0, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("gait_first", [False, True])
def test_joints_that_follow_from_others_have_no_periodicity_of_their_own(gait_first):
    problem = hop(gait_first)
    for each in problem.periodicities:
        assert np.setdiff1d(np.arange(problem.dynamics.n), each.kept).tolist() == FOLLOWS


def test_a_whole_turn_of_a_crank_is_stated_of_the_crank_alone():
    problem, _ = linkage()
    problem.subject_to_periodic(trajopt.q, offset=[2.0 * np.pi, 0.0, 0.0])
    problem.subject_to_periodic(trajopt.tau)
    assert [each.kept.tolist() for each in problem.periodicities] == [[0], [0, 1, 2]]
