"""Safeea, Neto and Bearee: Christoffel symbols of serial chains by a backward recursion on wrenches."""

# F and H are sums that grow, as in the paper.
# pyright: reportConstantRedefinition=false
from __future__ import annotations

import numpy as np

from dynamics.model.kinematic_tree import KinematicTree, checked_model
from dynamics.papers.safeea.serial_chain import SerialChain, serial_chain
from dynamics.papers.trees.linkage import linkage_of


def christoffel_symbols_serial(model: KinematicTree, q: np.ndarray) -> np.ndarray:
    """Gamma, (..., n, n, n), torque index first, of a serial chain: Safeea's recursion in O(n^3).

    tau_k of C qdot = sum_ji Gamma_kji qdot_j qdot_i, the same array as `christoffel_symbols`.

    q : (..., n) rad or m
    Raises TreeError when the model is not a serial chain (exact rotors are branches), ShapeError when q does
    not fit the model.
    Source: Safeea, Neto and Bearee 2019, (26) to (30); prismatic joints are ours.
    """
    ratios = np.diag(linkage_of(checked_model(model)).reduction)
    gamma = safeea_recursion(serial_chain(model, q))
    return gamma * ratios[:, None, None] * ratios[:, None] * ratios


def safeea_recursion(chain: SerialChain) -> np.ndarray:
    """Gamma, (..., n, n, n), from the frames of a chain; forward kinematics is not part of it.

    With unit rates of joints j <= i, link k is moved by frame j ("injected") with half of the Coriolis terms
    (26) h = 1/2 (L_k k_j) x k_i, L_k = R_k (tr(I) 1 - 2 I) R_k', and (27) f = m_k k_j x (k_i x p_Cki); then
    (28) F^k = F^(k+1) + f, (29) H^k = H^(k+1) + h + p_Ckk x f + l_k x F^(k+1), (30) Gamma_kji = k_k . H^k.
    (As printed, (29) takes F^k.) A prismatic frame injects neither and takes Gamma_kji = k_k . F^k; under a
    revolute one, k_i takes the place of k_i x p_Cki.
    """
    axes, origins = chain.axes, chain.origins
    n = len(chain.masses)
    inner, outer = pairs_by_outer(n)
    turns = chain.revolute[inner][:, None]
    both_turn = turns & chain.revolute[outer][:, None]
    F, H = (np.zeros((*axes.shape[:-2], len(inner), 3), dtype=axes.dtype) for _ in range(2))
    gamma = np.zeros((*axes.shape[:-2], n, n, n), dtype=axes.dtype)
    for k in reversed(range(n)):
        reached = (k + 1) * (k + 2) // 2  # pairs with i <= k move link k; they come first
        j, i = inner[:reached], outer[:reached]
        R = chain.rotations[..., k, :, :]
        own_lever = times(R, chain.centres[k])
        lever = (origins[..., k, :] + own_lever)[..., None, :] - origins[..., : k + 1, :]
        through = axes[..., : k + 1, :]
        moved = np.where(chain.revolute[: k + 1, None], np.cross(through, lever), through) * chain.masses[k]
        f = np.where(turns[:reached], np.cross(through[..., j, :], moved[..., i, :]), 0)
        half_L = R @ chain.spreads[k] @ np.swapaxes(R, -1, -2)
        swept = times(half_L[..., None, :, :], through)
        h = np.where(both_turn[:reached], np.cross(swept[..., j, :], through[..., i, :]), 0)
        if k + 1 < n:
            H = H + np.cross((origins[..., k + 1, :] - origins[..., k, :])[..., None, :], F)
        H[..., :reached, :] += h + np.cross(own_lever[..., None, :], f)
        F[..., :reached, :] += f
        transmitted = H if chain.revolute[k] else F
        torque = dot(axes[..., k, None, :], transmitted)
        gamma[..., k, inner, outer] = gamma[..., k, outer, inner] = torque
    return gamma


def pairs_by_outer(n: int) -> tuple[np.ndarray, np.ndarray]:
    """All j <= i < n, sorted by i."""
    outer, inner = np.tril_indices(n)
    return inner, outer


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scalar products along the last axis of length 3, in as few operations as on paper."""
    return a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1] + a[..., 2] * b[..., 2]


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Matrices (..., 3, 3) times vectors (..., 3)."""
    return np.stack([dot(matrix[..., row, :], vector) for row in range(3)], axis=-1)


def relative_error(symbols: np.ndarray, reference: np.ndarray, least: float = 1e-14) -> float:
    """e = 2 / n^3 sum |c - chat| / |c + chat| over symbols c with |c| >= least: the metric (31).

    least : the threshold below which the authors' script takes a symbol for zero
    """
    counted = np.abs(symbols) >= least
    ours, theirs = symbols[counted], reference[counted]
    return float(2.0 / symbols.size * np.sum(np.abs(ours - theirs) / np.abs(ours + theirs)))
