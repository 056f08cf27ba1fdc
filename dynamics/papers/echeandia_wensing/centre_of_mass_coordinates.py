"""A floating base described by its centre of mass: the block structure of M and C (remark 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.errors import TreeError
from dynamics.papers.echeandia_wensing.coordinate_change import changed_matrices
from dynamics.papers.echeandia_wensing.coriolis_algorithm import coriolis_algorithm
from dynamics.papers.trees.joint_motion import Floating
from dynamics.papers.trees.linkage import Linkage


@dataclass(frozen=True, eq=False)
class CentroidalMatrices:
    """M and C, each (n, n), in coordinates [centre of mass; angles; joints]."""

    M: np.ndarray
    C: np.ndarray


def centroidal_matrices(linkage: Linkage, q: np.ndarray, v: np.ndarray) -> CentroidalMatrices:
    """M = diag(m 1, M22(q2)) and C = diag(0, C22(q2, q2dot)) for a base whose first joint is `Floating`.

    With base coordinates [p; q2] and centre of mass p + r(q2), the rows of the base position are M = [m 1, m
    dr/dq2] and Mdot = [0, m d/dt dr/dq2]: A = dq/dqbar of (22) and its rate are read off Algorithm 1's own
    output.

    q, v : (n,), in the linkage's coordinates, position of the base first
    Raises TreeError when the first joint does not float or a second link hangs on the ground.
    Source: Echeandia and Wensing 2021, (32).
    """
    grounded = [i for i, link in enumerate(linkage.links) if link.parent < 0]
    if grounded != [0] or not isinstance(linkage.motion(0), Floating):
        raise TreeError(
            f"links {grounded} hang on the ground; the centre of mass decouples only when link 0 alone does, "
            "on a Floating joint"
        )
    fixed = coriolis_algorithm(linkage, q, v)
    mass = fixed.M[0, 0]
    A, A_rate = np.eye(linkage.n), np.zeros((linkage.n, linkage.n))
    A[:3, 3:] = -fixed.M[:3, 3:] / mass
    A_rate[:3, 3:] = -fixed.Mdot[:3, 3:] / mass
    changed = changed_matrices(fixed.M, fixed.C, A, A_rate)
    return CentroidalMatrices(changed.M, changed.C)
