"""Errors of a URDF are refused by name, and what looks wrong is warned of."""

import warnings

import numpy as np
import pytest
from tiers import every
from urdf_text import INERTIAL, joint, link, one_joint, robot, transmission

from dynamics import (
    DegreesWarning,
    InertiaError,
    InertiaWarning,
    JointError,
    JointWarning,
    UrdfError,
    load_urdf,
)
from dynamics.formats import xml_source

LAUGHS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10 if i else "ha"}">' for i in range(9))


@every(
    "text, message",
    [
        ("<robot", "the XML string is not well-formed XML"),
        ("<robot></robbot>", "the XML string is not well-formed XML"),
        (
            f"<!DOCTYPE r [{LAUGHS}]><robot>&a8;</robot>",
            "declares entities, which are refused|declares entities",
        ),
        ('<!DOCTYPE r SYSTEM "file:///etc/hostname"><robot/>', "has a document type"),
        (
            '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]><robot>&x;</robot>',
            "declares entities, which are refused",
        ),
        ("<robot>" + " " * 10_000_001 + "</robot>", "has 10000016 bytes or more; at most 10000000 are read"),
        ("no such file.urdf", "there is no file 'no such file.urdf': give a path, or XML that starts"),
        (3, "cannot read 3"),
        ("a\0b", "cannot read"),
        ("<sdf/>", "the root element is <sdf>; .* SDF is not read; .* write a URDF"),
        ("<mujoco/>", "the root element is <mujoco>; .*by dynamics.from_mujoco and hand over the model"),
        ("<robot/>", "the robot has no <link>"),
        ("<robot><link/></robot>", "a link lacks the attribute 'name'"),
        (robot(link("a"), link("a")), "two links are named 'a'"),
        (robot(link("a")), "no joint of the robot moves"),
        (robot(link("a"), link("b")), "the robot has 2 root links: 'a', 'b'"),
        (
            one_joint("", "screw"),
            "joint 'j' has the unknown type 'screw'; it must be one of revolute, continuous",
        ),
        (robot(link("a"), '<joint type="fixed"/>'), "a joint lacks the attribute 'name'"),
        (robot(link("a"), '<joint name="j"/>'), "joint 'j' lacks the attribute 'type'"),
        (robot(link("a"), '<joint name="j" type="fixed"/>'), "joint 'j' lacks the element <parent>"),
        (
            robot(link("a"), '<joint name="j" type="fixed"><parent link="a"/></joint>'),
            "joint 'j' lacks the element <child>",
        ),
        (
            robot(link("a"), '<joint name="j" type="fixed"><parent/><child link="a"/></joint>'),
            "joint 'j': <parent> lacks the attribute 'link'",
        ),
        (robot(link("a"), joint("j", "a", "b")), "joint 'j' connects the .*link 'b'"),
        (
            robot(link("a"), link("b"), joint("j", "a", "b"), joint("j", "b", "a")),
            "two joints are named 'j'; every name must be unique",
        ),
        (
            robot(link("a"), link("b"), link("c"), joint("j", "a", "c"), joint("k", "b", "c")),
            "link 'c' has two parents, .* the joints 'j' and 'k'",
        ),
        (
            robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")),
            "the joints form a cycle of links: a -> b -> a",
        ),
        (
            robot(link("o"), link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")),
            "the joints form a cycle of links: a -> b -> a",
        ),
        (one_joint('<axis xyz="0 0"/>'), "joint 'j': xyz is '0 0'; 3 numbers are expected"),
        (one_joint('<axis xyz="0 0 z"/>'), "joint 'j': xyz is 'z', which is not a number"),
        (one_joint('<axis xyz="0 0 ${pi}"/>'), "which is not a number; expand the xacro file"),
        (one_joint('<origin xyz="0 0 inf"/>'), "joint 'j': xyz is 'inf'; every number must be finite"),
        (one_joint('<limit lower="1e16" upper="1e16"/>'), "joint 'j': lower is '1e16'; beyond 1e.09"),
        (one_joint('<limit lower="nan"/>'), "joint 'j': lower is 'nan', which is not a number"),
        (
            one_joint('<limit effort="-1"/>'),
            "joint 'j': effort -1.0 and velocity inf .* leave out what is not limited",
        ),
        (
            one_joint('<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>'),
            "joint 'j': its <origin> has both rpy and quat_xyzw: leave one out",
        ),
        (one_joint('<origin quat_xyzw="0 0 1"/>'), "joint 'j': quat_xyzw is '0 0 1'; 4 numbers are expected"),
        (
            robot(link("a", "<inertial/>")),
            "link 'a': its <inertial> needs both <mass> and <inertia>: .* masses={'a': kg}",
        ),
        (
            robot(link("a", INERTIAL.replace('value="1"', ""))),
            "link 'a': <mass> lacks the attribute 'value'",
        ),
        (robot(link("a", INERTIAL.replace('ixy="0"', ""))), "link 'a': <inertia> lacks the attribute 'ixy'"),
        (one_joint("<mimic/>"), "joint 'j': <mimic> lacks the attribute 'joint'"),
        (one_joint('<mimic joint="k"/>'), "joint 'j' mimics .*'k'.* remove the <mimic>"),
        (
            one_joint('<mimic joint="left_"/>', "revolute", link("b"), joint("left", "base", "b", "fixed")),
            "joint 'j' mimics 'left_', which .* did you mean 'left'",
        ),
        (one_joint('<mimic joint="j"/>'), "the joints j -> j mimic each other in a cycle"),
        (one_joint('<mimic joint="j"/>', "planar"), "joint 'j' of type planar has a <mimic>"),
        (
            one_joint('<mimic joint="f"/>', "revolute", link("b"), joint("f", "base", "b", "fixed")),
            "joint 'j' mimics 'f' of type fixed; it needs one axis",
        ),
        (
            one_joint("", "floating", link("j_x"), joint("k", "arm", "j_x")),
            "two links are named 'j_x', one of them made for a joint of several axes",
        ),
        (
            one_joint("", "revolute", transmission(), transmission(actuator="<gear_ratio>3</gear_ratio>")),
            "joint 'j' has two transmissions with different gear ratios",
        ),
        (
            one_joint("", "prismatic", transmission(actuator="<rotorInertia>1</rotorInertia>")),
            "joint 'j' is prismatic, so its rotor inertia needs an axis",
        ),
        (robot("<transmission><joint/></transmission>", link("a")), "a <joint> of a transmission lacks"),
    ],
)
def test_a_urdf_that_says_something_impossible_is_refused_by_name(text, message):
    with pytest.raises(UrdfError, match=message):
        load_urdf(text)


def test_a_file_that_is_too_large_or_not_text_is_refused(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_bytes(b"<robot>" + b" " * 20_000_000 + b"</robot>")
    with pytest.raises(UrdfError, match=r"robot.urdf' has 10000001 bytes or more; at most 10000000 are read"):
        load_urdf(path)
    for content in (b"\x89PNG\r\n", b"<robot>\x01</robot>", b'<?xml version="1.0" encoding="none"?><robot/>'):
        path.write_bytes(content)
        with pytest.raises(UrdfError, match=r"robot.urdf' is not well-formed XML"):
            load_urdf(path)
    with pytest.raises(UrdfError, match=r"cannot read .*; give a path"):
        load_urdf(tmp_path)


@pytest.mark.parametrize("declared", ["", '<?xml version="1.0" encoding="UTF-8"?>'])
def test_bytes_of_windows_in_a_file_that_is_utf_8_by_what_it_says_are_read(tmp_path, declared):
    """A dash and a letter of a comment, of a name and of a label, as texts that were pasted have them."""
    text = one_joint().replace("<robot", "<!-- 829\x96840, J\xf6rg --><robot", 1)
    path = tmp_path / "robot.urdf"
    path.write_bytes((declared + text.replace('"j"', '"kn\xe4"')).encode("latin-1"))
    assert load_urdf(path).joint_names == ("knä",)
    path.write_bytes((declared + text.replace("</robot>", "</robbot>")).encode("latin-1"))
    with pytest.raises(UrdfError, match="not well-formed XML"):
        load_urdf(path)
    path.write_bytes('<?xml version="1.0" encoding="ascii"?><robot name="ä"/>'.encode("latin-1"))
    with pytest.raises(UrdfError, match="not well-formed XML"):  # it is told to be of another encoding
        load_urdf(path)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (one_joint('<axis xyz="0 0 0"/>'), JointError, "joint 'j': axis .* has no direction"),
        (one_joint('<axis xyz="0 0 0"/>', "planar"), JointError, "joint 'j': axis .* has no direction"),
        (one_joint('<limit lower="1" upper="-1"/>'), JointError, "joint 'j': .* begins at lower = 1.0"),
        (
            one_joint('<axis xyz="0 0 1"/>', "revolute", transmission(actuator="<gear_ratio>0</gear_ratio>")),
            JointError,
            "rotor of joint 'j': gear_ratio is 0",
        ),
        (
            one_joint().replace('mass value="1"', 'mass value="-1"'),
            InertiaError,
            "link 'arm': mass is -1.0 kg",
        ),
        (
            one_joint().replace('izz="0.02"', 'izz="0.9"'),
            InertiaError,
            "link 'arm': inertia has .* repair_inertia",
        ),
        (
            one_joint().replace('izz="0.02"', 'izz="-0.2"'),
            InertiaError,
            "link 'arm': .* none may be negative",
        ),
    ],
)
def test_a_robot_that_cannot_exist_is_refused_by_name(text, error, message):
    with pytest.raises(error, match=message):
        load_urdf(text)


