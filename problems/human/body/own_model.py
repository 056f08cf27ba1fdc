"""A person's own model (.osim) as the body of a walk: our names and signs, soles, and default strengths.

What is taken from the file: bodies, joints, coupled coordinates, mass properties, ranges. What is ours, as
files do not say it: strengths (muscles are left out), and the points heel, ball and toe of a sole that lies
below the ankle as that of our skeleton of the same height does, with the feet flat in the default pose.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

import dynamics
from problems.human.body.model import ACTIVE, GLOBAL, TABLE_HEIGHT, skeleton, standing, tilted_gravity
from problems.human.body.person import Person, chosen_height
from problems.human.body.tables import contact_points, freedoms
from problems.human.gait.step import SOLE_HALF_WIDTH
from problems.human.opensim.coordinates import coordinates
from trajopt.base.arguments import list_names
from trajopt.base.errors import OptionError, ProblemError

NEEDED = (*GLOBAL, *(f"{joint}_{side}_{way}" for side in "rl" for joint, way in (
    ("hip", "flex"), ("hip", "add"), ("knee", "flex"), ("ankle", "dorsi"),
)))  # fmt: skip
#: bodies of OpenSim's models, SIDE for r and l -> ours, where our gait names them
BODIES: Mapping[str, str] = {
    "calcn_SIDE": "hindfoot_SIDE",
    "femur_SIDE": "thigh_SIDE",
    "tibia_SIDE": "shank_SIDE",
    "radius_SIDE": "forearm_SIDE",
    "humerus_SIDE": "upper_arm_SIDE",
    "torso": "lumbar_upper",
}
FLAT = 0.1  # of an axis: how far feet may turn in the default pose, 6 degrees
#: Edges of the ball of the right foot, (3,) m from its middle.
EDGES = MappingProxyType({
    "ball_in": np.array([0.0, 0.0, -SOLE_HALF_WIDTH]), "ball_out": np.array([0.0, 0.0, SOLE_HALF_WIDTH]),
})  # fmt: skip
SMALL = 1e-3  # rad, by which a coordinate grows where it is seen which way it turns
FOOT = ("toe_", "ankle_r_inv", "ankle_l_inv")  # joints that files lock: their ranges are ours


def own_skeleton(path: str | os.PathLike[str], person: Person) -> Any:
    """The robot of a model file with the names that gaits use, and the strength of `person`.

    Coordinates are matched by the names of OpenSim's full-body models (`problems.human.opensim.coordinates`);
    others, such as wrists, are held at their default values. Toes bend upward whichever way the file counts.
    Functions that joints follow are smoothed (`OsimModel.smoothed`).
    Raises ProblemError where coordinates of pelvis and legs are missing, or feet are not flat by default, and
    what `dynamics.load_osim` raises.
    """
    plain = dynamics.load_osim(path)
    names = own_coordinates(plain, person.height)
    bodies = {
        old.replace("SIDE", side): new.replace("SIDE", side) for old, new in BODIES.items() for side in "rl"
    }
    known = set(plain.robot.link_names) | {frame.name for frame in plain.robot.frames}
    spoken = dynamics.OsimNames({old: new for old, new in bodies.items() if old in known}, names)
    held = [name for name in plain.robot.joint_names if name not in names]
    return with_strength_and_soles(dynamics.load_osim(path, held, spoken).smoothed(), person)


def own_coordinates(plain: dynamics.OsimModel, height: float) -> dict[str, dynamics.OwnCoordinate]:
    """Coordinate of the file -> ours, those of the pelvis counted from the ground; ProblemError for none."""
    names = matched_coordinates(plain)
    ours = {each.name for each in names.values()}
    missing = [coordinates()[joint].name for joint in NEEDED if joint not in ours]
    if missing:
        raise ProblemError(
            f"the model has no coordinate {list_names(missing)}, which a walk needs: name its coordinates as "
            "OpenSim's full-body models do"
        )
    return names | pelvis_zeros(plain, height)


def matched_coordinates(plain: dynamics.OsimModel) -> dict[str, dynamics.OwnCoordinate]:
    """Coordinate of the file -> ours, of those that move in a walk; the pose at zero is one for both ways."""
    found, signs = {}, ways(plain)
    for joint, own in coordinates().items():
        if joint in ACTIVE and own.name in plain.robot.joint_names:
            sign = signs.get(joint, own.sign)
            found[own.name] = dynamics.OwnCoordinate(joint, sign, own.zero * sign / own.sign)
    return found


def pelvis_zeros(plain: dynamics.OsimModel, height: float) -> dict[str, dynamics.OwnCoordinate]:
    """Places of the pelvis counted from where its ankles are those of our skeleton, upright on the ground."""
    ours = skeleton(height)
    upright = standing(ours.joint_names, height)
    ankle = dynamics.forward_kinematics(ours, upright, ["hindfoot_r"]).position[0]
    pelvis = upright[[ours.joint_names.index(f"global_t{axis}") for axis in "xy"]]
    own = ankle_of(plain.robot, plain.default_pose, "r", "hindfoot_r")
    found = {}
    for i, axis in enumerate("xy"):
        value = plain.coordinates[f"pelvis_t{axis}"].default
        zero = float((value - own[i]) - (pelvis[i] - ankle[i]))
        found[f"pelvis_t{axis}"] = dynamics.OwnCoordinate(f"global_t{axis}", 1.0, zero)
    return found


def person_and_body(
    model: str, height: float | None, mass: float, backpack: float, slope: float
) -> tuple[Person, Any]:
    """The person who walks or runs, and the robot of their own `model`, a .osim file, or None for "".

    The person of a file has its mass, and the height that is given or else 1.75 m. Raises OptionError for a
    backpack on a model of one's own, and what `own_skeleton` raises.
    """
    if not model:
        return Person(chosen_height(height, mass), mass, backpack, slope=slope), None
    if backpack:
        raise OptionError(
            f"backpack is {backpack:g} kg, but the masses are those of '{model}': leave one of them out, or "
            "give the model a body that is the pack"
        )
    person = Person(TABLE_HEIGHT if height is None else height, own_mass(model), slope=slope)
    return person, own_skeleton(model, person)


def own_mass(path: str | os.PathLike[str]) -> float:
    """kg of a model file."""
    return float(dynamics.load_osim(path).robot.total_mass)


def ways(plain: dynamics.OsimModel) -> dict[str, float]:
    """Joint of ours that turns -> 1 where its coordinate of the file turns the same way, else -1."""
    ours, found = skeleton(moving=ACTIVE), {}
    upright, names = standing(ours.joint_names), plain.robot.joint_names
    for joint, own in coordinates().items():
        if joint in ACTIVE and own.name in names and not own.translates:
            here = turned_axis(ours, upright, ours.joint_names.index(joint))
            there = turned_axis(plain.robot, plain.default_pose, names.index(own.name))
            found[joint] = 1.0 if here @ there >= 0.0 else -1.0
    return found


def turned_axis(robot: Any, q: np.ndarray, i: int) -> np.ndarray:
    """(3,) the world axis, times an angle, about which links turn most when coordinate i grows a little."""
    bent = q.copy()
    bent[i] += SMALL
    before, after = (robot.forward_kinematics(x, robot.link_names).rotation for x in (q, bent))
    change = after @ before.swapaxes(1, 2)
    axes = np.stack([change[:, 2, 1], change[:, 0, 2], change[:, 1, 0]], axis=1)
    axes -= np.stack([change[:, 1, 2], change[:, 2, 0], change[:, 0, 1]], axis=1)
    return axes[int(np.argmax(np.linalg.norm(axes, axis=1)))]


def with_strength_and_soles(osim: dynamics.OsimModel, person: Person) -> Any:
    """The robot with limits of torque, soles, and gravity on the person's slope."""
    robot = osim.robot
    tree = robot if isinstance(robot, dynamics.RigidBodyModel) else robot.tree
    markers = set(osim.markers) - set(contact_points())  # figures would draw a line to each
    frames = (*(frame for frame in tree.frames if frame.name not in markers), *soles(osim, person.height))
    bodies = tuple(replace(body, joint=as_ours(body, osim, person)) for body in tree.bodies)
    changed = replace(tree, bodies=bodies, frames=frames, gravity=tilted_gravity(person.slope))
    return changed if isinstance(robot, dynamics.RigidBodyModel) else replace(robot, tree=changed)


