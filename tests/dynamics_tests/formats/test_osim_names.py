"""Models of OpenSim whose parts have equal names, relative paths or another order than usual."""

import warnings

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


def test_axes_that_are_not_written_stay():
    turn = spatial_transform(*[("1 0 0", "a", linear())], *[("0 1 0", "", linear())] * 5)
    alone = turn[: turn.index("</TransformAxis>")] + "</TransformAxis></SpatialTransform>"
    one = joint("CustomJoint", "j", "ground", "x", ["a"], transform=alone)
    robot = dynamics.load_osim(osim_text([body("x")], [one])).robot
    np.testing.assert_allclose(robot.forward_kinematics([0.3], ["x"]).rotation[0][1, 2], -np.sin(0.3))


def test_frames_by_stations_lie_as_in_opensim():
    """ab, along z here, is -y of the frame, ab x ac, along y, is its z: its x is x."""
    stations = {"a": "0.1 0 0", "b": "0.1 0 0.4", "c": "0.3 0 0.1", "o": "0 0.2 0"}
    written = "".join(
        f"<Station name='{name}'><socket_parent_frame>{parent}</socket_parent_frame>"
        f"<location>{place}</location></Station>"
        for (name, place), parent in zip(stations.items(), ["..", "..", "../tilted", ".."], strict=True)
    )
    sockets = "".join(
        f"<socket_{end}>../{name}</socket_{end}>"
        for end, name in zip(("point_a", "point_b", "point_c", "origin_point"), "abco", strict=True)
    )
    axes = "<ab_axis>-y</ab_axis><ab_x_ac_axis>z</ab_x_ac_axis>"
    tilted = (
        "<PhysicalOffsetFrame name='tilted'><socket_parent>..</socket_parent><translation>0 0 0.2"
        "</translation></PhysicalOffsetFrame>"
    )
    frame = f"<StationDefinedFrame name='own'>{sockets}{axes}</StationDefinedFrame>"
    held = body("x").replace("</Body>", f"<components>{written}{frame}{tilted}</components></Body>")
    marker = MARKER.format("m", "/bodyset/x/own").replace("</M", "<location>0.1 0.2 0.3</location></M")
    robot = dynamics.load_osim(osim_text([held], [PIN], markers=marker)).robot
    found = robot.forward_kinematics([0.0], ["m"])
    np.testing.assert_allclose(found.position[0], [0.1, 0.2 + 0.3, -0.2], atol=1e-15)


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


def test_names_that_are_missing_or_taken_are_completed_as_in_opensim():
    """The names are those that OpenSim 4.6 prints of this file."""
    pins = [
        joint("PinJoint", "pin", "ground", "x", ["rz"]),
        joint("PinJoint", "pin", "x", "y", ["rz"], "0 -0.5 0"),
        joint("PinJoint", "last", "y", "z").replace("<coordinates></coordinates>", ""),
    ]
    motor = (
        "<CoordinateActuator><coordinate>{}</coordinate><optimal_force>{}</optimal_force>"
        "<min_control>-infinity</min_control><max_control>1</max_control></CoordinateActuator>"
    )
    forces = motor.format("rz", 3) + motor.format("/jointset/pin_0/rz", 5) + "<PathSpring/>"
    osim = dynamics.load_osim(osim_text([body(name) for name in "xyz"], pins, forces=forces))
    assert osim.robot.joint_names == ("pin/rz", "pin_0/rz", "_coord_0")
    assert osim.robot.limits.torque_upper.tolist() == [3.0, 5.0, np.inf]
    assert osim.robot.limits.torque_lower.tolist() == [-np.inf] * 3
    assert osim.left_out == {"forces (PathSpring)": ("pathspring",)}


def test_a_body_without_a_joint_is_free():
    robot = dynamics.load_osim(osim_text([body("x"), body("y")], [PIN])).robot
    assert robot.joint_names == ("a", *(f"free_y_coord_{k}" for k in (3, 4, 5, 0, 1, 2)))
    q = np.array([0.0, 1.0, 2.0, 3.0, np.pi / 2, 0.0, 0.0])
    found = dynamics.forward_kinematics(robot, q, ["y"])
    np.testing.assert_allclose(found.position[0], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(found.rotation[0] @ [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], atol=1e-15)


def test_a_default_value_that_is_empty_is_zero():
    angle = "<Coordinate name='a'><default_value/><range/></Coordinate>"
    osim = dynamics.load_osim(osim_text([body("x")], [joint("PinJoint", "pin", "ground", "x", [angle])]))
    assert osim.default_pose.tolist() == [0.0]
    assert osim.robot.limits.q_upper.tolist() == [np.inf]


def test_a_range_in_degrees_is_warned_of_once_at_the_line_that_reads_the_file():
    turn = "<Coordinate name='a'><range>-100 100</range></Coordinate>"
    model = osim_text([body("x")], [joint("PinJoint", "pin", "ground", "x", [turn])])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        dynamics.load_osim(model)
    assert [(each.filename, str(each.message).partition(";")[0]) for each in seen] == [
        (__file__, "joint 'a': q_lower = -100.0 rad and q_upper = 100.0 rad look like degrees")
    ]


def test_a_last_body_without_mass_keeps_inverse_dynamics():
    empty = body("y", 0.0)  # whose inertia does not count
    with pytest.warns(dynamics.InertiaWarning, match="joints that move no mass: b; their torques lack it"):
        robot = dynamics.load_osim(osim_text([body("x"), empty], [PIN, BAR])).robot
    alone = dynamics.load_osim(osim_text([body("x")], [PIN])).robot
    found = dynamics.rnea(robot, [0.3, 0.4], [0.5, 0.6], [0.7, 0.8])
    np.testing.assert_allclose(found, [*dynamics.rnea(alone, [0.3], [0.5], [0.7]), 0.0], atol=1e-15)
    with pytest.raises(dynamics.InertiaError, match="b"):
        dynamics.aba(robot, [0.3, 0.4], [0.5, 0.6], [0.7, 0.8])
