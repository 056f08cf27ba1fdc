"""A person in the sagittal plane, both sides as one, from the foot upwards: for motions on both feet.

Masses, lengths and strengths are those of the skeleton of the same height and mass, which is the tree turned
upside down: foot, shank, thigh, trunk with head, upper arms, forearms with hands. Coordinates are angles of
the skeleton, ankle dorsiflexion, knee, hip, shoulder and elbow flexion, rad, zero upright with hanging arms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

import dynamics
import trajopt
from dynamics.model.mass_properties import NO_MASS, MassProperties, Pose
from problems.human.body.model import GRAVITY, TABLE_HEIGHT, TABLE_MASS, skeleton
from problems.human.body.tables import contact_points, freedoms

#: link -> the joint that carries it, the body of the skeleton at the joint, and the sign of its axis there
LINKS = {
    "shank": ("ankle", "hindfoot_r", "ankle_r_dorsi", -1.0),
    "thigh": ("knee", "shank_r", "knee_r_flex", -1.0),
    "trunk": ("hip", "thigh_r", "hip_r_flex", -1.0),
    "upper_arm": ("shoulder", "upper_arm_r", "shoulder_r_flex", 1.0),
    "forearm": ("elbow", "forearm_r", "elbow_r_flex", 1.0),
}
PARTS = {
    "foot": ("hindfoot", "toes"),
    "shank": ("shank",),
    "thigh": ("thigh",),
    "upper_arm": ("upper_arm",),
    "forearm": ("forearm", "hand"),
}
ANGLES = tuple(joint for joint, *_ in LINKS.values())


def sagittal_body(
    height: float = TABLE_HEIGHT, mass: float = TABLE_MASS, carried: float = 0.0, free: bool = False
) -> dynamics.RigidBodyModel:
    """The person; with `free` a foot that x, y and pitch of the toe move, else one that stands on the ground.

    carried : kg in the hands.   Frames: heel, ball, toe, seat (below the hips), hand, and top of the head
    The origin is under the ankle, x forward, y up. Strengths are those of both sides together.
    """
    whole = skeleton(height, mass)
    places = dynamics.forward_kinematics(whole, np.zeros(whole.n)).position * [1.0, 1.0, 0.0]
    at = dict(zip(whole.link_names, places, strict=True))
    sole = height * contact_points()["heel_r"][1]
    ground = at["hindfoot_r"] + [0.0, sole[1], 0.0]
    joints = {link: at[body] - ground for link, (_, body, *_) in LINKS.items()}
    toe = height * np.array([_forward("toe"), 0.0, 0.0])
    origins = {"foot": toe if free else np.zeros(3), **joints}
    bodies, carrier = (_free_foot(toe), "foot") if free else ([], None)
    for link, (joint, _, name, sign) in LINKS.items():
        if link == "upper_arm":
            carrier = "trunk"
        start = np.zeros(3) if carrier is None else origins[carrier]
        bodies.append(
            dynamics.Body(link, _joint(joint, name, sign, origins[link] - start, mass * height), carrier)
        )
        carrier = link
    hand = at["hand_r"] - ground
    matter = _masses(whole, at, ground, origins)
    load = MassProperties(carried, hand - origins["forearm"], 0.4 * carried * 0.1**2 * np.eye(3))
    matter["forearm"] = matter["forearm"].joined(load)
    bodies = [_with(body, matter.get(body.name, NO_MASS)) for body in bodies]
    foot = "foot" if free else None
    frames = [
        dynamics.Frame(kind, foot, position=height * np.array([_forward(kind), 0.0, 0.0]) - origins["foot"])
        for kind in ("heel", "ball", "toe")
    ]
    frames += [
        dynamics.Frame("seat", "thigh", position=joints["trunk"] - joints["thigh"]),
        dynamics.Frame("hand", "forearm", position=hand - origins["forearm"]),
        dynamics.Frame("head_top", "trunk", position=np.array([0.0, height - joints["trunk"][1], 0.0])),
    ]
    return dynamics.RigidBodyModel(bodies, (0.0, -GRAVITY, 0.0), "person", frames=frames)


def _forward(kind: str) -> float:
    """Distance of a point of the sole in front of the ankle, in parts of the height."""
    x = float(contact_points()[f"{kind}_r"][1][0])
    return x + float(contact_points()["ball_r"][1][0]) if kind == "toe" else x


def _free_foot(toe: np.ndarray) -> list[dynamics.Body]:
    x, y, pitch = (
        dynamics.Joint(
            name,
            "prismatic" if i < 2 else "revolute",
            np.eye(3)[i],
            position=(toe if i == 0 else np.zeros(3)),
        )
        for i, name in enumerate(("x", "y", "pitch"))
    )
    return [
        dynamics.Body("along", x),
        dynamics.Body("above", y, "along"),
        dynamics.Body("foot", pitch, "above"),
    ]


def _joint(joint: str, name: str, sign: float, position: np.ndarray, size: float) -> dynamics.Joint:
    freedom, scale = freedoms()[name], 2.0 * size / (TABLE_MASS * TABLE_HEIGHT)
    limits = dynamics.JointLimits(*freedom.limits, np.inf, *(scale * torque for torque in freedom.torques))
    return dynamics.Joint(joint, axis=sign * freedom.axis, position=position, limits=limits)


def _masses(whole: dynamics.RigidBodyModel, at, ground, origins) -> dict[str, MassProperties]:
    """Mass properties by link, both sides joined, about the joint of the link."""
    found: dict[str, MassProperties] = {}
    for body in whole.bodies:
        stem = body.name.removesuffix("_r").removesuffix("_l")
        link = next((link for link, stems in PARTS.items() if stem in stems), "trunk")
        place = at[body.name] - ground - origins[link]
        centre = body.centre_of_mass * [1.0, 1.0, 0.0]
        own = MassProperties(body.mass, centre, body.inertia).seen_from(Pose(np.eye(3), place))
        found[link] = found[link].joined(own) if link in found else own
    return found


def _with(body: dynamics.Body, found: MassProperties) -> dynamics.Body:
    return replace(body, mass=found.mass, centre_of_mass=found.centre_of_mass, inertia=found.inertia)


def posture(robot: dynamics.RigidBodyModel, **angles: float) -> np.ndarray:
    """(n,) upright but for these angles in degrees, with feet where they are."""
    q = np.zeros(robot.n)
    for name, degrees in angles.items():
        q[robot.joint_names.index(name)] = np.deg2rad(degrees)
    return q


def places(robot: dynamics.RigidBodyModel, q: np.ndarray, frames: Iterable[str]) -> np.ndarray:
    """(frames, 2) x and y in a posture, m."""
    return dynamics.forward_kinematics(robot, q, list(frames)).position[:, :2]


def effort_of(robot: dynamics.RigidBodyModel) -> trajopt.ExpressionTerm:
    """Sum over joints of (tau_i / s_i)^2, s_i the larger strength of both directions."""
    strength = np.maximum(np.abs(robot.limits.torque_lower), np.abs(robot.limits.torque_upper))
    places = [robot.joint_names.index(name) for name in ANGLES]
    return trajopt.ExpressionTerm(
        lambda node: sum((node.tau[i] / float(strength[i])) ** 2 for i in places), "effort of joints"
    )


def weaken_with_speed(problem: trajopt.Problem, robot: dynamics.RigidBodyModel, fastest: float) -> None:
    """Muscles are the weaker the faster they shorten: tau <= s_up (1 - v / fastest), and so downward.

    Strengths are those of rest, which muscles that lengthen have, too; fastest in rad/s.
    """
    places = [robot.joint_names.index(name) for name in ANGLES]
    strong = {i: (robot.limits.torque_lower[i], robot.limits.torque_upper[i]) for i in places}

    def use(node: Any) -> list[Any]:
        """Parts of the strength in use, each way: at most 1."""
        found = []
        for i, (lower, upper) in strong.items():
            slowing = node.v[i] / fastest
            found += [node.tau[i] / float(upper) + slowing, node.tau[i] / float(lower) - slowing]
        return found

    problem.subject_to(trajopt.ExpressionTerm(use, "strength in use"), upper=1.0, name="strength at speed")


def feet_carry(
    problem: trajopt.Problem, robot: dynamics.RigidBodyModel, friction: float, seat: str = ""
) -> None:
    """Feet that stand: pressure between heel and toe, an upward force inside the friction cone.

    seat : a further curve, in body weights, by which a seat pushes upward on the thighs below the hips
    """
    heel, toe = places(robot, np.zeros(robot.n), ["heel", "toe"])[:, 0].tolist()
    weight = GRAVITY * robot.total_mass

    def pressed(node: Any) -> tuple[Any, Any, Any]:
        """Moment about z, and force along x and y, of the ground on the feet, in body weights."""
        moment, along, up = (node.base_wrench[i] / weight for i in (2, 3, 4))
        if seat:
            push = node.extra(seat)
            moment, up = moment - node.position("seat")[0] * push, up - push
        return moment, along, up

    def margins(node: Any) -> list[Any]:
        moment, along, up = pressed(node)
        return [moment - heel * up, toe * up - moment, friction * up - along, friction * up + along]

    problem.subject_to(trajopt.ExpressionTerm(margins, "pressure and friction of the feet"), 0.0)
    if seat:

        def wrench(node: Any) -> list[Any]:
            push = weight * node.extra(seat)
            return [0.0, 0.0, node.position("seat")[0] * push, 0.0, push, 0.0]

        problem.load("thigh", trajopt.ExpressionTerm(wrench, "push of the seat"))


def stand_on_toes(
    problem: trajopt.Problem, robot: dynamics.RigidBodyModel, friction: float, flat: int, tiptoe: int
) -> None:
    """A free foot that stands flat in one arc, then on its toe, whose force ends at take-off.

    Forces at heel and toe are further curves in body weights; they push and stay inside the friction cone.
    """
    weight = GRAVITY * robot.total_mass
    for arc, still in ((flat, 3), (tiptoe, 2)):  # x, y and pitch of the foot, or x and y
        whole = trajopt.ArcNodes(arc, "whole")
        problem.subject_to(trajopt.q[:still], equals=0.0, over=whole, name=f"the foot stands, arc {arc}")
    along = problem.extra("along", lower=-2.0, upper=2.0, unit="BW")
    heel, toe = (problem.extra(name, lower=0.0, upper=5.0, guess=0.5, unit="BW") for name in ("heel", "toe"))
    over = trajopt.ArcNodes(tiptoe, "whole")
    problem.subject_to(heel, equals=0.0, over=over, name="no force at a heel that has risen")
    for force in (along, toe):
        problem.subject_to(force, equals=0.0, over=trajopt.ArcNodes(tiptoe, "end"), name=f"{force.name} ends")

    def wrench(node: Any) -> list[Any]:
        push, grip = node.extra("heel") + node.extra("toe"), node.extra("along")
        moment = node.position("heel")[0] * node.extra("heel") + node.position("toe")[0] * node.extra("toe")
        moment = moment - node.position("toe")[1] * grip
        return [weight * part for part in (0.0, 0.0, moment, grip, push, 0.0)]

    problem.load("foot", trajopt.ExpressionTerm(wrench, "push of the ground"))
    problem.passive("x", "y", "pitch")
    for sign, way in ((1.0, "backward"), (-1.0, "forward")):
        problem.subject_to(friction * (heel + toe) + sign * along, lower=0.0, name=f"friction {way}")
    problem.subject_to(
        trajopt.position("heel")[1], lower=0.0, over=trajopt.ArcNodes(tiptoe), name="heel above ground"
    )
