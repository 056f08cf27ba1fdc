"""A motion of a robot replayed by MuJoCo: Runge-Kutta's fourth-order steps, torques clipped at their limits.

The robot is written as MJCF from its bodies; contacts and limits of joints are left out. A torque is held
over a step, that of the step's middle.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

import dynamics
import trajopt

STEP = 1e-3  # s, or a little less, so that steps fill the motion
MOTORS = trajopt.Quantity("motor_torque")
KINDS = {"revolute": "hinge", "prismatic": "slide"}


def _written(numbers: Iterable[float]) -> str:
    return " ".join(f"{number:.17g}" for number in numbers)


def _quaternion(rotation: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of a rotation matrix."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = Rotation.from_matrix(rotation).as_quat()
    return np.array([w, x, y, z])


def mjcf(model: dynamics.RigidBodyModel) -> str:
    """The robot as MuJoCo's XML; joints in the order of the bodies."""

    def body(part: dynamics.Body) -> str:
        joint, inertia = part.joint, part.inertia
        own = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        children = "".join(body(other) for other in model.bodies if other.parent == part.name)
        return (
            f'<body name="{part.name}" pos="{_written(joint.position)}" '
            f'quat="{_written(_quaternion(joint.rotation))}">'
            f'<joint name="{joint.name}" type="{KINDS[joint.kind]}" axis="{_written(joint.axis)}"/>'
            f'<inertial pos="{_written(part.centre_of_mass)}" mass="{part.mass:.17g}" '
            f'fullinertia="{_written(own)}"/>{children}</body>'
        )

    roots = "".join(body(part) for part in model.bodies if part.parent is None)
    return (
        f'<mujoco><compiler angle="radian" balanceinertia="false"/><option integrator="RK4" '
        f'gravity="{_written(model.gravity)}"><flag contact="disable"/></option>'
        f"<worldbody>{roots}</worldbody></mujoco>"
    )


def driving_torques(model: dynamics.RigidBodyModel, solution: trajopt.Solution, t: Any) -> np.ndarray:
    """Torques on the joints, (k, n): of the motors, clipped, less what damping takes in the plan."""
    motors, limits = solution.value(MOTORS, t), model.limits
    return solution.tau(t) + np.clip(motors, limits.torque_lower, limits.torque_upper) - motors


def replay_errors(
    model: dynamics.RigidBodyModel, solution: trajopt.Solution, step: float = STEP
) -> tuple[float, float]:
    """The largest error of a joint, rad or m: at the end of the motion, and of its spans, each begun right.

    The second says what steps and clipping do within a span; the first, what the arm makes of it where
    nothing corrects it: errors of a heavy arm may grow a millionfold in a second.
    """
    mujoco: Any = importlib.import_module("mujoco")
    peer = mujoco.MjModel.from_xml_string(mjcf(model))
    places = [peer.joint(name).qposadr[0] for name in model.joint_names]

    def driven(edges: np.ndarray, restarted: bool) -> float:
        state, worst = mujoco.MjData(peer), 0.0
        state.qpos[places], state.qvel[places] = solution.q(0.0), solution.v(0.0)
        for first, last in pairwise(edges):
            if restarted:
                state.qpos[places], state.qvel[places] = solution.q(first), solution.v(first)
            count = int(np.ceil((last - first) / step))
            peer.opt.timestep = (last - first) / count
            middles = first + (np.arange(count) + 0.5) * peer.opt.timestep
            for torque in driving_torques(model, solution, middles):
                state.qfrc_applied[places] = torque
                mujoco.mj_step(peer, state)
            worst = max(worst, float(np.abs(state.qpos[places] - solution.q(last)).max()))
        return worst

    whole = np.array([0.0, solution.duration])
    return driven(whole, False), driven(solution.knot_times, True)
