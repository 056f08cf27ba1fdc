"""A Panda in MuJoCo whose hand follows a goal that moves on a circle, pushed at it."""

from __future__ import annotations

from functools import cached_property
from importlib.resources import files
from typing import Any

import mujoco
import numpy as np

import dynamics
import trajopt
from benchmarks.receding_horizon.loop import joint_drives
from dynamics.formats.mujoco.mujoco_writer import mjcf_of
from problems import moves
from trajopt.parametric.replanning import Step

PERIOD, STEP, HORIZON, INTERVALS = 0.02, 0.002, 0.4, 8  # s
NOISE = 5e-4  # rad and rad/s
PUSH, EVERY, LONG = 10.0, 20, 3  # N at the hand, along each axis; samples between pushes, and of each
CENTRE, RADIUS, TURN = np.array([0.45, 0.0, 0.45]), 0.12, 2.0  # m, m, rad/s
REST = np.array([0.0, -0.4, 0.0, -2.1, 0.0, 1.8, 0.8])
FREQUENCY = 2.0 * np.pi * 8.0  # rad/s, of the feedback of the joints to the plan
FAST, STRONG, INSIDE = 0.65, 0.95, 0.05  # of limits; rad: what plans leave to disturbances
HAND = "panda_link8"
LOST = 0.2  # m, from the goal after the first second


@trajopt.term
def miss(node: Any) -> Any:
    """The distance from the goal, which moves on at its velocity, (3,) m."""
    place, goal, speed = node.position(HAND), node.parameter("goal"), node.parameter("goal speed")
    return [place[i] - goal[i] - speed[i] * node.t for i in range(3)]


def panda() -> Any:
    """The seven axes, fingers fixed."""
    text = (files("problems") / "robots" / "panda.urdf").read_text(encoding="utf-8")
    return moves.robot(text, locked={"panda_finger_joint1": 0.0}).model


class MovingGoal:
    """The plant; its state is q and v."""

    period = PERIOD

    def __init__(self) -> None:
        self.robot = panda()
        self.limits, self.n = self.robot.limits, self.robot.n

    @cached_property
    def program(self) -> trajopt.CompiledProgram:
        mesh = trajopt.Trajectory.uniform(INTERVALS, duration=HORIZON)
        problem, limits = trajopt.Problem(self.robot, mesh, name="moving goal"), self.limits
        for name in ("goal", "goal speed"):
            problem.parameter(name, CENTRE, CENTRE)
        problem.start_at(q=REST, v=0.0)
        problem.minimize(miss**2, weight=20.0, name="miss")
        problem.minimize((trajopt.q - REST) ** 2, weight=0.02, name="posture")
        problem.minimize(trajopt.v**2, weight=2e-2, name="speed")
        problem.minimize(trajopt.a**2, weight=1e-4, name="acceleration")
        problem.subject_to(trajopt.q, limits.q_lower + INSIDE, limits.q_upper - INSIDE, hold="hull")
        problem.subject_to(trajopt.v, -FAST * limits.velocity, FAST * limits.velocity, hold="hull")
        problem.subject_to(trajopt.tau, STRONG * limits.torque_lower, STRONG * limits.torque_upper)
        problem.guess(np.array([REST, REST]))
        return trajopt.compile(problem)

    def reset(self, rng: np.random.Generator) -> np.ndarray:
        self.model = mujoco.MjModel.from_xml_string(mjcf_of(self.robot))
        self.model.opt.timestep = STEP
        self.data, self.sample, self.beyond = mujoco.MjData(self.model), 0, 0.0
        self.push, self.begin = np.zeros(3), float(rng.uniform(0.0, 2.0 * np.pi))
        self.data.qpos[:] = REST + 0.1 * rng.standard_normal(self.n)
        self.misses: list[float] = []
        return self._measured(rng)

    def goal(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Place and velocity."""
        angle = self.begin + TURN * t
        circle = np.array([0.0, np.cos(angle), np.sin(angle)])
        return CENTRE + RADIUS * circle, RADIUS * TURN * np.array([0.0, -circle[2], circle[1]])

    def move(self, step: Step, rng: np.random.Generator) -> np.ndarray:
        """The torques of the plan, and a feedback of the joints to it."""
        if self.sample % EVERY == 0:
            self.push = PUSH * rng.standard_normal(3)
        data, limits = self.data, self.limits
        data.xfrc_applied[-1, :3] = self.push if self.sample % EVERY < LONG else 0.0
        times = STEP * np.arange(round(PERIOD / STEP))
        inertia = self.robot.mass_matrix(step.x(0.0)[: self.n])
        drives = joint_drives(step, inertia, slice(None), times, FREQUENCY)
        strong = np.abs(step.u(times)) / limits.torque_upper - 1.0  # those of the plan: drives cut their own
        self.beyond = max(self.beyond, float(strong.max()))
        for k in range(times.size):
            tau = drives(k, data.qpos, data.qvel)
            data.qfrc_applied[:] = np.clip(tau, limits.torque_lower, limits.torque_upper)
            mujoco.mj_step(self.model, data)
            self.beyond = max(self.beyond, self._beyond())
        self.sample += 1
        place = dynamics.forward_kinematics(self.robot, self.data.qpos[None].copy(), [HAND]).position[0, 0]
        self.misses.append(float(np.linalg.norm(place - self.goal(self.sample * PERIOD)[0])))
        return self._measured(rng)

    def predicted(self, state: np.ndarray, step: Step) -> np.ndarray:
        """The plan's own change over a period, to which the joints are fed back."""
        return state + step.x(PERIOD) - step.x(0.0)

    def first_step(self, state: np.ndarray) -> Step:
        return self.program.step(state)

    def next_step(self, state: np.ndarray, before: Step, elapsed: float) -> Step:
        goal, speed = self.goal(self.sample * PERIOD)
        values = {"goal": goal, "goal speed": speed}
        return self.program.step(state, values, before=before, elapsed=elapsed)

    def excess(self) -> float:
        return self.beyond

    def _beyond(self) -> float:
        limits, q, v = self.limits, self.data.qpos, self.data.qvel
        span = limits.q_upper - limits.q_lower
        outside = np.maximum(limits.q_lower - q, q - limits.q_upper) / span
        return max(float(np.max([outside, np.abs(v) / limits.velocity - 1.0])), 0.0)

    def has_fallen(self) -> bool:
        """Lost the goal."""
        return self.sample * PERIOD > 1.0 and self.misses[-1] > LOST

    def was_lost(self, delay: int) -> bool:
        """Not known."""
        return False

    def _measured(self, rng: np.random.Generator) -> np.ndarray:
        state = np.concatenate([self.data.qpos, self.data.qvel])
        return state + NOISE * rng.standard_normal(state.size)
