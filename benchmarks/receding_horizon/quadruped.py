"""Solo trots in MuJoCo and is pushed: every 20 ms its plan is stepped from the measured state.

A plan is the rest of the present stance and the next one. There is one program for each pair of feet that
stands first, compiled once; the time that is left of the stance is an input.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import mujoco
import numpy as np

import trajopt
from benchmarks.legged.replay import BASE, mjcf_with_feet
from benchmarks.receding_horizon.loop import joint_drives
from problems.gallery.legged.solo import STANDING, solo
from trajopt.parametric.replanning import Step

PERIOD, STEP, STANCE = 0.02, 5e-4, 0.24  # s: between samples, of the simulation, of a stance
INTERVALS = (6, 7)  # of the rest of the present stance, and of the next one
PAIRS = (("FL", "HR"), ("FR", "HL"))
FEET = ("FL", "FR", "HL", "HR")
FRICTION, LIFT, RADIUS = 0.6, 0.04, 0.005  # mu of plans; m, height of swinging feet, radius of feet
FORWARD = 0.15  # m/s
FREQUENCY = 2.0 * np.pi * 8.0  # rad/s, of the feedback of the joints to the plan
NOISE = 1e-3  # m, rad and their rates
PUSH, EVERY, LONG = 3.0, 15, 3  # N at the base, 12 % of the weight; samples between pushes, and of each
TORQUE, STRONG = 4.0, 3.5  # N m: what motors give, and what plans may ask for
FALLEN = 0.12  # m, height of the base


def lifted(foot: str, arc: int, node: Any) -> Any:
    """Height of a swinging foot above its half sine, m."""
    begun = node.parameter("begun") + node.t if arc == 0 else node.t - (STANCE - node.parameter("begun"))
    return node.position(f"{foot}_FOOT")[2] - LIFT * np.sin(np.pi * begun / STANCE)


def planned_trot(first: int) -> trajopt.Problem:
    """The plan that begins in the stance of a pair of feet."""
    stances = [(PAIRS[(first + arc) % 2], STANCE) for arc in range(2)]
    schedule = trajopt.Schedule(stances, FEET)
    problem = trajopt.Problem(solo(), schedule.trajectory(INTERVALS), name=f"trot from {PAIRS[first]}")
    problem.parameter("begun", 0.0, 0.0)
    for foot in FEET:
        problem.contact(f"{foot}_FOOT", schedule.arcs(foot), FRICTION)
    problem.passive_base()
    pose = problem.standing_pose(STANDING)
    problem.start_at(q=pose, v=0.0, measured=True)
    ahead = np.array([FORWARD, *np.zeros(BASE - 1)])
    weigh = problem.minimize
    weigh((trajopt.v[:BASE] - ahead) ** 2, 10.0, name="speed")
    weigh((trajopt.q[2:BASE] - pose[2:BASE]) ** 2, 200.0, name="base")
    weigh((trajopt.q[BASE:] - pose[BASE:]) ** 2, 5.0, name="posture")
    weigh(trajopt.v[BASE:] ** 2, 0.01, name="joint speed")
    weigh(trajopt.a[BASE:] ** 2, 1e-5, name="acceleration")
    weigh(trajopt.tau**2, 0.1, name="effort")
    problem.subject_to(trajopt.tau[BASE:], -STRONG, STRONG, name="torques")
    # What is applied begins at the start, which no node of a limit over the whole path is.
    problem.subject_to(trajopt.tau[BASE:], -STRONG, STRONG, over="start", name="torques at the start")
    for arc in range(2):
        for foot in set(FEET) - set(stances[arc][0]):
            term = trajopt.term(name=f"lift {foot} {arc}")(partial(lifted, foot, arc))
            weigh(term**2, 2000.0, over=trajopt.ArcNodes(arc, "whole"), name=f"lift {foot} {arc}")
    problem.guess(np.array([pose, pose]))
    return problem


def rotation_vector(quaternion: np.ndarray) -> np.ndarray:
    """(3,) of a unit quaternion, scalar first, below 180 degrees."""
    w, axis = quaternion[0], quaternion[1:] * (1.0 if quaternion[0] >= 0.0 else -1.0)
    sine = float(np.linalg.norm(axis))
    return axis * (2.0 * np.arctan2(sine, abs(w)) / sine if sine > 1e-12 else 2.0)


def rates_to_spin(p: np.ndarray) -> np.ndarray:
    """J (3, 3) with omega = J p', world axes: the left Jacobian of the rotation vector."""
    angle, P = float(np.linalg.norm(p)), np.cross(np.eye(3), p)
    if angle < 1e-6:
        return np.eye(3) - 0.5 * P
    first, second = (1.0 - np.cos(angle)) / angle**2, (angle - np.sin(angle)) / angle**3
    return np.eye(3) - first * P + second * P @ P


