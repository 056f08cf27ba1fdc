"""Derivatives of joint torques, joint wrenches and the base wrench by external wrenches on links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dynamics.algorithms.external_wrench_derivatives import external_wrench_partials
from dynamics.algorithms.rnea_derivatives import stacked_rows
from dynamics.arguments import names_of
from dynamics.kernels.node_batch import batch
from dynamics.kernels.rotation_vectors.serial_motion import SerialMotion
from dynamics.model.kinematic_tree import KinematicTree, packed_of


@dataclass(frozen=True, eq=False)
class ExternalDerivatives:
    """Derivatives by the wrenches on m links, [moment; force] in world axes about the world origin.

    dtau : (..., n, m, 6), minus the transposed Jacobian of each link at the world origin
    dwrench : (..., links, 6, m, 6), of `joint_wrenches`
    dbase : (..., 6, m, 6), of `base_wrench`, minus the identity
    """

    dtau: np.ndarray
    dwrench: np.ndarray
    dbase: np.ndarray


def external_derivatives(
    model: KinematicTree, q: ArrayLike, links: str | Iterable[str] | None = None
) -> ExternalDerivatives:
    """Derivatives of `rnea`, `joint_wrenches` and `base_wrench` by external wrenches on links.

    tau = M a + C v + g - J' external is linear in `external`, so they depend on q alone.

    q : (..., n) rad or m; links : None = all in the order of the model, or names of links
    Raises ShapeError when q does not fit the model, UnknownNameError for a link it does not have.
    """
    packed = packed_of(model)
    names = model.link_names if links is None else names_of(links, "links")
    loaded = tuple(model.link_index(name) for name in names)
    nodes = batch(packed, q=q)
    if model.rotation_joints:
        return serial_external_derivatives(SerialMotion(model, nodes, 1), loaded)
    torque_row, rows, count = stacked_rows(packed, True, tuple(range(packed.links)), True)
    found = nodes.spread(external_wrench_partials(packed, nodes, loaded, torque_row, rows, count))
    found = found.reshape(*found.shape[:-1], len(loaded), 6)
    n = packed.n
    wrenches = found[..., n : count - 6, :, :]
    shape = (*wrenches.shape[:-3], packed.links, 6, *wrenches.shape[-2:])
    return ExternalDerivatives(found[..., :n, :, :], wrenches.reshape(shape), found[..., count - 6 :, :, :])


def serial_external_derivatives(motion: SerialMotion, loaded: tuple[int, ...]) -> ExternalDerivatives:
    """The derivatives of a model with rotation vectors, by its serial form."""
    model, form, nodes = motion.model, motion.form, motion.nodes
    names = [form.bodies[int(form.links[link])].name for link in loaded]
    found = external_derivatives(model.serial, motion.arrays[0], names)
    dtau, dwrench = motion.rows(found.dtau), found.dwrench[:, form.links]
    return ExternalDerivatives(
        *(nodes.unfold(part, *part.shape[1:]) for part in (dtau, dwrench, found.dbase))
    )
