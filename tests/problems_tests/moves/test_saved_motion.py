"""Saved motions of tasks: what is read is what was solved, and what was changed in the file is seen."""

import json
from dataclasses import replace

import numpy as np
import pytest

import trajopt
from problems import double_integrator, moves, urdf_arm
from problems.moves.spline_limits import joined
from trajopt.base import errors

HOME = [0.0, -1.2, 1.4, -1.8, -1.57, 0.0]
BALL = moves.sphere(0.03)
FLOOR = moves.Scene([moves.half_space(at=(0.0, 0.0, -0.3), name="floor")])


@pytest.fixture(scope="module")
def solved():
    robot = moves.robot(urdf_arm.source("ur5"), shapes=[moves.sphere(0.05, carrier="wrist_3_link")])
    task = moves.Task(robot.with_tool("tip", "tool0", (0.0, 0.0, 0.1)), FLOOR)
    task.start(q=HOME)
    task.via("tip", position=(0.5, 0.1, 0.5))
    task.to("tip", position=(0.5, 0.2, 0.4))
    task.attach("ball", "tip", mass=2.0, shape=BALL)
    task.to(q=HOME)
    task.limits(acceleration=10.0, jerk=300.0, tool_speed=1.5)
    return task.solve(intervals=6)


@pytest.fixture(scope="module")
def file(solved, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "motion.npz"
    solved.save(path)
    return path


def altered(file, tmp_path, change):
    """The file with other arrays."""
    with np.load(file) as content:
        arrays = dict(content)
    change(arrays)
    np.savez(tmp_path / "altered.npz", **arrays)
    return tmp_path / "altered.npz"


@pytest.mark.long
def test_a_motion_is_read_bit_for_bit_with_its_task(solved, file):
    read = moves.load_motion(file)
    t = np.linspace(0.0, solved.duration, 301)
    assert read.duration == solved.duration and read.converged
    for curve in ("q", "v", "a", "jerk", "tau"):
        assert np.array_equal(getattr(read, curve)(t), getattr(solved, curve)(t)), curve
    assert str(read.certificate) == str(solved.certificate)
    assert read.task.scene.names == ("floor",) and set(read.task.tool_speed) == {1.5}
    assert [len(model.shapes) for model in read.loaded] == [1, 1, 2]


@pytest.mark.long
def test_the_file_is_a_solution_whose_problem_is_stated_again(solved, file):
    solution = trajopt.PhasesSolution.load(file)
    assert [part.problem.name for part in solution.phases] == ["to goal 2", "to goal 3"]
    assert solution.duration == pytest.approx(solved.duration, rel=0.02)


@pytest.mark.long
def test_a_replay_carries_the_load_from_where_it_is_picked_up(solved, file, monkeypatch):
    pytest.importorskip("mujoco")
    from dynamics.formats.mujoco import mujoco_writer

    simulated, written = [], mujoco_writer.mjcf_of
    monkeypatch.setattr(mujoco_writer, "mjcf_of", lambda model: simulated.append(model) or written(model))
    found = moves.replay(moves.load_motion(file), step=2e-3)
    bare, loaded = (sum(body.mass for body in model.bodies) for model in simulated)
    assert loaded - bare == pytest.approx(2.0)
    for run in found.runs.values():
        assert np.all(np.diff(run.times) > 0.0) and run.times[-1] == pytest.approx(solved.duration)
    assert found.runs["RK4", "PD"].largest_deviation < 1e-6


@pytest.mark.long
def test_arcs_meet_whatever_the_solver_left_between_them(solved):
    """The solver meets equations between arcs within a tolerance, a motion as rounding allows."""
    left = solved.solution.phases[0].curve
    border, aside = float(left.starts[1]), 1e-12
    jump = np.abs(solved.a(border + aside) - solved.a(border - aside)).max()
    assert jump < 1e-7
    moved = [np.array(points) for points in left.control_points]
    moved[1] = moved[1] + 1e-3  # rad: a jump of positions
    curve = joined(replace(left, control_points=tuple(moved)))
    for order in range(3):
        sides = [curve(border + way * 1e-13, order) for way in (-1.0, 1.0)]
        assert np.allclose(*sides, atol=1e-6 * 10.0**order)


@pytest.mark.long
def test_what_is_changed_in_a_file_is_seen(file, tmp_path):
    def leave(arrays):
        arrays["phase_1_control_points_0"][-4:, 1] += 0.05

    assert not moves.load_motion(altered(file, tmp_path, leave)).verify().holds

    def other(arrays):
        header = json.loads(str(arrays["header"]))
        header["recipe"]["parameters"]["statement"]["steps"][1] = {"detach": {"name": "ball"}}
        arrays["header"] = np.array(json.dumps(header))

    with pytest.raises(errors.SolutionFileError, match=r"steps\[1\]: 'ball' is not attached"):
        moves.load_motion(altered(file, tmp_path, other))


@pytest.mark.long
def test_a_damaged_task_is_named_whatever_refuses_it(file, tmp_path):
    """The robot is refused by `dynamics`, poses with lists in place of numbers by `moves`."""

    def mass(statement):
        statement["robot"]["model"]["bodies"][0]["mass"] = -1.0

    def pose(statement):
        statement["steps"][0]["start"]["q"][0] = []

    def turn(statement):
        statement["scene"]["shapes"][0]["rotation"][1] = [1.0]

    for damage, said in (
        (mass, "robot: .*mass is"),
        (pose, r"steps\[0\]: .*value \[\]"),
        (turn, "scene: .*rotation is"),
    ):
        with pytest.raises(errors.SolutionFileError, match=f"the task of 'task' cannot be read: .*{said}"):
            moves.load_motion(restated(file, tmp_path, damage))


@pytest.mark.long
def test_names_of_a_file_send_no_codes_to_a_terminal(file, tmp_path):
    def rename(statement):
        statement["scene"]["shapes"][0]["name"] = "\x1b[2Jfloor"

    text = str(moves.load_motion(restated(file, tmp_path, rename)).certificate)
    assert "\x1b" not in text and r"\x1b[2Jfloor" in text


def restated(file, tmp_path, change):
    """The file with another task."""

    def restate(arrays):
        header = json.loads(str(arrays["header"]))
        change(header["recipe"]["parameters"]["statement"])
        arrays["header"] = np.array(json.dumps(header))

    return altered(file, tmp_path, restate)


def test_a_solution_of_something_else_is_named(tmp_path):
    solution = trajopt.solve(double_integrator.build())
    solution.save(tmp_path / "other.npz")
    with pytest.raises(errors.SolutionFileError, match="which is no motion of a task"):
        moves.load_motion(tmp_path / "other.npz")
