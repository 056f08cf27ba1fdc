"""The optimization problem of a task: an arc of the spline to every goal, a phase for everything carried."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

import dynamics
import trajopt
from problems.moves.motion_limits import MotionLimits
from problems.moves.obstacles import keep_clear
from problems.moves.path_quantities import coulomb_friction, motor_torques
from problems.moves.tasks.goal import Goal
from problems.moves.tasks.stated_task import StatedTask, Step
from problems.moves.tasks.task_statement import statement_of
from problems.moves.tasks.tool_path import ToolSpeed
from trajopt.base.arrays import Array
from trajopt.base.errors import InfeasibleBoundsError
from trajopt.problem.costs_and_constraints import Recipe

RECIPE = "task"  # the name by which `problems.catalogue.build` knows it
MARGIN = 1e-3  # of a limit, by which the program narrows it, and by which it may be exceeded between nodes
DEGREE = 4  # the least with a continuous jerk within an arc
LONGEST, SHORTEST = 60.0, 0.01  # s, of an arc; the longest where the guessed times are below a second


@dataclass(frozen=True, eq=False)
class TaskProblem:
    """The problem of a task from a guess: poses (k, n) from goal to goal.

    intervals : of the spline, from goal to goal
    """

    task: StatedTask
    guess: list[Array]
    intervals: int

    @cached_property
    def phases(self) -> list[list[int]]:
        """The numbers of the steps, those together that carry the same."""
        steps = self.task.steps
        numbers = range(len(steps))
        return [list(group) for _, group in itertools.groupby(numbers, key=lambda k: steps[k].payloads)]

    @cached_property
    def models(self) -> list[dynamics.RigidBodyModel]:
        """The robot of every phase, with what it carries."""
        return [self.task.loaded(self.task.steps[phase[0]].payloads) for phase in self.phases]

    @cached_property
    def asked(self) -> trajopt.Problem | trajopt.Phases:
        """A problem, or phases where it carries different bodies."""
        each = list(zip(self.phases, self.models, strict=True))
        problems = [self._problem(phase, model) for phase, model in each]
        asked = problems[0] if len(problems) == 1 else self._linked(problems)
        asked.recipe = self.recipe
        return asked

    @property
    def recipe(self) -> Recipe:
        """Recipe for a saved solution: the task, as `task_of` reads it, and what it was solved from."""
        guess = [poses.tolist() for poses in self.guess]
        return Recipe(
            RECIPE, {"statement": statement_of(self.task), "guess": guess, "intervals": self.intervals}
        )

    def _linked(self, problems: list[trajopt.Problem]) -> trajopt.Phases:
        phases = trajopt.Phases(*problems, name="task")
        for (before, after), phase in zip(itertools.pairwise(problems), self.phases, strict=False):
            border = self.task.steps[phase[-1]]
            for term in (trajopt.q,) if border.rests else (trajopt.q, trajopt.v, trajopt.a):
                name = f"{term.name} goes on after {border.goal.name}"
                phases.link(term, before.at("end"), after.at("start"), name=name)
        return phases

    def _problem(self, phase: list[int], model: dynamics.RigidBodyModel) -> trajopt.Problem:
        curve, durations = self._guessed(phase, model)
        longest = LONGEST * max(1.0, float(durations.max()))
        mesh = trajopt.Trajectory.uniform(
            self.intervals, DEGREE, (SHORTEST, longest), arcs=len(phase), continuity=2
        )
        steps = [self.task.steps[k] for k in phase]
        problem = trajopt.Problem(model, mesh, name=f"to {steps[-1].goal.name}")
        problem.minimize(trajopt.duration, name="time")
        self._start(problem, phase[0])
        states = [self.task.origin] if phase[0] == 0 else []
        states += [step.goal for step in self.task.steps[max(phase[0] - 1, 0) : phase[-1] + 1]]
        for arc, step in enumerate(steps):
            at = "end" if arc == len(steps) - 1 else trajopt.ArcNodes(arc, "end")
            _goal_rows(problem, step.goal.rows(), at)
            if step.rests:
                for term in (trajopt.v, trajopt.a):
                    name = f"{step.goal.name}: at rest, {term.name}"
                    problem.subject_to(term, equals=0.0, over=at, name=name)
            for rule in step.rules:
                term, lower, upper, name = rule.row(MARGIN)
                over = "path" if len(steps) == 1 else trajopt.ArcNodes(arc, "whole")
                problem.subject_to(term, lower, upper, over=over, name=f"{name}, to {step.goal.name}")
        limit_rows(problem, model, self.task.limits, states=states, numbers=phase)
        self._limit_tool_speed(problem, phase)
        clearances = self.task.clearances(model)
        if clearances is not None:
            way = np.concatenate([_refined(self.guess[k]) for k in phase])
            ends = np.concatenate([self.guess[k][[0, -1]] for k in phase])
            keep_clear(problem, clearances, self.task.clearance, way, ends)
        problem.guess(curve, durations)
        return problem

    def _limit_tool_speed(self, problem: trajopt.Problem, phase: list[int]) -> None:
        """Rows of the tools' speeds, over the whole phase where its limit is the same everywhere."""
        speeds = [self.task.tool_speed[k] for k in phase]
        arcs: Sequence[int | None] = [None] if len(set(speeds)) == 1 else range(len(phase))
        for frame, arc in itertools.product(self.task.frames, arcs):
            if (speed := speeds[arc or 0]) < np.inf:
                on = "" if arc is None else f", to {self.task.steps[phase[arc]].goal.name}"
                over = "path" if arc is None else trajopt.ArcNodes(arc, "whole")
                term, lower, upper, name = ToolSpeed(frame, speed, on).row(MARGIN)
                problem.subject_to(term, lower, upper, over=over, name=name)

    def _start(self, problem: trajopt.Problem, first: int) -> None:
        before = self.task.steps[first - 1] if first else None
        if before is None:
            _goal_rows(problem, self.task.origin.rows(), "start")
        if not self.task.origin.in_motion if before is None else before.rests:
            problem.start_at(v=0.0, a=0.0)

    def _guessed(
        self, phase: list[int], model: dynamics.RigidBodyModel
    ) -> tuple[Callable[[Any], Array], Array]:
        """q(s) of normalised time, all arcs counted alike, and the seconds of every arc."""
        parts: list[tuple[Array, Array]] = []  # of every arc: times from its start, poses
        for run in runs(phase, self.task.steps):
            slow = max(self._tool_seconds(k, model) for k in run)
            own = eased([self.guess[k] for k in run], self.task.limits)
            longer = max(1.0, slow / max(times[-1] for times, _ in own))
            parts += [(longer * times, poses) for times, poses in own]
        seconds = np.array([times[-1] for times, _ in parts])

        def curve(s: Any) -> Array:
            from scipy.interpolate import PchipInterpolator

            progress = np.clip(np.asarray(s, dtype=float), 0.0, 1.0) * len(parts)
            arc = np.minimum(progress.astype(int), len(parts) - 1)
            found = np.empty((*progress.shape, self.task.robot.model.n))
            for k, (times, poses) in enumerate(parts):
                here = arc == k
                found[here] = PchipInterpolator(times, poses)((progress[here] - k) * seconds[k])
            return found

        return curve, seconds

    def _tool_seconds(self, step: int, model: dynamics.RigidBodyModel) -> float:
        """Seconds of the guess's way to a goal, its tools at two thirds of their limit in the mean."""
        speed = self.task.tool_speed[step]
        if not (self.task.frames and speed < np.inf):
            return 0.0
        places = model.forward_kinematics(_refined(self.guess[step]), list(self.task.frames)).position
        way = np.linalg.norm(np.diff(places, axis=0), axis=2).sum(axis=0)
        return 1.5 * float(way.max()) / speed


