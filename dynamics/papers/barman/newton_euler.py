"""Barman: recursive Newton-Euler in moving coordinates with 3 x 3 rotations, for trees, misprints corrected.

Every vector of link j is in the axes of link j. P_j, the proximal point, is the origin of joint j on the
parent; a prismatic link slides away from it. In a model made by `from_dh` this is the thesis literally: link
axes are those of Denavit-Hartenberg frame j, e = R_j' e_z = (0, sin alpha, cos alpha), P_j = O_{j-1} and the
lever to the next joint is Delta x_j = (a, d sin alpha, d cos alpha). A branched link has one such lever for
each child.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dynamics.errors import ShapeError
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.trees.linkage import Link, Linkage, linkage_of


@dataclass(frozen=True, eq=False)
class Load:
    """Load on a link: `force` N at `point`, and `moment` N m.

    link : its name;  force, moment : (..., 3) in world axes;  point : (3,) m in the link frame
    """

    link: str
    force: np.ndarray = field(default_factory=lambda: np.zeros(3))
    moment: np.ndarray = field(default_factory=lambda: np.zeros(3))
    point: np.ndarray = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True, eq=False)
class Forces:
    """Forces and moments that the joints transmit, and the generalized forces of the coordinates.

    force, moment : (..., links, 3), what joint j transmits to link j, in link axes, the moment about P_j
        (F_jp and tau_jp, which the nomenclature of the thesis describes the wrong way round)
    tau : (..., n)
    """

    force: np.ndarray
    moment: np.ndarray
    tau: np.ndarray


@dataclass(frozen=True, eq=False)
class LinkMotion:
    """Motion of one link, all in its own axes.

    Rt : R_j', (..., 3, 3), from the parent's axes;  e : (3,) joint axis;  turns : whether it is revolute
    slide : (..., 3) m, from P_j to the link frame;  rate, acceleration : (..., 1) of the joint
    arriving : (..., 3) rad/s, angular velocity of the parent;  omega, alpha : (..., 3), of the link
    start : (..., 3) m/s^2, acceleration of P_j;  gravity : (..., 3) m/s^2, the field
    """

    Rt: np.ndarray
    e: np.ndarray
    turns: bool
    slide: np.ndarray
    rate: np.ndarray
    acceleration: np.ndarray
    arriving: np.ndarray
    omega: np.ndarray
    alpha: np.ndarray
    start: np.ndarray
    gravity: np.ndarray

    def acceleration_of(self, lever: np.ndarray) -> np.ndarray:
        """Delta xddot of the point `lever` away in the link frame, relative to P_j (3.50), (3.56)."""
        reach = lever + self.slide
        swept = np.cross(self.omega, reach)
        if self.turns:
            return np.cross(self.alpha, reach) + np.cross(self.omega, swept)
        sliding = self.e * self.rate
        coriolis = 2.0 * np.cross(self.omega, sliding)
        moved = np.cross(self.alpha, reach) + np.cross(self.omega, swept)
        return moved + coriolis + self.e * self.acceleration


def carried(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Matrices (..., 3, 3) times vectors (..., 3)."""
    return (matrix @ vector[..., None])[..., 0]


def hats(p: np.ndarray) -> np.ndarray:
    """S(p), (..., 3, 3), of vectors (..., 3)."""
    x, y, z, zero = p[..., 0], p[..., 1], p[..., 2], 0 * p[..., 0]
    rows = [np.stack(row, axis=-1) for row in ((zero, -z, y), (z, zero, -x), (-y, x, zero))]
    return np.stack(rows, axis=-2)


def link_places(model: KinematicTree) -> list[int]:
    """Index in `linkage_of(model).links` of every link: exact rotors stand before their links."""
    places, rotors = [], 0
    for i, body in enumerate(model.bodies):
        rotors += model.rotors == "exact" and body.joint.rotor is not None
        places.append(i + rotors)
    return places


