"""Models of OpenSim whose parts have equal names, relative paths or another order than usual."""

import numpy as np
import pytest
from osim_text import body, constant, joint, linear, osim_text, spatial_transform

import dynamics

PIN = joint("PinJoint", "pin", "ground", "x", ["a"])
BAR = joint("PinJoint", "bar", "x", "y", ["b"], "0 -0.5 0")
MARKER = "<Marker name='{}'><socket_parent_frame>{}</socket_parent_frame></Marker>"
FRAME = (
    "<components><PhysicalOffsetFrame name='f'><socket_parent>..</socket_parent><translation>{}</translation>"
    "</PhysicalOffsetFrame></components><mass>"
)


def with_frame(name, place):
    return body(name).replace("<mass>", FRAME.format(place), 1)


@pytest.mark.parametrize(
    ("path", "link", "place"),
    [
        ("/bodyset/x/f", "x", [1.0, 0.0, 0.0]),
        ("/bodyset/y/f", "y", [0.0, 2.0, 0.0]),
        ("../../bodyset/y/f", "y", [0.0, 2.0, 0.0]),
        ("../../bodyset/x", "x", [0.0, 0.0, 0.0]),
        ("/jointset/bar/x_offset", "x", [0.0, -0.5, 0.0]),
        ("x", "x", [0.0, 0.0, 0.0]),
        ("/ground", None, [0.0, 0.0, 0.0]),
    ],
)
def test_frames_of_one_name_on_two_bodies_are_told_apart_by_their_paths(path, link, place):
    bodies = [with_frame("x", "1 0 0"), with_frame("y", "0 2 0")]
    robot = dynamics.load_osim(osim_text(bodies, [PIN, BAR], markers=MARKER.format("m", path))).robot
    frame = next(frame for frame in robot.frames if frame.name == "m")
    assert (frame.body, frame.position.tolist()) == (link, place)


def test_axes_of_a_custom_joint_go_by_their_names_and_not_by_their_order():
    none = [(axis, "", constant()) for axis in ("1 0 0", "0 1 0", "0 0 1")]
    written = spatial_transform(("0 0 1", "a", linear()), *none[1:], *none)
    axes = written.removeprefix("<SpatialTransform>").removesuffix("</SpatialTransform>")
    turns, slides = axes.split('<TransformAxis name="translation1">')
    other = f'<SpatialTransform><TransformAxis name="translation1">{slides}{turns}</SpatialTransform>'
    for transform in (written, other):
        made = joint("CustomJoint", "j", "ground", "x", ["a"], transform=transform)
        robot = dynamics.load_osim(osim_text([body("x")], [made])).robot
        assert [joint.kind for joint in robot.joints] == ["revolute"]


def test_joints_and_coordinates_may_have_the_names_of_bodies():
    """The pin of x is called y, and turns by the coordinate z; y hangs on a gimbal, z on y."""
    joints = [
        joint("PinJoint", "y", "ground", "x", ["z"], child_at="0 1 0"),
        joint("GimbalJoint", "x", "x", "y", ["x", "y", "k"]),
        joint("PinJoint", "z", "y", "z", ["l"], child_at="0 0.5 0"),
    ]
    robot = dynamics.load_osim(
        osim_text([body(n, m) for n, m in zip("xyz", (1, 2, 4), strict=True)], joints)
    ).robot
    q = dict(zip(robot.joint_names, np.zeros(5), strict=True)) | {"z": np.pi / 2}
    found = dynamics.forward_kinematics(robot, list(q.values()), ["x", "y", "z"])
    np.testing.assert_allclose(found.position, [[1, 0, 0], [1, 0, 0], [1.5, 0, 0]], rtol=0.0, atol=1e-15)
    assert robot.total_mass == 7.0


def test_actuators_without_force_and_of_coordinates_that_are_held():
    """Infinite controls of a motor without force are no force; what is held has no torque, and is named."""
    motor = (
        "<CoordinateActuator name='{}'><coordinate>{}</coordinate><optimal_force>{}</optimal_force>"
        "</CoordinateActuator>"
    )
    motors = motor.format("m", "a", 0) + motor.format("n", "b", 5)
    osim = dynamics.load_osim(osim_text([body("x"), body("y")], [PIN, BAR], forces=motors), hold=["b"])
    assert osim.robot.limits.torque_upper.tolist() == osim.robot.limits.torque_lower.tolist() == [0.0]
    assert osim.left_out["actuators, of coordinates that are none of the robot"] == ("b",)
