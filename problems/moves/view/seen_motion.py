"""`SeenMotion`: a motion at the times of its pictures, of a task, a retiming or a solution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import dynamics
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.model.packed_model import axes_with_z
from dynamics.model.shape import Shape
from problems.moves.controller.source import source_of
from problems.moves.view.limit_use import WATCHED, share_used
from problems.moves.view.surroundings import MotionSegment, Surroundings
from trajopt.base.arguments import list_names
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError
from trajopt.display.curves import bounds_of, driving_torque
from trajopt.plot.curve_panels import starts_of
from trajopt.plot.snapshots import scenery
from trajopt.problem.systems.robot_on_path import JOINTS, RobotOnPath
from trajopt.solution.solution import Answer, Solution
from trajopt.terms.term import Capsule, Quantity

State = tuple[Array, Array]  # q (k, n), and shares of limits (k, n)
Pictures = Callable[[float], Array]  # duration -> times of pictures, s


@dataclass(frozen=True, eq=False)
class SeenMotion:
    """A robot's motion at times (k,) s.

    model : without loads; curve : times -> q; shares : (k, n) of the limit
    that each joint is nearest to, see `share_used`
    """

    name: str
    model: dynamics.RigidBodyModel
    times: Array
    curve: Callable[[Array], Array]
    shares: Array
    surroundings: Surroundings

    @cached_property
    def q(self) -> Array:
        """Positions of the joints at the times, (k, n)."""
        return self.curve(self.times)

    @property
    def loads(self) -> list[tuple[Shape, list[MotionSegment]]]:
        """Shapes that only some segments have, each with its segments."""
        found: dict[Any, tuple[Shape, list[MotionSegment]]] = {}
        for segment in self.surroundings.segments:
            for shape in segment.model.shapes:
                found.setdefault(_identity(shape), (shape, []))[1].append(segment)
        every = len(self.surroundings.segments)
        return [(shape, on) for shape, on in found.values() if len(on) < every]

    def carried_poses(self, shape: Shape, on: list[MotionSegment]) -> tuple[Array, Array]:
        """Rotations (k, 3, 3) and positions (k, 3) of a load's carrier, at rest while it is not carried."""
        begins = np.array([segment.begin for segment in on])
        last = np.maximum(np.searchsorted(begins, self.times, side="right") - 1, 0)
        at = np.clip(self.times, begins[last], np.array([segment.end for segment in on])[last])
        poses = dynamics.forward_kinematics(on[0].model, self.curve(at), [shape.carrier or ""])
        return poses.rotation[:, 0], poses.position[:, 0]

    def tool_poses(self) -> dict[str, tuple[Array, Array]]:
        """Name -> rotations (k, 3, 3) and positions (k, 3) m of the tools."""
        tools = self.surroundings.tools
        if not tools:
            return {}
        poses = dynamics.forward_kinematics(self.model, self.q, list(tools))
        return {name: (poses.rotation[:, k], poses.position[:, k]) for k, name in enumerate(tools)}

    def tool_paths(self) -> dict[str, Array]:
        """Name -> positions (k, 3) m."""
        if self.surroundings.tools:
            return {name: position for name, (_, position) in self.tool_poses().items()}
        if self.model.floating_joints:
            return {"centre of mass": dynamics.centre_of_mass(self.model, self.q)}
        return {"end point": self.model.skeleton(self.q)[:, -1, 1]}


def seen_motion(motion: Any, pictures: Pictures) -> SeenMotion:
    """A `Motion` or a solution of a robot, at the times that `pictures` gives for its duration.

    Raises OptionError for what is no motion, for systems without bodies, and for phases of other robots.
    """
    if isinstance(motion, Answer):
        return _of_solution(motion, pictures)
    source, around = source_of(motion), motion.surroundings
    times = pictures(source.duration)
    q, v = source.q(times), source.v(times)
    values = {"position": q, "speed": v}
    bounds = source.bounds_at(times)
    if "torque" in bounds:
        values["torque"] = source.torque(times, q, v, source.a(times))
    shares = largest_shares(values, bounds)
    return SeenMotion(motion.model.name, motion.model, times, source.q, shares, around)


