"""`from_mujoco`: MuJoCo's own inverse dynamics, kinematics and names of what is left out."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import dynamics
import problems
from dynamics.errors import MujocoError, MujocoWarning
from dynamics.formats.mujoco.mujoco_source import compiled as compiled_file

mujoco = pytest.importorskip("mujoco")

from tiers import every  # noqa: E402

from benchmarks.dynamics.mujoco_models import inverse_dynamics_error, mujoco_state  # noqa: E402

EXACT = 1e-12  # of the largest force
NOT_IDENTITY = 'quat="0.8 0.2 -0.3 0.4"'

TREE = f"""
<mujoco model="tree">
  <compiler angle="radian"/>
  <option gravity="0.4 -0.2 -9.7"/>
  <worldbody>
    <body name="trunk" pos="0.1 0.2 0.9" {NOT_IDENTITY}>
      <freejoint name="root"/>
      <inertial pos="0.01 0.02 -0.03" mass="4" fullinertia="0.3 0.4 0.5 0.01 0.02 0.03"/>
      <body name="arm" pos="0.3 0 0.1" {NOT_IDENTITY}>
        <joint name="lift" axis="0 1 0.2" pos="0.02 0.01 0" ref="0.3" springref="0.5" stiffness="3"
               damping="0.7" armature="0.05" range="-1 2" frictionloss="0.3"/>
        <joint name="roll" axis="1 0 0" pos="-0.03 0.05 0.02" armature="0.02"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
        <body name="bracket" pos="0.3 0 0" {NOT_IDENTITY}>
          <geom type="box" size="0.05 0.02 0.03" pos="0.01 0 0"/>
          <site name="tip" pos="0.1 0.02 0.03" {NOT_IDENTITY}/>
          <body name="slider" pos="0 0.1 0">
            <joint name="slide" type="slide" axis="0.3 0.2 1" ref="0.1" damping="0.2"/>
            <geom type="sphere" size="0.05"/>
          </body>
        </body>
      </body>
      <body name="leg" pos="0 0 -0.3" {NOT_IDENTITY}>
        <joint name="hip" type="ball" pos="0.02 -0.05 0.03"/>
        <geom type="capsule" fromto="0 0 0 0 0.1 -0.4" size="0.05"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="lift" gear="20" ctrlrange="-2 3" ctrllimited="true"/>
    <position joint="slide" kp="10" forcerange="-5 6"/>
    <motor joint="slide" gear="-2" ctrlrange="-1 3" ctrllimited="true"/>
  </actuator>
