"""Motions of robots on legs in MuJoCo: gone through pose by pose, or by torques alone on its ground.

The robot is written as MJCF with a free joint for its base, and for what else floats: a small sphere at every
point of its feet, bars between the points of a sole, and everything that they stand on or must stay outside
of, each smaller by the radius of the spheres. Feet touch nothing but these.

`gone_through` sets every pose and looks how deep a foot is inside of something, and what MuJoCo's inverse
dynamics, less the planned forces of contacts, leave for the base and differ by from the planned torques.
`replayed` gives the joints the planned torques and a feedback that holds them to the plan,
M_jj (w^2 (q - q_sim) + 2 w (v - v_sim)); nothing holds the base. Contacts of MuJoCo are soft: a foot sinks in
and creeps, and lands a little later than planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import mujoco
import numpy as np

import dynamics
import trajopt
from dynamics.formats.mujoco.mujoco_writer import add_body, numbers
from dynamics.model.joint import ROTATION_VECTOR
from trajopt.problem.contacts.contact import Contact

BASE = 6  # coordinates of the base
STEP = 2e-4  # s
FREQUENCY = 2.0 * np.pi * 15.0  # rad/s, w of the feedback
RADIUS = 5e-3  # m, of the spheres that are simulated
SKIN = 1e-4  # m, of those whose depth is looked at
STIFF = "0.002 1"  # time constant in s and damping ratio of contacts
THICK = 0.1  # m, of surfaces that end
WIDE = 50.0  # m, of those that do not
TIMES, NEAR = 1000, 1e-5  # poses that are looked at; s, over which velocities are differenced
SURFACE = {"contype": "1", "conaffinity": "0", "solref": STIFF}
FOOT = {"contype": "0", "conaffinity": "1", "condim": "3", "solref": STIFF, "mass": "0"}


def floating_links(model: Any) -> list[str]:
    """Links that a rotation vector turns, the base first."""
    bodies = model.bodies
    last = [i for i, body in enumerate(bodies) if body.joint.kind == ROTATION_VECTOR][2::3]
    return [bodies[i].name for i in last]


def mjcf_with_feet(model: Any, contacts: dict[str, Contact], radius: float) -> str:
    """MJCF of a floating robot, of its feet, and of what these touch and stay outside of."""
    root = Element("mujoco", model=model.name or "robot")
    SubElement(root, "compiler", angle="radian", inertiafromgeom="false")
    SubElement(root, "option", gravity=numbers(model.gravity), timestep=repr(STEP), cone="elliptic")
    world = SubElement(root, "worldbody")
    places: dict[str | None, Element] = {None: world}
    free = floating_links(model)
    for number, body in enumerate(model.bodies):
        if any(each.name in free for each in model.bodies[number + 1 : number + BASE]):
            continue  # one of the massless links of a free joint
        if body.name in free:
            place = SubElement(world, "body", name=body.name)
            SubElement(place, "freejoint", name=f"free {body.name}")
            inertia = body.inertia
            six = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
            own = {"mass": numbers([body.mass]), "pos": numbers(body.centre_of_mass)}
            SubElement(place, "inertial", own | {"fullinertia": numbers(six)})
            places[body.name] = place
        else:
            places[body.name] = add_body(places[body.parent], body, model)
    for contact in contacts.values():
        add_foot(places[contact.link], contact, model, radius)
    for frame, geom in sorted(surfaces(contacts, radius), key=str):
        parent = places[None if frame is None else model.carrier(frame)]
        SubElement(parent, "geom", dict(geom) | SURFACE)
    return tostring(root, encoding="unicode")


def add_foot(link: Element, contact: Contact, model: Any, radius: float) -> None:
    """Spheres at the points of a foot, and bars between them."""
    frame = next((each for each in model.frames if each.name == contact.frame), None)
    points = [point if frame is None else frame.position + frame.rotation @ point for point in contact.points]
    own = FOOT | {"size": repr(radius), "friction": numbers([contact.friction, 0.0, 0.0])}
    for point in points:
        SubElement(link, "geom", own | {"type": "sphere", "pos": numbers(point)})
    for ends in combinations(points, 2):
        SubElement(link, "geom", own | {"type": "capsule", "fromto": numbers(np.concatenate(ends))})


def surfaces(contacts: dict[str, Contact], radius: float) -> set[tuple[str | None, tuple[Any, ...]]]:
    """The frame and the MJCF attributes of all that feet stand on or stay outside of."""
    found = set()
    for contact in contacts.values():
        for surface in contact.ground.values():
            found.add((surface.frame, tuple(_of_surface(surface, radius).items())))
        for box in contact.obstacles:
            half, R = 0.5 * np.array(box.size) - radius, np.array(box.rotation)
            found.add((box.frame, tuple(_box(half, np.array(box.centre), R).items())))
    return found


def _of_surface(surface: trajopt.Ground | trajopt.Plane, radius: float) -> dict[str, str]:
    """A plane, or the upper face of a box where it ends; ValueError for a ground of another shape."""
    if isinstance(surface, trajopt.Ground):
        if surface.shape is not None or surface.up != "z":
            raise ValueError(f"MuJoCo's ground is flat, z upwards, not {surface}")
        x, y, z = (np.array(axis, dtype=float) for axis in surface.axes_at(0.0, 0.0))
        point = np.array([0.0, 0.0, surface.height])
        region = surface.region * np.array([[np.hypot(1.0, rise)] for rise in surface.slope])
    else:
        x, y, z = (np.array(axis) for axis in surface.axes)
        point, region = np.array(surface.point), surface.region
    R = np.stack([x, y, z], axis=1)
    if not np.isfinite(region).any():
        sizes = {"type": "plane", "size": numbers([WIDE, WIDE, 1.0])}
        return sizes | {"pos": numbers(point - radius * z), "xyaxes": numbers([*x, *y])}
    inside = np.clip(region, -WIDE, WIDE) + np.where(np.isfinite(region), [radius, -radius], 0.0)
    first, last = inside.T
    middle = point + R @ [*(0.5 * (first + last)), -radius - 0.5 * THICK]
    return _box(np.array([*(0.5 * (last - first)), 0.5 * THICK]), middle, R)


def _box(half: np.ndarray, centre: np.ndarray, R: np.ndarray) -> dict[str, str]:
    axes = numbers([*R[:, 0], *R[:, 1]])
    return {"type": "box", "size": numbers(half), "pos": numbers(centre), "xyaxes": axes}


@dataclass(frozen=True)
class States:
    """q and v of MuJoCo at times, (K, nq) and (K, nv)."""

    q: np.ndarray
    v: np.ndarray


def states(solution: Any, mj: Any, t: np.ndarray) -> States:
    """Places of floating links and joints of a motion, in the order of MuJoCo."""
    model, free = solution.problem.dynamics, floating_links(solution.problem.dynamics)
    q, v = solution.q(t), solution.v(t)
    poses = dynamics.forward_kinematics(model, q, free)
    found = States(np.zeros((t.size, mj.nq)), np.zeros((t.size, mj.nv)))
    for joint in range(mj.njnt):
        name, at, of_speed = mj.joint(joint).name, mj.jnt_qposadr[joint], mj.jnt_dofadr[joint]
        if not name.startswith("free "):
            own = list(model.joint_names).index(name)
            found.q[:, at], found.v[:, of_speed] = q[:, own], v[:, own]
            continue
        link = name.removeprefix("free ")
        number = free.index(link)
        twist = solution.value(trajopt.term(name=f"twist of {link}")(partial(_twist, link)), t)
        R = poses.rotation[:, number]
        found.q[:, at : at + 3] = poses.position[:, number]
        for k in range(t.size):
            mujoco.mju_mat2Quat(found.q[k, at + 3 : at + 7], R[k].ravel())
        found.v[:, of_speed : of_speed + 3] = twist[:, 3:]
        found.v[:, of_speed + 3 : of_speed + 6] = np.einsum("kji,kj->ki", R, twist[:, :3])
    return found


def _twist(link: str, node: Any) -> Any:
    return node.velocity(link)


@dataclass(frozen=True)
class GoneThrough:
    """depth : m, of the deepest point of a foot; into : what it is inside of, and when
    base : weights, or weights times a metre, that floating links miss;  torque : N m, largest difference
    """

    depth: float
    into: str
    base: float
    torque: float


def gone_through(solution: Any, radius: float = SKIN, count: int = TIMES) -> GoneThrough:
    """Every pose of a motion in MuJoCo, see above; radius : m, of the feet."""
    model, contacts = solution.problem.dynamics, solution.asked.contacts
    mj = mujoco.MjModel.from_xml_string(mjcf_with_feet(model, contacts, radius))
    data = mujoco.MjData(mj)
    borders = np.concatenate(solution.curve.knot_times_of_arcs)  # where accelerations jump
    t = np.linspace(0.0, solution.duration, count)
    t = t[np.abs(t[:, None] - borders).min(axis=1) > 2.0 * NEAR]
    here, before, after = (states(solution, mj, t + step) for step in (0.0, -NEAR, NEAR))
    loads = list(_loads(solution, t))
    tau, names = solution.tau(t), list(model.joint_names)
    driven = [
        (mj.jnt_dofadr[j], names.index(mj.joint(j).name)) for j in range(mj.njnt) if mj.jnt_type[j] != 0
    ]
    depth, into, base, torque = 0.0, "", 0.0, 0.0
    floats = np.setdiff1d(np.arange(mj.nv), [place for place, _ in driven])
    weight = model.total_mass * float(np.linalg.norm(model.gravity))
    for k in range(t.size):
        data.qpos[:], data.qvel[:] = here.q[k], here.v[k]
        mujoco.mj_forward(mj, data)
        for touch in range(data.ncon):
            if -data.contact[touch].dist > depth:
                pair = [mj.body(mj.geom_bodyid[geom]).name for geom in data.contact[touch].geom]
                depth, into = -float(data.contact[touch].dist), f"{' in '.join(pair)} at {t[k]:.3f} s"
        left = _inverse(mj, data, (after.v[k] - before.v[k]) / (2.0 * NEAR), [(b, w[k]) for b, w in loads])
        base = max(base, float(np.abs(left[floats]).max()) / weight)
        torque = max(torque, *(abs(float(left[i] - tau[k, j])) for i, j in driven))
    return GoneThrough(depth, into, base, torque)


def _loads(solution: Any, t: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Links, and the wrenches (K, 6) about the world's origin that contacts and loops put on them."""
    for link, load in solution.problem.loads.items():
        yield link, solution.value(load, t)


