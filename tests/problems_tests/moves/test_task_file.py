"""Tasks from JSON and YAML: the task of Python, schemas that agree with the code, places of mistakes."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import dynamics
from problems import moves
from problems.moves.tasks import task_file
from problems.moves.tasks.task import Task
from problems.moves.tasks.task_file import task_from_file, task_of
from problems.moves.tasks.task_statement import statement_of
from trajopt.base import errors

HOME = [0.0, -1.2, 1.4, -1.8, -1.57, 0.0]
FOLDER = Path(str(files("problems") / "moves" / "tasks"))
SCHEMA = json.loads((FOLDER / "task.schema.json").read_text(encoding="utf-8"))
SCENE_SCHEMA = json.loads((FOLDER / "scene.schema.json").read_text(encoding="utf-8"))
TASK = {
    "robot": {
        "urdf": "ur5.urdf",
        "shapes": [{"kind": "sphere", "size": [0.05], "carrier": "wrist_3_link"}],
        "tools": {"tip": {"frame": "tool0", "position": [0.0, 0.0, 0.1]}},
        "base": {"position": [0.0, 0.0, 0.1], "rotation": [0.0, 0.0, 0.5]},
    },
    "scene": [{"kind": "box", "size": [2.0, 2.0, 0.1], "position": [0.0, 0.0, -0.5], "name": "floor"}],
    "clearance": 0.01,
    "steps": [
        {"start": {"q": HOME}},
        {"to": {"frame": "tip", "position": [0.5, 0.0, 0.5], "rotation": [3.1, 0.0, 0.0]}},
        {"attach": {"name": "cup", "frame": "tip", "mass": 0.4, "shape": {"kind": "sphere", "size": [0.03]}}},
        {"keep": {"frame": "tip", "tolerance": 0.2}},
        {"line": {"frame": "tip", "position": [0.5, 0.2, 0.5], "distance": 0.002, "stop": False}},
        {"release": None},
        {"to": {"q": {"elbow_joint": 1.0}}},
        {"detach": {"name": "cup"}},
        {"limits": {"acceleration": 15.0, "jerk": 500.0, "tool_speed": 1.5}},
    ],
    "solve": {"intervals": 8},
}


def written(folder, content, name="task.json"):
    source = (files("problems") / "robots" / "ur5.urdf").read_text(encoding="utf-8")
    (folder / "ur5.urdf").write_text(source, encoding="utf-8")
    text = content if isinstance(content, str) else json.dumps(content)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def changed(**changes):
    return {**TASK, **changes}


def test_a_file_states_the_task_that_python_states(tmp_path):
    task, options = task_from_file(written(tmp_path, TASK))
    assert options == {"intervals": 8}
    assert [step.goal.name for step in task.steps] == ["goal 1", "line 2", "goal 3"]
    assert [step.rests for step in task.steps] == [True, False, True]
    assert [len(step.rules) for step in task.steps] == [0, 2, 0]
    assert [[p.name for p in step.payloads] for step in task.steps] == [[], ["cup"], ["cup"]]
    assert task.steps[1].payloads[0].shape.kind == "sphere"
    assert task.scene.names == ("floor",) and task.clearance == 0.01 and task.tool_speed == 1.5
    tip, tool = (
        dynamics.forward_kinematics(task.robot.model, HOME, [name]).position[0] for name in ("tip", "tool0")
    )
    assert np.linalg.norm(tip - tool) == pytest.approx(0.1)


def test_a_statement_is_read_as_the_same_task_and_fits_the_schema(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    referencing = pytest.importorskip("referencing")
    again = [{"keep": {"frame": "tip", "along": [0, 0.6, 0.8]}}, {"attach": {**TASK["steps"][2]["attach"]}}]
    arc = {"position": [0.5, 0.0, 0.5], "through": [0.6, 0.1, 0.5]}
    ends = [
        {"via": {"frame": "tip", "position": [0.5, None, 0.5]}},
        {"to": {"frame": "tip", "position": [0.5, 0.2, 0.5], "tolerance": [1e-3, 0.1]}},
        {"line": {"frame": "tip", **arc}},
        {"limits": {"velocity": 1.3, "torque": [[-50.0, 60.0]] * 6}},
    ]
    steps = [*TASK["steps"][:8], *again, *ends]
    task = task_from_file(written(tmp_path, changed(steps=steps)))[0].stated
    statement = json.loads(json.dumps(statement_of(task)))
    read = task_of(statement, Path("elsewhere"), "it").stated
    assert statement_of(read) == statement and read.robot.urdf == str(tmp_path / "ur5.urdf")
    assert [[type(rule).__name__ for rule in step.rules] for step in read.steps] == [
        [], ["Line", "KeptAxis"], [], ["KeptAxis"], ["KeptAxis"], ["Arc", "KeptAxis"],
    ]  # fmt: skip
    assert [[load.name for load in step.payloads] for step in read.steps] == [[], *[["cup"]] * 5]
    assert read.steps[2].payloads[0] is not read.steps[3].payloads[0]  # put down, and picked up again
    assert np.all(read.limits.velocity == 1.3) and np.all(read.limits.torque_upper == 60.0)
    resource = referencing.Resource.from_contents(SCENE_SCHEMA)
    registry = referencing.Registry().with_resource("scene.schema.json", resource)
    assert jsonschema.Draft202012Validator(SCHEMA, registry=registry).is_valid(statement)


def test_yaml_is_read_where_its_package_is_there(tmp_path):
    yaml = pytest.importorskip("yaml")
    task, _ = task_from_file(written(tmp_path, yaml.safe_dump(TASK), "task.yaml"))
    assert len(task.steps) == 3
    with pytest.raises(errors.OptionError, match="is no YAML"):
        task_from_file(written(tmp_path, "steps: [", "task.yaml"))


def test_the_schemas_have_the_arguments_of_the_methods():
    assert set(SCHEMA["properties"]) == set(task_file.KEYS)
    assert set(SCHEMA["properties"]["robot"]["properties"]) == set(task_file.ROBOT_KEYS)
    assert set(SCHEMA["properties"]["solve"]["properties"]) == set(task_file.SOLVE_KEYS)
    assert set(SCHEMA["properties"]["steps"]["items"]["properties"]) == set(task_file.STEPS)
    for step in task_file.STEPS:
        arguments = set(task_file.argument_names(getattr(Task, step))) - {"self"}
        assert set(SCHEMA["$defs"][step]["properties"]) == arguments, step
    from dynamics.model.scene import KEYS
    from dynamics.model.shape import KINDS

    shape = SCENE_SCHEMA["$defs"]["shape"]["properties"]
    assert set(shape) == {*KEYS, "carrier"} and set(shape["kind"]["enum"]) == set(KINDS)


def test_the_schemas_accept_what_the_code_accepts_and_refuse_what_it_refuses(tmp_path):
    jsonschema = pytest.importorskip("jsonschema")
    referencing = pytest.importorskip("referencing")
    resource = referencing.Resource.from_contents(SCENE_SCHEMA)
    registry = referencing.Registry().with_resource("scene.schema.json", resource)
    validator = jsonschema.Draft202012Validator(SCHEMA, registry=registry)
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert validator.is_valid(TASK)
    scene = moves.Scene([moves.box((1.0, 1.0, 0.1)), moves.half_space()])
    assert validator.is_valid(changed(scene=json.loads(scene.to_json())))
    for wrong in (
        changed(steps=[{"goto": {}}, {"to": {}}]),
        changed(clearance=0.0),
        changed(scene=[{"kind": "cone"}]),
        changed(robot={}),
        changed(robot={**TASK["robot"], "folders": "meshes"}),
        changed(steps=[{"start": {"q": HOME}}, {"attach": {"name": "cup", "frame": "tip"}}]),
    ):
        assert not validator.is_valid(wrong)
        with pytest.raises((errors.TrajoptError, dynamics.DynamicsError)):
            task_from_file(written(tmp_path, wrong))


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("{", errors.OptionError, "task.json is no JSON"),
        ("[]", errors.OptionError, r"task.json is \[\]: give an object"),
        (changed(step=[]), errors.UnknownNameError, r"key 'step' \(did you mean 'steps'"),
        ({"robot": {"urdf": "ur5.urdf"}}, errors.OptionError, "has no 'steps'"),
        (changed(robot={"urdf": "no.urdf"}), dynamics.UrdfError, r"task.json: robot: there is no file"),
        (changed(scene="no.json"), dynamics.JsonError, "task.json: scene: .*no.json"),
        (changed(scene=[{"kind": "cone"}]), dynamics.JsonError, r"scene: shapes\[0\] has the kind 'cone'"),
        (changed(steps={}), errors.OptionError, "steps is {}: give a list"),
        (
            changed(steps=[{"start": {}, "to": {}}]),
            errors.OptionError,
            r"steps\[0\] is .*: give one of start",
        ),
        (changed(steps=[{"strat": {}}]), errors.UnknownNameError, r"steps\[0\] has a key 'strat' \(did you"),
        (changed(steps=[{"start": {"pos": 1}}]), errors.UnknownNameError, r"\[0\]: start has a key 'pos'"),
        (changed(steps=[{"start": {"q": 1}}, {"detach": {}}]), errors.OptionError, r"\[1\]: detach: missing"),
        (changed(steps=[{"start": {"q": [1]}}]), errors.ShapeError, r"steps\[0\]: start: q has 1 values"),
        (changed(clearance="close"), errors.OptionError, "task.json: clearance = 'close'"),
        (changed(solve={"tol": 1}), errors.UnknownNameError, "solve has a key 'tol'"),
    ],
)
def test_mistakes_are_named_with_their_place(tmp_path, content, error, message):
    with pytest.raises(error, match=message):
        task_from_file(written(tmp_path, content))
    with pytest.raises(errors.OptionError, match="has the ending"):
        task_from_file(written(tmp_path, "", "task.txt"))


@pytest.mark.parametrize("name", ["lost.json", "folder.json", "bytes.json"])
def test_a_file_that_cannot_be_read_is_refused_by_its_name(tmp_path, name):
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(errors.OptionError, match=f"{name} cannot be read"):
        task_from_file(tmp_path / name)
