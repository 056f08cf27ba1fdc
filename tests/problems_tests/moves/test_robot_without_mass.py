"""Moves of robots whose files state no masses: all limits but those of torque, paths, hand-over, view."""

import numpy as np
import pytest
from tiers import every
from urdf_text import joint, link, robot

import dynamics
import trajopt
from problems import moves

BALL = '<collision><geometry><sphere radius="0.05"/></geometry></collision>'
PLACE = '<axis xyz="0 1 0"/><origin xyz="0 0 0.3"/>'
SPEEDS = "nothing limits how fast speeds change"
WAYPOINTS = [[0.0, 0.0], [0.4, 0.9], [1.0, 1.0]]


def arm(effort=0):
    limit = f'<limit lower="-2" upper="2" velocity="3" effort="{effort}"/>'
    joints = [joint(f"j{i}", f"l{i}", f"l{i + 1}", content=PLACE + limit) for i in range(2)]
    return robot(*(link(f"l{i}", BALL) for i in range(3)), *joints)


@pytest.fixture
def retimed():
    return moves.retime(dynamics.load_urdf(arm(effort=9)), WAYPOINTS, acceleration=5.0, intervals=100)


@pytest.mark.long
def test_a_path_is_retimed_within_speed_and_acceleration(retimed):
    assert retimed.converged and {line.name for line in retimed.certificate.lines} == {
        "speed",
        "acceleration",
        "position",
    }
    slower = moves.retime(retimed.model, WAYPOINTS, acceleration=5.0, jerk=40.0)
    assert slower.converged and slower.duration > retimed.duration
    assert slower.verify().holds


@pytest.mark.long
def test_points_table_and_view_have_no_torques(retimed, tmp_path):
    points = moves.hand_over(retimed)
    assert points.converged and points.deviation < 1e-2
    points.to_ros(tmp_path / "motion.json")
    for table in (retimed.sample(50.0), points.sample(50.0)):
        assert [name for name in table.columns if name.startswith("tau")] == []
    assert retimed.view(tmp_path / "view.html").size > 0


def test_the_report_says_where_speeds_jump_as_nothing_limits_their_rates():
    """Only a given acceleration bounds the jumps of speed of a robot without masses."""
    model = dynamics.load_urdf(arm())
    given = {"bare": None, "some": 5.0, "half": moves.over_segments([5.0, None])}
    said = {
        name: SPEEDS in str(moves.retime(model, WAYPOINTS, acceleration=each, intervals=10))
        for name, each in given.items()
    }
    assert said == {"bare": True, "some": False, "half": True}


@every("kind", ["acceleration", "jerk"], fast=1)
def test_a_limit_of_a_joint_that_stands_still_keeps_no_speed_from_jumping(kind):
    model = dynamics.load_urdf(arm())
    for limits, jumps in (([np.inf, 50.0], True), ([50.0, np.inf], False)):
        motion = moves.retime(model, [[0.0, 0.0], [0.4, 0.0], [1.0, 0.0]], intervals=10, **{kind: limits})
        assert (SPEEDS in str(motion)) == jumps


def test_torques_are_refused_with_what_to_do(retimed):
    limited = r"a limit of torque needs masses, .*masses=\{'l2'.*limits\(torque=None\)"
    with pytest.raises(dynamics.InertiaError, match=limited):
        moves.retime(retimed.model, WAYPOINTS, torque=5.0)
    with pytest.raises(dynamics.InertiaError, match="inverse dynamics needs masses"):
        retimed.tau(0.1)
    problem = trajopt.Problem(retimed.model, trajopt.Trajectory.uniform(5, 4, 1.0))
    with pytest.raises(dynamics.InertiaError, match="the quantity 'tau' needs masses"):
        problem.minimize(trajopt.tau)


@pytest.mark.long
def test_a_problem_of_it_has_no_limits_of_torque_and_its_solution_is_handed_over():
    model = dynamics.load_urdf(arm(effort=9))
    problem = trajopt.Problem(model, trajopt.Trajectory.uniform(8, 4))
    problem.start_at(q=[0.0, 0.0], v=0.0)
    problem.end_at(q=[1.0, 1.0], v=0.0)
    problem.subject_to_joint_limits()
    problem.subject_to(trajopt.a, -5.0, 5.0)
    problem.minimize(trajopt.duration)
    assert [limit.name for limit in problem.constraints if "torque" in limit.name] == []
    solution = trajopt.solve(problem)
    report = solution.verify()
    assert report.verdict == "PASS" and report.simulation is None
    points = moves.hand_over(solution)
    assert points.converged and "torque" not in {line.name for line in points.certificate.lines}


def test_with_masses_the_efforts_of_the_file_hold():
    model = dynamics.load_urdf(arm(effort=9), masses={"l1": 1.0, "l2": 0.5})
    motion = moves.retime(model, WAYPOINTS, acceleration=50.0)
    assert motion.converged and any(line.name == "torque" for line in motion.certificate.lines)


@pytest.mark.long
def test_a_task_with_a_carried_body_and_a_clearance_is_solved_and_saved(tmp_path):
    task = moves.Task(
        moves.robot(arm(effort=9), shapes="fit"), moves.Scene([moves.sphere(0.05, (0.6, 0, 0.8))])
    )
    with pytest.raises(dynamics.InertiaError, match=r"limits\(torque=None\)"):
        task.limits(torque=9.0)
    task.limits(acceleration=8.0, torque=None)
    task.start(q=[0.0, 0.0])
    task.to(q=[0.3, 0.4])
    task.attach("part", "l2", mass=0.2, shape=moves.sphere(0.06))
    task.to(q=[1.2, 1.4])
    motion = task.solve()
    assert motion.converged and "tau j0" not in motion.sample(20.0).columns
    motion.save(tmp_path / "motion.npz")
    assert moves.load_motion(tmp_path / "motion.npz").duration == pytest.approx(motion.duration, rel=1e-12)
    assert motion.solution.verify().verdict == "PASS"


@pytest.mark.long
def test_a_task_without_limits_of_acceleration_and_torque_says_so():
    """With them its accelerations are those that the mesh allows."""
    for given in ({}, {"acceleration": 5.0}):
        task = moves.Task(moves.robot(arm()))
        task.limits(**given)
        task.start(q=[0.0, 0.0])
        task.to(q=[1.0, 0.5])
        assert (SPEEDS in str(task.solve())) == (not given)