def runs(phase: list[int], steps: tuple[Step, ...]) -> list[list[int]]:
    """The steps of a phase from rest to rest."""
    found: list[list[int]] = [[]]
    for k in phase:
        found[-1].append(k)
        if steps[k].rests:
            found.append([])
    return [run for run in found if run]


def eased(segments: list[Array], limits: MotionLimits) -> list[tuple[Array, Array]]:
    """Times and poses of every segment of a run from rest to rest, slow at both of its ends.

    The share u of the way that is behind at a share x of the time is 3 x^2 - 2 x^3.
    """
    fine = [_refined(segment) for segment in segments]
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, 1.0)
    lengths = [np.abs(np.diff(part, axis=0) / speed).max(axis=1) + SHORTEST / len(part) for part in fine]
    total = sum(float(length.sum()) for length in lengths)
    turned = total * speed
    longest = np.max([np.full_like(turned, 1.5 * total), np.sqrt(6.0 * turned / limits.acceleration)], axis=0)
    seconds = float(np.max([longest, np.cbrt(60.0 * turned / limits.jerk)]))
    found, behind = [], 0.0
    for part, length in zip(fine, lengths, strict=True):
        share = np.clip((behind + np.concatenate([[0.0], np.cumsum(length)])) / total, 0.0, 1.0)
        behind += float(length.sum())
        times = seconds * (0.5 - np.sin(np.arcsin(1.0 - 2.0 * share) / 3.0))
        found.append((times - times[0], part))
    return found


