"""Distance by which MuJoCo's robots on legs, on its ground, leave the plan: `benchmarks.legged --replay`.

The robot is written as MJCF with a free joint for its base and a small sphere at every point of its feet,
above a plane; feet touch nothing but the ground. Its joints get the planned torques and a feedback that holds
them to the plan, M_jj (w^2 (q - q_sim) + 2 w (v - v_sim)); nothing holds the base. Contacts of MuJoCo are
soft: a foot sinks in and creeps, and lands a little later than planned.
"""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import mujoco
import numpy as np

import dynamics
import trajopt
from dynamics.formats.mujoco.mujoco_writer import add_body, numbers

BASE = 6  # coordinates of the base
STEP = 2e-4  # s
FREQUENCY = 2.0 * np.pi * 15.0  # rad/s, w of the feedback
RADIUS = 5e-3  # m, of the spheres; the plane is as much below the ground
STIFF = "0.002 1"  # time constant in s and damping ratio of contacts


def mjcf_with_feet(model: Any, contacts: dict[str, Any]) -> str:
    """MJCF of a floating robot on a plane z = 0."""
    root = Element("mujoco", model=model.name or "robot")
    SubElement(root, "compiler", angle="radian", inertiafromgeom="false")
    SubElement(root, "option", gravity=numbers(model.gravity), timestep=repr(STEP), cone="elliptic")
    world = SubElement(root, "worldbody")
    plane = {"type": "plane", "size": "50 50 1", "pos": numbers([0.0, 0.0, -RADIUS])}
    SubElement(world, "geom", plane | {"contype": "1", "conaffinity": "0", "solref": STIFF})
    places: dict[str | None, Element] = {}
    base = model.bodies[BASE - 1]
    for body in model.bodies[BASE - 1 :]:
        if body is base:
            places[body.name] = SubElement(world, "body", name=body.name)
            SubElement(places[body.name], "freejoint", name="base")
            inertia = body.inertia
            six = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
            own = {"mass": numbers([body.mass]), "pos": numbers(body.centre_of_mass)}
            SubElement(places[body.name], "inertial", own | {"fullinertia": numbers(six)})
        else:
            places[body.name] = add_body(places[body.parent], body, model)
    for contact in contacts.values():
        frame = next((each for each in model.frames if each.name == contact.frame), None)
        for point in contact.points:
            at = point if frame is None else frame.position + frame.rotation @ point
            sphere = {"type": "sphere", "size": repr(RADIUS), "pos": numbers(at)}
            friction = numbers([contact.friction, 0.0, 0.0])
            own = {"contype": "0", "conaffinity": "1", "condim": "3", "solref": STIFF, "friction": friction}
            SubElement(places[contact.link], "geom", own | sphere | {"mass": "0"})
    return tostring(root, encoding="unicode")


def replayed(solution: Any) -> tuple[float, float, float]:
    """Largest deviation of the base, m and degrees, and of a joint, rad, over the whole motion."""
    model, link = solution.problem.dynamics, solution.problem.dynamics.bodies[BASE - 1].name
    t = np.linspace(0.0, solution.duration, 1 + int(np.ceil(solution.duration / STEP)))
    q, v, tau = solution.q(t), solution.v(t), solution.tau(t)
    stiffness = np.diagonal(dynamics.crba(model, q), axis1=1, axis2=2)[:, BASE:]
    place = dynamics.forward_kinematics(model, q, [link])
    rotations = place.rotation[:, 0]
    twist = solution.value(trajopt.term(name="base twist")(lambda node: node.velocity(link)), t[0])
    mj = mujoco.MjModel.from_xml_string(mjcf_with_feet(model, solution.asked.contacts))
    mj.opt.timestep = solution.duration / (t.size - 1)
    data, quaternion = mujoco.MjData(mj), np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, rotations[0].ravel())
    data.qpos[:] = [*place.position[0, 0], *quaternion, *q[0, BASE:]]
    data.qvel[:] = [*twist[3:], *(rotations[0].T @ twist[:3]), *v[0, BASE:]]
    away = np.zeros((t.size, 3))
    for k in range(t.size):
        mujoco.mju_mat2Quat(quaternion, rotations[k].ravel())
        off = 2.0 * np.arccos(min(1.0, abs(float(quaternion @ data.qpos[3:7]))))
        error = q[k, BASE:] - data.qpos[7:]
        moved = np.linalg.norm(data.qpos[:3] - place.position[k, 0])
        away[k] = moved, np.degrees(off), np.abs(error).max()
        feedback = FREQUENCY**2 * error + 2.0 * FREQUENCY * (v[k, BASE:] - data.qvel[6:])
        data.qfrc_applied[6:] = tau[k, BASE:] + stiffness[k] * feedback
        mujoco.mj_step(mj, data)
    return tuple(away.max(axis=0).tolist())
