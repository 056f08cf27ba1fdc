"""Model files as they are found: versions 2 and 3, names with '::', toes that no body can be, bare axes."""

import numpy as np
import pytest
from osim_text import body, constant, joint, linear, osim_text, spatial_transform
from scipy.spatial.transform import Rotation

import dynamics
from dynamics.errors import InertiaError

TURN = (("0 0 1", "{}", linear()), *((axis, "", constant()) for axis in ("0 1 0", "1 0 0")))
SLIDE = tuple((axis, "", constant(0.1)) for axis in ("1 0 0", "0 1 0", "0 0 1"))


def transform(coordinate):
    return spatial_transform(
        *((axis, each.format(coordinate), function) for axis, each, function in TURN), *SLIDE
    )


def older(version="30000", reverse="false"):
    """A thigh and a shank as OpenSim 3 writes them, with a marker, a sphere and a constraint that is off."""
    links = []
    for parent, child, coordinate, place in (
        ("ground", "thigh", "hip", "0 1 0"),
        ("thigh", "shank", "knee", "0 -.4 0"),
    ):
        links.append(
            f'<Body name="{child}"><mass>2</mass><mass_center>0 -.2 0</mass_center>'
            "<inertia_xx>.1</inertia_xx>"
            f"<inertia_yy>.0123456789</inertia_yy><inertia_zz>.1</inertia_zz><inertia_xy>0</inertia_xy>"
            f'<Joint><CustomJoint name="{coordinate}_joint"><parent_body>{parent}</parent_body>'
            f"<location_in_parent>{place}</location_in_parent>"
            "<orientation_in_parent>0.1 0 0.2</orientation_in_parent>"
            f"<location>0 .05 0</location><orientation>0 0.3 0</orientation><reverse>{reverse}</reverse>"
            f'<CoordinateSet><objects><Coordinate name="{coordinate}"><range>-1 1</range></Coordinate>'
            f"</objects></CoordinateSet>{transform(coordinate)}</CustomJoint></Joint></Body>"
        )
    return f"""<OpenSimDocument Version="{version}"><Model name="leg"><gravity>0 -9.81 0</gravity>
<BodySet><objects><Body name="ground"><mass>0</mass><Joint/></Body>{"".join(links)}</objects></BodySet>
<MarkerSet><objects><Marker name="mark"><body>shank</body><location>.1 0 0</location></Marker></objects>
</MarkerSet><ContactGeometrySet><objects><ContactSphere name="heel"><body_name>shank</body_name>
<location>0 -.4 0</location><radius>.05</radius></ContactSphere></objects></ContactGeometrySet>
<ConstraintSet><objects><WeldConstraint name="off"><isDisabled>true</isDisabled></WeldConstraint></objects>
</ConstraintSet></Model></OpenSimDocument>"""


def newer(transform=transform, **changed):
    """The same leg in the elements of version 4, with other ends and transforms of its joints."""
    links = "".join(
        f'<Body name="{name}"><mass>2</mass><mass_center>0 -.2 0</mass_center>'
        "<inertia>.1 .0123457 .1 0 0 0</inertia></Body>"
        for name in ("thigh", "shank")
    )
    ends = {"at": "0 1 0", "turned": "0.1 0 0.2", "child_at": "0 .05 0", "child_turned": "0 0.3 0"}
    ends |= changed
    joints = [
        joint("CustomJoint", "hip_joint", "ground", "thigh", ["hip"], **ends, transform=transform("hip")),
        joint(
            "CustomJoint", "knee_joint", "thigh", "shank", ["knee"], **ends | {"at": "0 -.4 0"},
            transform=transform("knee"),
        ),
    ]  # fmt: skip
    return osim_text([links], joints).replace("-9.80665", "-9.81")


def check_same(robot, expected):
    """Poses and torques of two legs at one motion."""
    assert robot.joint_names == expected.joint_names
    q, v, a = np.random.default_rng(0).normal(size=(3, 2))
    poses, others = (each.forward_kinematics(q, ["thigh", "shank"]) for each in (robot, expected))
    np.testing.assert_allclose(poses.position, others.position, atol=1e-15)
    np.testing.assert_allclose(poses.rotation, others.rotation, atol=1e-15)
    np.testing.assert_allclose(
        robot.inverse_dynamics(q, v, a), expected.inverse_dynamics(q, v, a), atol=1e-13
    )


