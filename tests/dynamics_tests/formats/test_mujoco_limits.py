"""Limits of torque, flags and frames of MuJoCo's models against MuJoCo itself, or named where they differ."""

import warnings

import numpy as np
import pytest

import dynamics
from dynamics.errors import MujocoError, MujocoWarning

mujoco = pytest.importorskip("mujoco")

from benchmarks.dynamics.robot_files import limit_differences  # noqa: E402

JOINT = 'name="j" axis="0 1 0" stiffness="3" damping="2" frictionloss="0.5" range="-1 2"'
PLAIN = "narrow control, gear"
READ = {
    "narrow control": '<motor joint="j" ctrlrange="-5 5" forcerange="-100 100"/>',
    PLAIN: '<motor joint="j" gear="10" ctrlrange="-5 4" forcerange="-100 100"/>',
    "narrow force": '<motor joint="j" gear="-10" ctrlrange="-5 5" forcerange="-3 2"/>',
    "negative gain": '<general joint="j" gainprm="-7" ctrlrange="-5 2"/>',
    "constant bias": '<general joint="j" gainprm="7" biastype="affine" biasprm="3 0 0" ctrlrange="-5 2"/>',
    "servo strong enough": '<position joint="j" kp="1000" ctrlrange="-3 4" forcerange="-9 8"/>',
    "integrator": '<general joint="j" dyntype="integrator" actlimited="true" actrange="-2 3" gainprm="4"/>',
    "filter": '<general joint="j" dyntype="filter" dynprm="1" ctrlrange="-2 3" gainprm="4"/>',
    "two on a joint": '<motor joint="j" ctrlrange="-1 2"/><motor joint="j" gear="-3" ctrlrange="-5 4"/>',
    "free of limits": '<motor joint="j"/>',
}
NAMED = {
    "servo of positions": (
        '<position name="m" joint="j" kp="10" ctrlrange="-1 1"/>',
        "limits of actuators that state no range of force, by their control or the state m",
    ),
    "weak servo": (
        '<position name="m" joint="j" kp="10" ctrlrange="-1 1" forcerange="-9 8"/>',
        "controls that give servos less than these limits at some positions or speeds m",
    ),
    "speed servo": (
        '<velocity name="m" joint="j" kv="2" ctrlrange="-3 4"/>',
        "controls that give servos less than these limits at some positions or speeds m",
    ),
    "muscle": (
        '<muscle name="m" joint="j" ctrlrange="0 1" force="100"/>',
        "limits of actuators that state no range of force, by their control or the state m",
    ),
    "affine gain": (
        '<general name="m" joint="j" gaintype="affine" gainprm="1 1 0" ctrlrange="-1 1"/>',
        "limits of actuators that state no range of force, by their control or the state m",
    ),
}


def arm(actuators="", option="", joint=JOINT):
    return f"""<mujoco><compiler angle="radian"/><option gravity="1 2 -9">{option}</option><worldbody>
    <body name="b" pos="0.1 0 0"><joint {joint}/>
    <geom type="capsule" size="0.05" fromto="0 0 0 0.5 0 0"/></body></worldbody>
    <actuator>{actuators}</actuator></mujoco>"""


def silently(text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return dynamics.from_mujoco(text)


@pytest.mark.parametrize("name", READ)
def test_limits_are_what_mujocos_actuators_give(name):
    text = arm(READ[name])
    assert limit_differences(mujoco.MjModel.from_xml_string(text), silently(text)) == []


def test_the_sum_is_cut_to_the_joints_range_of_actuator_forces():
    text = arm(READ[PLAIN], joint=f'{JOINT} actuatorfrcrange="-20 90"')
    model = silently(text)
    assert (model.limits.torque_lower[0], model.limits.torque_upper[0]) == (-20.0, 40.0)
    assert limit_differences(mujoco.MjModel.from_xml_string(text), model) == []


@pytest.mark.parametrize("name", NAMED)
def test_actuators_without_a_readable_limit_are_named(name):
    actuators, words = NAMED[name]
    with pytest.warns(MujocoWarning, match=words):
        model = dynamics.from_mujoco(arm(actuators))
    assert model.left_out == (words,)
    with pytest.raises(MujocoError, match=f"strict: left out of the robot: {words}"):
        dynamics.from_mujoco(arm(actuators), strict=True)
    mj = mujoco.MjModel.from_xml_string(arm(actuators))
    at_rest = [] if name in ("muscle", "speed servo") else limit_differences(mj, model)
    assert at_rest or name in ("muscle", "speed servo")  # what the comparison would see without the words


def test_flags_that_switch_forces_off_are_read():
    flags = '<flag gravity="disable" spring="disable" damper="disable" frictionloss="disable"/>'
    model = silently(arm(option=flags))
    joint = model.joints[0]
    assert (joint.stiffness, joint.damping, joint.friction) == (0.0, 0.0, 0.0)
    np.testing.assert_array_equal(model.gravity, np.zeros(3))
    own = silently(arm())
    assert (own.joints[0].stiffness, own.joints[0].damping, own.joints[0].friction) == (3.0, 2.0, 0.5)
    np.testing.assert_array_equal(own.gravity, [1.0, 2.0, -9.0])


def test_controls_that_are_not_clamped_leave_the_range_of_force():
    text = arm(READ[PLAIN], '<flag clampctrl="disable"/>')
    model = silently(text)
    assert model.limits.torque_upper[0] == 1000.0
    assert limit_differences(mujoco.MjModel.from_xml_string(text), model) == []


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ('<flag actuation="disable"/>', 'actuators switched off by flag actuation="disable".* actuator0'),
        ('<flag contact="disable"/>', 'flag contact="disable"'),
        ('<flag limit="disable"/>', 'flag limit="disable", ranges of joints'),
    ],
)
def test_other_flags_are_named(option, words):
    with pytest.warns(MujocoWarning, match=words):
        model = dynamics.from_mujoco(arm(READ[PLAIN], option))
    assert np.isinf(model.limits.torque_upper[0]) == ("actuation" in option)
    assert np.isinf(model.limits.q_upper[0]) == ("limit" in option)


