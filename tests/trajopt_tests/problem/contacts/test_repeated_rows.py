"""Rows of contacts that repeat others at every pose on the ground are not stated; places stay checked."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import dynamics
import trajopt
from problems.gallery.legged.solo import BASE, FEET, STANDING, solo
from trajopt.problem.contacts.contact import StatedRows
from trajopt.problem.contacts.pose_search import PoseSearch

SOLO = solo()
EDGE = [(0.0, 0.005, 0.0), (0.0, -0.005, 0.0)]  # m, across the plane of a leg
CORNERS = np.array([(0.02, 0.01, 0.0), (0.02, -0.01, 0.0), (-0.02, 0.01, 0.0), (-0.02, -0.01, 0.0)])


def standing(robot, feet, sole=None):
    problem = trajopt.Problem(robot, trajopt.Schedule.standing(("a",), 0.4).trajectory(3))
    for foot in feet:
        problem.contact(foot, [0], sole=sole)
    return problem


def with_points(places):
    """Solo with points around the end of its front left leg, m, and their names."""
    foot = np.array([0.0, 0.0, -0.16])  # m, of Solo's lower legs
    names = [f"point {number}" for number in range(len(places))]
    each = zip(names, foot + places, strict=True)
    frames = [dynamics.Frame(name, "FL_LOWER_LEG", position=place) for name, place in each]
    return SOLO.with_frames(*frames), names


def stated(problem):
    """Rows of every contact that are stated."""
    return [len(each.velocity_units(0)) for each in problem.contacts.values()]


@pytest.mark.long
def test_points_of_one_sole_have_the_rows_of_a_sole():
    robot, points = with_points(CORNERS)
    problem = standing(robot, points)
    assert stated(problem) == [3, 2, 1, 0]
    assert [len(each.placed(0)) for each in problem.contacts.values()] == [1, 1, 1, 0]
    assert problem.contacts["point 3"].left_out == {0: ("x", "y", "z")}
    assert problem.contacts["point 0"].left_out == {}


@pytest.mark.long
@pytest.mark.parametrize("angle", [0.0, 0.3, 0.5 * np.pi])
def test_a_ball_keeps_the_rows_across_its_line_to_the_heel_however_the_line_lies(angle):
    """And however the foot heads: rows in axes of the world would lose the wrong one at some headings."""
    c, s = np.cos(angle), np.sin(angle)
    robot, points = with_points(np.array([(0.0, 0.0, 0.0), (0.05 * c, 0.05 * s, 0.0)]))
    problem = standing(robot, points)
    assert stated(problem) == [3, 2]
    (name,) = problem.contacts["point 1"].left_out[0]
    assert name == ("x" if c > 0.8 else "y" if s > 0.8 else name)


@pytest.mark.long
def test_edges_under_legs_of_three_joints_have_as_many_rows_as_they_hold():
    problem = standing(SOLO, [f"{foot}_FOOT" for foot in FEET], EDGE)
    assert sum(stated(problem)) == 15  # of 20: the base keeps two translations and its pitch
    assert standing(SOLO, ["FL_FOOT", "HR_FOOT"], EDGE).contacts["HR_FOOT"].left_out == {0: ("about y",)}


def test_points_of_feet_on_legs_of_their_own_keep_all_rows():
    problem = standing(SOLO, [f"{foot}_FOOT" for foot in FEET])
    assert stated(problem) == [3, 3, 3, 3] and not any(each.stated for each in problem.contacts.values())


def test_a_sole_under_an_arm_of_two_joints_has_two_rows():
    """Held alone, with no other contact; along axes that hold no height nothing is left out."""
    rod = {"mass": 1.0, "centre_of_mass": np.array([0.0, 0.0, -0.1]), "inertia": 0.01 * np.eye(3)}
    hip = dynamics.Joint("hip", axis=np.eye(3)[1], position=np.array([0.0, 0.0, 0.3]))
    knee = dynamics.Joint("knee", axis=np.eye(3)[1], position=np.array([0.0, 0.0, -0.2]))
    bodies = [dynamics.Body("thigh", hip, **rod), dynamics.Body("shank", knee, "thigh", **rod)]
    robot = dynamics.RigidBodyModel(bodies, np.array([0.0, 0.0, -9.81]))
    sole = -0.2 * np.eye(3)[2] + CORNERS
    assert stated(standing(robot, ["shank"], sole)) == [2]
    problem = trajopt.Problem(robot, trajopt.Schedule.standing(("a",), 0.4).trajectory(3))
    problem.contact("shank", [0], held="x", sole=sole[:1])
    assert stated(problem) == [1]


@pytest.mark.long
def test_a_foot_that_stands_alone_in_an_arc_has_all_rows_there():
    problem = trajopt.Problem(SOLO, trajopt.Schedule([(("a",), 0.2), (("a",), 0.2)]).trajectory(2))
    problem.contact("FL_FOOT", [0], sole=EDGE)
    problem.contact("HR_FOOT", [0, 1], sole=EDGE)
    foot = problem.contacts["HR_FOOT"]
    assert foot.left_out == {0: ("about y",)}
    assert (len(foot.velocity_units(0)), len(foot.velocity_units(1))) == (4, 5)


def shifted(robot, feet, sole, forward=0.02):
    """The robot leans forward on its feet, by m."""
    problem = standing(robot, feet, sole)
    problem.passive_base()
    start = problem.standing_pose(STANDING)
    problem.start_at(q=start, v=0)
    problem.subject_to(trajopt.q[:2], equals=[forward, 0.0], over="end", name="further on")
    problem.end_at(v=[*[0.0] * BASE, *[None] * 12])
    problem.minimize(trajopt.tau**2)
    problem.minimize((trajopt.q[BASE:] - STANDING[BASE:]) ** 2)
    problem.minimize(trajopt.a[BASE:] ** 2, 1e-5)
    problem.guess(np.array([start, start]))
    return trajopt.solve(problem, starts=1, progress="silent")


@pytest.mark.long
def test_a_robot_moves_on_four_edges():
    solution = shifted(SOLO, [f"{foot}_FOOT" for foot in FEET], EDGE)
    report = solution.verify()
    assert solution.converged and report.verdict == "PASS", report.reason
    assert report.feet.slip < 5e-5


@pytest.mark.long
def test_a_row_left_out_that_nothing_else_holds_is_refused(monkeypatch):
    """Places are checked whatever is stated."""
    needed = StatedRows((0, 2), (0,))  # the foot may go sideways
    monkeypatch.setattr(
        "trajopt.problem.contacts.contact_rows.stated_rows",
        lambda problem, contact: {0: needed} if contact.frame == "HR_FOOT" else {},
    )
    problem = standing(SOLO, [f"{foot}_FOOT" for foot in FEET])
    assert len(problem.contacts["HR_FOOT"].velocity_units(0)) == 2
    solution = shifted(SOLO, [f"{foot}_FOOT" for foot in FEET], None)
    t = np.array([0.0, solution.duration])
    moved = np.diff(solution.value(trajopt.position("HR_FOOT"), t), axis=0)
    assert np.abs(moved).max() > 2e-4
    report = solution.verify()
    assert report.verdict == "FAIL" and "'HR_FOOT' stands but moves" in report.reason


def test_rows_in_axes_of_the_foot_are_those_of_the_world_turned():
    foot = standing(SOLO, ["FL_FOOT"], CORNERS).contacts["FL_FOOT"]
    foot = replace(foot, stated={0: StatedRows((0, 1, 2, 3, 4, 5), (0, 1, 2))})
    world, own = (
        trajopt.term(name=name)(partial(read, arc=0))
        for name, read in (("world", foot.velocity), ("own", foot.stated_velocity))
    )
    rows = PoseSearch(trajopt.Problem(SOLO, trajopt.Trajectory.collocation(2, 3)), [world, own])
    q = STANDING + np.linspace(-0.3, 0.4, SOLO.n)
    R = dynamics.forward_kinematics(SOLO, q, ["FL_FOOT"]).rotation[0]
    of_world, of_foot = (
        rows.slope(q, np.zeros(SOLO.n), [each.quantity], "v").reshape(2, 3, -1) for each in (world, own)
    )
    np.testing.assert_allclose(of_foot, np.einsum("ji,kjn->kin", R, of_world), atol=1e-12)