def as_ours(body: dynamics.Body, osim: dynamics.OsimModel, person: Person) -> dynamics.Joint:
    """The joint of a body with the torques of our skeleton's, within its range, toes turning across the foot.

    Torques grow with mass times height. With the oblique axis of the files, 35 degrees in Rajagopal2016, a
    heel can rise over a flat forefoot only while it turns inwards, and a walk keeps it on the ground.
    """
    joint = body.joint
    if joint.name not in freedoms():
        return joint
    ours, size = freedoms()[joint.name], person.size * person.strength.get(joint.name, 1.0)
    ends = (-np.inf, np.inf) if joint.name in GLOBAL else ours.torques
    torques = sorted(size * end / joint.ratio for end in ends)
    lower, upper = sorted(joint.ratio * end + joint.offset for end in range_of(joint.name, osim, person))
    within = joint.limits
    if not joint.name.startswith(FOOT):
        lower, upper = max(lower, within.q_lower), min(upper, within.q_upper)
    limits = replace(within, q_lower=lower, q_upper=upper, torque_lower=torques[0], torque_upper=torques[1])
    if joint.name.startswith("toe_"):
        axis = pose_of(osim.robot, osim.default_pose, body.name)[0].T[:, 2]
        joint = replace(joint, axis=axis if axis @ joint.axis >= 0.0 else -axis)
    return replace(joint, limits=limits)


