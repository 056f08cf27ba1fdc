"""Algorithm 6 of Echeandia's thesis as printed: five misprints, each of which can be corrected."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from dynamics.errors import UnknownNameError
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.trees.geared_joint import BodyState, GearedJoint, body_state, geared_joints, joint_states
from dynamics.papers.trees.spatial import force_cross, motion_cross

Misprint = Literal["cross terms", "torque", "siblings", "rotor frame", "base acceleration"]
MISPRINTS: tuple[Misprint, ...] = get_args(Misprint)


def maba_as_printed(
    model: KinematicTree, q: np.ndarray, v: np.ndarray, tau: np.ndarray, mended: Collection[Misprint] = ()
) -> np.ndarray:
    """Joint accelerations (n,) by Algorithm 6; with all of `MISPRINTS` mended they are those of `maba`.

    "cross terms"        lines 16, 17: the products of link and rotor in U U' / D and U u / D are missing
    "torque"             line 13 applies tau to the rotor, line 12 has already applied it to the link
    "siblings"           lines 16, 17 start from the rigid quantities of p(i): of several children the last
                         one overwrites the others
    "rotor frame"        Phi_R = n Phi, and lines 16, 17, 21 move the rotor with the link's transform
    "base acceleration"  a_0 is never set, so gravity is missing

    Line 13 inverts the rotor's inertia. Where it is singular we use the pseudo-inverse, without which table
    4.2 (no rotor inertia) could not have been computed. (4.2) needs Phi' Phi = 1, so ratios must be one.

    Raises UnknownNameError for a misprint that is not one of these.
    """
    for name in mended:
        if name not in MISPRINTS:
            raise UnknownNameError(f"there is no misprint {name!r}; they are {', '.join(MISPRINTS)}")
    joints = geared_joints(model)
    links, rotors = joint_states(joints, q, v)
    if "rotor frame" not in mended:
        rotors = [
            printed_rotor(*pair, q, v, i, links) for i, pair in enumerate(zip(joints, rotors, strict=True))
        ]
    IA, pA = [state.inertia for state in links], [state.p for state in links]
    steps: list[Step] = []
    for i in reversed(range(model.n)):
        parent = joints[i].link.parent
        step = inward_step(joints[i], links[i], rotors[i], IA[i], pA[i], tau[i], mended)
        steps.insert(0, step)
        if parent >= 0:
            start = (
                (IA[parent], pA[parent]) if "siblings" in mended else (links[parent].inertia, links[parent].p)
            )
            IA[parent], pA[parent] = start[0] + step.inertia, start[1] + step.force
    ground = np.concatenate([np.zeros(3), -model.gravity]) if "base acceleration" in mended else np.zeros(6)
    acceleration: list[np.ndarray] = []
    a = np.zeros(model.n)
    for i, (link, step) in enumerate(zip(links, steps, strict=True)):
        parent = joints[i].link.parent
        carrier = acceleration[parent] if parent >= 0 else ground
        a[i] = (step.u - step.U @ carrier) / step.D
        acceleration.append(link.X @ carrier + link.Phi * a[i] + link.c)
    return a


@dataclass(frozen=True, eq=False)
class Step:
    """Step of one joint: U, D and u for its acceleration, and what lines 16 and 17 add to the parent."""

    U: np.ndarray
    D: Any
    u: Any
    inertia: np.ndarray
    force: np.ndarray


def inward_step(
    joint: GearedJoint,
    link: BodyState,
    rotor: BodyState | None,
    IA: np.ndarray,
    pA: np.ndarray,
    tau: float,
    mended: Collection[Misprint],
) -> Step:
    """Lines 12 to 17, with I a_uc of (4.2) and (4.3) written as the forces they are."""
    n = joint.gear_ratio
    rotor = rotor or replace(link, inertia=np.zeros((6, 6)), p=np.zeros(6))
    solvable = rotor.inertia @ np.linalg.pinv(rotor.inertia)
    torque = 0.0 if "torque" in mended else tau / n
    pull = link.Phi * tau - pA - IA @ link.c
    rotor_pull = solvable @ (rotor.Phi / n * torque - rotor.p) - rotor.inertia @ rotor.c
    D = link.Phi @ IA @ link.Phi + rotor.Phi @ rotor.inertia @ rotor.Phi
    own, its = link.X.T @ IA @ link.Phi, rotor.X.T @ rotor.inertia @ rotor.Phi
    u_own, u_its = link.Phi @ pull, rotor.Phi @ rotor_pull
    U, u = own + its, u_own + u_its
    inertia = link.X.T @ IA @ link.X + rotor.X.T @ rotor.inertia @ rotor.X
    force = link.X.T @ (pA + IA @ link.c) + rotor.X.T @ (rotor.p + rotor.inertia @ rotor.c)
    if "cross terms" in mended:
        return Step(U, D, u, inertia - np.outer(U, U) / D, force + U * u / D)
    inertia = inertia - (np.outer(own, own) + np.outer(its, its)) / D
    return Step(U, D, u, inertia, force + (own * u_own + its * u_its) / D)


def printed_rotor(
    joint: GearedJoint, rotor: BodyState | None, q: np.ndarray, v: np.ndarray, i: int, links: list[BodyState]
) -> BodyState | None:
    """The rotor with Phi_R = n Phi, its own transform for the velocity (line 7), the link's for the rest."""
    if rotor is None or joint.rotor is None:
        return None
    parent = joint.link.parent
    carrier = links[parent].velocity if parent >= 0 else np.zeros(6)
    n, displacement = joint.gear_ratio, joint.ratio * q[i] + joint.offset
    moved = body_state(joint.rotor, n * joint.ratio, n * displacement, v[i], carrier)
    Phi = n * links[i].Phi
    velocity = moved.X @ carrier + Phi * v[i]
    c = motion_cross(velocity) @ Phi * v[i]
    return BodyState(
        links[i].X, Phi, velocity, c, moved.inertia, force_cross(velocity) @ moved.inertia @ velocity
    )