def _refined(poses: Array) -> Array:
    """Poses with seven more, evenly, between each two."""
    at = np.linspace(0.0, len(poses) - 1.0, 8 * (len(poses) - 1) + 1)
    return np.stack([np.interp(at, np.arange(len(poses)), column) for column in poses.T], axis=1)


def _goal_rows(problem: trajopt.Problem, rows: Any, over: Any) -> None:
    for term, lower, upper, name in rows:
        problem.subject_to(term, lower, upper, over=over, name=name)


def narrowed(lower: Array, upper: Array, share: float) -> tuple[Array, Array]:
    """Limits moved inwards by a share of half the range, or of the limit where one alone is finite."""
    half = np.where(
        np.isfinite(upper - lower), 0.5 * (upper - lower), np.minimum(np.abs(lower), np.abs(upper))
    )
    step = share * np.where(np.isfinite(half), half, 0.0)
    return lower + step, upper - step


def limit_rows(
    problem: trajopt.Problem,
    model: dynamics.RigidBodyModel,
    limits: MotionLimits,
    margin: float = MARGIN,
    hold: Literal["nodes", "hull"] = "hull",
    states: Sequence[Goal] = (),
    numbers: Sequence[int] = (0,),
) -> None:
    """Acceleration, jerk and torque at nodes, narrowed by a share of them; positions and speeds, too.

    hold : "hull" limits control points of positions and speeds, which holds for all times but leaves a part
        of the range unused, and is not narrowed; "nodes" limits them as the others
    states : goals whose accelerations and torques are within the limits as they are, without a margin
    numbers : of the segments of limits that change along the way, one for each arc of the problem; these are
        limited at nodes alone
    Coulomb friction has the sign of a speed that is not known: its size is taken from both limits.
    """
    outer = 1.0 if hold == "hull" else 1.0 - margin
    if np.any(np.isfinite([model.limits.q_lower, model.limits.q_upper])):
        lower, upper = narrowed(model.limits.q_lower, model.limits.q_upper, 1.0 - outer)
        problem.subject_to(trajopt.q, lower, upper, hold=hold, name="position limits")
    if not limits.segments:
        _rate_rows(problem, model, limits, margin, hold, states, "path", "")
        return
    for arc, number in enumerate(numbers):
        over = "path" if len(numbers) == 1 else trajopt.ArcNodes(arc, "whole")
        ends, here = states[arc : arc + 2], limits.segments[number]
        _rate_rows(problem, model, here, margin, "nodes", ends, over, f", segment {number}")


def _rate_rows(
    problem: trajopt.Problem,
    model: dynamics.RigidBodyModel,
    limits: MotionLimits,
    margin: float,
    hold: Literal["nodes", "hull"],
    states: Sequence[Goal],
    over: Any,
    where: str,
) -> None:
    """Speed, acceleration, jerk and torque over a part of the motion; where : behind their names."""
    inside = 1.0 - margin
    given = [np.abs(np.nan_to_num(goal.a)) for goal in states if goal.a is not None]
    full = any(np.any(a > inside * limits.acceleration) for a in given)  # no limit at nodes then leaves room
    held: Literal["nodes", "hull"] = "hull" if full and not where else "nodes"
    outer = 1.0 if hold == "hull" else inside
    for term, bound, way, name in (
        (trajopt.v, outer * limits.velocity, hold, "velocity limits"),
        (
            trajopt.a,
            limits.acceleration if full else inside * limits.acceleration,
            held,
            "acceleration limits",
        ),
        (trajopt.jerk, inside * limits.jerk, "nodes", "jerk limits"),
    ):
        if np.any(np.isfinite(bound)):
            name = f"{name}{where}"
            problem.subject_to(term, -bound, bound, over=over, hold=way, name=name)  # type: ignore[arg-type]
    if not limits.has_torque:
        return
    friction = coulomb_friction(model)
    lower, upper = inside * limits.torque_lower + friction, inside * limits.torque_upper - friction
    for goal in states:
        if goal.v is not None and goal.a is not None and np.all(np.isfinite([goal.joints, goal.v, goal.a])):
            tau = motor_torques(model, goal.joints, goal.v, np.array(1.0), goal.a)
            tau = tau - friction * np.sign(goal.v)
            lower, upper = np.minimum(lower, tau), np.maximum(upper, tau)
    if np.any(lower >= upper):
        joint = int(np.argmax(lower >= upper))
        raise InfeasibleBoundsError(
            f"joint {model.joint_names[joint]!r} has a Coulomb friction of {friction[joint]:.4g}, which its "
            "torque limit does not exceed: raise the limit"
        )
    motors = trajopt.Quantity("motor_torque")
    problem.subject_to(motors, lower, upper, over=over, name=f"torque limits{where}")
