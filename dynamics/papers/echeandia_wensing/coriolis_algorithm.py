"""Echeandia and Wensing, Algorithm 1: M, its rate and the Coriolis matrix in O(N d), in body coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.trees.linkage import Linkage, as_linkage
from dynamics.papers.trees.spatial import BodyFactor, body_factor, motion_cross


@dataclass(frozen=True, eq=False)
class CoriolisResult:
    """M, its rate Mdot and the Coriolis matrix C, each (n, n)."""

    M: np.ndarray
    Mdot: np.ndarray
    C: np.ndarray


def coriolis_algorithm(
    tree: KinematicTree | Linkage, q: np.ndarray, v: np.ndarray, factor: BodyFactor = "christoffel"
) -> CoriolisResult:
    """M_ij = Phi_i' I^C Phi_j and C_ij = Phi_i' (I^C Phidot_j + B^C Phi_j).

    I^C and B^C are sums over the subtree of the outer of i and j; Mdot = C + C'.

    tree : joints of any number of DOF; in a model, rotors and mimic joints are reduced by G' (.) G
    q : (n,) coordinates;  v : (n,) their rates, or generalized speeds where a joint uses them (remark 5)
    factor : the body factor B; with "christoffel" and coordinates, C is that of the Christoffel symbols

    Source: Echeandia and Wensing 2021, Algorithm 1, right as printed. (In the thesis, Algorithm 4, line 15
    must stand just before line 20.)
    """
    linkage = as_linkage(tree)
    s, rates = linkage.reduction @ q + linkage.offset, linkage.reduction @ v
    links, parts, X = linkage.links, linkage.slices, linkage.transforms(s)
    axes, axes_rate, inertia, factors = velocity_pass(linkage, X, s, rates, factor)
    kind = np.result_type(s, rates)
    M, Mdot, C = (np.zeros((linkage.dof, linkage.dof), dtype=kind) for _ in range(3))
    for j in reversed(range(len(links))):
        outer = parts[j]
        F1 = inertia[j] @ axes_rate[j] + factors[j] @ axes[j]
        F2 = inertia[j] @ axes[j]
        F3 = factors[j].T @ axes[j]
        i = j
        while i >= 0:
            inner = parts[i]
            C[inner, outer] = axes[i].T @ F1
            C[outer, inner] = (axes_rate[i].T @ F2 + axes[i].T @ F3).T
            M[inner, outer] = axes[i].T @ F2
            M[outer, inner] = M[inner, outer].T
            Mdot[inner, outer] = axes_rate[i].T @ F2 + axes[i].T @ (F1 + F3)
            Mdot[outer, inner] = Mdot[inner, outer].T
            F1, F2, F3 = X[i].T @ F1, X[i].T @ F2, X[i].T @ F3
            i = links[i].parent
        parent = links[j].parent
        if parent >= 0:
            inertia[parent] = inertia[parent] + X[j].T @ inertia[j] @ X[j]
            factors[parent] = factors[parent] + X[j].T @ factors[j] @ X[j]
    return CoriolisResult(
        linkage.reduced(M) + np.diag(linkage.armature), linkage.reduced(Mdot), linkage.reduced(C)
    )


def velocity_pass(linkage: Linkage, X: list, s: np.ndarray, rates: np.ndarray, factor: BodyFactor):
    """Lines 1 to 7: Phi, Phidot, I and B of every link, in link coordinates."""
    axes, axes_rate, inertia, factors, velocity = [], [], [], [], []
    for link, part, to_child in zip(linkage.links, linkage.slices, X, strict=True):
        Phi = link.motion.axes(s[part])
        v = Phi @ rates[part]
        if link.parent >= 0:
            v = v + to_child @ velocity[link.parent]
        velocity.append(v)
        axes.append(Phi)
        axes_rate.append(motion_cross(v) @ Phi + link.motion.axes_rate(s[part], rates[part]))
        inertia.append(link.spatial_inertia)
        factors.append(body_factor(v, link.spatial_inertia, factor))
    return axes, axes_rate, inertia, factors
