"""Robots of files beside Pinocchio and MuJoCo: which load, and whether poses, torques and limits agree.

    python -m benchmarks.dynamics.robot_files FOLDER ...

Folders are searched for .urdf and for .xml of MuJoCo. A URDF is compared with Pinocchio's reading of the same
file: positions and rotations of all links, and torques of robots with mass, at random states; the rotors of
<transmission>, which Pinocchio does not read, are left out. Where `load_urdf` needs repair_inertia=True,
Pinocchio gets the repaired inertias. A model of MuJoCo is compared with `mj_inverse`, and its limits of
torque with what its actuators give at their extreme controls; what differs must be named in `left_out`.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dynamics
from benchmarks.dynamics.mujoco_models import inverse_dynamics_error
from dynamics.formats.mujoco.mujoco_source import compiled
from dynamics.formats.mujoco.mujoco_torques import actuator_name, actuators_of, unread_actuators

AGREES = 1e-9  # of the largest pose (1 at least) or torque
STATES = 5
EXTREME = 1e9  # a control beyond every range
# What of `left_out` says that forces are not MuJoCo's.
OF_FORCES = ("tendons", "armature, damping", "not linear", "compensation", "fluid", "plugins", "deformable")


@dataclass(frozen=True)
class Reading:
    """One file: how it loaded, "as it is", "repaired" or why it did not, and how far it is from the peer.

    unnamed : what differs and no line of `left_out` names
    """

    file: Path
    peer_loads: bool
    loaded: str
    difference: float = np.nan
    unnamed: tuple[str, ...] = ()

    @property
    def agrees(self) -> bool:
        """True where it loads and all that differs is named."""
        return self.loaded in ("as it is", "repaired") and not self.unnamed


def main(folders: list[str]) -> None:
    """Print counts of both formats, and a line for every file that does not agree."""
    for suffix, read in ((".urdf", read_urdf), (".xml", read_mujoco)):
        files = sorted(each for folder in folders for each in Path(folder).rglob(f"*{suffix}"))
        found = [each for each in map(read, files) if each is not None]
        print(summary(suffix, found))


def summary(suffix: str, found: list[Reading]) -> str:
    """The counts of one format, then files that do not agree."""
    theirs = [each for each in found if each.peer_loads]
    agreeing = [each for each in theirs if each.agrees]
    ways = Counter(each.loaded for each in agreeing)
    worst = max((each.difference for each in agreeing if np.isfinite(each.difference)), default=0.0)
    share = 100.0 * len(agreeing) / max(len(theirs), 1)
    how = ", ".join(f"{n} {way}" for way, n in ways.items())
    lines = [
        f"{suffix}: {len(found)} files, {len(theirs)} that the peer loads, {len(agreeing)} that agree "
        f"({share:.1f} %; {how}), largest difference {worst:.1e}"
    ]
    for each in theirs:
        if not each.agrees:
            lines.append(f"  {each.file}: {'; '.join(each.unnamed) or each.loaded}")
    return "\n".join(lines)


def read_urdf(file: Path) -> Reading:
    """A URDF here and in Pinocchio."""
    import pinocchio

    try:
        peer = pinocchio.buildModelFromUrdf(str(file))
    except Exception:  # of C++, of any kind
        return Reading(file, False, "refused by Pinocchio")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model, loaded = dynamics.load_urdf(file), "as it is"
        except dynamics.DynamicsError as error:
            if "repair_inertia" not in str(error):
                return Reading(file, True, f"refused: {error}")
            try:
                model, loaded = dynamics.load_urdf(file, repair_inertia=True), "repaired"
            except dynamics.DynamicsError as other:
                return Reading(file, True, f"refused: {other}")
    model = model.with_rotors("none")
    if loaded == "repaired":
        take_inertias(peer, model)
    difference = pinocchio_difference(peer, model)
    unnamed = () if difference <= AGREES else (f"differs by {difference:.1e}",)
    return Reading(file, True, loaded, difference, unnamed)


def take_inertias(peer: Any, model: dynamics.RigidBodyModel) -> None:
    """Give Pinocchio's bodies the inertias of the model's."""
    import pinocchio

    for body in model.bodies:
        if peer.existJointName(body.joint.name):
            found = pinocchio.Inertia(body.mass, body.centre_of_mass, body.inertia)
            peer.inertias[peer.getJointId(body.joint.name)] = found


def pinocchio_difference(peer: Any, model: dynamics.RigidBodyModel) -> float:
    """The largest difference of poses and of torques relative to the largest; infinite for other joints.

    Pinocchio moves joints that mimic another one by themselves: it gets their coordinates, and the torques of
    all joints of a coordinate are added with their ratios.
    """
    import pinocchio

    data, rng, worst = peer.createData(), np.random.default_rng(0), 0.0
    joints = [(joint, peer.getJointId(joint.name)) for joint in model.joints]
    if any(number >= peer.njoints or peer.joints[number].nv != 1 for _, number in joints):
        return np.inf
    body = pinocchio.FrameType.BODY
    names = [name for name in (*model.link_names, *model.frame_names) if peer.existFrame(name, body)]
    for _ in range(STATES):
        state = rng.uniform(-1.0, 1.0, (3, model.n))
        q, v, a = pinocchio.neutral(peer), np.zeros(peer.nv), np.zeros(peer.nv)
        for (joint, number), k in zip(joints, model.coordinate, strict=True):
            own, at = peer.joints[number], joint.ratio * state[0, k] + joint.offset
            values = [at] if own.nq == 1 else [np.cos(at), np.sin(at)]
            q[own.idx_q : own.idx_q + own.nq] = values
            v[own.idx_v], a[own.idx_v] = joint.ratio * state[1:, k]
        pinocchio.framesForwardKinematics(peer, data, q)
        poses = dynamics.forward_kinematics(model, state[0], names)
        for name, rotation, position in zip(names, poses.rotation, poses.position, strict=True):
            theirs = data.oMf[peer.getFrameId(name, body)]
            size = max(1.0, float(np.abs(theirs.translation).max()))
            worst = max(worst, float(np.abs(theirs.rotation - rotation).max()))
            worst = max(worst, float(np.abs(theirs.translation - position).max()) / size)
        if not model.has_no_mass:
            each, tau = pinocchio.rnea(peer, data, q, v, a), np.zeros(model.n)
            for (joint, number), k in zip(joints, model.coordinate, strict=True):
                tau[k] += joint.ratio * each[peer.joints[number].idx_v]
            size = max(float(np.abs(each).max()), np.finfo(float).tiny)
            worst = max(worst, float(np.abs(tau - dynamics.rnea(model, *state)).max()) / size)
    return worst


def read_mujoco(file: Path) -> Reading | None:
    """A model here and in MuJoCo; None for .xml that is no MJCF, or a part that others include."""
    text = file.read_text(encoding="utf-8", errors="replace")
    if "<mujoco" not in text:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            mj = compiled(file)
        except dynamics.MujocoError:
            return Reading(file, False, "refused by MuJoCo")
        if not mj.njnt:
            return None
        try:
            model = dynamics.from_mujoco(mj)
        except dynamics.DynamicsError as error:
            return Reading(file, True, f"refused: {error}")
    named = {name for names in unread_actuators(mj).values() for name in names}
    if is_named(model, ("asleep",)):
        mj.opt.enableflags = 0
    unnamed = limit_differences(mj, model, named)
    difference = inverse_dynamics_error(mj, model, fluids=True)
    if difference > AGREES and not is_named(model, OF_FORCES):
        unnamed.append(f"torques differ by {difference:.1e}")
    agreed = difference if difference <= AGREES else np.nan
    return Reading(file, True, "as it is", agreed, tuple(unnamed))


def is_named(model: dynamics.RigidBodyModel, words: tuple[str, ...]) -> bool:
    """True where a line of what is left out has one of these words."""
    return any(word in line for line in model.left_out for word in words)


def limit_differences(mj: Any, model: dynamics.RigidBodyModel, named: Collection[str] = ()) -> list[str]:
    """Joints whose actuators give other torques than the model's limits, at rest in some position.

    named : actuators whose joints are left out
    """
    import mujoco

    data, rng, found = mujoco.MjData(mj), np.random.default_rng(0), []
    lowest, highest = np.full(mj.nv, -np.inf), np.full(mj.nv, np.inf)
    for number in range(STATES):
        data.qpos[:] = mj.qpos0
        for j in range(mj.njnt):
            if number and mj.jnt_type[j] > 1:
                low, high = mj.jnt_range[j] if mj.jnt_limited[j] else (-1.0, 1.0)
                data.qpos[mj.jnt_qposadr[j]] = rng.uniform(low, high)
        for sign in (-1.0, 1.0):
            towards = sign * np.sign(mj.actuator_gear[:, 0] * mj.actuator_gainprm[:, 0])
            data.ctrl[:] = EXTREME * towards
            for i in np.flatnonzero(np.asarray(mj.actuator_actadr) >= 0):
                ends = mj.actuator_actrange[i] if mj.actuator_actlimited[i] else mj.actuator_ctrlrange[i]
                is_limited = mj.actuator_actlimited[i] or mj.actuator_ctrllimited[i]
                low, high = ends if is_limited else (-EXTREME, EXTREME)
                data.act[mj.actuator_actadr[i]] = np.clip(EXTREME * towards[i], low, high)
            mujoco.mj_forward(mj, data)
            if sign < 0.0:
                lowest = np.maximum(lowest, data.qfrc_actuator)
            else:
                highest = np.minimum(highest, data.qfrc_actuator)
    for j in range(mj.njnt):
        drivers = actuators_of(mj, j)
        if not drivers or any(actuator_name(mj, i) in named for i in drivers):
            continue
        k, name = int(mj.jnt_dofadr[j]), mj.joint(j).name or f"joint{j}"
        if mj.jnt_type[j] < 2:
            found.append(f"joint {name}: of several coordinates")
            continue
        ours = model.limits.torque_lower[k], model.limits.torque_upper[k]
        for own, theirs in zip(ours, (lowest[k], highest[k]), strict=True):
            unlimited = np.isinf(own) and abs(theirs) >= 1e-3 * EXTREME
            if not unlimited and not abs(own - theirs) <= AGREES * max(abs(theirs), 1.0):
                found.append(f"joint {name}: torque {theirs:.6g} in MuJoCo, limit {own:.6g}")
    return found


if __name__ == "__main__":
    main(sys.argv[1:])