def test_a_small_wrong_inertia_that_is_merged_into_a_good_one_is_only_warned_of():
    wrong = INERTIAL.replace('value="1"', 'value="0.001"').replace("0.02", "-1e-9")
    text = one_joint(
        '<axis xyz="0 0 1"/>', "revolute", link("camera", wrong), joint("f", "arm", "camera", "fixed")
    )
    with pytest.warns(InertiaWarning, match=r"link 'camera': .*merged into body 'arm' it does no harm"):
        load_urdf(text)


def test_a_wrong_inertia_of_what_stands_on_the_ground_does_not_matter():
    wrong = INERTIAL.replace("0.001", "-7")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_urdf(robot(link("base", wrong), link("arm"), joint("j", "base", "arm"))).n == 1


def test_near_names_of_files_do_not_depend_on_the_order_of_the_folder(tmp_path, monkeypatch):
    for name in ("robot_a.urdf", "robot_b.urdf", "robot_c.urdf"):
        (tmp_path / name).touch()
    monkeypatch.setattr(xml_source, "MOST_FILES", 2)
    for backwards in (False, True):
        listed = sorted(tmp_path.glob("*"), reverse=backwards)
        monkeypatch.setattr(type(tmp_path), "iterdir", lambda _, listed=listed: iter(listed))
        with pytest.raises(UrdfError, match=r"robot_a\.urdf") as caught:
            load_urdf(tmp_path / "robot.urdf")
        assert "robot_b.urdf" in str(caught.value) and "robot_c.urdf" not in str(caught.value)


