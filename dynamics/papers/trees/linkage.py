"""Kinematic trees for the papers' algorithms: links with an inertia on joints of any number of DOF.

Made from a KinematicTree, it is the model's *spanning tree*: every rotor and every mimic joint has a joint
variable of its own there, and s = G q + offset with a constant G couples them. Then M, C and the symbols of
the model are G' (.) G of those of the tree, exactly, because G does not depend on q.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dynamics.errors import TreeError
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.trees.joint_motion import JointMotion, Screw
from dynamics.papers.trees.spatial import spatial_inertia, transform


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid body on a joint.

    motion : of its joint; the link frame is the joint's child frame
    parent : index of the parent link, -1 = ground
    mass : kg;  centre_of_mass : (3,) m;  inertia : (3, 3) kg m^2 about the centre of mass, link axes
    """

    motion: Any
    parent: int
    mass: float = 0.0
    centre_of_mass: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))

    @property
    def spatial_inertia(self) -> np.ndarray:
        """(6, 6) about the link frame's origin."""
        return spatial_inertia(self.mass, self.centre_of_mass, self.inertia)


class Linkage:
    """Links, parents first, and how their joint variables s follow from coordinates q: s = G q + offset.

    links : see `Link`
    reduction : G, (joint variables, n); the unit matrix when not given
    offset : (joint variables,)
    armature : (n,) kg m^2 added to the diagonal of M
    gravity : (3,) m/s^2

    Raises TreeError when a link comes before its parent.
    """

    def __init__(
        self,
        links: Iterable[Link],
        reduction: np.ndarray | None = None,
        offset: np.ndarray | None = None,
        armature: np.ndarray | None = None,
        gravity: np.ndarray | None = None,
    ) -> None:
        self.links = tuple(links)
        for i, link in enumerate(self.links):
            if not -1 <= link.parent < i:
                raise TreeError(f"link {i} has the parent {link.parent}; list parents first, -1 = ground")
        ends = np.cumsum([link.motion.dof for link in self.links])
        self.slices = tuple(
            slice(end - link.motion.dof, end) for end, link in zip(ends, self.links, strict=True)
        )
        self.dof = int(ends[-1])
        self.reduction = np.eye(self.dof) if reduction is None else reduction
        self.offset = np.zeros(self.dof) if offset is None else offset
        self.n = self.reduction.shape[1]
        self.armature = np.zeros(self.n) if armature is None else armature
        self.gravity = np.zeros(3) if gravity is None else gravity

    def motion(self, i: int) -> JointMotion:
        """The motion of joint i."""
        return self.links[i].motion

    def transforms(self, s: np.ndarray) -> list[np.ndarray]:
        """X (6, 6) of every link, parent to child coordinates."""
        return [
            transform(*link.motion.pose(s[part])) for link, part in zip(self.links, self.slices, strict=True)
        ]

    def reduced(self, matrix: np.ndarray) -> np.ndarray:
        """G' matrix G, (n, n)."""
        return self.reduction.T @ matrix @ self.reduction


def linkage_of(model: KinematicTree) -> Linkage:
    """The spanning tree of `model`, rotors treated as the model says; JointError for rotation vectors."""
    links: list[Link] = []
    ratios: list[tuple[int, float, float]] = []  # coordinate, ratio, offset of every link
    armature = np.zeros(model.n)
    place: list[int] = []  # index in `links` of every body: rotors stand between them
    for body, parent, k in zip(model.bodies, model.parent, model.coordinate, strict=True):
        joint, carrier = body.joint, place[parent] if parent >= 0 else -1
        rotor = joint.rotor if model.rotors != "none" else None
        if rotor is not None and model.rotors == "exact":
            spindle = Screw("revolute", rotor.axis, np.eye(3), rotor.position)
            links.append(Link(spindle, carrier, rotor.mass, rotor.centre_of_mass, rotor.inertia))
            ratios.append((k, rotor.gear_ratio * joint.ratio, rotor.gear_ratio * joint.offset))
        elif rotor is not None:
            armature[k] += (rotor.gear_ratio * joint.ratio) ** 2 * rotor.axial_inertia
            if carrier >= 0:
                links[carrier] = with_point_mass(
                    links[carrier], rotor.mass, rotor.position + rotor.centre_of_mass
                )
        place.append(len(links))
        kind = "revolute" if joint.motion.turn else "prismatic"
        screw = Screw(kind, joint.axis, joint.rotation, joint.position)
        links.append(Link(screw, carrier, body.mass, body.centre_of_mass, body.inertia))
        ratios.append((k, joint.ratio, joint.offset))
    reduction = np.zeros((len(links), model.n))
    for i, (k, ratio, _) in enumerate(ratios):
        reduction[i, k] = ratio
    return Linkage(links, reduction, np.array([offset for _, _, offset in ratios]), armature, model.gravity)


def with_point_mass(link: Link, mass: float, point: np.ndarray) -> Link:
    """`link` carrying another `mass` at `point` (3,)."""
    total = link.mass + mass
    if total == 0.0:
        return link
    lever = point - link.centre_of_mass
    shift = link.mass * mass / total * (lever @ lever * np.eye(3) - np.outer(lever, lever))
    centre = (link.mass * link.centre_of_mass + mass * point) / total
    return Link(link.motion, link.parent, total, centre, link.inertia + shift)


def as_linkage(tree: KinematicTree | Linkage) -> Linkage:
    """`tree` itself, or the spanning tree of a model."""
    return tree if isinstance(tree, Linkage) else linkage_of(tree)
