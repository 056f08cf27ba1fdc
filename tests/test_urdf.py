"""URDF: what it says is what the model has, and what it must not say is refused by name."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest

import dynamics
from dynamics import (
    DegreesWarning,
    DhRow,
    InertiaError,
    InertiaWarning,
    JointError,
    UrdfError,
    from_dh,
    from_modified_dh,
    load_urdf,
)
from dynamics.mass_check import mass_matrix
from dynamics.rotation import about_x, roll_pitch_yaw

ROBOTS = Path(__file__).parent / "robots"
INERTIAL = """<inertial><origin xyz="0.25 0 0"/><mass value="1"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/></inertial>"""


def link(name, content=INERTIAL):
    return f'<link name="{name}">{content}</link>'


def joint(name, parent, child, kind="revolute", content='<axis xyz="0 0 1"/>'):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{content}</joint>'


def robot(*parts):
    return '<robot name="r">' + "".join(parts) + "</robot>"


def one_joint(content='<axis xyz="0 0 1"/>', kind="revolute", *more):
    return robot(link("base", ""), link("arm"), joint("j", "base", "arm", kind, content), *more)


# --- what is read -------------------------------------------------------------------------------------


def test_a_joint_carries_its_limits_damping_friction_and_frame():
    content = (
        '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 2 0"/><dynamics damping="0.5" friction="0.25"/>'
        '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
    )
    model = load_urdf(one_joint(content), gravity=(0, 0, -1.62))
    found = model.bodies[0].joint
    assert (model.name, model.joint_names, model.link_names) == ("r", ("j",), ("arm",))
    assert model.gravity.tolist() == [0.0, 0.0, -1.62]
    assert found.axis.tolist() == [0.0, 1.0, 0.0]
    assert found.position.tolist() == [1.0, 2.0, 3.0]
    np.testing.assert_allclose(found.rotation, roll_pitch_yaw(0.1, 0.2, 0.3), atol=1e-16)
    limits = found.limits
    assert (limits.q_lower, limits.q_upper, limits.velocity) == (-1.0, 2.0, 3.0)
    assert (limits.torque_lower, limits.torque_upper) == (-4.0, 4.0)
    assert (found.damping, found.friction) == (0.5, 0.25)


def test_rpy_is_roll_about_x_then_pitch_about_y_then_yaw_about_z_of_fixed_axes():
    # A quarter roll takes y to z, a quarter yaw then leaves z: y ends up on z, x on y.
    rotation = roll_pitch_yaw(math.pi / 2, 0.0, math.pi / 2)
    np.testing.assert_allclose(rotation @ np.eye(3), [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-15)


def test_what_a_limit_leaves_out_is_unlimited_but_one_end_alone_means_zero_for_the_other():
    both = load_urdf(one_joint('<limit effort="1" velocity="1"/>')).limits
    upper = load_urdf(one_joint('<limit upper="2"/>')).limits
    continuous = load_urdf(one_joint('<limit lower="0" upper="0" velocity="1"/>', "continuous")).limits
    none = load_urdf(one_joint("")).limits
    assert (both.q_lower[0], both.q_upper[0]) == (-math.inf, math.inf)
    assert (upper.q_lower[0], upper.q_upper[0], upper.velocity[0]) == (0.0, 2.0, math.inf)
    assert (continuous.q_lower[0], continuous.q_upper[0], continuous.velocity[0]) == (
        -math.inf,
        math.inf,
        1.0,
    )
    assert none.torque_upper[0] == math.inf


def test_the_axis_of_a_joint_is_x_when_it_is_not_given():
    # z inertia would not matter then: the rod lies along x, so a side mass is needed
    side = INERTIAL.replace("0.25 0 0", "0.25 0.1 0")
    model = load_urdf(robot(link("base", ""), link("arm", side), joint("j", "base", "arm", content="")))
    assert model.bodies[0].joint.axis.tolist() == [1.0, 0.0, 0.0]


def test_the_inertia_is_turned_from_its_own_axes_to_those_of_the_link():
    turned = INERTIAL.replace('xyz="0.25 0 0"', f'xyz="0.25 0 0" rpy="0 0 {math.pi / 2}"')
    body = load_urdf(robot(link("base", ""), link("arm", turned), joint("j", "base", "arm"))).bodies[0]
    np.testing.assert_allclose(body.inertia, np.diag([0.02, 0.001, 0.02]), atol=1e-17)
    assert body.centre_of_mass.tolist() == [0.25, 0.0, 0.0]


def test_a_link_behind_a_fixed_joint_is_merged_and_stays_as_a_frame():
    tool = '<origin xyz="0.5 0 0" rpy="0.3 -0.2 0.7"/>'
    merged = robot(
        link("base", ""),
        link("arm"),
        link("tool"),
        joint("j", "base", "arm"),
        joint("f", "arm", "tool", "fixed", tool),
    )
    model = load_urdf(merged)
    frame = model.frame("tool")
    assert (model.link_names, frame.body, frame.position.tolist()) == (("arm",), "arm", [0.5, 0.0, 0.0])
    # Oracle: the second moments of mass about the link's origin add up.
    turn = roll_pitch_yaw(0.3, -0.2, 0.7)
    single = np.diag([0.001, 0.02, 0.02])
    centres = np.array([0.25, 0, 0]), np.array([0.5, 0, 0]) + turn @ (0.25, 0, 0)
    about_origin = sum(
        axes @ single @ axes.T + c @ c * np.eye(3) - np.outer(c, c)
        for axes, c in zip((np.eye(3), turn), centres, strict=True)
    )
    body = model.bodies[0]
    c = body.centre_of_mass
    np.testing.assert_allclose(c, sum(centres) / 2, rtol=1e-15)
    np.testing.assert_allclose(
        body.inertia + 2 * (c @ c * np.eye(3) - np.outer(c, c)), about_origin, rtol=1e-14
    )


def test_links_fixed_to_the_ground_become_frames_and_their_matter_does_not_count():
    placed = joint("f", "base", "table", "fixed", '<origin xyz="1 0 0"/>')
    model = load_urdf(robot(link("base"), link("table"), link("arm"), placed, joint("j", "table", "arm")))
    assert model.link_count == 1
    assert model.bodies[0].joint.position.tolist() == [1.0, 0.0, 0.0]
    assert model.frame("table").body is model.frame("base").body is None


def test_links_come_depth_first_in_the_order_of_the_file_whatever_the_order_of_the_joints():
    links = [link(name) for name in ("hand", "left", "right", "trunk")] + [link("base", "")]
    joints = [
        joint("wrist", "left", "hand"),
        joint("l", "trunk", "left"),
        joint("r", "trunk", "right"),
        joint("t", "base", "trunk"),
    ]
    model = load_urdf(robot(*links, *joints))
    assert model.link_names == ("trunk", "left", "hand", "right")
    assert model.parent.tolist() == [-1, 0, 1, 0]


def test_a_mimic_of_a_mimic_shares_the_first_coordinate():
    more = (
        link("b"),
        link("c"),
        joint(
            "jb", "base", "b", content='<axis xyz="0 0 1"/><mimic joint="jc" multiplier="2" offset="0.5"/>'
        ),
        joint(
            "jc", "base", "c", content='<axis xyz="0 0 1"/><mimic joint="j" multiplier="-3" offset="0.1"/>'
        ),
    )
    model = load_urdf(one_joint('<axis xyz="0 0 1"/>', "revolute", *more))
    joints = {found.name: found for found in model.joints}
    assert (model.n, model.link_count) == (1, 3)
    assert (joints["jb"].mimics, joints["jb"].ratio, joints["jb"].offset) == ("j", -6.0, 2 * 0.1 + 0.5)
    assert (joints["jc"].mimics, joints["jc"].ratio, joints["jc"].offset) == ("j", -3.0, 0.1)


def transmission(joints=("j",), actuator="<mechanicalReduction>50</mechanicalReduction>"):
    driven = "".join(f'<joint name="{name}"/>' for name in joints)
    return f'<transmission name="t">{driven}<actuator name="m">{actuator}</actuator></transmission>'


def test_a_transmission_gives_the_gear_ratio_and_the_rotor_inertia_its_reflection():
    spin = "<mechanicalReduction>50</mechanicalReduction><rotorInertia>0.0001</rotorInertia>"
    plain, geared, ratio_only = (
        load_urdf(one_joint('<axis xyz="0 0 1"/>', "revolute", *more))
        for more in ((), (transmission(actuator=spin),), (transmission(),))
    )
    assert plain.bodies[0].joint.rotor is None
    assert ratio_only.bodies[0].joint.rotor.gear_ratio == 50.0
    assert ratio_only.bodies[0].joint.rotor.is_massless
    rise = mass_matrix(geared, np.zeros(1)) - mass_matrix(plain, np.zeros(1))
    np.testing.assert_allclose(rise, 50.0**2 * 1e-4, rtol=1e-12)


def test_a_rotor_inertia_may_be_an_attribute_in_a_foreign_namespace():
    actuator = '<x:gear_ratio xmlns:x="u" value="-9"/><x:rotor_inertia xmlns:x="u" value="0.002"/>'
    rotor = (
        load_urdf(one_joint('<axis xyz="0 0 1"/>', "revolute", transmission(actuator=actuator)))
        .joints[0]
        .rotor
    )
    assert (rotor.gear_ratio, rotor.axial_inertia) == (-9.0, 0.002)


def test_transmissions_that_state_no_ratio_or_drive_several_or_absent_joints_are_passed_over():
    for element in (transmission(("j", "k")), transmission(("k",)), transmission(actuator="")):
        model = load_urdf(one_joint('<axis xyz="0 0 1"/>', "revolute", element))
        assert model.bodies[0].joint.rotor is None


FLOATING_NAMES = tuple(f"floating_{axis}" for axis in ("x", "y", "z", "yaw", "pitch", "roll"))


def test_a_floating_base_is_three_translations_then_yaw_pitch_roll():
    model = load_urdf(robot(link("base"), link("arm"), joint("j", "base", "arm")), floating_base=True)
    assert model.joint_names == (*FLOATING_NAMES, "j")
    assert model.link_names == (*FLOATING_NAMES[:-1], "base", "arm")
    assert [found.kind for found in model.joints[:6]] == ["prismatic"] * 3 + ["revolute"] * 3
    axes = [found.axis.tolist() for found in model.joints[:6]]
    assert axes == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert model.bodies[5].mass == 1.0
    assert all(body.is_massless for body in model.bodies[:5])


def test_a_joint_of_type_floating_is_the_same_as_a_floating_base():
    free = load_urdf(robot(link("base"), link("arm"), joint("j", "base", "arm")), floating_base=True)
    typed = load_urdf(
        robot(
            link("world", ""),
            link("base"),
            link("arm"),
            joint("floating", "world", "base", "floating", ""),
            joint("j", "base", "arm"),
        )
    )
    q = np.linspace(-1, 1, 7)
    assert typed.joint_names == free.joint_names
    np.testing.assert_array_equal(mass_matrix(typed, q), mass_matrix(free, q))


@pytest.mark.parametrize("axis", ["0 0 1", "0 1 0", "1 0 0", "1 2 3"])
def test_a_planar_joint_moves_in_the_plane_normal_to_its_axis(axis):
    text = one_joint(f'<axis xyz="{axis}"/>', "planar").replace("0.25 0 0", "0.25 0.1 0.05")
    model = load_urdf(text)
    first, second, normal = (found.axis for found in model.joints)
    assert model.joint_names == ("j_x", "j_y", "j_yaw")
    np.testing.assert_allclose(np.cross(first, second), normal, atol=1e-15)
    direction = np.array([float(word) for word in axis.split()])
    np.testing.assert_allclose(normal, direction / np.linalg.norm(direction), atol=1e-15)
    if axis == "0 0 1":
        assert (first.tolist(), second.tolist()) == ([1, 0, 0], [0, 1, 0])


def test_a_file_a_path_a_string_with_an_encoding_and_one_with_blanks_are_all_read(tmp_path):
    text = '<?xml version="1.0" encoding="utf-8"?>\n' + one_joint().replace("arm", "bras à main")
    path = tmp_path / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    models = [load_urdf(source) for source in (path, str(path), text, "\n  " + text, "\ufeff" + text)]
    assert {model.link_names for model in models} == {("bras à main",)}


def test_meshes_of_unknown_packages_and_gazebo_elements_are_ignored():
    visual = '<visual><geometry><mesh filename="package://nowhere/mesh.dae"/></geometry></visual>'
    text = one_joint().replace("</link>", visual + "</link>").replace("</robot>", "<gazebo/></robot>")
    assert load_urdf(text).n == 1


def test_a_chain_longer_than_the_stack_of_python_is_read():
    count = 1500
    links = [link(f"l{i}", INERTIAL if i == count else "") for i in range(count + 1)]
    fixed = [
        joint(f"f{i}", f"l{i}", f"l{i + 1}", "fixed", '<origin xyz="0.001 0 0"/>') for i in range(1, count)
    ]
    model = load_urdf(robot(*links, joint("j", "l0", "l1"), *fixed))
    assert model.frame(f"l{count}").position[0] == pytest.approx(0.001 * (count - 1), rel=1e-12)


# --- one robot, three descriptions --------------------------------------------------------------------

# Puma 560: theta, d, a, alpha; mass, centre and principal moments in the frames of the table (Corke,
# Armstrong-Helouvry). Two published tensors are none that a body can have: of the first link only the
# moment about the axis is known, here with half of it across; 0.086 of the third is lowered to the sum of
# the others.
PUMA = (
    (0.0, 0.0, 0.0, math.pi / 2, 0.0, (0, 0, 0), (0.175, 0.35, 0.175)),
    (0.0, 0.0, 0.4318, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
    (0.0, 0.15005, 0.0203, -math.pi / 2, 4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.0785, 0.0125)),
    (0.0, 0.4318, 0.0, math.pi / 2, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3)),
    (0.0, 0.0, 0.0, -math.pi / 2, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3)),
    (0.0, 0.0, 0.0, 0.0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
)


def puma_rows():
    for theta, d, a, alpha, mass, centre, moments in PUMA:
        yield DhRow(theta, d, a, alpha, mass=mass, centre_of_mass=centre, inertia=np.diag(moments))


def puma_modified_rows():
    alpha = a = 0.0
    for row in puma_rows():
        turn = about_x(row.alpha)
        centre = np.array([row.a, 0, 0]) + turn @ row.centre_of_mass
        inertia = turn @ row.inertia @ turn.T
        yield DhRow(row.theta, row.d, a, alpha, mass=row.mass, centre_of_mass=centre, inertia=inertia)
        alpha, a = row.alpha, row.a


def puma_urdf():
    """Links with axes of the modified frames, the matter in its own axes through rpy."""
    parts, before = [link("base", "")], "base"
    for i, (row, standard) in enumerate(zip(puma_modified_rows(), puma_rows(), strict=True)):
        xx, yy, zz = (float(moment) for moment in np.diag(standard.inertia))
        centre = " ".join(str(float(x)) for x in row.centre_of_mass)
        inertial = (
            f'<inertial><origin xyz="{centre}" rpy="{standard.alpha} 0 0"/><mass value="{row.mass}"/>'
            f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial>'
        )
        y, z = -row.d * math.sin(row.alpha), row.d * math.cos(row.alpha)
        origin = f'<origin xyz="{row.a} {y} {z}" rpy="{row.alpha} 0 0"/><axis xyz="0 0 1"/>'
        parts += [link(f"l{i}", inertial), joint(f"j{i}", before, f"l{i}", "revolute", origin)]
        before = f"l{i}"
    return robot(*parts)


@pytest.fixture(scope="module")
def pumas():
    return from_dh(puma_rows()), from_modified_dh(puma_modified_rows()), load_urdf(puma_urdf())


def test_the_puma_from_dh_from_modified_dh_and_from_urdf_has_one_mass_matrix(pumas):
    for q in np.random.default_rng(560).uniform(-3, 3, (5, 6)):
        matrices = [mass_matrix(model, q) for model in pumas]
        np.testing.assert_allclose(matrices[1], matrices[0], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(matrices[2], matrices[0], rtol=1e-12, atol=1e-14)


def test_the_puma_from_dh_from_modified_dh_and_from_urdf_has_one_set_of_torques(pumas):
    motion = np.random.default_rng(561).uniform(-3, 3, (3, 5, 6))
    torques = [dynamics.rnea(model, *motion) for model in pumas]
    np.testing.assert_allclose(torques[1], torques[0], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(torques[2], torques[0], rtol=1e-11, atol=1e-12)


# --- what is refused ----------------------------------------------------------------------------------

LAUGHS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10 if i else "ha"}">' for i in range(9))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot", "the XML string is not well-formed XML"),
        ("<robot></robbot>", "the XML string is not well-formed XML"),
        (
            f"<!DOCTYPE r [{LAUGHS}]><robot>&a8;</robot>",
            "declares entities, which are refused|declares entities",
        ),
        ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]><robot>&x;</robot>', "declares entities"),
        ("<robot>" + " " * 10_000_001 + "</robot>", "has 10000016 bytes or more; at most 10000000 are read"),
        ("no such file.urdf", "cannot read 'no such file.urdf': .*; give a path, or XML that starts"),
        (3, "cannot read 3"),
        ("a\0b", "cannot read"),
        ("<sdf/>", "the root element is <sdf>; a URDF has <robot>"),
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
        (one_joint('<axis xyz="0 0"/>'), "joint 'j': xyz is '0 0'; three numbers are expected"),
        (one_joint('<axis xyz="0 0 z"/>'), "joint 'j': xyz is 'z', which is not a number"),
        (one_joint('<axis xyz="0 0 ${pi}"/>'), "which is not a number; expand the xacro file"),
        (one_joint('<origin xyz="0 0 inf"/>'), "joint 'j': xyz is 'inf'; every number must be finite"),
        (one_joint('<limit effort="-1"/>'), "joint 'j': effort -1.0 and velocity inf .*"),
        (robot(link("a", "<inertial/>")), "link 'a': its <inertial> needs both <mass> and <inertia>"),
        (
            robot(link("a", INERTIAL.replace('value="1"', ""))),
            "link 'a': <mass> lacks the attribute 'value'",
        ),
        (robot(link("a", INERTIAL.replace('ixy="0"', ""))), "link 'a': <inertia> lacks the attribute 'ixy'"),
        (one_joint("<mimic/>"), "joint 'j': <mimic> lacks the attribute 'joint'"),
        (one_joint('<mimic joint="k"/>'), "joint 'j' mimics .*'k'"),
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
            one_joint("", "revolute", transmission(actuator="<gear_ratio>x</gear_ratio>")),
            "joint 'j': gear_ratio of",
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
    for content in (b"\x89PNG\r\n", b"<robot>\xff</robot>", b'<?xml version="1.0" encoding="none"?><robot/>'):
        path.write_bytes(content)
        with pytest.raises(UrdfError, match=r"robot.urdf' is not well-formed XML"):
            load_urdf(path)
    with pytest.raises(UrdfError, match=r"cannot read .*; give a path"):
        load_urdf(tmp_path)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (one_joint('<axis xyz="0 0 0"/>'), JointError, "joint 'j': axis .* has no direction"),
        (one_joint('<axis xyz="0 0 0"/>', "planar"), JointError, "joint 'j': axis .* has no direction"),
        (one_joint('<limit lower="1" upper="-1"/>'), JointError, "joint 'j': q_lower = 1.0 exceeds q_upper"),
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
        (one_joint().replace(INERTIAL, ""), InertiaError, "body 'arm' on joint 'j' is a leaf without mass"),
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


def test_a_wrong_inertia_can_be_replaced_by_the_nearest_right_one():
    text = one_joint().replace('izz="0.02"', 'izz="0.9"')
    with pytest.warns(InertiaWarning, match=r"link 'arm': .* the nearest physical one is taken"):
        inertia = load_urdf(text, repair_inertia=True).bodies[0].inertia
    # Second moments trace/2 - A are (0.4595, 0.4405, -0.4395); without the negative one:
    np.testing.assert_allclose(inertia, np.diag([0.4405, 0.4595, 0.9]), rtol=1e-12)


def test_limits_and_angles_in_degrees_are_warned_of():
    with pytest.warns(DegreesWarning, match="joint 'j': q_upper = 170.0 rad looks like degrees"):
        load_urdf(one_joint('<axis xyz="0 0 1"/><limit lower="0" upper="170"/>'))
    with pytest.warns(DegreesWarning, match=r"joint 'j': rpy = \[0.0, 0.0, 90.0\] looks like degrees"):
        load_urdf(one_joint('<axis xyz="0 0 1"/><origin rpy="0 0 90"/>'))


def test_the_real_robots_have_the_joints_their_makers_say():
    counts = {path.stem: load_urdf(path).n for path in ROBOTS.glob("*.urdf")}
    arms = {"ur5": 6, "panda": 8, "kinova": 6, "xarm7": 7, "so101": 6, "baxter": 17}
    legs = {"solo12": 12, "bolt": 6, "g1": 29, "talos": 32, "simple_humanoid": 29, "human": 36}
    assert counts == arms | legs | {"tiago_pro": 23, "centauro": 39}