@pytest.mark.skipif(not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"), reason="a MuJoCo without sleep")
@pytest.mark.parametrize("policy", ["init", "allowed"])
def test_bodies_that_begin_asleep_are_named(policy):
    """They rest whatever their actuators do, which those that fall asleep later do not."""
    text = arm(READ[PLAIN], '<flag sleep="enable"/>').replace("<body", f'<body sleep="{policy}"', 1)
    mj = mujoco.MjModel.from_xml_string(text)
    model = silently(text) if policy == "allowed" else None
    if model is None:
        with pytest.warns(MujocoWarning, match='flag sleep="enable", bodies that begin asleep'):
            model = dynamics.from_mujoco(text)
    assert model.limits.torque_upper[0] == silently(arm(READ[PLAIN])).limits.torque_upper[0]
    assert bool(limit_differences(mj, model)) == (policy == "init")


def test_equalities_that_a_flag_switches_off_couple_nothing():
    text = arm(option='<flag equality="disable"/>').replace(
        "</worldbody>",
        """<body><joint name="k"/><geom size="0.1"/></body></worldbody>
        <equality><joint joint1="k" joint2="j"/></equality>""",
    )
    with pytest.warns(MujocoWarning, match='flag equality="disable"'):
        model = dynamics.from_mujoco(text, equalities="mimic")
    assert model.n == 2


def test_actuators_of_groups_that_are_switched_off_give_nothing():
    motors = '<motor joint="j" group="3" ctrlrange="-5 5"/><motor joint="j" ctrlrange="-1 1"/>'
    with pytest.warns(MujocoWarning, match="actuators switched off .* actuator0"):
        model = dynamics.from_mujoco(arm(motors).replace("<option ", '<option actuatorgroupdisable="3" '))
    assert model.limits.torque_upper[0] == 1.0


def test_a_body_whose_joint_is_off_its_origin_has_a_frame_of_its_own():
    """The link's frame has the body's axes and its origin on the joint."""
    text = arm(joint='name="j" axis="0 1 0" pos="0.2 0.1 -0.3" ref="0.4"')
    model, mj = silently(text), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(mj)
    data.qpos[:] = 0.4 + 0.7
    mujoco.mj_forward(mj, data)
    poses = dynamics.forward_kinematics(model, [0.4 + 0.7], ["b", "b_body"])
    np.testing.assert_allclose(poses.position[1], data.body("b").xpos, atol=1e-15)
    np.testing.assert_allclose(poses.position[0], data.xanchor[0], atol=1e-15)
    for rotation in poses.rotation:
        np.testing.assert_allclose(rotation.ravel(), data.body("b").xmat, atol=1e-15)
    assert silently(arm()).frame_names == ()


PID = """<mujoco><extension><plugin plugin="mujoco.pid"><instance name="p"><config key="kp" value="2"/>
<config key="ki" value="4"/><config key="imax" value="0.5"/></instance></plugin></extension><worldbody><body>
<joint name="j" axis="0 1 0"/><geom type="capsule" size="0.05" fromto="0 0 0 0.5 0 0"/></body></worldbody>
<actuator><plugin name="m" joint="j" plugin="mujoco.pid" instance="p" ctrlrange="-0.8 0.7" actdim="1"{}/>
</actuator></mujoco>"""


@pytest.mark.parametrize(
    ("stated", "limits", "words"),
    [
        (' forcerange="-9 5"', (-9.0, 5.0), "controls that give servos less than these limits"),
        ("", (-np.inf, np.inf), "limits of actuators that state no range of force"),
    ],
)
def test_an_actuator_of_a_plugin_has_the_range_of_force_that_it_states(stated, limits, words):
    """Controls are angles and gains are the plugin's: gain 1 times the angle was taken for a torque."""
    text = PID.format(stated)
    with pytest.warns(MujocoWarning, match=f"{words}.* m"):
        model = dynamics.from_mujoco(text)
    assert (model.limits.torque_lower[0], model.limits.torque_upper[0]) == limits
    mj = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(mj)
    data.qpos[0], data.ctrl[0] = -3.0, 0.7
    mujoco.mj_forward(mj, data)
    assert data.qfrc_actuator[0] > 1.0  # more than its control, below what it states