def largest_shares(values: Mapping[str, Array], bounds: Mapping[str, tuple[Array, Array]]) -> Array:
    """The largest of every joint's shares of its limits, (k, n); NaN of joints without any."""
    shares = np.full(values[WATCHED[0]].shape, np.nan)
    for name in WATCHED:
        if name in bounds and name in values:
            shares = np.fmax(shares, share_used(values[name], *bounds[name]))
    return shares


def _of_solution(answer: Answer, pictures: Pictures) -> SeenMotion:
    models, starts = [_model_of(part) for part in answer.parts], starts_of(answer)
    names = {model.link_names for model in models}
    if len(names) > 1:
        raise OptionError(
            f"the phases of {answer.name} have robots with other links: view one, solution.phases[0]"
        )

    def states(times: Array) -> State:
        """q and shares at times in any order."""
        found = np.empty((2, len(times), models[0].n))
        of_part = np.clip(np.searchsorted(starts, times, side="right") - 1, 0, len(models) - 1)
        for k, part in enumerate(answer.parts):
            here = of_part == k
            if here.any():
                found[:, here] = _state(part, np.clip(times[here] - starts[k], 0.0, part.duration))
        return found[0], found[1]

    times = pictures(float(starts[-1]))
    segments = tuple(map(MotionSegment, models, starts[:-1].tolist(), starts[1:].tolist()))
    around = Surroundings(segments, dynamics.Scene(_obstacles(answer)))
    always = [shape for shape in models[0].shapes if all(_has(model, shape) for model in models)]
    robot = replace(models[0], shapes=tuple(always))
    return SeenMotion(answer.name, robot, times, lambda t: states(t)[0], states(times)[1], around)


def _has(model: dynamics.RigidBodyModel, shape: Shape) -> bool:
    return _identity(shape) in map(_identity, model.shapes)


def _model_of(part: Solution) -> Any:
    """The robot of a solution; OptionError for a system without bodies."""
    robot = part.as_built.dynamics
    robot = robot.robot if isinstance(robot, RobotOnPath) else robot
    if not isinstance(robot, KinematicTree):
        raise OptionError(
            f"{part.name} moves {list_names(part.joint_names)} of {type(robot).__name__}, which has no "
            "bodies: a view needs a robot; trajopt.plot.states(solution) draws curves"
        )
    return robot


def _state(part: Solution, times: Array) -> State:
    problem: Any = part.as_built
    on_path = isinstance(problem.dynamics, RobotOnPath)
    names = tuple(JOINTS)[:2] if on_path else ("q", "v")
    watched = (*names, driving_torque(problem))
    terms = [Quantity(name) for name in watched if problem.quantities.knows(name)]
    found = part.values(terms, times)
    values = {label: found[term.quantity] for label, term in zip(WATCHED, terms, strict=False)}
    n = values["position"].shape[1]
    bounds: dict[str, tuple[Array, Array]] = {
        label: bounds_of(problem, name, n)
        for label, name in zip(WATCHED, ("q", "v", watched[-1]), strict=True)
    }
    if on_path:
        limits = problem.dynamics.robot.limits
        bounds |= {"position": (limits.q_lower, limits.q_upper), "speed": (-limits.velocity, limits.velocity)}
    return values["position"], largest_shares(values, bounds)


def _obstacles(answer: Answer) -> list[Shape]:
    """Obstacles of the library's terms and scenes of clearances, each once."""
    found: dict[Any, Shape] = {}
    for part in answer.parts:
        problem = part.as_built
        shapes = [_as_shape(each) for each in scenery(problem) if isinstance(each, Capsule)]
        for constraint in problem.constraints:
            clearances = getattr(getattr(constraint.term, "block", None), "clearances", None)
            shapes += () if clearances is None else clearances.scene.shapes
        found |= {_identity(shape): replace(shape, name="") for shape in shapes}
    return list(found.values())


def _as_shape(obstacle: Capsule) -> Shape:
    start, end = np.array(obstacle.start), np.array(obstacle.end)
    length = float(np.linalg.norm(end - start))
    if length == 0.0:
        return dynamics.sphere(obstacle.radius, start)
    axes = axes_with_z((end - start) / length)
    return dynamics.capsule(obstacle.radius, length, 0.5 * (start + end), axes)


def _identity(shape: Shape) -> Any:
    """Key by which two shapes are the same, wherever they were read."""
    arrays = (shape.size, shape.rotation, shape.position, shape.points)
    return shape.kind, shape.carrier, shape.name, *(array.tobytes() for array in arrays)