</mujoco>
"""


def compiled(xml):
    return mujoco.MjModel.from_xml_string(xml)


def arm(extra="", joint="", inner=""):
    return f"""<mujoco><worldbody><body name="upper"><joint name="shoulder" axis="0 1 0" {joint}/>
    <geom name="rod" type="capsule" fromto="0 0 0 0.3 0 0" size="0.04"/>
    <body name="lower" pos="0.3 0 0"><joint name="elbow" axis="0 1 0.1"/>{inner}
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/></body></body></worldbody>{extra}</mujoco>"""


def test_all_joints_against_mujocos_inverse_dynamics():
    mj = compiled(TREE)
    assert inverse_dynamics_error(mj, dynamics.from_mujoco(mj)) < EXACT


def test_links_frames_and_sites_stand_where_mujoco_has_them():
    mj = compiled(TREE)
    model, data = dynamics.from_mujoco(TREE), mujoco.MjData(mj)
    q, v, a = np.random.default_rng(3).uniform(-1.0, 1.0, (3, model.n))
    data.qpos[:] = mujoco_state(mj, model, q, v, a)[0]
    mujoco.mj_forward(mj, data)
    found = dynamics.forward_kinematics(model, q, ["trunk", "bracket", "tip"])
    for i, (position, matrix) in enumerate(
        [
            (data.body("trunk").xpos, data.body("trunk").xmat),
            (data.body("bracket").xpos, data.body("bracket").xmat),
            (data.site("tip").xpos, data.site("tip").xmat),
        ]
    ):
        np.testing.assert_allclose(found.position[i], position, atol=1e-12)
        np.testing.assert_allclose(found.rotation[i].ravel(), matrix, atol=1e-12)
    for link in ("slider", "leg"):  # their origin is on the joint, their axes are MuJoCo's
        rotation = dynamics.forward_kinematics(model, q, [link]).rotation[0]
        np.testing.assert_allclose(rotation.ravel(), data.body(link).xmat, atol=1e-12)


def test_ranges_torques_friction_and_names_are_read():
    model = dynamics.from_mujoco(TREE)
    joints = {joint.name: joint for joint in model.joints}
    lift, slide = joints["lift"], joints["slide"]
    assert (model.name, model.rotors) == ("tree", "armature")
    np.testing.assert_allclose([lift.limits.q_lower + 0.3, lift.limits.q_upper + 0.3], [-1.0, 2.0])
    assert (lift.limits.torque_lower, lift.limits.torque_upper) == (-40.0, 60.0)
    assert (slide.limits.torque_lower, slide.limits.torque_upper) == (-5.0 - 6.0, 6.0 + 2.0)
    assert joints["roll"].limits == dynamics.JointLimits()
    assert (lift.friction, lift.damping, lift.rotor.axial_inertia) == (0.3, 0.7, pytest.approx(0.05))
    held = dynamics.from_mujoco(TREE.replace('damping="0.7"', 'damping="1e11"'))
    assert held.joints[6].damping == 1e11
    assert model.joint_names == (
        *("root_x", "root_y", "root_z", "root_rx", "root_ry", "root_rz"),
        *("lift", "roll", "slide", "hip_x", "hip_y", "hip_z"),
    )


def test_limits_of_the_force_on_a_joint_are_those_of_its_torque():
    model = dynamics.from_mujoco(arm(joint='actuatorfrcrange="-7 8"'))
    assert (model.limits.torque_lower[0], model.limits.torque_upper[0]) == (-7.0, 8.0)
    assert model.limits.torque_upper[1] == np.inf


def test_bodies_and_joints_without_a_name_are_numbered():
    xml = arm().replace('name="elbow"', "").replace('name="lower"', "")
    model = dynamics.from_mujoco(xml)
    assert model.joint_names == ("shoulder", "joint1") and model.link_names == ("upper", "body2")


def test_a_link_between_two_joints_of_a_body_has_the_name_of_the_first_unless_a_body_has_it():
    xml = arm(inner='<joint name="lower" axis="1 0 0"/><joint axis="0 0 1"/>')
    assert dynamics.from_mujoco(xml).link_names == ("upper", "elbow", "lower_link", "lower")


COUPLED = '<equality><joint joint1="elbow" joint2="shoulder" polycoef="0.2 -1.5 0 0 0"/></equality>'


def test_a_linear_coupling_can_be_a_mimic_joint():
    """With q_elbow = 0.2 - 1.5 q_shoulder, tau = tau_shoulder - 1.5 tau_elbow."""
    mj = compiled(arm(COUPLED))
    model = dynamics.from_mujoco(mj, equalities="mimic")
    assert model.joint_names == ("shoulder",)
    q, v, a = 0.4, 0.7, -1.3
    data = mujoco.MjData(mj)
    mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data.qpos[:], data.qvel[:], data.qacc[:] = [q, 0.2 - 1.5 * q], [v, -1.5 * v], [a, -1.5 * a]
    mujoco.mj_inverse(mj, data)
    expected = data.qfrc_inverse @ [1.0, -1.5]
    np.testing.assert_allclose(dynamics.rnea(model, [q], [v], [a]), [expected], rtol=1e-12)


@pytest.mark.parametrize(
    ("xml", "words"),
    [
        (arm(COUPLED), "equalities of joint elbow"),
        (
            arm('<equality><connect name="loop" body1="upper" body2="lower" anchor="0 0 0"/></equality>'),
            "loop",
        ),
        (
            arm('<tendon><fixed name="cord"><joint joint="elbow" coef="1"/></fixed></tendon>'),
            "tendons cord",
        ),
        (arm('<option density="1.2"/>'), "forces of the fluid"),
        (arm().replace('<body name="lower"', '<body name="lower" gravcomp="1"'), "gravity of bodies lower"),
        (TREE.replace('type="ball"', 'type="ball" damping="1"'), "free and ball joints hip"),
        (arm(joint='stiffness="1 2"'), "not linear shoulder"),
        (
            arm(
                '<tendon><fixed name="cord"><joint joint="elbow" coef="1"/></fixed></tendon>'
                '<actuator><motor name="pull" tendon="cord"/></actuator>'
            ),
            "actuators of no joint pull",
        ),
    ],
)
def test_what_is_left_out_is_named(xml, words):
    with pytest.warns(MujocoWarning, match=words):
        dynamics.from_mujoco(xml)


def test_a_warning_of_mujoco_is_a_warning_here(tmp_path, monkeypatch):
    """MuJoCo alone would write it to a file in the current folder."""
    monkeypatch.chdir(tmp_path)
    mass = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    urdf = f"""<robot name="r"><link name="a">{mass}</link><link name="b">{mass}</link>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/><mimic joint="k"/></joint></robot>"""
    with pytest.warns(MujocoWarning, match="MuJoCo warns: .*mimic"):
        dynamics.from_mujoco(urdf)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3.0, "the model is 3.0"),
        ("missing.xml", "there is no file"),
        ("<mujoco><worldbody><body/></mujoco>", "MuJoCo cannot compile the XML"),
        ("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>", "nothing that moves"),
    ],
)
def test_what_is_no_model_is_refused(given, message):
    with pytest.raises(MujocoError, match=message):
        dynamics.from_mujoco(given)


def test_an_unknown_way_with_equalities_is_refused():
    with pytest.raises(MujocoError, match='choose "leave out" or "mimic"'):
        dynamics.from_mujoco(arm(), equalities="drop")


def test_without_mujoco_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("dynamics.formats.mujoco.mujoco_source.import_module", _refuse)
    with pytest.raises(MujocoError, match="pip install"):
        dynamics.from_mujoco(arm())


def _refuse(name):
    raise ImportError(name)


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.mark.parametrize("ending", [".mjcf", ".XML", ".txt", ""])
def test_files_of_any_ending_are_read_with_what_lies_beside_them(ending, tmp_path):
    """MuJoCo's own reader of models takes them, its reader of specifications knows .xml alone."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "block.obj").write_text(TETRAHEDRON)
    (tmp_path / "parts" / "more.xml").write_text(arm())
    text = """<mujoco><compiler meshdir="parts"/><include file="parts/more.xml"/><asset>
    <mesh name="block" file="block.obj" scale="0.1 0.1 0.1"/></asset><worldbody><body><joint axis="0 1 0"/>
    <geom type="mesh" mesh="block"/></body></worldbody></mujoco>"""
    file = tmp_path / f"robot{ending}"
    file.write_text(text)
    (tmp_path / f"robot{ending}.xml").write_text("no model")
    mj = mujoco.MjModel.from_xml_path(str(file))
    assert mj.nq == 3
    assert inverse_dynamics_error(mj, dynamics.from_mujoco(file)) < EXACT


