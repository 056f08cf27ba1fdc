"""M, C and forces in other generalized coordinates or speeds, from the old ones (section 3.3, remark 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class ChangedMatrices:
    """M and C, each (m, m), in the new coordinates or speeds."""

    M: np.ndarray
    C: np.ndarray


def changed_matrices(M: np.ndarray, C: np.ndarray, A: np.ndarray, A_rate: np.ndarray) -> ChangedMatrices:
    """Mbar = A' M A and Cbar = A' C A + A' M Adot, for qdot = A nu.

    A : (n, m), dq/dqbar of new coordinates (22), or d qdot / d nu of generalized speeds (remark 5)
    A_rate : (n, m), its rate along the motion
    Theorem 1: for coordinates, Cbar is the matrix of the Christoffel symbols of Mbar when C is that of M. For
    speeds that integrate to no coordinates it is admissible (Mbar-dot = Cbar + Cbar') and no more.

    Source: Echeandia and Wensing 2021, (23), (24), (27).
    """
    return ChangedMatrices(A.T @ M @ A, A.T @ C @ A + A.T @ M @ A_rate)


def changed_forces(forces: np.ndarray, A: np.ndarray) -> np.ndarray:
    """A' forces, (m,): gravity (25) and applied generalized forces (26) alike."""
    return A.T @ forces


def changed_symbols(gamma: np.ndarray, M: np.ndarray, A: np.ndarray, A_gradient: np.ndarray) -> np.ndarray:
    """The Christoffel symbols in coordinates qbar, (m, m, m).

    Gammabar_ijk = A_ai A_bj A_ck Gamma_abc + A_ai M_ab d2 q_b / dqbar_j dqbar_k

    A_gradient : (n, m, m), d2 q_b / dqbar_j dqbar_k
    Source: the transformation law in the proof of theorem 1.
    """
    turned = np.einsum("abc,ai,bj,ck->ijk", gamma, A, A, A, optimize=True)
    return turned + np.einsum("ai,ab,bjk->ijk", A, M, A_gradient, optimize=True)
