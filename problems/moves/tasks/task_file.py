"""Tasks from files: `task_from_file` reads JSON or YAML, whose keys are the arguments of `Task`'s methods.

`task.schema.json` and `scene.schema.json` beside this file describe them for editors and validators.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import dynamics
from problems.moves.motion_limits import over_segments
from problems.moves.tasks.robot import Robot, robot
from problems.moves.tasks.robot_shapes import FITS
from problems.moves.tasks.task import Task
from trajopt.base.arguments import short_repr
from trajopt.base.errors import OptionError, TrajoptError, UnknownNameError, near_matches

STEPS = (
    "start",
    "to",
    "via",
    "also",
    "line",
    "keep",
    "release",
    "attach",
    "detach",
    "limits",
)  # methods of `Task`
KEYS = ("$schema", "robot", "scene", "clearance", "steps", "solve")
ROBOT_KEYS = (
    *("urdf", "model", "locked", "base", "shapes", "allowed", "folders", "tools"),
    *("srdf", "repair_inertia", "masses", "missing_meshes", "strict"),
)
SOLVE_KEYS = ("intervals", "time_limit")
POSE_KEYS = ("position", "rotation")
SEGMENTS = "over_segments"  # of limits, values on the way to each goal


def task_from_file(path: Path, repair_inertia: bool = False) -> tuple[Task, Mapping[str, Any]]:
    """The task of a .json, .yaml or .yml file, and the options of `Task.solve` that it gives.

    repair_inertia : whether the robot's is repaired, also where the file does not say so
    Names of other files in it are relative to its folder.
    Raises OptionError for another ending, a file that cannot be read or a text that is neither,
    UnknownNameError for a key that has no meaning, and the errors of `moves.robot`, `Scene` and `Task`; all
    name the file and the place in it.
    """
    content = dict(_checked(_parsed(path), KEYS, str(path)))
    if repair_inertia and isinstance(content.get("robot"), dict):
        content["robot"] = {**content["robot"], "repair_inertia": True}
    task = task_of(content, path.parent, str(path))
    return task, _checked(content.get("solve", {}), SOLVE_KEYS, f"{path}: solve")


def task_of(given: Any, folder: Path, what: str) -> Task:
    """The task of a file's keys and values, or of `statement_of`; errors as of `task_from_file`.

    folder : of names of other files in it;   what : whose values they are, for messages
    """
    content = _checked(given, KEYS, what, needed=("robot", "steps"))
    arm = _at(f"{what}: robot", _robot, content["robot"], folder)
    around = _at(f"{what}: scene", _scene, content.get("scene", []), folder)
    task = _at(what, Task, arm, around, *(content[key] for key in ("clearance",) if key in content))
    steps = content["steps"]
    if not isinstance(steps, list):
        raise OptionError(f"{what}: steps is {short_repr(steps)}: give a list, [{{'start': ...}}, ...]")
    for number, step in enumerate(steps):
        where = f"{what}: steps[{number}]"
        if not isinstance(step, dict) or len(step) != 1:
            raise OptionError(f"{where} is {short_repr(step)}: give one of {', '.join(STEPS)} and its values")
        ((name, values),) = _checked(step, STEPS, where).items()
        _at(where, _called, task, name, values)
    return task


def _parsed(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{path} cannot be read ({error}): give a task as .json or .yaml") from error
    if path.suffix == ".json":
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise OptionError(f"{path} is no JSON: {error}") from error
    if path.suffix not in (".yaml", ".yml"):
        raise OptionError(f"{path} has the ending {path.suffix!r}: give a task as .json or .yaml")
    try:
        import yaml
    except ImportError as error:
        raise OptionError(f"{path} needs the package pyyaml: install it, or write JSON") from error
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise OptionError(f"{path} is no YAML: {' '.join(str(error).split())}") from error


def _robot(given: Any, folder: Path) -> Robot:
    options = dict(_checked(given, ROBOT_KEYS, "it"))
    for key in ("urdf", "shapes", "allowed", "srdf"):
        if isinstance(options.get(key), str) and not _is_text(options[key]):
            options[key] = str(folder / options[key])
    if "folders" in options:
        options["folders"] = [str(folder / each) for each in _texts(options["folders"], "folders")]
    if "base" in options:
        options["base"] = _pose(options["base"], "base")
    if isinstance(options.get("shapes"), list):
        options["shapes"] = [_shape(each) for each in options["shapes"]]
    tools = options.pop("tools", {})
    source, model = options.pop("urdf", None), options.pop("model", None)
    if model is None and source is None:
        raise OptionError("it has no 'urdf': give it")
    made = robot(source if model is None else dynamics.RigidBodyModel.from_json(_json(model)), **options)
    if isinstance(source, str) and (_is_text(source) or Path(source).is_file()):
        made = replace(made, urdf=source)
    for name, tool in _checked(tools, None, "tools").items():
        place = _checked(tool, ("frame", *POSE_KEYS), f"tool {name!r}", needed=("frame",))
        pose = {key: place[key] for key in POSE_KEYS if key in place}
        made = made.with_tool(name, place["frame"], _pose(pose, name))
    return made


def _texts(given: Any, what: str) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise OptionError(f"{what} is {short_repr(given)}: give a list of texts")
    return given


def _is_text(given: str) -> bool:
    """True if it is no name of a file: the text of a URDF, or that shapes are to be fitted."""
    return given in FITS or given.lstrip().startswith("<")


def _json(given: Any) -> str:
    """Values of a file as JSON text; OptionError for dates and others that YAML has and JSON has not."""
    try:
        return json.dumps(given)
    except (TypeError, ValueError, RecursionError) as error:
        raise OptionError(f"it is no JSON value ({error}): give numbers, texts and lists") from error


def _pose(given: Any, what: str) -> Any:
    """A pose as a pair, of a list of three numbers or of an object with position and rotation."""
    if not isinstance(given, dict):
        return given
    pose = _checked(given, POSE_KEYS, what)
    return pose.get("position", (0.0, 0.0, 0.0)), pose.get("rotation")


def _scene(given: Any, folder: Path) -> dynamics.Scene:
    if isinstance(given, str):
        read = dynamics.load_scene if given.lower().endswith(".urdf") else dynamics.Scene.load
        return read(folder / given)
    return dynamics.Scene.from_json(_json(given))


def _shape(given: Any) -> dynamics.Shape:
    """A shape of a scene's file, on the link "carrier" where it has one."""
    entries = dict(_checked(given, None, "the shape"))
    carrier = entries.pop("carrier", None)
    (shape,) = dynamics.Scene.from_json(_json([entries])).shapes
    return shape.on(carrier)