def meshes(compiler="", base="", inertial=""):
    """A base that stays and a hinged bar, each with a mesh that no file has, and a texture without file."""
    weight = '<inertial pos="0 0 0.1" mass="2" diaginertia="0.1 0.1 0.1"/>' if inertial else ""
    return f"""<mujoco><compiler {compiler}/><asset><mesh name="none" file="none.obj"/>
    <texture name="paint" type="2d" file="none.png"/><texture name="sky" type="skybox" fileup="none.png"/>
    <material name="red" texture="paint"/></asset><worldbody>
    <body name="base">{base}<geom type="mesh" mesh="none"/>
    <body name="bar"><joint axis="0 1 0"/>{weight}<geom type="capsule" size="0.1 0.2" material="red"/>
    {'<geom type="mesh" mesh="none"/>' if inertial else ""}</body></body></worldbody></mujoco>"""


@pytest.mark.filterwarnings("ignore:compiler attribute 'settotalmass'")
@pytest.mark.parametrize(("inertial", "compiler"), [("", ""), ("yes", ""), ("yes", 'settotalmass="3"')])
def test_looks_and_shapes_without_a_mass_that_counts_need_no_file(inertial, compiler):
    base = '<inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>' if compiler else ""
    model = dynamics.from_mujoco(meshes(compiler, base, inertial))
    expected = dynamics.from_mujoco(
        meshes(compiler, base, inertial)
        .replace('<geom type="mesh" mesh="none"/>', "")
        .replace('<mesh name="none" file="none.obj"/>', "")
    )
    q = np.linspace(-1.0, 1.0, 5)[:, None]
    np.testing.assert_allclose(dynamics.rnea(model, q, q, q), dynamics.rnea(expected, q, q, q), rtol=1e-14)


