"""A stated task as the keys and values of its file, from which a saved motion is read again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
from problems.moves.motion_limits import MotionLimits
from problems.moves.tasks.frame_target import FrameTarget
from problems.moves.tasks.goal import Goal
from problems.moves.tasks.robot import Payload, Robot
from problems.moves.tasks.stated_task import StatedTask, Step
from problems.moves.tasks.tool_path import Arc, KeptAxis, Line
from trajopt.base.arrays import Array

Values = dict[str, Any]


def statement_of(task: StatedTask) -> Values:
    """Keys and values of task.schema.json that `task_of` reads as the same task, numbers bit for bit."""
    start = {key: value for key, value in _goal(task.origin).items() if key != "name"}
    steps = [{"start": start}, *_also(task.origin)]
    kept: tuple[KeptAxis, ...] = ()
    carried: tuple[Payload, ...] = ()
    for step in task.steps:
        wanted = tuple(rule for rule in step.rules if isinstance(rule, KeptAxis))
        steps += [*_kept(kept, wanted), *_carried(carried, step.payloads), _step(step), *_also(step.goal)]
        kept, carried = wanted, step.payloads
    steps.append({"limits": _limits(task.robot.model, task.limits, task.tool_speed)})
    scene = task.scene.to_data()
    return {"robot": _robot(task.robot), "scene": scene, "clearance": task.clearance, "steps": steps}


def _robot(robot: Robot) -> Values:
    """The model as it is, and the name of its URDF, whose meshes are shown."""
    model = {"model": json.loads(robot.model.to_json())}
    if robot.urdf is None:
        return model
    text = str(robot.urdf)
    return {**model, "urdf": text if text.lstrip().startswith("<") else str(Path(text).resolve())}


def _step(step: Step) -> Values:
    goal, paths = _goal(step.goal), [rule for rule in step.rules if not isinstance(rule, KeptAxis)]
    if not paths:
        return {"via" if step.passed else "to": goal}
    path: Line | Arc = paths[0]
    through = {"through": path.through.tolist()} if isinstance(path, Arc) else {}
    return {"line": {**goal, **through, "distance": path.distance, "stop": not step.passed}}


def _goal(goal: Goal) -> Values:
    given = {"q": _with_none(goal.joints)} if goal.fixed.any() else {}
    rates = (("v", goal.v), ("a", goal.a))
    given |= {key: _with_none(rate) for key, rate in rates if rate is not None and np.isfinite(rate).any()}
    return {**given, **(_target(goal.targets[0]) if goal.targets else {}), "name": goal.name}


def _target(target: FrameTarget) -> Values:
    given: Values = {"frame": target.frame, "tolerance": [target.distance, target.angle]}
    given |= {} if target.position is None else {"position": _with_none(target.position)}
    given |= {} if target.rotation is None else {"rotation": target.rotation.tolist()}
    rate = target.velocity
    return given if rate is None else {**given, "velocity": rate.tolist(), "moving": target.moving}


def _also(goal: Goal) -> Iterator[Values]:
    """The steps that add the frames of a goal after its first."""
    yield from ({"also": _target(target)} for target in goal.targets[1:])


def _with_none(values: Array) -> list[float | None]:
    """Numbers, None for NaN."""
    return [None if np.isnan(value) else value for value in values.tolist()]


def _kept(before: tuple[KeptAxis, ...], wanted: tuple[KeptAxis, ...]) -> Iterator[Values]:
    """The steps after which other axes are kept; what is kept already goes on."""
    if wanted[: len(before)] != before:
        yield {"release": {}}
        before = ()
    for each in wanted[len(before) :]:
        axes = {"axis": each.axis.tolist(), "along": each.direction.tolist()}
        yield {"keep": {"frame": each.frame, **axes, "tolerance": each.angle}}


def _carried(before: tuple[Payload, ...], wanted: tuple[Payload, ...]) -> Iterator[Values]:
    """The steps after which other bodies are carried."""
    yield from ({"detach": {"name": each.name}} for each in before if each not in wanted)
    for each in wanted:
        if each not in before:
            centre, inertia = each.centre_of_mass.tolist(), each.inertia.tolist()
            given: dict[str, object] = {"name": each.name, "frame": each.frame.name, "mass": each.mass}
            given |= {"centre_of_mass": centre, "inertia": inertia}
            if each.shape is not None:
                given["shape"] = dynamics.Scene((each.shape.on(None),)).to_data()["shapes"][0]
            if each.touching:
                given["touching"] = list(each.touching)
            yield {"attach": given}


def _limits(model: dynamics.RigidBodyModel, limits: MotionLimits, tool_speed: tuple[float, ...]) -> Values:
    """Limits that are not the robot's own; where they change along the way, one on the way to each goal."""
    every, unlimited = limits.parts, np.full(model.n, np.inf)
    own = {"velocity": model.limits.velocity, "acceleration": unlimited, "jerk": unlimited}
    kinds = {name: [getattr(each, name) for each in every] for name in own}
    if not model.has_no_mass:
        own["torque"] = np.stack([model.limits.torque_lower, model.limits.torque_upper], axis=1)
        kinds["torque"] = [np.stack([each.torque_lower, each.torque_upper], axis=1) for each in every]
    own["tool_speed"], kinds["tool_speed"] = np.array(np.inf), [np.array(speed) for speed in tool_speed]
    given: Values = {}
    for name, values in kinds.items():
        if np.all(values == own[name]):
            continue
        same = np.all(values == values[0])
        given[name] = values[0].tolist() if same else {"over_segments": [each.tolist() for each in values]}
    return given