def range_of(joint: str, osim: dynamics.OsimModel, person: Person) -> tuple[float, float]:
    """rad or m, the range of a joint of our skeleton; of the only one of a spine, all in its place."""
    scale = person.height / TABLE_HEIGHT if freedoms()[joint].kind == "prismatic" else 1.0
    lower, upper = freedoms()[joint].limits
    if joint.startswith("spine1_"):
        way = joint.rpartition("_")[2]
        missing = [
            each for each in ACTIVE if each.startswith("spine") and each.endswith(way) and each != joint
            and coordinates()[each].name not in osim.robot.joint_names and each not in osim.robot.joint_names
        ]  # fmt: skip
        lower, upper = (
            end + sum(freedoms()[each].limits[i] for each in missing) for i, end in enumerate((lower, upper))
        )
    return scale * lower, scale * upper


def soles(osim: dynamics.OsimModel, height: float) -> list[dynamics.Frame]:
    """Heel, ball and toe of both feet where they are under the ankles of our skeleton of this height.

    Both edges of the ball lie under the joint of the toes and turn with these.
    """
    robot, q = osim.robot, osim.default_pose
    found = []
    for side in "rl":
        foot, toes = f"hindfoot_{side}", f"toes_{side}"
        front = toes if toes in _bodies(robot) else foot
        carriers = {"heel": foot, "ball": foot, "toe": front, **dict.fromkeys(EDGES, front)}
        turned, _ = pose_of(robot, q, foot)
        if np.abs(turned - np.eye(3)).max() > FLAT:
            raise ProblemError(
                f"the foot calcn_{side} is turned in the default pose: let the model stand upright, x "
                "forward and y up, with its feet flat"
            )
        ankle, line = ankle_of(robot, q, side, foot), pose_of(robot, q, foot)[1][2]
        bending = pose_of(robot, q, carriers["toe"])[1][0] if carriers["toe"] == toes else None
        for kind, carrier in carriers.items():
            if f"{kind}_{side}" in _bodies(robot):  # as files of our own export have it
                continue
            along, up, across = height * sole_point(kind.partition("_")[0]) + EDGES.get(kind, np.zeros(3))
            ahead = bending if kind in EDGES and bending is not None else ankle[0] + along
            place = np.array([ahead, ankle[1] + up, line + (across if side == "r" else -across)])
            rotation, origin = pose_of(robot, q, carrier)
            link, turn, at = _on_link(robot, carrier)
            local = at + turn @ rotation.T @ (place - origin)
            found.append(dynamics.Frame(f"{kind}_{side}", link, turn, local))
    return found


def sole_point(kind: str) -> np.ndarray:
    """(3,) in parts of the height, from the ankle of our skeleton with its foot flat."""
    _, position = contact_points()[f"{kind}_r"]
    if kind != "toe":
        return position
    ball = contact_points()["ball_r"][1]
    return np.array([ball[0] + position[0], ball[1], 0.0])


def pose_of(robot: Any, q: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (3, 3) and origin (3,) of a link or frame; ProblemError where the model has no such body."""
    if name not in _bodies(robot):
        raise ProblemError(
            f"the model has no body '{name}', by which the sole of a foot is found: name it so"
        )
    found = robot.forward_kinematics(q, [name])
    return found.rotation[0], found.position[0]


def ankle_of(robot: Any, q: np.ndarray, side: str, foot: str) -> np.ndarray:
    """(3,) m, the ankle: the origin of the talus, or of a foot without one."""
    return pose_of(robot, q, f"talus_{side}" if f"talus_{side}" in _bodies(robot) else foot)[1]


def _bodies(robot: Any) -> set[str]:
    return {*robot.link_names, *(frame.name for frame in robot.frames)}


def _on_link(robot: Any, name: str) -> tuple[str, np.ndarray, np.ndarray]:
    """The link of a body, and the pose of the body's frame in it."""
    if name in robot.link_names:
        return name, np.eye(3), np.zeros(3)
    frame = next(frame for frame in robot.frames if frame.name == name)
    return frame.body, frame.rotation, frame.position
