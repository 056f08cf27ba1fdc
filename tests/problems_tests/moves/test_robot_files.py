"""Doors of robots of files, in Python, tasks and commands: repairs, SRDF, meshes, what is left out."""

import json
import warnings

import pytest
from click.testing import CliRunner
from osim_text import body, osim_text
from osim_text import joint as osim_joint
from urdf_text import INERTIAL, joint, link, robot

import dynamics
from problems import moves
from problems.cli.command_line import main
from trajopt.base import errors

BALL = '<collision><geometry><sphere radius="0.05"/></geometry></collision>'
MESH = '<collision><geometry><mesh filename="package://p/arm.stl"/></geometry></collision>'
LIMIT = '<origin xyz="0.3 0 0"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="90"/>'


def arm(content=INERTIAL + BALL):
    return robot(
        *(link("l0", BALL), link("l1", content), link("l2", INERTIAL + BALL)),
        *(joint(f"j{i}", f"l{i - 1}", f"l{i}", content=LIMIT) for i in (1, 2)),
    )


WRONG = arm(INERTIAL.replace('ixx="0.001"', 'ixx="7"') + BALL)
SRDF = """<robot name="r"><group name="arm"><chain base_link="l0" tip_link="l2"/></group>
<group_state name="home" group="arm"><joint name="j1" value="0.5"/><joint name="j2" value="-1"/></group_state>
<group_state name="bent" group="arm"><joint name="j2" value="1"/></group_state>
<group_state name="bent" group="other"><joint name="j2" value="2"/></group_state>
<disable_collisions link1="l0" link2="l2" reason="Never"/></robot>"""


def test_a_repaired_robot_keeps_its_shapes():
    with pytest.raises(dynamics.InertiaError, match="repair_inertia=True, --repair-inertia of a command"):
        moves.robot(WRONG, shapes="fit")
    with pytest.warns(dynamics.InertiaWarning, match="the nearest physical one is taken"):
        found = moves.robot(WRONG, shapes="fit", repair_inertia=True)
    with pytest.warns(dynamics.InertiaWarning):
        model = dynamics.load_urdf(WRONG, repair_inertia=True)
    again = moves.robot(model, shapes="fit")
    assert len(found.model.shapes) == 3 and again.model.to_json() == found.model.to_json()
    assert again.urdf == WRONG
    with pytest.raises(errors.OptionError, match="are for files, and the robot is a model"):
        moves.robot(model, repair_inertia=True)
    alone = dynamics.RigidBodyModel.from_json(model.to_json())
    with pytest.raises(errors.OptionError, match="is a model of none"):
        moves.robot(alone, shapes="fit")


