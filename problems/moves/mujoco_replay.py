"""`replay`: a planned motion simulated by MuJoCo with the planned torques, open loop and with feedback."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from problems.moves.controller.source import MotionSource, source_of
from trajopt.base.arguments import check_positive
from trajopt.base.arrays import Array

INTEGRATORS = "RK4", "Euler"
CONTROLS = "open loop", "PD"
LOST = 10.0  # rad or m: a simulation that is further from the plan ends


@dataclass(frozen=True, eq=False)
class ReplayedMotion:
    """One simulation.

    times : (k,) s; q : (k, n) simulated; deviation : (k, n) from the plan, rad or m, infinite after 10
    """

    integrator: str
    control: str
    joint_names: tuple[str, ...]
    times: Array
    q: Array
    deviation: Array

    @property
    def end_deviation(self) -> float:
        """The largest deviation of a joint at the end, rad or m."""
        return float(np.abs(self.deviation[-1]).max())

    @property
    def largest_deviation(self) -> float:
        """That at any time."""
        return float(np.abs(self.deviation).max())

    def __str__(self) -> str:
        row, joint = np.unravel_index(int(np.argmax(np.abs(self.deviation))), self.deviation.shape)
        return (
            f"{self.integrator}, {self.control}: {self.end_deviation:.1e} at the end, at most "
            f"{self.largest_deviation:.1e} ({self.joint_names[joint]} at {self.times[row]:.4f} s)"
        )


@dataclass(frozen=True, eq=False)
class Replay:
    """A planned motion in MuJoCo, with both integrators, open loop and with PD; `str` has a line each.

    step : s, of the simulation; runs[integrator, control] is one of them
    """

    step: float
    runs: dict[tuple[str, str], ReplayedMotion]

    def __str__(self) -> str:
        head = f"deviation of joints from the plan in MuJoCo, steps of {self.step:.6g} s [rad or m]"
        return "\n".join([head, *map(str, self.runs.values())])


def replay(motion: Any, step: float = 1e-3, bandwidth: float = 10.0) -> Replay:
    """Simulate a motion in MuJoCo with tau = rnea(q, v, a) of the plan.

    open loop: tau(t);   PD: tau(t) + M(q) (w^2 (q - q_sim) + 2 w (v - v_sim)) with M and q of the plan

    motion : a `trajopt.Solution` of a robot, what `moves.retime` returns, or a hand-over
    step : s, shortened so that a whole number of them makes the duration; bandwidth : w / (2 pi) in Hz
    Both RK4, whose stages take the torques of their own times, and MuJoCo's semi-implicit Euler method. The
    joints have no friction, springs or limits in the simulation, and the torques have none for them; what a
    task's robot carries is in neither. Open
    loop, errors grow with the time constants of a falling arm, so that motions of several seconds are lost
    whatever the step. Raises MujocoError where MuJoCo is not installed or does not have what the robot has.
    """
    from dynamics.formats.mujoco_source import compiled
    from dynamics.formats.mujoco_writer import mjcf_of

    check_positive("step", step)
    check_positive("bandwidth", bandwidth)
    source = source_of(motion)
    count = int(np.ceil(source.duration / step))
    plan = Plan(source, source.duration / count, count, 2.0 * np.pi * bandwidth)
    mj = compiled(mjcf_of(source.model))
    runs = {(way, control): plan.simulated(mj, way, control) for way in INTEGRATORS for control in CONTROLS}
    return Replay(plan.step, runs)


@dataclass(frozen=True, eq=False)
class Plan:
    """The planned motion at times 0, step / 2, step ... of a simulation, and its simulations."""

    source: MotionSource
    step: float
    count: int
    frequency: float

    @cached_property
    def table(self) -> tuple[Array, Array, Array, Array]:
        """q, v, tau (2 count + 1, n) and M (2 count + 1, n, n) of the plan."""
        from dynamics.algorithms.crba import crba
        from dynamics.algorithms.rnea import rnea

        t = np.linspace(0.0, self.source.duration, 2 * self.count + 1)
        q, v, model = self.source.q(t), self.source.v(t), self.source.model
        return q, v, rnea(model, q, v, self.source.a(t)), crba(model, q)

    def simulated(self, mj: Any, integrator: str, control: str) -> ReplayedMotion:
        """One simulation, from the plan's first position and velocity."""
        from dynamics.formats.mujoco_source import mujoco_module

        mujoco, model = mujoco_module(), self.source.model
        q, v, tau, mass = self.table
        joints, own = model.joints, [joint.mimics is None for joint in model.joints]
        ratio, offset = (np.array([getattr(joint, key) for joint in joints]) for key in ("ratio", "offset"))
        mj.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        mj.opt.timestep = self.step
        data, found = mujoco.MjData(mj), np.full((self.count + 1, model.n), np.inf)
        data.qpos[:] = ratio * q[0, model.coordinate] + offset
        data.qvel[:] = ratio * v[0, model.coordinate]

        def position() -> tuple[Array, Array]:
            return ((data.qpos - offset) / ratio)[own], (data.qvel / ratio)[own]

        def torque(_: Any, state: Any) -> None:
            at = min(round(2.0 * state.time / self.step), 2 * self.count)
            given = tau[at]
            if control == "PD":
                now, rate = position()
                error = self.frequency**2 * (q[at] - now) + 2.0 * self.frequency * (v[at] - rate)
                given = given + mass[at] @ error
            state.qfrc_applied[own] = given / ratio[own]

        before = mujoco.get_mjcb_control()
        mujoco.set_mjcb_control(torque)
        try:
            for k in range(self.count + 1):
                now = position()[0]
                if not np.abs(now - q[2 * k]).max() < LOST:
                    break
                found[k] = now
                mujoco.mj_step(mj, data)
        finally:
            mujoco.set_mjcb_control(before)
        times = np.linspace(0.0, self.source.duration, self.count + 1)
        return ReplayedMotion(integrator, control, model.joint_names, times, found, found - q[::2])
