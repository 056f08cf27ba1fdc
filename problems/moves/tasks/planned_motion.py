"""The motion of a task: a spline in time with the robot's load on every arc, and what is known of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

import dynamics
from problems.moves.certificate import TOLERANCE, LimitLine, MotionCertificate, largest
from problems.moves.limit_excess import relative_excess, worst_line
from problems.moves.motion import SplineMotion
from problems.moves.motion_limits import ORDERS, TOOL_SPEED, MotionLimits
from problems.moves.path_quantities import motor_torques
from problems.moves.spline_limits import clearance_line, joined, proved_lines, sampled_clearance
from problems.moves.tasks.reaching import target_errors
from problems.moves.tasks.stated_task import StatedTask
from problems.moves.view.surroundings import MotionSegment, Surroundings
from trajopt.archive.solution_archive import save
from trajopt.base.arguments import list_names, numbers
from trajopt.base.arrays import Array
from trajopt.splines.basis import Curve

if TYPE_CHECKING:
    from problems.moves.tasks.task_problem import TaskProblem
    from trajopt.solution.solution import Answer

SAMPLES = 16  # of every interval of the spline, for what is sampled
MOST_SCALING, ROUNDS = 0.02, 6  # of the duration, so that limits hold between nodes


@dataclass(frozen=True, eq=False)
class PlannedMotion(SplineMotion):
    """q(t) of a task, made by `Task.solve`.

    curve : the spline, an arc to every goal; loaded : the robot with what it carries, on every arc
    solution : how it was found, a `trajopt.Solution` or `PhasesSolution`, before time was scaled
    slowed : relative increase of the duration by which time was scaled so that limits hold between nodes
    """

    task: StatedTask
    curve: Curve
    loaded: tuple[dynamics.RigidBodyModel, ...]
    solution: Answer
    slowed: float = 0.0

    @staticmethod
    def of(problem: TaskProblem, solution: Any) -> PlannedMotion:
        """The motion of a solution, slowed until its limits hold between nodes, too, as far as that helps."""
        task, curves = problem.task, [part.curve for part in solution.parts]
        curve = Curve(
            tuple(basis for each in curves for basis in each.bases),
            tuple(points for each in curves for points in each.control_points),
            np.concatenate([each.durations for each in curves]),
        )
        models = zip(problem.models, problem.phases, strict=True)
        loaded = tuple(model for model, phase in models for _ in phase)
        found = PlannedMotion(task, joined(curve), loaded, solution)
        return found._slowed() if solution.converged else found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the motion, its task and its solution into one .npz file, which `moves.load_motion` reads.

        It is the file of `solution.save`, so that `trajopt.Solution.load`, `trajopt view`, `replay` and
        `verify` read it, too. Raises the errors of `Solution.save`.
        """
        save(self.solution, path)

    @property
    def model(self) -> dynamics.RigidBodyModel:  # type: ignore[override]
        return self.task.robot.model

    @property
    def limits(self) -> MotionLimits:  # type: ignore[override]
        return self.task.all_limits

    @property
    def converged(self) -> bool:
        """True if the solver found an optimum, and every line of the certificate holds."""
        return bool(self.solution.converged) and self.certificate.holds

    @property
    def times(self) -> Array:
        """Seconds of the start and of every goal, (goals + 1,)."""
        return self.curve.starts

    def tau(self, t: Any) -> Array:
        """Torques of the motors, (..., n) N m or N, with what is carried; Coulomb friction opposes v."""
        return self.torque_of(t, self.q(t), self.v(t), self.a(t))

    def torque_of(self, t: Any, q: Array, v: Array, a: Array) -> Array:
        """Torques of the motors at q, v and a (..., n) with what is carried at times t (...,)."""
        at = numbers(t, "t")
        arc = np.searchsorted(self.times, at, side="right") - 1
        return self._torques(np.clip(arc, 0, len(self.loaded) - 1), q, v, a)

    def _torques(self, arc: Array, q: Array, v: Array, a: Array) -> Array:
        """Torques with the load of arcs (...,), of either side at their ends."""
        found = np.empty_like(q)
        for model in dict.fromkeys(self.loaded):
            here = np.isin(arc, [k for k, each in enumerate(self.loaded) if each is model])
            found[here] = motor_torques(model, q[here], v[here], np.array(1.0), a[here])
        return found

    @property
    def surroundings(self) -> Surroundings:
        """The scene, the robot with its loads from goal to goal, and the frames that goals are given for."""
        ends = self.times.tolist()
        segments = tuple(map(MotionSegment, self.loaded, ends[:-1], ends[1:]))
        return Surroundings(segments, self.task.scene, self.task.frames, self.task.robot.urdf)

    def place(self, frame: str, t: Any) -> Array:
        """Place of a frame's origin at times (...,), (..., 3) m, world axes."""
        return dynamics.forward_kinematics(self.model, self.q(t), [frame]).position[..., 0, :]

    @cached_property
    def certificate(self) -> MotionCertificate:  # type: ignore[override]
        """Position, speed, acceleration and jerk for all times; torque, goals and rules at samples.

        Excesses of goals, lines and kept axes are in m, rad, or rad and m of joints, beyond the tolerance, of
        goals in motion in their rates, too; of "at rest" they are speeds and accelerations.
        """
        lines = self._proved()
        return MotionCertificate((*lines, *self._sampled(SAMPLES), *self._clearance_lines))

    def _proved(self) -> list[LimitLine]:
        """Lines of q and its rates for all times, where limits change the largest excess of all arcs."""
        if not self.limits.segments:
            return proved_lines(self.curve, self.model, self.limits)
        lines: dict[str, list[LimitLine]] = {}
        for arc, start in enumerate(self.times[:-1].tolist()):
            for line in proved_lines(self._arcs(slice(arc, arc + 1)), self.model, self.limits.of(arc)):
                lines.setdefault(line.name, []).append(replace(line, time=start + line.time))
        return list(map(largest, lines.values()))

    def limits_at(self, t: ArrayLike) -> MotionLimits:
        return self.limits.at(np.interp(numbers(t, "t"), self.times, np.arange(len(self.times))))

    def verify(self) -> MotionCertificate:
        """All of it again, at other and more times, from the curves alone."""
        t, _ = self.times_of_intervals(SAMPLES + 3)
        lines = [line for line in self.sampled_limits(t) if line.name not in ("torque", TOOL_SPEED)]
        clear = [self._clearance_line(sampled_clearance, *each) for each in self._clearances]
        return MotionCertificate((*lines, *self._sampled(SAMPLES + 3), *clear))

    def _sampled(self, count: int) -> list[LimitLine]:
        t, arc = self.times_of_intervals(count)
        return [
            *self._torque_line(t, arc),
            *self._goal_lines(),
            *self._rest_line(),
            *self._rule_lines(t, arc),
        ]

    def _rest_line(self) -> list[LimitLine]:
        """The largest speed or acceleration at the start and at goals that end at rest, rad or m and s."""
        rests = [not self.task.origin.in_motion, *(step.rests for step in self.task.steps)]
        if not any(rests):
            return []
        t = self.times[rests]
        moving = np.maximum(np.abs(self.v(t)), np.abs(self.a(t)))
        return [worst_line("at rest", self.joint_names, moving, t)]

    def _torque_line(self, t: Array, arc: Array) -> list[LimitLine]:
        if not self.limits.has_torque:
            return []
        tau = self._torques(arc, self.q(t), self.v(t), self.a(t))
        limits = self.limits.at(arc + 0.5)
        excess = relative_excess(tau, limits.torque_lower, limits.torque_upper)
        return [worst_line("torque", self.joint_names, excess, t)]

    def _goal_lines(self) -> list[LimitLine]:
        found: list[LimitLine] = []
        for goal, time in zip(self.task.goals, self.times.tolist(), strict=True):
            q, v = self.q(time), self.v(time)
            states = ((goal.joints, q), (goal.v, v), (goal.a, self.a(time)))
            misses = [
                (abs(value[i] - wanted[i]), self.joint_names[i])
                for wanted, value in states
                if wanted is not None
                for i in np.flatnonzero(np.isfinite(wanted))
            ]
            for target in goal.targets:
                error = target_errors(self.model, target.at(time), q[None])[0]
                distance, angle = np.linalg.norm(error[:3]), np.linalg.norm(error[3:])
                misses += [
                    (distance - target.distance, target.frame),
                    (angle - target.angle, target.frame),
                ]
                if target.velocity is not None:
                    rate = dynamics.frame_velocity(self.model, q, v, target.frame)[3:]
                    misses.append((np.linalg.norm(rate - target.velocity), target.frame))
            values, places = zip(*misses, strict=True)
            worst = int(np.argmax(values))  # NaN above all, unlike Python's max
            found.append(LimitLine(goal.name, "sampled", float(values[worst]), places[worst], time, 1))
        return found

    def _rule_lines(self, t: Array, arc: Array) -> list[LimitLine]:
        """Lines of the rules on the way, and of the speeds of frames."""
        found: list[LimitLine] = []
        for number, step in enumerate(self.task.steps):
            for rule in step.rules:
                here = t[arc == number]
                poses = dynamics.forward_kinematics(self.model, self.q(here), [rule.frame])
                excess = rule.excess(poses.position[:, 0], poses.rotation[:, 0])[:, None]
                found.append(worst_line(f"{rule.name} to {step.goal.name}", (rule.frame,), excess, here))
        if self.limits.frames:
            excess = self.tool_speeds(t) / np.array(self.task.tool_speed)[arc, None] - 1.0
            found.append(worst_line(TOOL_SPEED, self.limits.frames, excess, t))
        return found

    @cached_property
    def _clearances(self) -> list[tuple[int, dynamics.Clearances]]:
        """The distances with every load, each time that it begins, with the arc of that."""
        begins = [
            arc for arc, model in enumerate(self.loaded) if arc == 0 or model is not self.loaded[arc - 1]
        ]
        each = [(arc, self.task.clearances(self.loaded[arc])) for arc in begins]
        return [(arc, clearances) for arc, clearances in each if clearances is not None]

    @cached_property
    def _clearance_lines(self) -> list[LimitLine]:
        """The least clearance with every load, for all times where it can be proved; excess in m."""
        return [self._clearance_line(clearance_line, *each) for each in self._clearances]

    def _clearance_line(
        self, line_of: Callable[..., LimitLine], arc: int, clearances: dynamics.Clearances
    ) -> LimitLine:
        """`clearance_line` or `sampled_clearance` of a load, while it is carried."""
        last = arc
        while last < len(self.loaded) and self.loaded[last] is self.loaded[arc]:
            last += 1
        curve = self._arcs(slice(arc, last))
        line = line_of(clearances, curve, self.task.clearance, float(self.times[arc]))
        bare = [each.name for each in self.task.steps[arc].payloads if each.shape is None]
        note = f"{line.note}; carried without a shape, so that it may touch anything: {list_names(bare)}"
        return replace(line, note=note) if bare else line

    def _arcs(self, part: slice) -> Curve:
        """The spline on some of its arcs."""
        return Curve(self.curve.bases[part], self.curve.control_points[part], self.curve.durations[part])

    def _slowed(self) -> PlannedMotion:
        """q(t / k) with the least k found so that limits of speed, its rates and torque hold.

        A motion that is asked to move at a goal stays as it is.
        """
        if any(goal.in_motion for goal in self.task.goals):
            return self
        motion, growth = self, 0.0
        timed = {*ORDERS[1:], "torque", TOOL_SPEED}
        for _ in range(ROUNDS):
            excess = np.max([0.0, *(line.excess for line in motion.certificate.lines if line.name in timed)])
            if excess <= TOLERANCE:
                return motion
            growth = 2.0 * growth + float(excess)
            if not growth <= MOST_SCALING:  # NaN, too
                break
            curve = replace(self.curve, durations=self.curve.durations * (1.0 + growth))
            motion = replace(self, curve=curve, slowed=growth)
        return self

    def __repr__(self) -> str:
        return (
            f"PlannedMotion of {self.duration:.6g} s to {len(self.task.steps)} goals, "
            f"{self.solution.status.value}\n{self.certificate}{self.jumps()}"
        )
