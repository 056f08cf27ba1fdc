"""A cart-pole in MuJoCo that is pushed, held upright by the plan of `benchmarks.solvers.mpc`."""

from __future__ import annotations

import itertools
from functools import cached_property

import mujoco
import numpy as np

import trajopt
from benchmarks.solvers import mpc
from trajopt.parametric.replanning import Step

PERIOD, STEP = 0.02, 0.002  # s, between samples and of the simulation
NOISE = 1e-3  # standard deviation of measurements, m, rad and their rates
PUSH, EVERY, LONG = 4.0, 25, 3  # N on the pole; samples between pushes, and of each
HEAVIER = 1.1  # mass of the plant's pole, of the model's
FALLEN = 1.0  # rad
MJCF = f"""
<mujoco><compiler angle="radian"/><option gravity="0 0 -{mpc.GRAVITY}" timestep="{STEP}" integrator="RK4"/>
<worldbody><body name="cart"><joint name="x" type="slide" axis="1 0 0"/>
<inertial mass="{mpc.CART}" pos="0 0 0" diaginertia="1 1 1"/>
<body name="pole"><joint name="angle" type="hinge" axis="0 -1 0"/>
<inertial mass="{HEAVIER * mpc.POLE}" pos="0 0 {mpc.LENGTH}" diaginertia="1e-6 1e-6 1e-6"/></body></body>
</worldbody></mujoco>"""


class CartPole:
    """The plant; its states are place, angle from upright, speed and spin."""

    period = PERIOD

    @cached_property
    def program(self) -> trajopt.CompiledProgram:
        return mpc.compiled_problem()

    def reset(self, rng: np.random.Generator) -> np.ndarray:
        self.model = mujoco.MjModel.from_xml_string(MJCF)
        self.data, self.sample, self.push, self.force = mujoco.MjData(self.model), 0, 0.0, 0.0
        self.data.qpos[:], self.data.qvel[:] = 0.2 * rng.standard_normal(2), 0.2 * rng.standard_normal(2)
        self.course: list[tuple[np.ndarray, np.ndarray, float]] = []  # place and rates, push, of every sample
        return self._measured(rng)

    def move(self, step: Step, rng: np.random.Generator) -> np.ndarray:
        if self.sample % EVERY == 0:
            self.push = PUSH * rng.standard_normal()
        self.force = float(step.u(0.0)[0])
        push = self.push if self.sample % EVERY < LONG else 0.0
        self.course.append((self.data.qpos.copy(), self.data.qvel.copy(), push))
        self._apply(self.data, self.force, push)
        self.sample += 1
        return self._measured(rng)

    def _apply(self, data: mujoco.MjData, force: float, push: float) -> None:
        data.qfrc_applied[0], data.xfrc_applied[self.model.body("pole").id, 0] = force, push
        for _ in range(round(PERIOD / STEP)):
            mujoco.mj_step(self.model, data)

    def predicted(self, state: np.ndarray, step: Step) -> np.ndarray:
        """Runge-Kutta of order 4 of the model."""
        force = float(step.u(0.0)[0])

        def rate(x: np.ndarray) -> np.ndarray:
            return np.array(mpc.rates_of(x[1], x[2], x[3], force, np.sin, np.cos))

        k1 = rate(state)
        k2 = rate(state + PERIOD / 2 * k1)
        k3 = rate(state + PERIOD / 2 * k2)
        k4 = rate(state + PERIOD * k3)
        return state + PERIOD / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def first_step(self, state: np.ndarray) -> Step:
        return self.program.step(state)

    def next_step(self, state: np.ndarray, before: Step, elapsed: float) -> Step:
        return self.program.step(state, before=before, elapsed=elapsed)

    def excess(self) -> float:
        return max(abs(self.force) / mpc.FORCE - 1.0, 0.0)

    def has_fallen(self) -> bool:
        return abs(float(self.data.qpos[1])) > FALLEN

    def was_lost(self, delay: int) -> bool:
        """The full force either way, from the first measurement of the last push on, does not right the pole.

        The spin towards the side that it falls to grows less, the larger the force to that side is, at every
        state short of a fall: no other force rights it where that one does not.
        """
        first = (self.sample - 1) // EVERY * EVERY + 1 + delay
        return first >= self.sample or not any(self._rights(first, way) for way in (-1.0, 1.0))

    def _rights(self, first: int, way: float) -> bool:
        """The full force from a sample on, under the pushes that were, brings the pole upright."""
        data = mujoco.MjData(self.model)
        data.qpos[:], data.qvel[:], _ = self.course[first]
        leaning = np.sign(self.data.qpos[1])
        for sample in itertools.count(first):
            self._apply(data, way * mpc.FORCE, self.course[sample][2] if sample < self.sample else 0.0)
            if leaning * data.qpos[1] > FALLEN:
                return False
            if leaning * data.qvel[1] <= 0.0:
                return True
        raise AssertionError("the pole rises or falls")

    def _measured(self, rng: np.random.Generator) -> np.ndarray:
        return np.concatenate([self.data.qpos, self.data.qvel]) + NOISE * rng.standard_normal(4)