def _inverse(mj: Any, data: Any, a: np.ndarray, loads: Sequence[tuple[str, np.ndarray]]) -> np.ndarray:
    """(nv,) forces of joints by MuJoCo's inverse dynamics, less those of loads on links."""
    needed, own = np.zeros(mj.nv), np.zeros(mj.nv)
    mujoco.mj_mulM(mj, data, needed, a)
    for link, wrench in loads:
        origin = np.zeros(3)
        mujoco.mj_applyFT(mj, data, wrench[3:], wrench[:3], origin, mj.body(link).id, own)
    return needed + data.qfrc_bias - own


def replayed(solution: Any, radius: float = RADIUS) -> tuple[float, float, float]:
    """Largest deviation of the base, m and degrees, and of a joint, rad, over the whole motion."""
    model = solution.problem.dynamics
    t = np.linspace(0.0, solution.duration, 1 + int(np.ceil(solution.duration / STEP)))
    mj = mujoco.MjModel.from_xml_string(mjcf_with_feet(model, solution.asked.contacts, radius))
    mj.opt.timestep = solution.duration / (t.size - 1)
    data, plan, tau = mujoco.MjData(mj), states(solution, mj, t), solution.tau(t)[:, BASE:]
    stiffness = np.diagonal(dynamics.crba(model, solution.q(t)), axis1=1, axis2=2)[:, BASE:]
    data.qpos[:], data.qvel[:] = plan.q[0], plan.v[0]
    away = np.zeros((t.size, 3))
    for k in range(t.size):
        off = 2.0 * np.arccos(min(1.0, abs(float(plan.q[k, 3:7] @ data.qpos[3:7]))))
        error = plan.q[k, 7:] - data.qpos[7:]
        moved = np.linalg.norm(data.qpos[:3] - plan.q[k, :3])
        away[k] = moved, np.degrees(off), np.abs(error).max()
        feedback = FREQUENCY**2 * error + 2.0 * FREQUENCY * (plan.v[k, BASE:] - data.qvel[6:])
        data.qfrc_applied[6:] = tau[k] + stiffness[k] * feedback
        mujoco.mj_step(mj, data)
    return tuple(away.max(axis=0).tolist())
