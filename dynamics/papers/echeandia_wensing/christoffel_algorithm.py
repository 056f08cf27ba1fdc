"""Echeandia and Wensing, Algorithm 2: the Christoffel symbols of the first kind in O(N d^2)."""

from __future__ import annotations

import numpy as np

from dynamics.errors import TreeError
from dynamics.model.kinematic_tree import KinematicTree
from dynamics.papers.trees.linkage import Linkage, as_linkage
from dynamics.papers.trees.spatial import body_factor, swapped_cross


def christoffel_algorithm(tree: KinematicTree | Linkage, q: np.ndarray) -> np.ndarray:
    """Gamma, (n, n, n), torque index first: Gamma_ijk = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i).

    For i <= j <= k on one branch, with Bt = B(Phi_k, I_k^C) and D = (I_k^C Phi_k xbar*) - Bt:
    Gamma_ijk = Phi_i' Bt Phi_j, Gamma_jik = Phi_i' Bt' Phi_j, Gamma_kij = Phi_i' D Phi_j
    and zero off the branch.

    Raises TreeError for a joint of several DOF, to which the algorithm does not apply.
    Source: Echeandia and Wensing 2021, Algorithm 2, right as printed. (In the thesis, Algorithm 5, Phi_1 is
    Phi_i.)
    """
    linkage = as_linkage(tree)
    if linkage.dof != len(linkage.links):
        raise TreeError(
            "the Christoffel algorithm holds for joints of one DOF, but this linkage has "
            f"{linkage.dof} DOF on {len(linkage.links)} joints; replace each by a chain of massless links"
        )
    s = linkage.reduction @ q + linkage.offset
    parents = [link.parent for link in linkage.links]
    X = linkage.transforms(s)
    axes = [link.motion.axes(s[part])[:, 0] for link, part in zip(linkage.links, linkage.slices, strict=True)]
    composite = [link.spatial_inertia for link in linkage.links]
    gamma = np.zeros((linkage.dof,) * 3, dtype=s.dtype)
    for k in reversed(range(linkage.dof)):
        B = body_factor(axes[k], composite[k])
        D = swapped_cross(composite[k] @ axes[k]) - B
        j = k
        while j >= 0:
            F1, F2, F3 = B @ axes[j], B.T @ axes[j], D @ axes[j]
            i = j
            while i >= 0:
                gamma[i, j, k] = gamma[i, k, j] = axes[i] @ F1
                gamma[j, i, k] = gamma[j, k, i] = axes[i] @ F2
                gamma[k, i, j] = gamma[k, j, i] = axes[i] @ F3
                F1, F2, F3 = X[i].T @ F1, X[i].T @ F2, X[i].T @ F3
                i = parents[i]
            B, D = X[j].T @ B @ X[j], X[j].T @ D @ X[j]
            j = parents[j]
        if parents[k] >= 0:
            composite[parents[k]] = composite[parents[k]] + X[k].T @ composite[k] @ X[k]
    return reduced_symbols(gamma, linkage.reduction)


def reduced_symbols(gamma: np.ndarray, reduction: np.ndarray) -> np.ndarray:
    """G' applied to each index of `gamma`: the symbols in coordinates q when s = G q + offset."""
    if np.array_equal(reduction, np.eye(len(reduction))):
        return gamma
    return np.einsum("abc,ai,bj,ck->ijk", gamma, reduction, reduction, reduction, optimize=True)
