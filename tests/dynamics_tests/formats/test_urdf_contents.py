"""Contents of a URDF beside the robot: named, and an error with strict; xacro is refused by that word."""

import pytest
from urdf_text import joint, link, one_joint, robot, transmission

from dynamics import UrdfError, load_urdf

LIMIT = '<limit lower="-1" upper="1" effort="3" velocity="2" acceleration="4"/>'
MORE = """<gazebo reference="arm"><mu1>1</mu1></gazebo><gazebo/><!-- a comment -->
<material name="red"/><ros2_control name="system"/>"""


def test_a_line_names_every_kind_of_what_is_left_out():
    content = f'{LIMIT}<safety_controller k_velocity="1"/><dynamics damping="1" stiction="2"/>'
    text = one_joint(content, "revolute", MORE, transmission(("j", "k")))
    model = load_urdf(text)
    assert model.left_out == (
        "acceleration of <limit> of joints: j",
        "<safety_controller> of joints: j",
        "stiction of <dynamics> of joints: j",
        "<transmission>: t",
        "<gazebo>: 2, with mu1",
        "<ros2_control>: 1",
    )
    assert [f"left out: {line}" for line in model.left_out] == str(model).splitlines()[-6:]
    with pytest.raises(UrdfError, match=r"strict: .*acceleration of <limit> of joints: j; .*<gazebo>: 2"):
        load_urdf(text, strict=True)
    assert load_urdf(one_joint(), strict=True).left_out == ()


def test_a_transmission_whose_ratio_is_no_number_is_left_out_and_named():
    ratio = transmission(actuator="<mechanicalReduction>reduction</mechanicalReduction>")
    model = load_urdf(one_joint('<axis xyz="0 0 1"/>', "revolute", ratio))
    assert model.joints[0].rotor is None and model.left_out == ("<transmission>: t",)


def test_ranges_of_continuous_joints_are_no_limits_and_named():
    text = robot(link("base", ""), link("arm"), joint("j", "base", "arm", "continuous", LIMIT))
    assert "lower and upper of <limit> of joints: j" in load_urdf(text).left_out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="m"/></robot>',
            r"the XML string is xacro with <xacro:macro>.*: expand it first by ROS, xacro",
        ),
        ("<robot><xacro:include filename='x'/></robot>", "is xacro with <xacro:include>"),
        ("<robot xmlns:xacro='x/xacro'><xacro:arm/></robot>", "is xacro with <xacro:arm>"),
        (one_joint('<origin xyz="0 0 ${h}"/>'), r"not a number; expand the xacro file"),
    ],
)
def test_xacro_is_refused_by_that_word(text, message):
    with pytest.raises(UrdfError, match=message):
        load_urdf(text)


def test_a_file_named_xacro_is_refused_even_where_it_reads(tmp_path):
    file = tmp_path / "arm.urdf.xacro"
    file.write_text(one_joint(), encoding="utf-8")
    with pytest.raises(UrdfError, match=r"is xacro, .*xacro arm.urdf.xacro > arm.urdf$"):
        load_urdf(file)


def test_the_command_that_expands_xacro_does_not_write_over_its_file(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text("<robot><xacro:include filename='x'/></robot>", encoding="utf-8")
    with pytest.raises(UrdfError, match=r"xacro arm.urdf > expanded_arm.urdf$"):
        load_urdf(file)


def test_a_call_of_a_macro_that_was_not_found_is_named_in_an_expanded_file():
    text = one_joint().replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"', 1)
    model = load_urdf(text.replace("</robot>", "<xacro:grey/></robot>"))
    assert model.left_out == ("<xacro:grey>: 1",)


def test_prefixes_that_no_root_declares_are_read():
    model = load_urdf(one_joint("", "revolute", "<controller:gazebo><x:y/></controller:gazebo>"))
    assert model.left_out == ("<controller:gazebo>: 1, with x:y",)
    assert load_urdf(one_joint("", "revolute", "<a:b c:d='1'/>").encode().decode()).n == 1


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_comments_that_hold_two_hyphens_are_passed_over_as_in_ros(tmp_path, encoding):
    """A comment ends at the first "-->", for TinyXML; the strict form of XML has no "--" in it."""
    comments = '<!-- J\xf6rg -- 2019 <!-- <joint name="k"/> -->', "<!---->", "<!-- arm --- v2 -->"
    text = (
        one_joint().replace("</robot>", "<c:d/></robot>").replace("<joint", "\n".join((*comments, "<joint")))
    )
    file = tmp_path / "arm.urdf"
    file.write_text(text, encoding=encoding)
    model = load_urdf(file)
    assert (model.joint_names, model.left_out) == (("j",), ("<c:d>: 1",))
    file.write_text(text.replace("</robot>", "</robbot>"), encoding=encoding)
    line = 1 + text[: text.index("</robot>")].count("\n")
    with pytest.raises(UrdfError, match=f"mismatched tag: line {line},"):
        load_urdf(file)


@pytest.mark.parametrize("encoding", ["gb2312", "shift_jis", "euc-kr", "utf-16"])
def test_a_file_in_an_encoding_of_its_own_is_read(tmp_path, encoding):
    """Encodings of several bytes, which Expat does not know."""
    name = {"gb2312": "\u5173", "shift_jis": "\u95a2", "euc-kr": "\uad00"}.get(encoding, "\u0434")
    file = tmp_path / "arm.urdf"
    text = one_joint().replace("'j'", f"'{name}'").replace('"j"', f'"{name}"')
    file.write_bytes(f'<?xml version="1.0" encoding="{encoding}"?>{text}'.encode(encoding))
    assert load_urdf(file).joint_names == (name,)


def test_comments_without_an_end_are_looked_for_once():
    with pytest.raises(UrdfError, match="not well-formed"):  # with a search for each of them, after days
        load_urdf("<robot>" + "<!--" * 1_000_000)


def test_an_axis_of_a_fixed_joint_is_not_asked_for():
    text = robot(
        *(link(name) for name in ("base", "arm", "tool")),
        joint("j", "base", "arm"),
        joint("k", "arm", "tool", "fixed", '<axis rpy="0 0 0"/>'),
    )
    assert load_urdf(text).frame_names == ("base", "tool")


def test_a_namespace_of_the_whole_file_and_space_before_the_declaration_are_read(tmp_path):
    text = one_joint().replace("<robot", '<robot xmlns="http://drake.mit.edu"', 1)
    assert load_urdf(text).to_json() == load_urdf(one_joint()).to_json()
    file = tmp_path / "arm.urdf"
    file.write_text(f'\n<?xml version="1.0"?>{text}', encoding="utf-8")
    assert load_urdf(file).joint_names == ("j",)
