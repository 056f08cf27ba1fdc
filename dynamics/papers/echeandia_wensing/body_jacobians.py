"""M and C as sums over bodies of products of their Jacobians (remark 4): O(N^3), and a simple check."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.echeandia_wensing.coordinate_change import ChangedMatrices
from dynamics.papers.trees.linkage import Linkage, as_linkage
from dynamics.papers.trees.spatial import BodyFactor, body_factor, motion_cross


@dataclass(frozen=True, eq=False)
class BodyJacobian:
    """Jacobian of one body, in its own coordinates: velocity v = J qdot.

    J, J_rate : (6, joint variables), the Jacobian and the rate of its coordinates, ring J
    """

    J: np.ndarray
    J_rate: np.ndarray
    velocity: np.ndarray
    inertia: np.ndarray


def body_jacobians(tree: KinematicTree | Linkage, q: np.ndarray, v: np.ndarray) -> list[BodyJacobian]:
    """The Jacobian of every link of the spanning tree and its rate.

    J = X J_parent + Phi and, since the transform X falls behind by the joint velocity v_J = Phi qdot,
    ring J = X ring J_parent - (v_J x) X J_parent + ring Phi.
    """
    linkage = as_linkage(tree)
    s, rates = linkage.reduction @ q + linkage.offset, linkage.reduction @ v
    bodies: list[BodyJacobian] = []
    for link, part, X in zip(linkage.links, linkage.slices, linkage.transforms(s), strict=True):
        J, J_rate = (np.zeros((6, linkage.dof), dtype=np.result_type(s, rates)) for _ in range(2))
        Phi = link.motion.axes(s[part])
        if link.parent >= 0:
            J = X @ bodies[link.parent].J
            J_rate = X @ bodies[link.parent].J_rate - motion_cross(Phi @ rates[part]) @ J
        J[:, part] += Phi
        J_rate[:, part] += link.motion.axes_rate(s[part], rates[part])
        bodies.append(BodyJacobian(J, J_rate, J @ rates, link.spatial_inertia))
    return bodies


def matrices_of_jacobians(
    tree: KinematicTree | Linkage, q: np.ndarray, v: np.ndarray, factor: BodyFactor = "christoffel"
) -> ChangedMatrices:
    """M = sum J' I J and C = sum J' [B(v, I) J + I ring J + I (v x) J], (n, n).

    The last two terms are I Jdot with the rate Jdot taken in no moving frame, so that (31) is (30).
    Source: Echeandia and Wensing 2021, (29) to (31); right as printed.
    """
    linkage = as_linkage(tree)
    M, C = 0.0, 0.0
    for body in body_jacobians(linkage, q, v):
        still = body.J_rate + motion_cross(body.velocity) @ body.J
        M = M + body.J.T @ body.inertia @ body.J
        C = C + body.J.T @ (body_factor(body.velocity, body.inertia, factor) @ body.J + body.inertia @ still)
    return ChangedMatrices(
        linkage.reduced(np.asarray(M)) + np.diag(linkage.armature), linkage.reduced(np.asarray(C))
    )