@pytest.mark.parametrize("command", ["show", "retime", "move", "identify"])
def test_commands_repair_where_they_are_asked_to(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.urdf").write_text(WRONG, encoding="utf-8")
    (tmp_path / "w.csv").write_text("0,0\n1,1\n", encoding="utf-8")
    task = {"robot": {"urdf": "r.urdf"}, "steps": [{"start": {"q": [0, 0]}}, {"to": {"q": [0, 0]}}]}
    (tmp_path / "t.json").write_text(json.dumps(task), encoding="utf-8")
    given = {
        "show": ["r.urdf"],
        "retime": ["r.urdf", "w.csv", "--acceleration", "5", "--torque", "900", "--intervals", "50"],
        "move": ["t.json"],
        "identify": ["r.urdf", "w.csv"],
    }[command]
    result = CliRunner().invoke(main, [command, *given])
    assert result.exit_code == 2 and "--repair-inertia" in result.output
    monkeypatch.setattr("problems.moves.tasks.task.Task.solve", lambda self, **_: 1 / 0)  # it came that far
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = CliRunner().invoke(main, [command, *given, "--repair-inertia"])
    warned, _, told = result.stderr.partition("\n")
    assert warned.startswith("warning: link 'l1'") and "principal moments" in warned
    assert (result.exit_code == 0) == (command in ("show", "retime"))
    assert "principal moments" not in told + result.stdout


def test_an_srdf_gives_pairs_groups_and_states():
    found = moves.robot(arm(), shapes="fit", srdf=SRDF)
    assert ("l0", "l2", "SRDF: Never") in found.model.allowed_pairs
    assert found.groups == {"arm": ("j1", "j2")}
    assert found.state("home") == {"j1": 0.5, "j2": -1.0} and found.state("bent", "other") == {"j2": 2.0}
    assert "states: home of arm, bent of arm, bent of other" in str(found)
    locked = moves.robot(arm(), srdf=SRDF, locked={"j1": 0.0})
    assert locked.groups == {"arm": ("j2",)} and locked.state("home") == {"j2": -1.0}
    task = moves.Task(found)
    task.start(q=found.state("home"))
    for wrong, error, message in (
        (("bent",), errors.OptionError, "groups give joint 'j2' of state 'bent' two values: give group="),
        (("hom",), errors.UnknownNameError, "no state in the SRDF is called 'hom'"),
        (("home", "hand"), errors.UnknownNameError, "no group with states in the SRDF is called 'hand'"),
        (("home", "other"), errors.UnknownNameError, "no state in the SRDF is called 'home'"),
    ):
        with pytest.raises(error, match=message):
            found.state(*wrong)


def test_missing_meshes_are_left_out_where_that_is_asked_for_and_named():
    text = arm(INERTIAL + MESH)
    with pytest.raises(dynamics.UrdfError, match="is in none of the folders"):
        moves.robot(text, shapes="fit")
    with pytest.raises(dynamics.UrdfError, match="missing_meshes is 'leave'; choose"):
        moves.robot(text, shapes="fit", missing_meshes="leave")
    with pytest.warns(dynamics.MeshWarning, match=r"missing meshes, .*link 'l1', collision 0"):
        found = moves.robot(text, shapes="fit", missing_meshes="skip")
    line = "missing mesh of link 'l1', collision 0 (package://p/arm.stl)"
    assert {shape.carrier for shape in found.model.shapes} == {"l0", "l2"}
    assert found.model.left_out == (line,) and f"left out: {line}" in str(found)
    with (
        pytest.warns(dynamics.MeshWarning),
        pytest.raises(errors.OptionError, match=r"strict: .*missing mesh"),
    ):
        moves.robot(text, shapes="fit", missing_meshes="skip", strict=True)
    bare = text.replace(BALL, "")
    with (
        pytest.warns(dynamics.MeshWarning),
        pytest.raises(errors.OptionError, match="no shape in the URDF but 1 meshes that no folder has"),
    ):
        moves.robot(bare, shapes="fit", missing_meshes="skip")


def test_a_joint_that_its_mimics_hold_still_has_shapes():
    """Limits 0 to 2 of a joint and of one that mimics it the other way round leave 0 alone, to -0."""
    still = LIMIT.replace('lower="-2"', 'lower="0"')
    text = arm().replace(LIMIT, still, 1).replace(LIMIT, still + '<mimic joint="j1" multiplier="-1"/>')
    with pytest.warns(dynamics.JointWarning, match="allow 0 alone"):
        found = moves.robot(text, shapes="fit")
    assert found.model.joint_names == ("j1",) and len(found.model.shapes) == 3


def test_a_file_of_a_task_takes_them_all(tmp_path):
    from problems.moves.tasks.task_file import task_from_file

    (tmp_path / "r.urdf").write_text(arm(BALL).replace(INERTIAL, ""), encoding="utf-8")
    (tmp_path / "r.srdf").write_text(SRDF, encoding="utf-8")
    options = {"urdf": "r.urdf", "srdf": "r.srdf", "masses": {"l1": 2.0, "l2": [1.0, [0, 0, 0.1]]}}
    task = {"robot": options, "steps": [{"start": {"q": {"j1": 0, "j2": 0}}}, {"to": {"q": [1, 1]}}]}
    (tmp_path / "t.json").write_text(json.dumps(task), encoding="utf-8")
    model = task_from_file(tmp_path / "t.json")[0].robot.model
    assert [body.mass for body in model.bodies] == [2.0, 1.0]
    assert ("l0", "l2", "SRDF: Never") in model.allowed_pairs


def test_show_lists_what_robots_leave_out_and_strict_makes_it_an_error(tmp_path):
    file = tmp_path / "r.urdf"
    file.write_text(arm().replace("</robot>", '<gazebo reference="l1"/></robot>'), encoding="utf-8")
    result = CliRunner().invoke(main, ["show", str(file)])
    assert result.exit_code == 0 and "left out: <gazebo>: 1" in result.output
    values = json.loads(CliRunner().invoke(main, ["show", str(file), "--json"]).output)
    assert values["left_out"] == ["<gazebo>: 1"]
    result = CliRunner().invoke(main, ["show", str(file), "--strict"])
    assert result.exit_code == 2 and "strict: the file holds" in result.output


def test_show_reads_models_of_mujoco(tmp_path):
    pytest.importorskip("mujoco")
    file = tmp_path / "r.xml"
    file.write_text(
        '<mujoco><option><flag contact="disable"/></option><worldbody><body><joint name="j"/>'
        '<geom size="0.1"/></body></worldbody></mujoco>',
        encoding="utf-8",
    )
    result = CliRunner().invoke(main, ["show", str(file)])
    assert result.exit_code == 0 and 'left out: flag contact="disable"' in result.output
    assert CliRunner().invoke(main, ["show", str(file), "--strict"]).exit_code == 2


def test_show_reads_models_of_opensim(tmp_path):
    file = tmp_path / "r.osim"
    forces = "<PathSpring name='rope'/>"
    file.write_text(
        osim_text([body("x")], [osim_joint("PinJoint", "pin", "ground", "x", ["a"])], forces=forces)
    )
    result = CliRunner().invoke(main, ["show", str(file)])
    assert result.exit_code == 0
    assert "0  a      revolute  x" in result.output
    assert "left out: forces (PathSpring): rope" in result.output
    values = json.loads(CliRunner().invoke(main, ["show", str(file), "--json"]).output)
    assert values["joints"] == ["a"] and values["left_out"] == ["forces (PathSpring): rope"]
    result = CliRunner().invoke(main, ["show", str(file), "--strict"])
    assert result.exit_code == 2 and "no part of the robot: forces (PathSpring): rope" in result.output


def test_show_says_what_a_xacro_is(tmp_path):
    (tmp_path / "arm.xacro").write_text("<robot name='r'/>", encoding="utf-8")
    result = CliRunner().invoke(main, ["show", str(tmp_path / "arm.xacro")])
    assert result.exit_code == 2 and "xacro arm.xacro > arm.urdf" in result.output
