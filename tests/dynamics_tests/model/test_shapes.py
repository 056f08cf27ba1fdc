"""Shapes and scenes: poses, files, and messages for what cannot exist."""

import json

import numpy as np
import pytest

import dynamics
from problems import moves

QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # about z


@pytest.mark.parametrize(
    "rotation", [QUARTER, (0.0, 0.0, np.sin(np.pi / 4), np.cos(np.pi / 4)), (0.0, 0.0, np.pi / 2)]
)
def test_a_rotation_is_a_matrix_a_quaternion_or_a_rotation_vector(rotation):
    np.testing.assert_allclose(dynamics.box((1, 2, 3), rotation=rotation).rotation, QUARTER, atol=1e-15)


def test_a_pose_may_be_a_homogeneous_matrix():
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = QUARTER, (1, 2, 3)
    made = moves.capsule(0.03, 0.1, pose)
    np.testing.assert_array_equal(made.rotation, QUARTER)
    np.testing.assert_array_equal(made.position, (1, 2, 3))
    with pytest.raises(dynamics.ShapeError, match="left out"):
        moves.capsule(0.03, 0.1, pose, rotation=QUARTER)


def test_the_normal_of_a_half_space_is_its_z_axis():
    wall = dynamics.half_space((1.0, 2.0, 2.0), at=(0, 0, 1))
    np.testing.assert_allclose(wall.rotation[:, 2], np.array([1.0, 2.0, 2.0]) / 3.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dynamics.sphere(0.0), "radius is 0.0 m"),
        (lambda: dynamics.box((1.0, -1.0, 1.0), name="table"), "box 'table': y is -1.0"),
        (lambda: dynamics.box((1.0, np.nan, 1.0)), "finite"),
        (lambda: dynamics.half_space((0, 0, 0)), "no direction"),
        (lambda: dynamics.point_cloud(np.zeros((10_000, 3))), "at most 5000"),
        (lambda: dynamics.point_cloud(np.zeros((0, 3))), "at least one point"),
        (lambda: dynamics.Shape("cone", (1.0,)), "one of sphere, capsule"),
        (lambda: dynamics.box((1, 1, 1), rotation=(0, 0, 0, 0)), "quaternion of length 0;"),
        (lambda: dynamics.box((1, 1, 1), rotation=(0, 0, 1, 90)), "quaternion of length 90.0056; give x, y"),
        (lambda: dynamics.box((1, 1, 1), rotation=(180, 0, 0)), "of 180 rad, .* give rad, no degrees"),
    ],
)
def test_what_cannot_exist_is_named(make, message):
    with pytest.raises(dynamics.DynamicsError, match=message):
        make()


def test_a_scene_comes_back_from_its_file(tmp_path):
    scene = moves.Scene(
        [
            moves.box((1, 1, 0.1), (0, 0, 0.5), name="table"),
            moves.sphere(0.1, at=(1, 0, 0)),
            moves.half_space(),
            moves.point_cloud(np.arange(6.0).reshape(2, 3), 0.01, rotation=QUARTER),
        ]
    )
    scene.save(tmp_path / "scene.json")
    again = moves.Scene.load(tmp_path / "scene.json")
    assert again.to_json() == scene.to_json()
    assert again.names == ("table", "sphere 1", "half_space 2", "point_cloud 3")
    np.testing.assert_array_equal(again.shapes[3].points, scene.shapes[3].points)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"kind": "box"}, r"shapes\[0\].*shape \(0,\)"),
        ({"kind": "tube", "size": [1]}, r"shapes\[0\] has the kind 'tube'"),
        ({"kind": "box", "size": [1, 1, 1], "pos": [0, 0, 0]}, "unknown key 'pos'"),
        ({"kind": "box", "size": [1, 1, float("nan")]}, "finite"),
        ([], "an object with kind and size"),
    ],
)
def test_an_entry_that_is_no_shape_is_named(entry, message):
    with pytest.raises(dynamics.JsonError, match=message):
        moves.Scene.from_json(json.dumps({"shapes": [entry]}))


def test_a_scene_has_every_name_once_and_no_shapes_of_robots(tmp_path):
    with pytest.raises(dynamics.ModelError, match="several shapes called wall"):
        moves.Scene([moves.sphere(0.1, name="wall"), moves.sphere(0.2, name="wall")])
    with pytest.raises(dynamics.ModelError, match="belong to the robot"):
        moves.Scene([moves.sphere(0.1, carrier="hand")])
    with pytest.raises(dynamics.JsonError, match="cannot be read"):
        moves.Scene.load(tmp_path / "none.json")


def test_a_scene_without_shapes_says_so(tmp_path):
    moves.Scene().save(tmp_path / "empty.json")
    assert moves.Scene.load(tmp_path / "empty.json").shapes == ()
    (tmp_path / "list.json").write_text("[]")
    assert moves.Scene.load(tmp_path / "list.json").shapes == ()
    for text in ("{}", "null", '{"shapes": 3}'):
        (tmp_path / "wrong.json").write_text(text)
        with pytest.raises(dynamics.JsonError, match=r'wrong\.json.*no scene but .* \{"shapes": \[\]\}'):
            moves.Scene.load(tmp_path / "wrong.json")


def arm():
    joint = dynamics.Joint("shoulder")
    body = dynamics.Body("upper", joint, mass=1.0, centre_of_mass=(0.5, 0, 0), inertia=np.eye(3) * 0.1)
    return dynamics.RigidBodyModel([body], frames=[dynamics.Frame("tip", "upper", position=(1, 0, 0))])


def test_a_model_carries_shapes_on_links_and_frames_and_saves_them():
    shapes = [dynamics.capsule(0.05, 0.8, carrier="upper"), dynamics.sphere(0.1, carrier="tip")]
    model = arm().with_shapes(shapes, [("upper", "tip")])
    again = dynamics.RigidBodyModel.from_json(model.to_json())
    assert again.to_json() == model.to_json()
    assert [shape.carrier for shape in again.shapes] == ["upper", "tip"]
    assert again.allowed_pairs == (("upper", "tip"),)
    assert model.with_gravity((0, 0, 0)).shapes == model.shapes
    assert "shapes" not in arm().to_json()  # files of robots without shapes stay as they are
    with pytest.raises(dynamics.UnknownNameError, match="hand"):
        arm().with_shapes([dynamics.sphere(0.1, carrier="hand")])
    with pytest.raises(dynamics.UnknownNameError, match="hand"):
        arm().with_shapes([], [("upper", "hand")])
