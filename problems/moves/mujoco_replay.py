"""`replay`: a planned motion simulated by MuJoCo with the planned torques, open loop and with feedback."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from problems.moves.controller.source import MotionSource, source_of
from trajopt.base.arguments import check_positive
from trajopt.base.arrays import Array

if TYPE_CHECKING:
    from dynamics.model.kinematic_tree import KinematicTree

State = tuple[Array, Array]  # q, v (n,)
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
        """Largest deviation at any time."""
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

    motion : a `trajopt.Solution` of a robot, or what `moves.retime` and `Task.solve` return
    step : s, shortened so that a whole number of them makes the duration of what is simulated with one load;
        bandwidth : w / (2 pi) in Hz
    Both RK4, whose stages take the torques of their own times, and MuJoCo's semi-implicit Euler method. The
    joints have no friction, springs or limits in the simulation, and the torques have none for them. What a
    task's robot carries is part of its link from where it is picked up to where it is put down. Open
    loop, errors grow with the time constants of a falling arm, so that motions of several seconds are lost
    whatever the step. Raises MujocoError where MuJoCo is not installed or does not have what the robot has.
    """
    check_positive("step", step)
    check_positive("bandwidth", bandwidth)
    source = source_of(motion)
    plans = [Plan.of(source, *phase, step, 2.0 * np.pi * bandwidth) for phase in _phases(motion, source)]
    runs = {(way, control): _simulated(plans, way, control) for way in INTEGRATORS for control in CONTROLS}
    return Replay(max(plan.step for plan in plans), runs)


def _phases(motion: Any, source: MotionSource) -> list[tuple[Any, float, float]]:
    """The robot with what it carries, and from when to when, s; neighbours with the same are one."""
    if not hasattr(motion, "surroundings"):
        return [(source.model, 0.0, source.duration)]
    groups = groupby(motion.surroundings.segments, lambda segment: id(segment.model))
    same = [list(group) for _, group in groups]
    return [(group[0].model, group[0].begin, group[-1].end) for group in same]


def _simulated(plans: list[Plan], integrator: str, control: str) -> ReplayedMotion:
    """One simulation of all phases, each from the state in which the one before ends."""
    state = plans[0].table[0][0], plans[0].table[1][0]
    times: list[Array] = []
    found: list[Array] = []
    planned: list[Array] = []
    for plan in plans:
        here, state = plan.simulated(state, integrator, control)
        first = 0 if plan is plans[0] else 1
        times.append(plan.times[::2][first:])
        found.append(here[first:])
        planned.append(plan.table[0][::2][first:])
    q = np.concatenate(found)
    names = plans[0].model.joint_names
    return ReplayedMotion(integrator, control, names, np.concatenate(times), q, q - np.concatenate(planned))


@dataclass(frozen=True, eq=False)
class Plan:
    """A phase of the planned motion at times begin, begin + step / 2 ..., and its simulations.

    model : the robot with what it carries; count : of steps; frequency : rad/s, of the feedback
    """

    source: MotionSource
    model: KinematicTree
    begin: float
    step: float
    count: int
    frequency: float

    @staticmethod
    def of(
        source: MotionSource, model: KinematicTree, begin: float, end: float, step: float, frequency: float
    ) -> Plan:
        """The plan of the motion from `begin` to `end`, in a whole number of steps of at most `step`, s."""
        count = int(np.ceil((end - begin) / step))
        return Plan(source, model, begin, (end - begin) / count, count, frequency)

    @property
    def times(self) -> Array:
        """Times of the table, (2 count + 1,) s."""
        return self.begin + 0.5 * self.step * np.arange(2 * self.count + 1)

    @cached_property
    def table(self) -> tuple[Array, Array, Array, Array]:
        """q, v, tau (2 count + 1, n) and M (2 count + 1, n, n) of the plan."""
        from dynamics.algorithms.crba import crba
        from dynamics.algorithms.rnea import rnea

        t = np.minimum(self.times, self.source.duration)
        q, v = self.source.q(t), self.source.v(t)
        return q, v, rnea(self.model, q, v, self.source.a(t)), crba(self.model, q)

    @cached_property
    def mujoco_model(self) -> Any:
        """The robot with what it carries, compiled by MuJoCo."""
        from dynamics.formats.mujoco.mujoco_source import compiled
        from dynamics.formats.mujoco.mujoco_writer import mjcf_of

        return compiled(mjcf_of(self.model))

    def simulated(self, state: State, integrator: str, control: str) -> tuple[Array, State]:
        """q (count + 1, n) from a state q, v (n,) on, and the state at the end, infinite where it is lost."""
        from dynamics.formats.mujoco.mujoco_source import mujoco_module

        mujoco, mj = mujoco_module(), self.mujoco_model
        q, v, tau, mass = self.table
        joints, own = self.model.joints, [joint.mimics is None for joint in self.model.joints]
        ratio, offset = (np.array([getattr(joint, key) for joint in joints]) for key in ("ratio", "offset"))
        mj.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        mj.opt.timestep = self.step
        data, found = mujoco.MjData(mj), np.full((self.count + 1, self.model.n), np.inf)
        data.qpos[:] = ratio * state[0][self.model.coordinate] + offset
        data.qvel[:] = ratio * state[1][self.model.coordinate]

        def position() -> State:
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
                state = position()
                if not np.abs(state[0] - q[2 * k]).max() < LOST:
                    return found, (found[-1], found[-1])
                found[k] = state[0]
                if k < self.count:
                    mujoco.mj_step(mj, data)
        finally:
            mujoco.set_mjcb_control(before)
        return found, state