@pytest.mark.parametrize(
    ("base", "compiler", "inertial"),
    [
        ("<joint axis='0 1 0'/>", "", ""),
        ("", 'settotalmass="3"', ""),
        ("", 'inertiafromgeom="true"', "yes"),
    ],
    ids=["moves", "masses are scaled", "inertia of shapes"],
)
def test_missing_meshes_that_give_a_mass_are_refused_with_a_way(base, compiler, inertial):
    with pytest.raises(MujocoError, match=r"none.obj': put it there, or write <inertial> in each body"):
        dynamics.from_mujoco(meshes(compiler, base, inertial))


def test_a_file_that_does_not_compile_is_named_by_its_whole_path(tmp_path):
    file = tmp_path / ("a" * 60) / ("b" * 60) / "robot.xml"
    file.parent.mkdir(parents=True)
    file.write_text("<mujoco><option apirate='3'/></mujoco>")
    with pytest.raises(MujocoError, match=r"b/robot.xml': XML Error: Schema violation"):
        dynamics.from_mujoco(file)


@pytest.mark.parametrize("robot", ["ur5", "panda"])
def test_a_urdf_is_the_same_robot_as_by_our_own_reader(robot, tmp_path):
    """Meshes are not there: shapes without a file are left out, since links state their inertia."""
    text = problems.urdf_arm.source(robot)
    (tmp_path / "robot.urdf").write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MujocoWarning)  # the coupled fingers of the Panda
        model = dynamics.from_mujoco(tmp_path / "robot.urdf", equalities="mimic")
    own = dynamics.load_urdf(text)
    assert model.joint_names == own.joint_names
    q, v, a = np.random.default_rng(1).uniform(-1.0, 1.0, (3, 5, own.n))
    np.testing.assert_allclose(
        dynamics.rnea(model, q, v, a), dynamics.rnea(own, q, v, a), rtol=1e-6, atol=1e-6
    )


ROBOTS = sorted((Path(__file__).parents[2] / "support" / "robots").glob("*.urdf"))
REFUSED = {"human": "larger than mjMINVAL"}  # it has massless links that move


@every("file", ROBOTS, fast=5)
def test_known_robots_against_mujocos_inverse_dynamics(file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MujocoWarning)
        if file.stem in REFUSED:
            with pytest.raises(MujocoError, match=REFUSED[file.stem]):
                dynamics.from_mujoco(file)
            return
        mj = compiled_file(file)
        assert inverse_dynamics_error(mj, dynamics.from_mujoco(mj)) < EXACT
