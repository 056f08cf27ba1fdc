"""Inverse dynamics of `dynamics.from_mujoco` beside `mj_inverse`: states of MuJoCo, and the difference."""

from __future__ import annotations

from typing import Any

import numpy as np

import dynamics

STATES = 20
FREE, BALL = 0, 1
STEP = 1e-30  # of derivatives by complex numbers


def inverse_dynamics_error(
    mj: Any, model: dynamics.RigidBodyModel, seed: int = 0, fluids: bool = False
) -> float:
    """max |tau - tau of MuJoCo| / max |tau|, over random positions, speeds and accelerations.

    Contacts, limits, equalities and friction loss are off in MuJoCo, springs and damping on, forces of fluids
    where `fluids` says so.
    """
    import mujoco

    if not fluids:
        mj.opt.density = mj.opt.viscosity = 0.0
    mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data, rng = mujoco.MjData(mj), np.random.default_rng(seed)
    difference, largest = 0.0, 0.0
    for _ in range(STATES):
        q, v, a = rng.uniform(-1.0, 1.0, (3, model.n))
        data.qpos[:], data.qvel[:], data.qacc[:], turn = mujoco_state(mj, model, q, v, a)
        mujoco.mj_inverse(mj, data)
        tau = dynamics.rnea(model, q, v, a) + passive_torques(model, q, v)
        difference = max(difference, np.abs(turn.T @ data.qfrc_inverse - tau).max())
        largest = max(largest, np.abs(tau).max())
    return difference / largest


def passive_torques(model: dynamics.RigidBodyModel, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Torques that springs and damping take from the motors, of joints without mimics."""
    joints = [joint for joint in model.joints if joint.mimics is None]
    moved = np.array([joint.offset - joint.rest for joint in joints]) + q
    return np.array([j.stiffness for j in joints]) * moved + np.array([j.damping for j in joints]) * v


def mujoco_state(
    mj: Any, model: dynamics.RigidBodyModel, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """qpos, qvel and qacc of MuJoCo, and d qvel / d v, (nv, nv)."""
    qpos, rate, second, turn = np.array(mj.qpos0), v.copy(), a.copy(), np.eye(mj.nv)
    centres = iter([joint.centre for joint in model.joints if joint.centre is not None])
    for j in range(mj.njnt):
        at, dof, kind = int(mj.jnt_qposadr[j]), int(mj.jnt_dofadr[j]), mj.jnt_type[j]
        if kind not in (FREE, BALL):
            qpos[at] = q[dof]
            continue
        if kind == FREE:
            qpos[at : at + 3] = q[dof : dof + 3]
            at, dof = at + 3, dof + 3
        part = slice(dof, dof + 3)
        p, p_rate, p_second = q[part], v[part], a[part]
        qpos[at : at + 4] = product(quaternion_of(next(centres)), exponential(p))
        jacobian = right_jacobian(p)
        change = right_jacobian(p + 1j * STEP * p_rate).imag / STEP
        rate[part] = jacobian @ p_rate
        second[part] = jacobian @ p_second + change @ p_rate
        turn[part, part] = jacobian
    return qpos, rate, second, turn


def right_jacobian(p: np.ndarray) -> np.ndarray:
    """J of omega = J(p) p', omega in the axes of the body."""
    angle = np.sqrt(p @ p)
    hat = np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])
    bend, twist = (1.0 - np.cos(angle)) / angle**2, (angle - np.sin(angle)) / angle**3
    return np.eye(3) - bend * hat + twist * hat @ hat


def exponential(p: np.ndarray) -> np.ndarray:
    """The quaternion w, x, y, z of the turn by |p| about p."""
    angle = np.linalg.norm(p)
    return np.array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) / angle * p)])


def quaternion_of(rotation: np.ndarray) -> np.ndarray:
    """w, x, y, z of a rotation matrix, by MuJoCo."""
    import mujoco

    found = np.empty(4)
    mujoco.mju_mat2Quat(found, np.ascontiguousarray(rotation).ravel())
    return found


def product(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The product of two quaternions."""
    vector = one[0] * other[1:] + other[0] * one[1:] + np.cross(one[1:], other[1:])
    return np.array([one[0] * other[0] - one[1:] @ other[1:], *vector])