@pytest.mark.parametrize("version", ["30000", "10902"])
def test_an_older_file_is_the_robot_of_the_same_model_in_version_4(version):
    old, new = dynamics.load_osim(older(version)), dynamics.load_osim(newer())
    np.testing.assert_array_equal(old.robot.gravity, [0.0, -9.81, 0.0])
    check_same(old.robot, new.robot)
    assert old.markers == ("mark",) and old.spheres[0].radius == 0.05


def test_joints_of_an_older_file_without_a_name_are_called_by_their_type():
    """As OpenSim's own reader calls them, the second with a number."""
    named = older()
    bare = named.replace(' name="hip_joint"', "").replace(' name="knee_joint"', "")
    found, expected = dynamics.load_osim(bare), dynamics.load_osim(named)
    assert [joint.name for joint in found.joints] == ["customjoint", "customjoint_0"]
    q, v, a = np.random.default_rng(0).normal(size=(3, 2))
    np.testing.assert_array_equal(
        found.robot.inverse_dynamics(q, v, a), expected.robot.inverse_dynamics(q, v, a)
    )


def test_a_reversed_joint_of_an_older_file_moves_the_parent_in_the_child():
    """A slide s and a turn R from the child's frame to the parent's: R^-1, then -s, from the other side."""
    slide = np.full(3, 0.1)
    place = np.array([0.0, 0.05, 0.0]) + Rotation.from_euler("XYZ", [0.0, 0.3, 0.0]).apply(slide)

    def inverse(coordinate):
        still = [(axis, "", constant()) for axis in ("0 1 0", "1 0 0", "1 0 0", "0 1 0", "0 0 1")]
        return spatial_transform(("0 0 1", coordinate, linear(-1.0)), *still)

    expected = dynamics.load_osim(newer(inverse, child_at=" ".join(map(str, place.tolist())))).robot
    check_same(dynamics.load_osim(older(reverse="true")).robot, expected)


def test_names_with_two_colons_are_read():
    force = """<HuntCrossleyForce name="c"><HuntCrossleyForce::ContactParametersSet name="p"><objects/>
</HuntCrossleyForce::ContactParametersSet></HuntCrossleyForce>"""
    pin = joint("PinJoint", "j", "ground", "b", ["q"])
    osim = dynamics.load_osim(osim_text([body("b")], [pin], forces=force))
    assert osim.left_out["forces (HuntCrossleyForce)"] == ("c",)


def test_toes_are_repaired_where_that_is_asked_for():
    text = (
        older().replace("<inertia_xx>.1<", "<inertia_xx>.001<").replace("<inertia_zz>.1<", "<inertia_zz>.1<")
    )
    with pytest.raises(InertiaError, match="pass repair_inertia=True"):
        dynamics.load_osim(text)
    with pytest.warns(UserWarning, match="inertia"):
        assert dynamics.load_osim(text, repair_inertia=True).robot.n == 2


def test_an_axis_without_a_function_does_not_move():
    bare = spatial_transform(
        ("0 0 1", "q", linear()), ("0 1 0", "q", ""), *TURN[2:], ("1 0 0", "q", ""), *SLIDE[1:]
    )
    pin = joint("CustomJoint", "j", "ground", "b", ["q"], transform=bare)
    robot = dynamics.load_osim(osim_text([body("b")], [pin])).robot
    moved = robot.forward_kinematics(np.array([0.7]), ["b"]).position
    np.testing.assert_allclose(moved, robot.forward_kinematics(np.array([0.0]), ["b"]).position, atol=1e-15)


def test_a_coordinate_that_no_axis_follows_is_named():
    """As where every <function/> is empty, which OpenSim takes for zero."""
    bare = spatial_transform(("0 0 1", "q", linear()), ("0 1 0", "idle", ""), *TURN[2:], *SLIDE)
    custom = joint("CustomJoint", "j", "ground", "b", ["q", "idle"], transform=bare)
    osim = dynamics.load_osim(osim_text([body("b")], [custom]))
    assert osim.robot.joint_names == ("q",)
    assert osim.left_out["coordinates that move nothing"] == ("idle",)
    whole = dynamics.load_osim(osim_text([body("b")], [custom]), hold=["idle"])
    assert "coordinates that move nothing" not in whole.left_out
