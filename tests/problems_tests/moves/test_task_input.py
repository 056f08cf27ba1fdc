"""Refusals of `moves.Task` and `moves.robot` where a line is written, by goal, frame or joint."""

from importlib.resources import files

import numpy as np
import pytest
from tiers import every

import dynamics
from problems import identification, moves
from trajopt.base import errors

SOURCE = (files("problems") / "robots" / "ur5.urdf").read_text(encoding="utf-8")
HOME = [0.0, -1.2, 1.4, -1.8, -1.57, 0.0]
TOOL = "tool0"


def started():
    task = moves.Task(moves.robot(SOURCE))
    task.start(q=HOME)
    return task


BAD = [
    (
        lambda t: t.to("tool", position=(0, 0, 1)),
        errors.UnknownNameError,
        "no frame 'tool'.*mean 'tool0'",
    ),
    (lambda t: t.to(TOOL), errors.OptionError, "goal 1: frame 'tool0' is given without"),
    (lambda t: t.to(), errors.OptionError, "goal 1 says nothing"),
    (lambda t: t.to(position=(0, 0, 1)), errors.OptionError, "give the frame first"),
    (lambda t: t.to(TOOL, position=(0, 1)), errors.ShapeError, "goal 1: position is .*give x, y and z"),
    (lambda t: t.to(TOOL, position=(0, np.nan, 1)), errors.ShapeError, "goal 1: position"),
    (lambda t: t.to(TOOL, rotation=np.ones((2, 2))), dynamics.ShapeError, "goal 1: rotation"),
    (lambda t: t.to(TOOL, rotation=np.ones((3, 3))), dynamics.JointError, "goal 1: rotation"),
    (lambda t: t.to(TOOL, rotation=[0, 0, 0, 0]), dynamics.ShapeError, "goal 1: rotation"),
    (lambda t: t.to(TOOL, position=(0, 0, 1), tolerance=-1), errors.OptionError, "goal 1: tolerance"),
    (lambda t: t.to(TOOL, rotation=[0, 0, 1], tolerance=(0, 4)), errors.OptionError, "allows all turns"),
    (lambda t: t.to(q=[0.0] * 5), errors.ShapeError, "goal 1: q has 5 values: the robot has 6 joints"),
    (lambda t: t.to(q={"elbow": 1.0}), errors.UnknownNameError, "did you mean 'elbow_joint'"),
    (lambda t: t.to(q={"elbow_joint": 9.0}), errors.InfeasibleBoundsError, "'elbow_joint' is 9, beyond"),
    (lambda t: t.to(q=["a"] * 6), errors.ShapeError, "goal 1: q"),
    (lambda t: t.start(q=HOME), errors.OptionError, "has a start already"),
    (lambda t: t.line(TOOL, position=(0, 0, 1), distance=0.0), errors.OptionError, "distance"),
    (lambda t: t.keep(TOOL, axis=(0, 0, 0)), errors.OptionError, "keep 1: axis is zero"),
    (lambda t: t.keep(TOOL, tolerance=0.0), errors.OptionError, "keep 1: tolerance"),
    (lambda t: t.attach("cup", TOOL, mass=-1.0), errors.OptionError, "the mass of 'cup'"),
    (
        lambda t: t.attach("cup", TOOL, mass=1.0, inertia=-np.eye(3)),
        dynamics.InertiaError,
        "the inertia of 'cup'",
    ),
    (
        lambda t: t.attach("cup", TOOL, mass=1.0, inertia=np.diag([1.0, 1.0, 3.0])),
        dynamics.InertiaError,
        "the inertia of 'cup'",
    ),
    (
        lambda t: t.attach("cup", TOOL, mass=1.0, inertia=np.full((3, 3), np.nan)),
        dynamics.DynamicsError,
        "the inertia of 'cup'",
    ),
    (lambda t: t.attach("cup", "hand", mass=1.0), errors.UnknownNameError, "no frame 'hand'"),
    (lambda t: t.detach("cup"), errors.UnknownNameError, "'cup' is not attached: nothing is"),
    (lambda t: t.limits(jerk=-1.0), errors.OptionError, "jerk of joint 'shoulder_pan_joint' is -1"),
    (lambda t: t.limits(tool_speed=0.0), errors.OptionError, "tool_speed"),
    (lambda t: t.solve(), errors.OptionError, "no start or no goal"),
]


@every("call, error, message", BAD)
def test_bad_input_is_named_where_it_is_written(call, error, message):
    with pytest.raises(error, match=message):
        call(started())


def test_goals_need_a_start_and_a_task_a_robot():
    with pytest.raises(errors.OptionError, match="no start: call start"):
        moves.Task(moves.robot(SOURCE)).to(q=HOME)
    with pytest.raises(errors.OptionError, match="the robot is 'ur5'"):
        moves.Task("ur5")


