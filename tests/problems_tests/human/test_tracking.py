"""Measured angles count by the signs and zeros of the model that they belong to."""

import numpy as np
import pytest

import dynamics
import trajopt
from problems import gait
from problems.human.assessment.outputs import draw
from problems.human.body.model import ACTIVE, skeleton
from problems.human.body.own_model import matched_coordinates, own_skeleton
from problems.human.body.person import Person
from problems.human.motions.names import opensim_names, write_names
from problems.human.motions.tracking import track_motion
from problems.human.opensim.osim_model import osim_model
from problems.human.opensim.storage import Storage, read_storage, write_storage
from trajopt.base.errors import ProblemError

NAMES = opensim_names()
T = np.linspace(2.0, 2.5, 6)


def model_file(path, turned):
    """Our skeleton as a file in which these coordinates count the other way."""
    document = osim_model(skeleton(), 1.0)
    for axis in document.iter("TransformAxis"):
        if axis.findtext("coordinates") in turned:
            place = axis.find("axis")
            place.text = " ".join(str(-float(each)) for each in place.text.split())
    for coordinate in document.iter("Coordinate"):
        if coordinate.get("name") in turned:
            ends = coordinate.find("range")
            ends.text = " ".join(str(-float(each)) for each in reversed(ends.text.split()))
    document.write(path, encoding="utf-8", xml_declaration=True)
    return str(path)


@pytest.fixture(scope="module")
def turned_model(tmp_path_factory):
    """All joints of a walk but pelvis and back turned round."""
    return model_file(tmp_path_factory.mktemp("model") / "turned.osim", {each.column for each in NAMES})


def measured_file(path, sign):
    """A motion of all coordinates, times a sign, in degrees, and the angles (6,) of our joints."""
    progress = (T - T[0]) / (T[-1] - T[0])
    ours = {each.joint: 0.2 + 0.1 * progress + 0.01 * i for i, each in enumerate(NAMES)}
    columns = {each.column: sign * np.rad2deg(each.sign * (ours[each.joint] - each.zero)) for each in NAMES}
    write_storage(path, Storage("Coordinates", T, columns, in_degrees=True))
    return str(path), ours


def problem_of(robot):
    return trajopt.Problem(robot, trajopt.Trajectory.uniform(4, duration=1.0))


def check_targets(problem, tracked, ours):
    values = problem.datasets["measured angles"].values
    assert len(tracked) > 20
    for name, found in zip(tracked, values.T, strict=True):
        np.testing.assert_allclose(found, ours[name], atol=1e-9, err_msg=name)


def seen_from_pelvis(robot, q):
    """(3, 3, 4) places and axes of feet, toes and a hand in axes of the pelvis."""
    found = dynamics.forward_kinematics(robot, q, ["pelvis", "hindfoot_r", "toes_r", "hand_l"])
    away = (found.position[1:] - found.position[0])[:, :, None]
    return np.concatenate([found.rotation[0].T @ away, found.rotation[0].T @ found.rotation[1:]], axis=2)


@pytest.mark.long
def test_angles_count_by_the_signs_of_the_model_that_walks(turned_model, tmp_path):
    """Then the robot of the file, in our joints, takes the pose that the file's own coordinates say."""
    file, ours = measured_file(tmp_path / "m.mot", -1.0)
    own = own_skeleton(turned_model, Person())
    problem = problem_of(own)
    tracked = track_motion(problem, file, model=turned_model)
    check_targets(problem, tracked, ours)
    plain = dynamics.load_osim(turned_model)
    names, q = list(plain.robot.joint_names), plain.default_pose.copy()
    q_own = np.zeros(own.n)
    for each in NAMES:
        if each.joint in tracked:
            q[names.index(each.column)] = -each.sign * (ours[each.joint][0] - each.zero)
            q_own[own.joint_names.index(each.joint)] = ours[each.joint][0]
    np.testing.assert_allclose(seen_from_pelvis(own, q_own), seen_from_pelvis(plain.robot, q), atol=1e-9)


