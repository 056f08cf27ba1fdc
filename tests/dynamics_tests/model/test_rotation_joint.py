"""Ball and free joints as parts of a model: how they are made, kept, changed and refused."""

from dataclasses import replace

import numpy as np
import pytest
from random_trees import floating_tree, random_rotation

import dynamics
from dynamics import Body, Joint, JointError, ModelError, RigidBodyModel, Rotor, TreeError, UnknownNameError
from dynamics.papers.trees.linkage import linkage_of

INERTIA = np.diag([0.1, 0.2, 0.25])
TURN = random_rotation(np.random.default_rng(3))


def brick(name="brick", **joint):
    return Body(name, Joint("base", **joint), None, 2.0, (0.1, 0.0, 0.0), INERTIA)


def test_a_free_joint_is_three_slides_and_a_rotation_vector_on_links_without_mass():
    model = RigidBodyModel(dynamics.free_joint(brick(), TURN))
    assert model.joint_names == ("base_x", "base_y", "base_z", "base_rx", "base_ry", "base_rz")
    assert model.link_names == (*model.joint_names[:5], "brick")
    (joint,) = model.rotation_joints
    assert (joint.link, joint.coordinates) == ("brick", slice(3, 6))
    np.testing.assert_array_equal(joint.centre, TURN)
    q = np.array([0.1, 0.2, 0.3, 0.0, 0.0, 0.0])
    poses = dynamics.forward_kinematics(model, q, ["brick"])
    np.testing.assert_allclose(poses.position[0], q[:3], atol=1e-15)
    np.testing.assert_allclose(poses.rotation[0], TURN, atol=1e-15)


def test_a_ball_joint_stands_where_the_joint_of_its_link_does():
    placed = {"rotation": TURN, "position": (0.1, 0.2, 0.3)}
    model = RigidBodyModel(dynamics.ball_joint(brick(**placed)))
    pose = dynamics.forward_kinematics(model, np.zeros(3))
    assert model.n == 3
    np.testing.assert_allclose(pose.rotation, [TURN] * 3, atol=1e-15)
    np.testing.assert_allclose(pose.position, [placed["position"]] * 3, atol=1e-15)


def test_a_model_keeps_its_centres_in_text_and_copies():
    model = floating_tree(1)
    again = RigidBodyModel.from_json(model.to_json())
    assert again.to_json() == model.to_json() and '"centre"' in model.to_json()
    assert '"centre"' not in RigidBodyModel([brick()]).to_json()
    for copy in (again, model.with_gravity((0, 0, 0)), model.with_properties({"trunk.mass": 9.0})):
        for one, other in zip(copy.rotation_joints, model.rotation_joints, strict=True):
            np.testing.assert_array_equal(one.centre, other.centre)


def test_other_centres_make_another_model():
    model = floating_tree(1)
    other = model.with_centres({"trunk": TURN})
    assert type(other) is RigidBodyModel
    np.testing.assert_array_equal(other.rotation_joints[0].centre, TURN)
    np.testing.assert_array_equal(other.rotation_joints[1].centre, model.rotation_joints[1].centre)
    with pytest.raises(UnknownNameError, match=r"no rotation vector turns a link 'palm'.* trunk, arm"):
        model.with_centres({"palm": TURN})
    with pytest.raises(ModelError, match="give a dictionary"):
        model.with_centres([TURN])
    with pytest.raises(JointError, match="centre of link 'trunk' is not a rotation"):
        model.with_centres({"trunk": 2.0 * TURN})


def test_the_table_names_the_kind_of_its_joints():
    assert str(floating_tree(1)).count("rotation_vector") == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axis": (1.0, 1.0, 0.0)}, "a component of a rotation vector is x, y or z"),
        ({"ratio": 2.0}, "has no mimic, ratio, offset or rotor"),
        ({"mimics": "other"}, "has no mimic, ratio, offset or rotor"),
        ({"rotor": Rotor(5.0)}, "has no mimic, ratio, offset or rotor"),
        ({"damping": 1.0}, "has no friction, damping or spring"),
        ({"stiffness": 1.0}, "has no friction, damping or spring"),
        ({"centre": TURN}, "only the first joint of a rotation vector has one"),
        ({"axis": (1.0, 0.0, 0.0), "centre": np.ones((3, 3))}, "centre is not a rotation"),
        ({"kind": "revolute", "centre": TURN}, "only the first joint of a rotation vector has one"),
    ],
)
def test_what_a_component_of_a_rotation_vector_cannot_have_is_refused(options, message):
    with pytest.raises(JointError, match=message):
        Joint("j", **{"kind": "rotation_vector", **options})


def test_joints_of_a_rotation_vector_come_in_threes():
    x, y, z = dynamics.ball_joint(brick())
    with pytest.raises(TreeError, match="'base_x' of a rotation vector is not followed by the two others"):
        RigidBodyModel([x, replace(z, parent="base_x")])
    with pytest.raises(TreeError, match="'base_z' of a rotation vector is not followed"):
        RigidBodyModel([replace(z, parent=None)])
    with pytest.raises(TreeError, match="'base_x' must have no mass and carry link 'base_y' alone"):
        RigidBodyModel([replace(x, mass=1.0), y, z])
    extra = Body("extra", Joint("extra"), "base_y", 1.0, (0.1, 0.0, 0.0), INERTIA)
    with pytest.raises(TreeError, match="'base_y' must have no mass and carry link 'brick' alone"):
        RigidBodyModel([x, y, z, extra])
    moved = replace(y, joint=replace(y.joint, position=(0.1, 0.0, 0.0)))
    with pytest.raises(TreeError, match="'base_y' must have no rotation and position of its own"):
        RigidBodyModel([x, moved, z])


@pytest.mark.parametrize("make", [dynamics.ball_joint, dynamics.free_joint])
def test_a_joint_is_made_of_a_link(make):
    with pytest.raises(ModelError, match="give a Body"):
        make(Joint("j"))


def test_algorithms_of_papers_refuse_rotation_vectors():
    with pytest.raises(JointError, match="takes revolute and prismatic joints alone"):
        linkage_of(floating_tree(1))


def test_a_frame_on_a_link_without_mass_is_one_of_the_link_that_is_turned():
    bodies = dynamics.ball_joint(brick())
    frames = [
        dynamics.Frame(name, body, TURN, (0.1, 0.2, 0.3)) for name, body in (("a", "base_x"), ("b", "brick"))
    ]
    model = RigidBodyModel(bodies, frames=frames)
    pose = dynamics.forward_kinematics(model, np.array([0.3, -0.4, 1.0]), ["a", "b"])
    np.testing.assert_array_equal(pose.rotation[0], pose.rotation[1])
    np.testing.assert_array_equal(pose.position[0], pose.position[1])