def test_an_unreachable_pose_is_refused_with_the_nearest_one():
    task = started()
    task.to(TOOL, position=(2.0, 0.0, 0.0), name="shelf")
    with pytest.raises(errors.InfeasibleBoundsError, match=r"shelf: frame 'tool0' cannot.*misses it by 1\.0"):
        task.solve()


def test_a_load_that_the_motors_cannot_hold_is_refused_by_the_joint():
    task = started()
    task.attach("anvil", TOOL, mass=40.0)
    task.to(TOOL, position=(0.8, 0.0, 0.3))
    with pytest.raises(errors.InfeasibleBoundsError, match=r"start: joint 'shoulder_lift.*'anvil'"):
        task.solve()


def test_a_task_ends_at_rest():
    task = started()
    task.via(TOOL, position=(0.5, 0.0, 0.4))
    with pytest.raises(errors.OptionError, match="ends at 'via 1', which is passed"):
        task.solve()


def test_lines_and_axes_need_to_know_where_they_begin():
    task = started()
    task.to(TOOL, position=(0.5, None, 0.4))
    with pytest.raises(errors.OptionError, match="line 2: it is not known where 'tool0' starts"):
        task.line(TOOL, position=(0.5, 0.2, 0.4))
    with pytest.raises(errors.OptionError, match="keep 1: it is not known where the axis"):
        task.keep(TOOL)
    task.to(TOOL, position=(0.5, 0.0, 0.4))
    with pytest.raises(errors.OptionError, match="not farther apart"):
        task.line(TOOL, position=(0.5, 0.0, 0.4))
    with pytest.raises(errors.OptionError, match="lie on one line"):
        task.line(TOOL, position=(0.5, 0.4, 0.4), through=(0.5, 0.2, 0.4))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (dict(locked={"elbow": 0.0}), errors.UnknownNameError, "did you mean 'elbow_joint'"),
        (
            dict(locked={"elbow_joint": 9.0}),
            errors.InfeasibleBoundsError,
            "at 9, .* 9 degrees are 0.1571",
        ),
        (dict(locked=["elbow_joint"]), errors.OptionError, "give a dictionary"),
        (dict(base=(0.0, 1.0)), dynamics.ShapeError, "the base's"),
    ],
)
def test_robots_that_cannot_be_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        moves.robot(SOURCE, **options)


@pytest.mark.parametrize(
    ("paths", "error"),
    [([[[0.0] * 5] * 3], errors.ShapeError), ([[[np.nan] * 6] * 3], errors.NotFiniteError)],
)
def test_paths_that_are_none_are_refused(paths, error):
    task = started()
    task.to(q=[0.1, -1.2, 1.4, -1.8, -1.57, 0.0])
    with pytest.raises(error, match="path 0"):
        task.solve(paths=paths)


def test_degrees_and_millimetres_are_told_where_the_values_look_like_them():
    task = moves.Task(moves.robot(SOURCE))
    with pytest.raises(errors.InfeasibleBoundsError, match=r"is -70, .* rad, and -70 degrees are -1\.222$"):
        task.start(q=[0, -70, 80, -100, -90, 0])
    with pytest.raises(errors.InfeasibleBoundsError, match=r"'elbow_joint' is 4, .* to 3\.14159$"):
        task.start(q=[0.0, -1.2, 4.0, -1.8, -1.57, 0.0])
    for metres, told in ((0.5, False), (5.0, False), (500.0, True)):
        task = started()
        task.to(TOOL, position=(metres, 0.0, 2.0 * metres))
        with pytest.raises(errors.InfeasibleBoundsError) as caught:
            task.solve()
        assert str(caught.value).endswith("lengths are in m, 500 mm are 0.5") == told


def test_degrees_are_told_of_joints_that_turn_behind_one_that_mimics():
    """The second coordinate is that of the third joint: told of the second, millimetres were degrees."""
    mimic = '<mimic joint="shoulder_pan_joint"/>\n  <parent link="shoulder_link" />'
    text = SOURCE.replace('<parent link="shoulder_link" />', mimic, 1)
    text = text.replace('elbow_joint" type="revolute"', 'elbow_joint" type="prismatic"')
    task = moves.Task(moves.robot(text))
    with pytest.raises(errors.InfeasibleBoundsError, match=r"'elbow_joint' is 9, .* to 3\.14159$"):
        task.start(q=[0.0, 9.0, 0.0, 0.0, 0.0])
    with pytest.raises(errors.InfeasibleBoundsError, match=r"start: joint 'elbow_joint' .* to 3\.14159$"):
        identification.excite(task.robot.model, start=[0.0, 9.0, 0.0, 0.0, 0.0], duration=2.0)
