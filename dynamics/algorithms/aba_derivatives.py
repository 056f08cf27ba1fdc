"""First derivatives of forward dynamics, from those of inverse dynamics at the same acceleration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.algorithms.aba import forward_dynamics
from dynamics.algorithms.rnea_derivatives import inverse_dynamics_partials
from dynamics.kernels.node_batch import Batch, batch_with
from dynamics.kernels.packed_model import packed_of

if TYPE_CHECKING:
    from dynamics.model.model import RigidBodyModel


@dataclass(frozen=True, eq=False)
class AbaDerivatives:
    """Result of `aba_derivatives`.

    a : (..., n) rad/s^2 or m/s^2
    da_dq, da_dv, da_dtau : (..., n, n), da_dq[..., i, j] = d a_i / d q_j; da_dtau = M^-1
    """

    a: np.ndarray
    da_dq: np.ndarray
    da_dv: np.ndarray
    da_dtau: np.ndarray


def aba_derivatives(model: RigidBodyModel, q: Any, v: Any, tau: Any, external: Any = None) -> AbaDerivatives:
    """Accelerations and their derivatives, `external` held constant in world axes.

    tau(q, v, a(q, v, tau)) = tau gives da/dq = -M^-1 dtau/dq, da/dv = -M^-1 dtau/dv, da/dtau = M^-1
    (Carpentier and Mansard 2018). The derivative by an external wrench is M^-1 J', that is da_dtau times
    minus `external_derivatives(...).dtau`.

    q, v, tau : (..., n); external : None or (..., links, 6), as in `rnea`. Raises ShapeError, as `aba`.
    """
    packed = packed_of(model)
    extra = {} if external is None else {"external": (external, (packed.links, 6))}
    nodes = batch_with(packed, extra, q=q, v=v, tau=tau)
    a = forward_dynamics(model, nodes)
    moving = Batch((*nodes.arrays[:2], a, *nodes.arrays[3:]), nodes.shape, nodes.dtype)
    partials = inverse_dynamics_partials(model, moving, torques=True).partials
    by_q, by_v, M = (np.moveaxis(partials[:, i], -1, 0) for i in range(3))
    inverse = np.linalg.inv(M)
    found = (-inverse @ by_q, -inverse @ by_v, inverse)
    square = (packed.n, packed.n)
    return AbaDerivatives(nodes.unfold(a, packed.n), *(nodes.unfold(x, *square) for x in found))