@pytest.mark.long
def test_our_skeleton_tracks_angles_of_another_model(turned_model, tmp_path):
    file, ours = measured_file(tmp_path / "m.mot", -1.0)
    problem = problem_of(skeleton(moving=ACTIVE))
    check_targets(problem, track_motion(problem, file, model=turned_model), ours)


def test_a_table_of_names_comes_before_the_signs_of_a_model(turned_model, tmp_path):
    file, ours = measured_file(tmp_path / "m.mot", 1.0)
    write_names(tmp_path / "names.csv")
    problem = problem_of(skeleton(moving=ACTIVE))
    tracked = track_motion(problem, file, names=str(tmp_path / "names.csv"), model=turned_model)
    check_targets(problem, tracked, ours)


def test_columns_that_a_walk_does_not_read_may_have_any_unit(tmp_path):
    """OpenSim writes coordinates that follow others in degrees into files of radians."""
    progress = np.linspace(0.0, 1.0, len(T))
    columns = {"knee_angle_r": 0.3 + progress, "knee_angle_r_beta": np.rad2deg(0.3 + progress)}
    file = str(tmp_path / "radians.sto")
    write_storage(file, Storage("Coordinates", T, columns, in_degrees=False))
    assert track_motion(problem_of(skeleton(moving=ACTIVE)), file) == ("knee_r_flex",)


def test_angles_that_a_joint_cannot_have_are_refused_where_no_model_is_given(tmp_path):
    knee = np.array([-60.0, -40.0, -30.0, -20.0, -10.0, -5.0])
    columns = {"hip_flexion_r": 20.0 + 0.0 * T, "knee_angle_r": knee}
    file = tmp_path / "m.mot"
    write_storage(file, Storage("Coordinates", T, columns, in_degrees=True))
    with pytest.raises(ProblemError, match=r"'knee_r_flex' would go from -60 to -5 degrees.*track_model"):
        track_motion(problem_of(skeleton(moving=ACTIVE)), str(file))
    columns["knee_angle_r"] = np.where(knee > -15.0, knee, -knee)  # stretched beyond straight for a while
    write_storage(file, Storage("Coordinates", T, columns, in_degrees=True))
    problem = problem_of(skeleton(moving=ACTIVE))
    assert set(track_motion(problem, str(file))) == {"hip_r_flex", "knee_r_flex"}


@pytest.mark.long
def test_zeros_turn_with_the_way_a_coordinate_counts(turned_model):
    found = matched_coordinates(dynamics.load_osim(turned_model))
    for each in NAMES:
        if each.column in found:
            own = found[each.column]
            assert (own.sign, own.zero) == (-each.sign, pytest.approx(each.sign * each.zero)), each


@pytest.mark.long
def test_a_walk_of_a_model_is_written_in_its_signs_and_read_again(turned_model, tmp_path):
    """The targets of a walk that tracks the first step of the file are the angles of the walk."""
    problem = gait.build(model=turned_model, intervals=1)
    walk = trajopt.solve(problem, trajopt.Ipopt(max_iterations=1), refine=None, progress="silent")
    assert draw(walk, tmp_path, "png") == ["coordinates.mot"]
    file, step = str(tmp_path / "coordinates.mot"), (0.0, walk.duration)
    again = gait.build(model=turned_model, intervals=1, track=file, track_window=step)
    progress = np.linspace(0.0, 1.0, 11)
    targets, joints = again.datasets["measured angles"], again.dynamics.joint_names
    named = [each.joint for each in NAMES if each.joint in joints]
    found = np.stack([np.interp(progress, targets.times, column) for column in targets.values.T], axis=1)
    expected = walk.q(progress * walk.duration)[:, [joints.index(name) for name in named]]
    assert np.abs(found - expected).max() < np.deg2rad(0.1)
    plain, columns = dynamics.load_osim(turned_model), read_storage(file).columns
    assert set(columns) == set(plain.robot.joint_names)
    assert columns["knee_angle_r"].min() < -30.0  # bent, as the file counts extension
