"""URDF: what it says is what the model has."""

import math
from pathlib import Path

import numpy as np
import pytest
from urdf_text import INERTIAL, joint, link, one_joint, robot, transmission

from dynamics import UrdfError, load_urdf
from dynamics.model.checks.mass_check import mass_matrix
from dynamics.model.rotation import roll_pitch_yaw

ROBOTS = Path(__file__).parents[2] / "support" / "robots"


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


def test_an_origin_may_have_a_quaternion_in_place_of_rpy():
    # Half the angle: a turn of 120 degrees about (1, 1, 1) takes x to y, y to z and z to x.
    found = load_urdf(one_joint('<origin xyz="1 2 3" quat_xyzw="0.5 0.5 0.5 0.5"/>')).bodies[0].joint
    np.testing.assert_allclose(found.rotation, [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-15)
    assert found.position.tolist() == [1.0, 2.0, 3.0]
    other = load_urdf(one_joint('<origin wxyz="1 0 0 0"/>'))
    assert other.left_out == ("wxyz of <origin> of joints: j",)


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


@pytest.mark.parametrize("far", ["1e16", "inf", "1.7976931348623157e+308"])
def test_a_limit_beyond_all_robots_is_none(far):
    limits = load_urdf(
        one_joint(f'<limit lower="-{far}" upper="{far}" velocity="{far}" effort="{far}"/>')
    ).limits
    assert (limits.q_lower[0], limits.q_upper[0]) == (-math.inf, math.inf)
    assert (limits.velocity[0], limits.torque_lower[0], limits.torque_upper[0]) == (
        math.inf,
        -math.inf,
        math.inf,
    )


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


@pytest.mark.long
def test_a_chain_longer_than_the_stack_of_python_is_read():
    count = 1500
    links = [link(f"l{i}", INERTIAL if i == count else "") for i in range(count + 1)]
    fixed = [
        joint(f"f{i}", f"l{i}", f"l{i + 1}", "fixed", '<origin xyz="0.001 0 0"/>') for i in range(1, count)
    ]
    model = load_urdf(robot(*links, joint("j", "l0", "l1"), *fixed))
    assert model.frame(f"l{count}").position[0] == pytest.approx(0.001 * (count - 1), rel=1e-12)


@pytest.mark.long
def test_the_real_robots_have_the_joints_their_makers_say():
    counts = {path.stem: load_urdf(path).n for path in ROBOTS.glob("*.urdf")}
    arms = {"ur5": 6, "panda": 8, "kinova": 6, "xarm7": 7, "so101": 6, "baxter": 17}
    legs = {"solo12": 12, "bolt": 6, "g1": 29, "talos": 32, "simple_humanoid": 29, "human": 36}
    assert counts == arms | legs | {"tiago_pro": 23, "centauro": 39}


def test_a_free_base_is_three_translations_then_a_rotation_vector():
    text = robot(link("base"), link("arm"), joint("j", "base", "arm"))
    model, held = load_urdf(text, floating_base="free"), load_urdf(text)
    names = tuple(f"floating_{part}" for part in ("x", "y", "z", "rx", "ry", "rz"))
    assert model.joint_names == (*names, "j")
    assert model.link_names == (*names[:-1], "base", "arm")
    assert [found.kind for found in model.joints[:6]] == ["prismatic"] * 3 + ["rotation_vector"] * 3
    assert (model.rotation_joints[0].link, model.ground_mass) == ("base", 0.0)
    assert held.ground_mass == 1.0


def test_a_held_base_says_what_it_weighs_and_how_to_let_it_move():
    text = robot(link("base"), link("arm"), joint("j", "base", "arm"))
    note = 'held to the ground: links of 1 kg, which never move; load_urdf(..., floating_base="free") lets'
    assert note in str(load_urdf(text))
    assert "held" not in str(load_urdf(text, floating_base="free"))
    assert load_urdf(text).with_gravity((0, 0, 0)).ground_mass == 1.0


@pytest.mark.parametrize("given", ["Free", "yes", "", 2, None])
def test_another_floating_base_is_refused(given):
    text = robot(link("base"), link("arm"), joint("j", "base", "arm"))
    with pytest.raises(UrdfError, match=r'floating_base is .*; choose False, True or "free"'):
        load_urdf(text, floating_base=given)
