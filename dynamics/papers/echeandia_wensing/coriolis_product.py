"""The product of the Coriolis matrix with any reference velocity in O(N), without the matrix (remark 2)."""

from __future__ import annotations

import numpy as np

from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.echeandia_wensing.coriolis_algorithm import velocity_pass
from dynamics.papers.trees.linkage import Linkage, as_linkage
from dynamics.papers.trees.spatial import BodyFactor


def coriolis_product(
    tree: KinematicTree | Linkage,
    q: np.ndarray,
    v: np.ndarray,
    reference: np.ndarray,
    factor: BodyFactor = "christoffel",
) -> np.ndarray:
    """C(q, v) reference, (n,): a Newton-Euler recursion in which every body feels I a_r + B(v, I) v_r.

    v_r = v_r,parent + Phi reference and a_r = a_r,parent + Phidot reference. With reference = v it is the
    bias without gravity, with "christoffel" symmetric in v and reference.

    Source: Niemeyer and Slotine, as cited in Echeandia and Wensing 2021, remark 2.
    """
    linkage = as_linkage(tree)
    s, rates = linkage.reduction @ q + linkage.offset, linkage.reduction @ v
    wanted = linkage.reduction @ reference
    X = linkage.transforms(s)
    axes, axes_rate, inertia, factors = velocity_pass(linkage, X, s, rates, factor)
    velocity, acceleration, forces = [], [], []
    for i, (link, part) in enumerate(zip(linkage.links, linkage.slices, strict=True)):
        v_r, a_r = axes[i] @ wanted[part], axes_rate[i] @ wanted[part]
        if link.parent >= 0:
            v_r = v_r + X[i] @ velocity[link.parent]
            a_r = a_r + X[i] @ acceleration[link.parent]
        velocity.append(v_r)
        acceleration.append(a_r)
        forces.append(inertia[i] @ a_r + factors[i] @ v_r)
    product = np.zeros(linkage.dof, dtype=np.result_type(s, rates, wanted))
    for i in reversed(range(len(linkage.links))):
        product[linkage.slices[i]] = axes[i].T @ forces[i]
        parent = linkage.links[i].parent
        if parent >= 0:
            forces[parent] = forces[parent] + X[i].T @ forces[i]
    return linkage.reduction.T @ product
