"""`Task`: what a robot's tool is to do, one goal after the other; `solve` finds the motion of least time."""

# Guards are for callers without a type checker.
# pyright: reportUnnecessaryIsInstance=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import dynamics
from problems.moves.motion_limits import MotionLimits, OverSegments, limits_of
from problems.moves.tasks.goal import Goal, frame_name, goal_of, target_of, with_rates, with_velocity
from problems.moves.tasks.orientation import unit_vector, vector
from problems.moves.tasks.planned_motion import PlannedMotion
from problems.moves.tasks.robot import Payload, Robot, payload_of
from problems.moves.tasks.stated_task import StatedTask, Step
from problems.moves.tasks.task_solve import solved
from problems.moves.tasks.tool_path import Arc, KeptAxis, Line, SegmentRule
from trajopt.base import arguments
from trajopt.base.arguments import check_positive, numbers
from trajopt.base.arrays import Array
from trajopt.base.errors import OptionError, UnknownNameError, near_matches

DISTANCE, ANGLE = 1e-3, 0.1  # m and rad by which lines and kept axes may be missed by default
CLEARANCE = 0.002  # m, from obstacles and between the robot's links by default


@dataclass(eq=False)
class Task:
    """A sequence of goals for a robot, and what holds on the way to each.

    scene : what stands around it, `moves.Scene`; clearance : m, least distance of the robot's shapes, and of
        those of what it carries, from the scene and from each other

    `start` comes first; `to` and `line` end at rest, `via` is passed, `also` adds a frame to either; `keep`,
    `attach` and `detach` count from the goal before them on. `solve` minimizes the time of all of it.
    """

    robot: Robot
    scene: dynamics.Scene = field(default_factory=dynamics.Scene)
    clearance: float = CLEARANCE
    origin: Goal | None = field(default=None, init=False)
    steps: list[Step] = field(default_factory=list[Step], init=False)
    kept: tuple[KeptAxis, ...] = field(default=(), init=False)
    carried: tuple[Payload, ...] = field(default=(), init=False)
    bounds: MotionLimits | None = field(default=None, init=False)  # None: those of the robot's file
    tool_speed: float | OverSegments | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise OptionError(f"the robot is {arguments.short_repr(self.robot)}: give moves.robot(path)")
        if not isinstance(self.scene, dynamics.Scene):
            raise OptionError(
                f"the scene is {arguments.short_repr(self.scene)}: give moves.Scene([moves.box(...)]) or "
                "moves.Scene.load(path)"
            )
        if self.scene.shapes and not self.robot.model.shapes:
            raise OptionError(
                "the robot has no shapes that could touch the scene: give moves.robot(path, shapes='fit')"
            )
        check_positive("clearance", self.clearance)

    def start(
        self,
        frame: Any = None,
        *,
        q: Any = None,
        position: Any = None,
        rotation: Any = None,
        tolerance: Any = 0.0,
        v: Any = None,
        a: Any = None,
    ) -> None:
        """Set the first place of the robot, as a goal of `to`; mostly a pose q. OptionError a second time.

        v, a : rates of the joints there, of a motion that goes on say, as of `to`; None: it stands still
        """
        if self.origin is not None:
            raise OptionError("the task has a start already: give the next goal by to(...)")
        origin = goal_of(self.robot, "start", frame, position, rotation, tolerance, q)
        self.origin = with_rates(origin, self.robot, v, a, 0.0)

    def to(
        self,
        frame: Any = None,
        *,
        position: Any = None,
        rotation: Any = None,
        tolerance: Any = 0.0,
        q: Any = None,
        v: Any = None,
        a: Any = None,
        velocity: Any = None,
        moving: bool = False,
        name: str | None = None,
    ) -> None:
        """Move to a goal, and stand still there unless the goal says how the robot moves.

        frame : `robot.frame(name)` or its name
        position : (3,) m in the world, of the frame's origin, None in a free component
        rotation : of the frame's axes to the world: a matrix (3, 3), a quaternion (x, y, z, w), or a rotation
            vector (3,) in rad
        tolerance : m, or (m, rad): largest distance and angle from both; zero: exactly
        q : joint values, None in free joints, or a dictionary of those that are given; alone or with a frame
        v, a : rates of the joints there, rad/s or m/s and per second, given as q; zero where left out
        velocity : (3,) m/s, in the world, of the frame's origin, instead of v and a
        moving : whether the goal itself moves with this velocity: from `position` at the start of the motion;
            the robot meets it, as a part on a conveyor. Not after `attach` or `detach` on the way
        Raises UnknownNameError, ShapeError, NotFiniteError, OptionError or InfeasibleBoundsError, which name
        the goal.
        """
        goal = self._goal(frame, position, rotation, tolerance, q, name, "goal")
        goal = with_velocity(with_rates(goal, self.robot, v, a, 0.0), velocity, moving)
        if moving and any(step.payloads != self.carried for step in self.steps):
            raise OptionError(f"{goal.name}: it moves, and what is carried changed before: meet it first")
        self._add(goal, passed=False)

    def via(
        self,
        frame: Any = None,
        *,
        position: Any = None,
        rotation: Any = None,
        tolerance: Any = 0.0,
        q: Any = None,
        v: Any = None,
        a: Any = None,
        name: str | None = None,
    ) -> None:
        """Pass a goal without a stop, at a time that is free; arguments and errors as of `to`.

        v, a : rates of the joints there; what is left out is free
        """
        goal = self._goal(frame, position, rotation, tolerance, q, name, "via")
        self._add(with_rates(goal, self.robot, v, a, np.nan), passed=True)

    def also(self, frame: Any, *, position: Any = None, rotation: Any = None, tolerance: Any = 0.0) -> None:
        """Another frame at the last goal, or at the start: both hands of a robot, held at once.

        Arguments and errors as of `to`; OptionError for a frame that the goal has already.
        """
        goal = self._last
        if goal is None:
            raise OptionError("the task has no start: call start(q=...) first")
        target = target_of(self.robot, goal.name, frame, position, rotation, tolerance)
        if goal.target(target.frame) is not None:
            raise OptionError(
                f"{goal.name}: frame {target.frame!r} has its place there already: leave one out"
            )
        more = replace(goal, targets=(*goal.targets, target))
        if self.steps:
            self.steps[-1] = replace(self.steps[-1], goal=more)
        else:
            self.origin = more

    def line(
        self,
        frame: Any,
        *,
        position: Any,
        rotation: Any = None,
        through: Any = None,
        distance: float = DISTANCE,
        tolerance: Any = 0.0,
        stop: bool = True,
        name: str | None = None,
    ) -> None:
        """Move a frame to a position on a straight segment, or on the arc of a circle through a point.

        through : (3,) m, a point of the arc between both ends; None: straight
        distance : m, from the segment, at most
        stop : whether the robot stands still at its end
        Other arguments and errors as of `to`. The segment starts where the goal before has this frame; that
        one must give its position, or all joints.
        """
        goal = self._goal(frame, position, rotation, tolerance, None, name, "line")
        check_positive(f"{goal.name}: distance", distance)
        start, end = self._place_before(goal), vector(position, f"{goal.name}: position")
        if np.linalg.norm(end - start) <= distance:
            raise OptionError(f"{goal.name}: its ends are not farther apart than its distance, {distance} m")
        called = goal.targets[0].frame
        rule: SegmentRule = Line(goal.name, called, start, end, distance)
        if through is not None:
            point = vector(through, f"{goal.name}: through")
            rule = Arc(goal.name, called, start, point, end, distance)
        arguments.check_flag("stop", stop)
        self._add(goal, not stop, rule)

    def keep(
        self, frame: Any, *, axis: Any = (0.0, 0.0, 1.0), along: Any = None, tolerance: float = ANGLE
    ) -> None:
        """Keep an axis of a frame near a direction from the last goal on, until `release`.

        axis : (3,) in the frame's axes; along : (3,) in the world, None: as it is at the last goal, which
        must give the frame's rotation, or all joints
        tolerance : rad, at most, above zero
        """
        name, called = f"keep {len(self.kept) + 1}", frame_name(self.robot, frame)
        check_positive(f"{name}: tolerance", tolerance)
        own = unit_vector(axis, f"{name}: axis")
        wanted = (
            self._axis_before(name, called, own) if along is None else unit_vector(along, f"{name}: along")
        )
        self.kept = (*self.kept, KeptAxis(name, called, own, wanted, float(tolerance)))

    def release(self) -> None:
        """Keep no axis from the last goal on."""
        self.kept = ()

    def attach(
        self,
        name: str,
        frame: Any,
        *,
        mass: float,
        centre_of_mass: Any = (0.0, 0.0, 0.0),
        inertia: Any = None,
        shape: dynamics.Shape | None = None,
        touching: Sequence[str] = (),
    ) -> None:
        """Carry a rigid body from the last goal on.

        mass : kg; centre_of_mass : (3,) m, and inertia : (3, 3) kg m^2 about it, both in the frame's axes;
        None: none
        shape : for clearances, `moves.box((0.06, 0.06, 0.1))` say, at its pose in the frame's axes
        touching : links and frames that it may touch, fingers that move and hold it; what does not move
            against it is not kept apart anyway
        Raises OptionError for a body that is carried already, a shape under the name of a link, or a mass
        that is not above zero, InertiaError for an inertia that no body has, UnknownNameError.
        """
        arguments.name(name, "the name of a payload")
        if name in [each.name for each in self.carried]:
            raise OptionError(f"{name!r} is attached already: detach it first, or give another name")
        held = getattr(frame, "name", frame)
        payload = payload_of(self.robot, name, held, mass, centre_of_mass, inertia)
        if shape is not None and not isinstance(shape, dynamics.Shape):
            raise OptionError(f"the shape of {name!r} is {arguments.short_repr(shape)}: give moves.box(...)")
        if shape is not None:
            if name in (*self.robot.model.link_names, *self.robot.model.frame_names):
                raise OptionError(
                    f"the robot has a link or frame {name!r} already: give the body another name"
                )
            payload = replace(payload, shape=replace(shape.on(name), name=name))
        if isinstance(touching, str):
            raise OptionError(f"touching is {arguments.short_repr(touching)}: give a list of links")
        touched = tuple(self.robot.frame(link).name for link in touching)
        payload = replace(payload, touching=touched)
        self.carried = (*self.carried, payload)

    def detach(self, name: str) -> None:
        """Put a body down at the last goal; UnknownNameError for one that is not carried."""
        known = [each.name for each in self.carried]
        if name not in known:
            raise UnknownNameError(
                f"{arguments.short_repr(name)} is not attached{near_matches(name, known)}: "
                f"{arguments.list_names(known) if known else 'nothing'} is"
            )
        self.carried = tuple(each for each in self.carried if each.name != name)

    def limits(
        self,
        *,
        velocity: Any = None,
        acceleration: Any = None,
        jerk: Any = None,
        torque: Any = None,
        tool_speed: float | OverSegments | None = None,
    ) -> None:
        """Limits of the whole motion; what is left out is as in the robot's file, or not limited.

        velocity, acceleration, jerk : a number or (n,), rad/s or m/s and their rates
        torque : a number, (n,), or (n, 2) lower and upper, N m or N, of the motors
        tool_speed : m/s, of the origins of all frames that goals are given for
        Each of these may be `over_segments`, one value on the way to each goal.
        """
        given = velocity, acceleration, torque, jerk
        varied = [each for each in given if isinstance(each, OverSegments)]
        speeds = tool_speed.values if isinstance(tool_speed, OverSegments) else (tool_speed,)
        if any(each.shares is not None for each in (*varied, tool_speed) if isinstance(each, OverSegments)):
            raise OptionError("shares are of a path: leave them out, in a task limits change at goals")
        places = np.arange(len(varied[0].values) + 1.0) if varied else None
        self.bounds = limits_of(self.robot.model, *given, places)
        for speed in speeds:
            if not (isinstance(speed, float) and speed == np.inf):  # none, over a segment
                check_positive("tool_speed", speed, optional=tool_speed is None)
        self.tool_speed = tool_speed

    def solve(
        self,
        paths: Sequence[Any] | None = None,
        *,
        intervals: int | None = None,
        time_limit: float | None = None,
    ) -> PlannedMotion:
        """The motion of least time, or the best that was found: `converged` says whether every limit holds.

            minimize T   subject to   all goals, what is kept, |v|, |a|, |jerk| and tau within their limits

        q(t) is a spline of degree four with continuous acceleration, at rest at all stops, and at its ends
        unless these say how the robot moves.
        The poses from which the search starts come from inverse kinematics, from several starts; of these the
        sequence that is nearest in time is taken. It goes straight from pose to pose, and where shapes touch
        on that way along planned paths (`planning.planned_path`), up to four, until a motion is found.

        paths : motions to start from beside it, (k, n) joint positions from the start to the last goal each;
            the shortest converged motion is returned
        intervals : of the spline, from goal to goal; None: 10, and 64 for a move to one goal with limits of
            jerk and nothing to touch, of which five of a UR5 took 0.3 % over the least time at most
        time_limit : wall seconds for each start

        Raises InfeasibleBoundsError for a pose that cannot be reached, with the nearest one, for a joint
        whose torque does not suffice to stand still at a goal, and for a start or a goal at which shapes come
        too near to each other, with their names and the depth, for rates v and a beyond a limit, or from
        which no motion keeps one; OptionError without start or goals; UnboundedError without any limit.
        """
        return solved(self.stated, paths, intervals, time_limit)

    @property
    def stated(self) -> StatedTask:
        """The task as it is; OptionError where it has no start or no goal, or ends at one that is passed."""
        if self.origin is None or not self.steps:
            raise OptionError("the task has no start or no goal: call start(q=...) and to(...) first")
        last = self.steps[-1]
        if last.passed:
            raise OptionError(f"the task ends at {last.goal.name!r}, which is passed: end it by to(...)")
        limits = limits_of(self.robot.model, None, None, None) if self.bounds is None else self.bounds
        speed = np.inf if self.tool_speed is None else self.tool_speed
        speeds = speed.values if isinstance(speed, OverSegments) else (speed,) * len(self.steps)
        for count in (len(limits.segments), len(speeds)):
            if count not in (0, len(self.steps)):
                raise OptionError(
                    f"limits are given over {count} segments, and the task has {len(self.steps)} goals: give "
                    "a limit on the way to each"
                )
        return StatedTask(
            self.robot,
            self.origin,
            tuple(self.steps),
            limits,
            tuple(float(numbers(each, "tool_speed")) for each in speeds),
            self.scene,
            self.clearance,
        )

    def _goal(
        self, frame: Any, position: Any, rotation: Any, tolerance: Any, q: Any, name: str | None, kind: str
    ) -> Goal:
        if self.origin is None:
            raise OptionError("the task has no start: call start(q=...) first")
        label = (
            f"{kind} {len(self.steps) + 1}" if name is None else arguments.name(name, "the name of a goal")
        )
        return goal_of(self.robot, label, frame, position, rotation, tolerance, q)

    def _add(self, goal: Goal, passed: bool, *rules: SegmentRule) -> None:
        self.steps.append(Step(goal, passed, (*rules, *self.kept), self.carried))

    @property
    def _last(self) -> Goal | None:
        return self.steps[-1].goal if self.steps else self.origin

    def _place_before(self, goal: Goal) -> Array:
        """Place of the frame of a goal at the goal before, (3,) m."""
        last, frame = self._last, goal.targets[0].frame
        assert last is not None
        known = last.target(frame)
        if known is not None and known.moving:
            raise OptionError(f"{goal.name}: it begins at {last.name!r}, which moves: go to a goal first")
        if known is not None and known.position is not None and np.all(np.isfinite(known.position)):
            return known.position
        if np.all(last.fixed):
            return dynamics.forward_kinematics(self.robot.model, last.joints, [frame]).position[0]
        raise OptionError(
            f"{goal.name}: it is not known where {frame!r} starts, as {last.name!r} before gives "
            "neither its position nor all joints: give one there"
        )

    def _axis_before(self, name: str, frame: str, axis: Array) -> Array:
        """The direction of a frame's axis at the last goal, (3,), world axes."""
        last = self._last
        known = None if last is None else last.target(frame)
        if known is not None and known.rotation is not None:
            return known.rotation @ axis
        if last is not None and np.all(last.fixed):
            return dynamics.forward_kinematics(self.robot.model, last.joints, [frame]).rotation[0] @ axis
        raise OptionError(
            f"{name}: it is not known where the axis of {frame!r} points, as the goal before gives neither "
            "its rotation nor all joints: give along=(0, 0, 1), say"
        )
