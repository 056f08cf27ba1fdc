"""Statement of a task, as values: the start of the robot, the segment to every goal, and the limits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

import dynamics
from problems.moves.motion_limits import MotionLimits, widest
from problems.moves.obstacles import clearances_of
from problems.moves.tasks.goal import Goal
from problems.moves.tasks.robot import Payload, Robot, carrying
from problems.moves.tasks.tool_path import SegmentRule
from trajopt.base.arrays import Array


@dataclass(frozen=True, eq=False)
class Step:
    """The segment to one goal.

    passed : whether it is passed on the way to the next
    rules : what holds on the way; payloads : what is carried on it
    """

    goal: Goal
    passed: bool
    rules: tuple[SegmentRule, ...]
    payloads: tuple[Payload, ...]

    @property
    def rests(self) -> bool:
        """True if the robot stands still there."""
        return not self.passed and not self.goal.in_motion


@dataclass(frozen=True, eq=False)
class StatedTask:
    """A task that is complete: `Task` makes one when it is solved.

    tool_speed : m/s, of the frames of all goals, on the way to each; infinity: not limited
    scene : what stands around the robot; clearance : m, from it and between the robot's own links
    """

    robot: Robot
    origin: Goal
    steps: tuple[Step, ...]
    limits: MotionLimits
    tool_speed: tuple[float, ...]
    scene: dynamics.Scene
    clearance: float
    _models: dict[tuple[Payload, ...], dynamics.RigidBodyModel] = field(default_factory=dict, init=False)
    _clearances: dict[dynamics.RigidBodyModel, dynamics.Clearances | None] = field(
        default_factory=dict, init=False
    )

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The start and all goals."""
        return (self.origin, *(step.goal for step in self.steps))

    def loaded(self, payloads: tuple[Payload, ...]) -> dynamics.RigidBodyModel:
        """The robot that carries these bodies, one model for all steps."""
        if payloads not in self._models:
            self._models[payloads] = carrying(self.robot.model, payloads)
        return self._models[payloads]

    def clearances(self, model: dynamics.RigidBodyModel) -> dynamics.Clearances | None:
        """The distances of the robot with a load, see `clearances_of`; made once, as scenes may be large."""
        if model not in self._clearances:
            self._clearances[model] = clearances_of(model, self.scene, self.clearance)
        return self._clearances[model]

    @property
    def frames(self) -> tuple[str, ...]:
        """Frames that goals are given for."""
        return tuple(dict.fromkeys(target.frame for goal in self.goals for target in goal.targets))

    @cached_property
    def all_limits(self) -> MotionLimits:
        """The limits with those of its frames' speeds."""
        frames = self.frames
        if not frames or not np.any(np.isfinite(self.tool_speed)):
            return self.limits
        ways = tuple(
            replace(self.limits.of(number), frames=frames, tool_speed=np.full(len(frames), speed))
            for number, speed in enumerate(self.tool_speed)
        )
        if len(set(self.tool_speed)) == 1 and not self.limits.segments:
            return ways[0]
        return replace(widest(ways), borders=np.arange(len(ways) + 1.0), segments=ways)

    def at(self, times: Array) -> StatedTask:
        """The same with goals that stand still where they are when they are reached, (steps,) s."""
        pairs = zip(self.steps, times.tolist(), strict=True)
        return replace(self, steps=tuple(replace(step, goal=step.goal.at(time)) for step, time in pairs))