def _called(task: Task, name: str, given: Any) -> None:
    method = getattr(task, name)
    values = dict(_checked({} if given is None else given, argument_names(method), name))
    if isinstance(values.get("shape"), dict):
        values["shape"] = _shape(values["shape"])
    for key, value in values.items():
        if name == "limits" and isinstance(value, dict):
            values[key] = over_segments(_checked(value, (SEGMENTS,), key, needed=(SEGMENTS,))[SEGMENTS])
    try:
        inspect.signature(method).bind(**values)
    except TypeError as error:
        raise OptionError(f"{name}: {error}") from error
    method(**values)


def argument_names(method: Callable[..., Any]) -> tuple[str, ...]:
    """The arguments of a method."""
    return tuple(inspect.signature(method).parameters)


def _checked(
    given: Any, known: tuple[str, ...] | None, what: str, needed: tuple[str, ...] = ()
) -> Mapping[str, Any]:
    """An object with no other keys than the known ones; OptionError or UnknownNameError."""
    if not isinstance(given, dict):
        raise OptionError(f"{what} is {short_repr(given)}: give an object of names and values")
    for key in given:
        if known is not None and key not in known:
            raise UnknownNameError(
                f"{what} has a key {short_repr(key)}{near_matches(key, known)}: there are {', '.join(known)}"
            )
    for key in needed:
        if key not in given:
            raise OptionError(f"{what} has no {key!r}: give it")
    return given


def _at(place: str, made: Callable[..., Any], *given: Any) -> Any:
    """Result of a function; its errors begin with the place in the file."""
    try:
        return made(*given)
    except (TrajoptError, dynamics.DynamicsError) as error:
        raise type(error)(f"{place}: {error}") from error