def outward(linkage: Linkage, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> list[LinkMotion]:
    """Steps 2 to 7: the motion of every link, for q, v, a (..., n)."""
    for name, array in (("q", q), ("v", v), ("a", a)):
        if array.shape[-1:] != (linkage.n,):
            raise ShapeError(f"{name} has shape {array.shape} but there are n = {linkage.n} coordinates")
    s, rate, acceleration = (x @ linkage.reduction.T for x in (q, v, a))
    s = s + linkage.offset
    still = np.zeros(3)
    motions: list[LinkMotion] = []
    for j, link in enumerate(linkage.links):
        motion = link.motion
        s_j, rate_j, acceleration_j = s[..., j, None], rate[..., j, None], acceleration[..., j, None]
        turns, e = motion.kind == "revolute", motion.axis
        Rt = np.swapaxes(joint_rotation(link, s_j), -1, -2)
        before = motions[link.parent] if link.parent >= 0 else None
        arriving = carried(Rt, before.omega if before else still)  # (3.8)
        alpha = carried(Rt, before.alpha if before else still)  # (3.14)
        start = carried(Rt, before.start + before.acceleration_of(motion.position) if before else still)
        gravity = carried(Rt, before.gravity if before else linkage.gravity)
        omega = arriving
        if turns:
            omega = arriving + e * rate_j  # (3.5), (3.11)
            alpha = alpha + e * acceleration_j + np.cross(arriving, e * rate_j)  # (3.17), (3.20)
        slide = still if turns else e * s_j
        motions.append(
            LinkMotion(Rt, e, turns, slide, rate_j, acceleration_j, arriving, omega, alpha, start, gravity)
        )
    return motions


def joint_rotation(link: Link, angle: np.ndarray) -> np.ndarray:
    """R_j, (..., 3, 3), link axes in the parent's, at joint variables (..., 1)."""
    motion = link.motion
    if motion.kind == "prismatic":
        return motion.rotation
    skew = hats(motion.axis)
    sine, cosine = np.sin(angle)[..., None], np.cos(angle)[..., None]
    return motion.rotation @ (np.eye(3) + sine * skew + (1.0 - cosine) * (skew @ skew))


def newton_euler(
    model: KinematicTree, q: np.ndarray, v: np.ndarray, a: np.ndarray, loads: Sequence[Load] = ()
) -> Forces:
    """Internal joint forces, moments and generalized forces.

    F_jp = F_Gj + sum over children R_c F_cp - loads, F_Gj = m (xddot_G - gravity)
    tau_jp = tau_Gj + Delta x_G x F_Gj + sum over children (R_c tau_cp + Delta x_c x R_c F_cp) - loads
    tau_j = e . tau_jp of a revolute, e . F_jp of a prismatic joint

    q, v, a : (..., n)
    Raises ShapeError when q, v or a do not fit, UnknownNameError when a load names no link.
    Source: Barman, thesis, ch. III; gravity is the field itself, loads act on the links.
    """
    q, v, a = np.asarray(q), np.asarray(v), np.asarray(a)
    linkage, places = linkage_of(model), link_places(model)
    motions = outward(linkage, q, v, a)
    inner = body_forces(linkage, motions)
    for load in loads:
        subtract_load(linkage, motions, places[model.link_index(load.link)], load, inner)
    for c in reversed(range(len(motions))):
        add_to_parent(linkage, motions, c, inner)
    along = [dot(m.e, inner.moment[j] if m.turns else inner.force[j]) for j, m in enumerate(motions)]
    tau = np.stack(along, axis=-1) @ linkage.reduction + linkage.armature * a
    of_links = [stacked([x[i] for i in places], q.shape[:-1]) for x in (inner.force, inner.moment)]
    return Forces(of_links[0], of_links[1], tau)


@dataclass(frozen=True, eq=False)
class InnerForces:
    """Forces that each link transmits, at first alone, then with loads and descendants: lists of (..., 3)."""

    force: list[np.ndarray]
    moment: list[np.ndarray]


def body_forces(linkage: Linkage, motions: list[LinkMotion]) -> InnerForces:
    """F_Gj and tau_Gj + Delta x_G x F_Gj of every link (3.67), (3.69)."""
    inner = InnerForces([], [])
    for link, motion in zip(linkage.links, motions, strict=True):
        F_G = link.mass * (motion.start + motion.acceleration_of(link.centre_of_mass) - motion.gravity)
        turning = carried(link.inertia, motion.alpha)
        gyroscopic = np.cross(motion.omega, carried(link.inertia, motion.omega))
        inner.force.append(F_G)
        inner.moment.append(turning + gyroscopic + np.cross(link.centre_of_mass + motion.slide, F_G))
    return inner


def subtract_load(
    linkage: Linkage, motions: list[LinkMotion], k: int, load: Load, inner: InnerForces
) -> None:
    """Steps 9 b, d and e at the loaded link: what acts on it, its joint need not transmit."""
    to_link = world_rotation(linkage, motions, k)
    push = carried(to_link, load.force)
    reach = load.point + motions[k].slide
    inner.force[k] = inner.force[k] - push
    inner.moment[k] = inner.moment[k] - carried(to_link, load.moment) - np.cross(reach, push)


def add_to_parent(linkage: Linkage, motions: list[LinkMotion], c: int, inner: InnerForces) -> None:
    """Steps 9 a and c: what link c hands on, (3.72), (3.74), (3.80), (3.82)."""
    parent = linkage.links[c].parent
    if parent < 0:
        return
    R = np.swapaxes(motions[c].Rt, -1, -2)
    distal = carried(R, inner.force[c])
    lever = linkage.links[c].motion.position + motions[parent].slide
    inner.force[parent] = inner.force[parent] + distal
    inner.moment[parent] = inner.moment[parent] + carried(R, inner.moment[c]) + np.cross(lever, distal)


def world_rotation(linkage: Linkage, motions: list[LinkMotion], k: int) -> np.ndarray:
    """0R_k', (..., 3, 3): world axes to link k (3.62)."""
    product = motions[k].Rt
    while (k := linkage.links[k].parent) >= 0:
        product = product @ motions[k].Rt
    return product


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scalar products along the last axis."""
    return (a * b).sum(axis=-1)


def stacked(vectors: list[np.ndarray], batch: tuple[int, ...]) -> np.ndarray:
    """(..., links, 3) of one (..., 3) per link."""
    return np.stack([np.broadcast_to(x, (*batch, *x.shape[-1:])) for x in vectors], axis=-2)