def test_a_wrong_inertia_can_be_replaced_by_the_nearest_right_one():
    text = one_joint().replace('izz="0.02"', 'izz="0.9"')
    with pytest.warns(InertiaWarning, match=r"link 'arm': .* the nearest physical one is taken"):
        inertia = load_urdf(text, repair_inertia=True).bodies[0].inertia
    # Second moments trace/2 - A are (0.4595, 0.4405, -0.4395); without the negative one:
    np.testing.assert_allclose(inertia, np.diag([0.4405, 0.4595, 0.9]), rtol=1e-12)


def test_a_joint_that_limits_hold_at_one_position_is_warned_of():
    bounds, axis = '<limit lower="0" upper="0.9"/>', '<axis xyz="0 0 1"/>'
    follower = joint("left", "base", "b", content=f'{axis}{bounds}<mimic joint="j" multiplier="-1"/>')
    message = "'j' cannot move: its limits and those of left, which mimic it, allow 0 alone.*or multipliers"
    with pytest.warns(JointWarning, match=message):
        load_urdf(one_joint(axis + bounds, "revolute", link("b"), follower))
    load_urdf(one_joint(axis + bounds, "revolute", link("b"), follower.replace("-1", "1")))


def test_limits_and_angles_in_degrees_are_warned_of():
    with pytest.warns(DegreesWarning, match="joint 'j': q_upper = 170.0 rad looks like degrees"):
        load_urdf(one_joint('<axis xyz="0 0 1"/><limit lower="0" upper="170"/>'))
    with pytest.warns(DegreesWarning, match=r"joint 'j': rpy = \[0.0, 0.0, 90.0\] looks like degrees"):
        load_urdf(one_joint('<axis xyz="0 0 1"/><origin rpy="0 0 90"/>'))
