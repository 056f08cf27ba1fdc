"""Robot models of MuJoCo: `from_mujoco` reads a compiled one, or MJCF and URDF through MuJoCo's compiler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from dynamics.arguments import list_names, short_repr
from dynamics.errors import MujocoError, MujocoWarning, warn_user
from dynamics.formats.mujoco.mujoco_flags import is_off, unread_flags
from dynamics.formats.mujoco.mujoco_source import compiled
from dynamics.formats.mujoco.mujoco_torques import (
    actuators_of,
    reflected,
    torque_limits,
    unread_actuators,
)
from dynamics.formats.urdf_parts import Parts, Place, warn_of_still_joints
from dynamics.model.body import Body, Frame
from dynamics.model.joint import Joint
from dynamics.model.joint_limits import JointLimits
from dynamics.model.mass_properties import IDENTITY, MassProperties, Pose
from dynamics.model.rotation_joint import ball_joint, free_joint
from dynamics.model.rotor import Rotor
from dynamics.rigid_body_model import RigidBodyModel

FREE, BALL, SLIDE = 0, 1, 2  # mjtJoint; 3 is a hinge
JOINT_COUPLING = 2  # mjtEq: one joint is a polynomial of another


def from_mujoco(
    model: Any, equalities: Literal["leave out", "mimic"] = "leave out", strict: bool = False
) -> RigidBodyModel:
    """The robot of an `mujoco.MjModel`, or of MJCF or URDF that MuJoCo compiles: a path, or XML from "<" on.

        rnea(q, v, a) + damping v + springs = qfrc_inverse of mj_inverse without constraints

    Links and coordinates come in MuJoCo's order. Hinges and slides have MuJoCo's own coordinates, a free
    joint slides along world axes and a rotation vector about the rotation of qpos0, a ball joint a rotation
    vector (`free_joint`, `ball_joint`). Bodies without joints are merged with their parents and stay as named
    frames, as sites do. The frame of a link with a joint has the axes of MuJoCo's body and its origin on the
    joint, the last one of several; where that is not the body's own origin, as the joint has a `pos`, the
    frame BODY_body is MuJoCo's body frame (xpos, xmat). Read besides: armature (rotors="armature"), damping,
    springs, friction loss, ranges, flags that switch gravity, springs, damping, friction loss, ranges,
    equalities or actuators off, and torque limits: the sum over the actuators of a joint of gear times the
    narrower of gain times range of control and range of force, cut to the joint's actuatorfrcrange. What has
    no name is called body3, joint2 and so on.

    equalities : "mimic" makes a joint that is a linear function of another one a mimic joint, which has no
        coordinate of its own; "leave out" leaves them out like all other equalities
    strict : whether what is left out is an error

    Left out with a MujocoWarning that names each, and in `left_out` of the model: equalities, tendons,
    actuators of anything but a joint with one coordinate, muscles and servos without a range of force (their
    joints have no limit of torque) or whose control does not reach it everywhere, actuators switched off,
    armature, damping, springs and friction of free and ball joints, forces of fluids, compensation of
    gravity, springs and damping that are not linear, plugins, deformable bodies, bodies moved from outside,
    and flags that switch contacts off. Contacts and shapes are not read. Raises MujocoError where MuJoCo is
    not installed or refuses the model, InertiaError for links that no robot can have.
    """
    if equalities not in ("leave out", "mimic"):
        raise MujocoError(f'equalities = {short_repr(equalities)}: choose "leave out" or "mimic"')
    mj = compiled(model)
    reading = Reading(mj)
    mimics = linear_couplings(mj) if equalities == "mimic" else {}
    for body in range(1, mj.nbody):
        reading.add(body, mimics)
    bodies = reading.parts.finished()
    if not bodies:
        raise MujocoError("no body of the model has a joint, so there is nothing that moves: add a joint")
    found = left_out(mj, {coupling.equality for coupling in mimics.values()})
    if found and strict:
        raise MujocoError(
            f"strict: left out of the robot: {'; '.join(found)}: remove it, or give strict=False"
        )
    if found:
        warn_user(f"left out of the robot: {'; '.join(found)}", MujocoWarning)
    frames = (*reading.parts.frames, *reading.sites({body.name for body in bodies}))
    name = mj.names[: mj.names.index(b"\0")].decode()
    gravity = np.zeros(3) if is_off(mj, "GRAVITY") else np.array(mj.opt.gravity)
    robot = RigidBodyModel(
        bodies,
        gravity,
        name,
        "armature",
        frames,
        ground_mass=reading.parts.ground_mass,
        left_out=found,
    )
    warn_of_still_joints(robot)
    return robot


@dataclass(frozen=True)
class Coupling:
    """A joint whose displacement beyond qpos0 is offset + ratio times that of the joint `other`."""

    equality: int
    other: int
    ratio: float
    offset: float


def linear_couplings(mj: Any) -> dict[int, Coupling]:
    """Active equalities of two joints that are linear: joint -> how it follows."""
    found: dict[int, Coupling] = {}
    for i in range(0 if is_off(mj, "EQUALITY") else mj.neq):
        constant, ratio, *higher = mj.eq_data[i, :5].tolist()
        other = int(mj.eq_obj2id[i])
        is_linear = mj.eq_type[i] == JOINT_COUPLING and other >= 0 and ratio != 0.0 and not any(higher)
        if is_linear and mj.eq_active0[i]:
            found[int(mj.eq_obj1id[i])] = Coupling(i, other, ratio, constant)
    return found


@dataclass(eq=False)
class Reading:
    """The bodies of a compiled model as they are read, parents first.

    places : where the frame of each of MuJoCo's bodies is; the world is the ground
    """

    mj: Any
    parts: Parts = field(default_factory=lambda: Parts(repair_inertia=False))
    places: list[Place] = field(default_factory=lambda: [Place(None, IDENTITY)])
    links: set[str] = field(default_factory=set[str])

    def add(self, body: int, mimics: dict[int, Coupling]) -> None:
        """Add a body with its joints, each on a link of its own; without joints it is part of its parent."""
        mj, above = self.mj, int(self.mj.body_parentid[body])
        name, place = body_name(mj, body), self.places[above]
        neighbour = body_name(mj, above) if above else None
        pose = place.pose.then(Pose(rotation_of(mj.body_quat[body]), np.array(mj.body_pos[body])))
        first, count = int(mj.body_jntadr[body]), int(mj.body_jntnum[body])
        for j in range(first, first + count):
            last = j == first + count - 1
            link = name if last else self._unused(joint_name(mj, j))
            place, pose = self._add_joint(j, link, place, pose, mimics.get(j), neighbour if last else None)
        self.links.add(name)
        self.places.append(Place(place.body, pose))
        if count and np.any(pose.position):
            own = self._unused(f"{name}_body")
            self.parts.frames.append(Frame(own, place.body, pose.rotation, pose.position))
        inertia = rotation_of(mj.body_iquat[body])
        found = MassProperties(
            float(mj.body_mass[body]),
            np.array(mj.body_ipos[body]),
            inertia @ np.diag(mj.body_inertia[body]) @ inertia.T,
        )
        self.parts.add_link(name, Place(place.body, pose), found)

    def _unused(self, name: str) -> str:
        taken = {body_name(self.mj, body) for body in range(self.mj.nbody)} | self.links
        while name in taken:
            name += "_link"
        self.links.add(name)
        return name

    def _add_joint(
        self, j: int, link: str, place: Place, pose: Pose, coupling: Coupling | None, neighbour: str | None
    ) -> tuple[Place, Pose]:
        """The link that a joint carries, and the pose of MuJoCo's body in it.

        pose : of the body in the link that carries the joint. A link's frame has its origin on its joint.
        neighbour : MuJoCo's body from which the joint starts, where the link is MuJoCo's, too
        """
        mj, name, kind = self.mj, joint_name(self.mj, j), int(self.mj.jnt_type[j])
        anchor = np.zeros(3) if kind == FREE else np.array(mj.jnt_pos[j])
        frame = pose.then(Pose(np.eye(3), anchor))
        if kind in (FREE, BALL):
            whole = Body(link, Joint(name, rotation=frame.rotation, position=frame.position), place.body)
            chain = ball_joint(whole) if kind == BALL else self._free(whole, j)
            for each in chain:
                self.parts.add_body(each.name, each.joint, each.parent)
        else:
            self.parts.add_body(link, self._joint(j, name, frame, coupling), place.body, neighbour)
        return Place(link, IDENTITY), Pose(np.eye(3), -anchor)

    def _free(self, whole: Body, j: int) -> tuple[Body, ...]:
        """A free joint's position is that in the world, its rotation a vector about that of qpos0."""
        first = int(self.mj.jnt_qposadr[j])
        upright = replace(whole, joint=Joint(whole.joint.name))
        return free_joint(upright, rotation_of(self.mj.qpos0[first + 3 : first + 7]))

    def _joint(self, j: int, name: str, frame: Pose, coupling: Coupling | None) -> Joint:
        mj, dof, kind = self.mj, int(self.mj.jnt_dofadr[j]), int(self.mj.jnt_type[j])
        start = float(mj.qpos0[mj.jnt_qposadr[j]])
        is_limited = mj.jnt_limited[j] and not is_off(mj, "LIMIT")
        lower, upper = mj.jnt_range[j] - start if is_limited else (-np.inf, np.inf)
        damping = float(mj.dof_damping[dof]) + reflected(mj, j, mj.actuator_damping)
        axis = np.array(mj.jnt_axis[j])
        armature = float(mj.dof_armature[dof]) + reflected(mj, j, mj.actuator_armature)
        torque = torque_limits(mj, j)
        ratio, offset, mimics = 1.0, -start, None
        if coupling is not None:  # displacement = offset + ratio (q_other - start of the other)
            mimics = joint_name(mj, coupling.other)
            ratio = coupling.ratio
            offset = coupling.offset - ratio * float(mj.qpos0[mj.jnt_qposadr[coupling.other]])
        direction = frame.rotation @ axis
        return Joint(
            name,
            "prismatic" if kind == SLIDE else "revolute",
            axis,
            frame.rotation,
            frame.position,
            JointLimits(float(lower), float(upper), torque_lower=torque[0], torque_upper=torque[1]),
            mimics,
            ratio,
            offset,
            damping=0.0 if is_off(mj, "DAMPER") else damping,
            friction=0.0 if is_off(mj, "FRICTIONLOSS") else float(mj.dof_frictionloss[dof]),
            rotor=Rotor(1.0, inertia=armature * np.outer(direction, direction), axis=direction)
            if armature
            else None,
            stiffness=0.0 if is_off(mj, "SPRING") else float(mj.jnt_stiffness[j]),
            rest=float(mj.qpos_spring[mj.jnt_qposadr[j]]) - start,
            continuous=kind != SLIDE and not is_limited,
        )

    def sites(self, taken: set[str]) -> list[Frame]:
        """Sites with a name of their own, as frames."""
        mj, names = self.mj, taken | {frame.name for frame in self.parts.frames}
        found: list[Frame] = []
        for i in range(mj.nsite):
            name, place = str(mj.site(i).name), self.places[int(mj.site_bodyid[i])]
            if name and name not in names:
                pose = place.pose.then(Pose(rotation_of(mj.site_quat[i]), np.array(mj.site_pos[i])))
                found.append(Frame(name, place.body, pose.rotation, pose.position))
                names.add(name)
        return found


