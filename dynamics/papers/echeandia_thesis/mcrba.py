"""Echeandia's MCRBA: forward dynamics by the mass matrix with the rotors' inertia added to its diagonal."""

from __future__ import annotations

import numpy as np

from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.echeandia_wensing.body_jacobians import body_jacobians
from dynamics.papers.echeandia_wensing.coriolis_algorithm import coriolis_algorithm
from dynamics.papers.trees.linkage import linkage_of


def gravity_forces(model: KinematicTree, q: np.ndarray) -> np.ndarray:
    """g(q), (n,) = sum over bodies of J' I a with every body accelerating against gravity."""
    linkage = linkage_of(model)
    weight = np.zeros(linkage.dof, dtype=np.asarray(q).dtype)
    s = linkage.reduction @ q + linkage.offset
    to_link: list[np.ndarray] = []
    for body, link, X in zip(
        body_jacobians(linkage, q, 0 * q), linkage.links, linkage.transforms(s), strict=True
    ):
        to_link.append(X @ to_link[link.parent] if link.parent >= 0 else X)
        upward = to_link[-1] @ np.concatenate([np.zeros(3), -linkage.gravity])
        weight = weight + body.J.T @ body.inertia @ upward
    return linkage.reduction.T @ weight


def mcrba(
    model: KinematicTree, q: np.ndarray, v: np.ndarray, tau: np.ndarray, coriolis: bool = True
) -> np.ndarray:
    """qddot = (H + diag(n^2 Phi_R' I_R Phi_R))^-1 (tau - C qdot - g), (n,), with H, C, g of the links alone.

    It differs from `model.with_rotors("armature")`, which also lets the parent carry the rotor's mass.

    coriolis : False leaves out C qdot, which is what table 4.5 shows although (4.26) has it
    Source: Echeandia, thesis, (4.26).
    """
    links = model.with_rotors("none")
    dynamics = coriolis_algorithm(links, q, v)
    added = linkage_of(links if model.rotors == "none" else model.with_rotors("armature")).armature
    bias = gravity_forces(links, q) + (dynamics.C @ v if coriolis else 0.0)
    return np.linalg.solve(dynamics.M + np.diag(added), tau - bias)
