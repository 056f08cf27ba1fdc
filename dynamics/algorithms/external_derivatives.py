"""Derivatives of torques, joint wrenches and the base wrench by external wrenches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.algorithms.external_wrench_derivatives import load_partials
from dynamics.algorithms.rnea_derivatives import stacked_rows
from dynamics.kernels.node_batch import batch

if TYPE_CHECKING:
    from dynamics.model.model import RigidBodyModel


@dataclass(frozen=True, eq=False)
class ExternalDerivatives:
    """By the wrenches on m links, [moment; force] in world axes about the world origin.

    dtau (..., n, m, 6), minus the Jacobian of each link at the world origin, transposed;
    dwrench (..., links, 6, m, 6) of `joint_wrenches`; dbase (..., 6, m, 6), minus the identity
    """

    dtau: np.ndarray
    dwrench: np.ndarray
    dbase: np.ndarray


def external_derivatives(model: RigidBodyModel, q: Any, links: Any = None) -> ExternalDerivatives:
    """d(forces)/d(external): inverse dynamics is linear in it, so these hold for every v, a and external.

    q : (..., n); links : None = all in order, or names. Raises ShapeError, UnknownNameError.
    """
    packed = model.packed
    names = model.link_names if links is None else ((links,) if isinstance(links, str) else links)
    loaded = tuple(model.link_index(name) for name in names)
    nodes = batch(packed, q=q)
    torque_row, rows, count = stacked_rows(packed, True, tuple(range(packed.links)), True)
    found = nodes.spread(load_partials(packed, nodes, loaded, torque_row, rows, count))
    found = found.reshape(*found.shape[:-1], len(loaded), 6)
    n = packed.n
    wrenches = found[..., n : count - 6, :, :]
    shape = (*wrenches.shape[:-3], packed.links, 6, *wrenches.shape[-2:])
    return ExternalDerivatives(found[..., :n, :, :], wrenches.reshape(shape), found[..., count - 6 :, :, :])