def left_out(mj: Any, followed: Iterable[int]) -> list[str]:
    """Parts of a model that the robot leaves out, in words, with names."""
    several = [j for j in range(mj.njnt) if mj.jnt_type[j] in (FREE, BALL)]
    dofs = {j: slice(d := int(mj.jnt_dofadr[j]), d + (6 if mj.jnt_type[j] == FREE else 3)) for j in several}
    passive = [
        joint_name(mj, j)
        for j, dof in dofs.items()
        if any(np.any(x[dof]) for x in (mj.dof_armature, mj.dof_damping, mj.dof_frictionloss))
        or mj.jnt_stiffness[j]
    ]
    curved = [joint_name(mj, j) for j in range(mj.njnt) if np.any(mj.jnt_stiffnesspoly[j])]
    curved += [joint_name(mj, mj.dof_jntid[d]) for d in range(mj.nv) if np.any(mj.dof_dampingpoly[d])]
    yields = getattr(mj, "jnt_plasticadr", np.full(mj.njnt, -1))
    curved += [joint_name(mj, j) for j in range(mj.njnt) if yields[j] >= 0]
    bent = getattr(mj, "actuator_dampingpoly", np.zeros((mj.nu, 1)))
    curved += [joint_name(mj, j) for j in range(mj.njnt) if any(np.any(bent[i]) for i in actuators_of(mj, j))]
    skipped = set(followed)
    found = {
        "equalities": [
            equality_name(mj, i) for i in range(0 if is_off(mj, "EQUALITY") else mj.neq) if i not in skipped
        ],
        "tendons": [mj.tendon(i).name or f"tendon{i}" for i in range(mj.ntendon)],
        **unread_actuators(mj),
        "armature, damping, springs and friction of free and ball joints": passive,
        "springs and damping that are not linear": list(dict.fromkeys(curved)),
        "compensation of gravity of bodies": [
            body_name(mj, b) for b in range(1, mj.nbody) if mj.body_gravcomp[b]
        ],
        "bodies moved from outside (mocap)": [
            body_name(mj, b) for b in range(1, mj.nbody) if mj.body_mocapid[b] >= 0
        ],
        "plugins": [str(mj.nplugin)] if mj.nplugin else [],
        "deformable bodies": [str(mj.nflex)] if mj.nflex else [],
    }
    words = [f"{what} {list_names(names)}" for what, names in found.items() if names]
    words += unread_flags(mj)
    return words + ["forces of the fluid"] * bool(mj.opt.density or mj.opt.viscosity)


def equality_name(mj: Any, i: int) -> str:
    """The name of an equality, or the joint that it couples to another one."""
    if mj.equality(i).name or mj.eq_type[i] != JOINT_COUPLING:
        return mj.equality(i).name or f"equality{i}"
    return f"of joint {joint_name(mj, mj.eq_obj1id[i])}"


def body_name(mj: Any, body: int) -> str:
    """The name of a body, or body3."""
    return mj.body(body).name or f"body{body}"


def joint_name(mj: Any, j: int) -> str:
    """The name of a joint, or joint2."""
    return mj.joint(j).name or f"joint{j}"


def rotation_of(quaternion: np.ndarray) -> np.ndarray:
    """(3, 3) of a quaternion w, x, y, z."""
    w, *xyz = np.asarray(quaternion, dtype=float) / np.linalg.norm(quaternion)
    x = np.asarray(xyz)
    hat = np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])
    return np.eye(3) + 2.0 * (w * hat + hat @ hat)
