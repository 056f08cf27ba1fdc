"""Forces in joints: statics of an arm written out, both bodies and all axes, and what is refused."""

import numpy as np
import pytest
from muscle_arms import arm

import dynamics
from dynamics.muscles.geometry_path import GeometryPath, PathPoint
from dynamics.muscles.joint_reactions import BodyJoint, JointEnd, joint_reactions
from dynamics.muscles.muscle_paths import MusclePaths

ELBOW = np.array([0.3, 0.0, 0.0])
TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # of the axes of the forearm's body
JOINT = BodyJoint(
    "elbow", JointEnd("upper", "upper", np.eye(3), ELBOW), JointEnd("fore", "fore", TURN, np.zeros(3))
)
Q, STILL = np.array([[0.4, 0.7]]), np.zeros((1, 2))


def muscle():
    ends = PathPoint("upper", (0.1, 0.04, 0.01)), PathPoint("fore", (0.06, 0.02, 0.0))
    return MusclePaths(arm(), (GeometryPath("flexor", ends),))


def test_an_elbow_at_rest_carries_the_weight_and_the_muscle():
    robot, tension = arm(), 80.0
    poses = robot.forward_kinematics(Q[0], ["upper", "fore"])
    one, other = (
        poses.position[i] + poses.rotation[i] @ point.position
        for i, point in enumerate(muscle().paths[0].points)
    )
    pull = tension * (one - other) / np.linalg.norm(one - other)
    elbow, weight = poses.position[1], robot.bodies[1].mass * robot.gravity
    centre = elbow + poses.rotation[1] @ robot.bodies[1].centre_of_mass
    force = -pull - weight
    moment = -np.cross(other - elbow, pull) - np.cross(centre - elbow, weight)
    found = joint_reactions(robot, [JOINT], Q, STILL, STILL, muscle(), [[tension]])[0, 0]
    assert found == pytest.approx(np.concatenate([moment, force]), abs=1e-12)
    back = joint_reactions(robot, [JOINT], Q, STILL, STILL, muscle(), [[tension]], on="parent")[0, 0]
    assert back == pytest.approx(-found, abs=1e-12)  # the joint is at one place on both bodies


def test_a_muscle_that_balances_the_joint_leaves_it_no_torque():
    robot = arm().with_gravity((0.0, -9.81, 0.0))
    needed = robot.inverse_dynamics(Q[0], *np.zeros((2, 2)))[1]
    tension = needed / muscle().moment_arms(Q[0])[0, 1]
    found = joint_reactions(robot, [JOINT], Q, STILL, STILL, MusclePaths(robot, muscle().paths), [[tension]])
    assert found[0, 0, 2] == pytest.approx(0.0, abs=1e-12)


def test_axes_are_those_of_the_bodies():
    robot = arm()
    rotation = robot.forward_kinematics(Q, ["upper", "fore"]).rotation[0]
    ground = joint_reactions(robot, [JOINT], Q, STILL, STILL)[0, 0].reshape(2, 3)
    for axes, turn in (("parent", rotation[0]), ("child", rotation[1] @ TURN)):
        found = joint_reactions(robot, [JOINT], Q, STILL, STILL, axes=axes)[0, 0]
        assert found.reshape(2, 3) == pytest.approx(ground @ turn, abs=1e-12)


def test_a_load_on_the_forearm_passes_the_elbow():
    load = np.array([0.0, 0.0, 1.0, 5.0, 0.0, 0.0])
    with_load, without = (
        joint_reactions(arm(), [JOINT], Q, STILL, STILL, loads=loads)[0, 0] for loads in ({"fore": load}, {})
    )
    assert (without - with_load)[3:] == pytest.approx(load[3:], abs=1e-12)


def test_tensions_and_axes_that_do_not_exist_are_refused():
    with pytest.raises(dynamics.ShapeError, match=r"\(1, 1\) is expected, a column for each of flexor"):
        joint_reactions(arm(), [JOINT], Q, STILL, STILL, muscle(), [[1.0, 2.0]])
    with pytest.raises(dynamics.MuscleError, match="tensions need the paths of muscles"):
        joint_reactions(arm(), [JOINT], Q, STILL, STILL, tensions=[[1.0]])
    with pytest.raises(dynamics.UnknownNameError, match="on is 'hand' and axes 'ground'"):
        joint_reactions(arm(), [JOINT], Q, STILL, STILL, on="hand")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("shape", [(4, 3), (5, 3), (2, 2, 2)])
def test_a_motion_of_another_number_of_coordinates_is_refused(shape):
    motion = np.zeros(shape)
    with pytest.raises(dynamics.ShapeError, match=r"q has shape .*; \(K, 2\) is expected"):
        joint_reactions(arm(), [JOINT], motion, motion, motion)