class PushedTrot:
    """The plant, and the plans of its feet: a step of replanning has the inputs of its sample."""

    period = PERIOD

    def __init__(self) -> None:
        problems = [planned_trot(first) for first in range(2)]
        self.programs, self.robot = [trajopt.compile(problem) for problem in problems], solo()
        self.pose = problems[0].standing_pose(STANDING)
        mjcf = mjcf_with_feet(self.robot, problems[0].contacts, RADIUS)
        self.model = mujoco.MjModel.from_xml_string(mjcf)
        self.model.opt.timestep = STEP
        self.body = int(self.model.jnt_bodyid[0])

    def reset(self, rng: np.random.Generator) -> np.ndarray:
        self.data, self.sample, self.push = mujoco.MjData(self.model), 0, np.zeros(3)
        self.data.qpos[:3], self.data.qpos[3], self.data.qpos[7:] = self.pose[:3], 1.0, self.pose[BASE:]
        self.largest = 0.0
        return self._measured(rng)

    @property
    def stance(self) -> tuple[int, float]:
        """The pair that stands now, and since when, s."""
        number, since = divmod(self.sample, round(STANCE / PERIOD))
        return number % 2, since * PERIOD

    def first_step(self, state: np.ndarray) -> Step:
        return self.programs[0].step(state)

    def next_step(self, state: np.ndarray, before: Step, elapsed: float) -> Step:
        """The plan from a state in the stance that it is in."""
        pair, begun = self.stance
        inputs = {"duration": (STANCE - begun, STANCE), "begun": begun}
        return self.programs[pair].step(state, inputs, before=before, elapsed=elapsed)

    def move(self, step: Step, rng: np.random.Generator) -> np.ndarray:
        """The torques of the plan, and a feedback of the joints to it."""
        if self.sample % EVERY == 0:
            self.push = PUSH * rng.standard_normal(3) * [1.0, 1.0, 0.0]
        data = self.data
        data.xfrc_applied[self.body, :3] = self.push if self.sample % EVERY < LONG else 0.0
        times = STEP * np.arange(round(PERIOD / STEP))
        own = np.diag(self.robot.mass_matrix(step.x(0.0)[: self.robot.n]))[BASE:]
        drives = joint_drives(step, np.diag(own), slice(BASE, None), times, FREQUENCY)
        self.largest = max(self.largest, float(np.abs(step.u(times)[:, BASE:]).max()))
        for k in range(times.size):
            data.qfrc_applied[BASE:] = np.clip(drives(k, data.qpos[7:], data.qvel[BASE:]), -TORQUE, TORQUE)
            mujoco.mj_step(self.model, data)
        self.sample += 1
        return self._measured(rng)

    def predicted(self, state: np.ndarray, step: Step) -> np.ndarray:
        """The plan's own change over a period: feet and their forces are in it."""
        return state + step.x(PERIOD) - step.x(0.0)

    def excess(self) -> float:
        return max(self.largest / TORQUE - 1.0, 0.0)

    def has_fallen(self) -> bool:
        return not self.data.qpos[2] > FALLEN

    def was_lost(self, delay: int) -> bool:
        """Not known."""
        return False

    def _measured(self, rng: np.random.Generator) -> np.ndarray:
        p, (q, v) = rotation_vector(self.data.qpos[3:7]), (self.data.qpos, self.data.qvel)
        R = np.empty(9)
        mujoco.mju_quat2Mat(R, q[3:7])
        turning = np.linalg.solve(rates_to_spin(p), R.reshape(3, 3) @ v[3:6])
        state = np.concatenate([q[:3], p, q[7:], v[:3], turning, v[BASE:]])
        return state + NOISE * rng.standard_normal(state.size)
